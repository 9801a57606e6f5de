/* SPDX-License-Identifier: Apache-2.0 */
#include "run_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/cli/commands.h"
#include "outlet.h"
#include "private.h"
#include "which_mount.h"

#define EXIT_KILLED 137 /* of a job that somebody has cancelled */

struct client {
	const struct run_client *c;
	struct private_mount own;
	const char *mnt;   /* for messages: it may be in another namespace */
	int root;          /* owned: the mount's */
	char job[96];      /* name in the mount */
	int dir;           /* the job's directory */
	int signals;       /* signalfd */
	unsigned interrupts;
	int early;         /* the signal that came before the program ran, or 0 */
	struct outlet out[2]; /* standard output, standard error */
	bool lost;         /* output that found no room, which was said */
	bool unread;       /* a reader of its output has gone */
	bool given_up;     /* a reader paused, and we were to end */
};

/* --- config.json ------------------------------------------------------------------ */

static void json_text(struct buf *b, const char *text, size_t len)
{
	buf_str(b, "\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)text[i];

		if (ch == '"' || ch == '\\')
			buf_fmt(b, "\\%c", ch);
		else if (ch < 0x20)
			buf_fmt(b, "\\u%04x", ch);
		else
			buf_add(b, text + i, 1);
	}
	buf_str(b, "\"");
}

static int json_number(struct buf *b, const char *key, const char *opt,
		       const char *text)
{
	char *end;

	strtod(text, &end);
	if (end == text || *end || strspn(text, "0123456789.") != strlen(text))
		return complain("run", 2, "%s is \"%s\"; it must be a number",
				opt, text);
	buf_fmt(b, ",\"%s\":%s", key, text);
	return 0;
}

static int make_config(const struct run_client *c, struct buf *b)
{
	int r = 0;

	buf_str(b, "{\"args\":[");
	for (unsigned i = 0; i < c->arg_count; i++) {
		buf_str(b, i ? "," : "");
		json_text(b, c->args[i], strlen(c->args[i]));
	}
	buf_str(b, "],\"env\":{");
	for (unsigned i = 0; i < c->env_count; i++) {
		size_t name = strcspn(c->env[i], "=");

		buf_str(b, i ? "," : "");
		json_text(b, c->env[i], name);
		buf_str(b, ":");
		json_text(b, c->env[i] + name + 1, strlen(c->env[i] + name + 1));
	}
	buf_str(b, "}");
	if (c->language) {
		buf_str(b, ",\"language\":");
		json_text(b, c->language, strlen(c->language));
	}
	if (c->timeout)
		r = json_number(b, "timeout", "-t", c->timeout);
	if (r == 0 && c->memory)
		r = json_number(b, "memory_mb", "-m", c->memory);
	buf_str(b, "}\n");
	return r ? r : b->failed ? complain("run", 1, "out of memory") : 0;
}

/* --- making the job ---------------------------------------------------------------- */

static ssize_t read_small(struct client *k, const char *name, char *room,
			  size_t size)
{
	auto_close int fd = openat(k->dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, size - 1);

	room[MAX(n, 0)] = '\0';
	return n;
}

/* Until there is something to read, or a signal: then there will be no job.
 * Return: 0, or the exit code. */
static int await_input(const struct client *k, int from)
{
	struct signalfd_siginfo info;
	struct pollfd p[2] = { { .fd = from, .events = POLLIN },
			       { .fd = k->signals, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return complain("run", 1, "%s", strerror(errno));
	if (p[1].revents &&
	    read(k->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return 128 + (int)info.ssi_signo;
	return 0;
}

/* Copies until the end of from, which the user knows as `whose`. */
static int copy_file(struct client *k, const char *name, int from,
		     const char *whose)
{
	auto_close int fd = openat(k->dir, name,
				   O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	char room[65536];
	ssize_t n;
	int r;

	if (fd < 0)
		return complain("run", 1, "%s/%s: %s", k->job, name,
				strerror(errno));
	while ((r = await_input(k, from)) == 0) {
		n = read(from, room, sizeof(room));
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue; /* whoever shares it made it so */
		if (n < 0)
			return complain("run", 2, "%s: %s", whose,
					strerror(errno));
		if (write(fd, room, (size_t)n) != n)
			return complain("run", 1, "%s/%s: %s", k->job, name,
					strerror(errno));
	}
	return r;
}

/* "code.py" for a file with an ending that is a language's, else "code". */
static void code_name(const struct run_client *c, char room[300])
{
	const char *base = strrchr(c->file, '/');
	const char *dot;

	base = base ? base + 1 : c->file;
	dot = strrchr(base, '.');
	snprintf(room, 300, "code%s", dot && !c->language ? dot : "");
	if (code_kind(room) != CODE_KNOWN)
		snprintf(room, 300, "code");
}

static int put_code(struct client *k)
{
	bool from_stdin = !strcmp(k->c->file, "-");
	auto_close int fd = -1;
	char name[300];

	code_name(k->c, name);
	if (from_stdin)
		return copy_file(k, name, STDIN_FILENO, "standard input");
	fd = open(k->c->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain("run", 2, "%s: %s", k->c->file,
				strerror(errno));
	return copy_file(k, name, fd, k->c->file);
}

/* A refusal at the close comes with a sentence in `error`. */
static int write_config(struct client *k, const struct buf *config)
{
	int fd = openat(k->dir, "config.json", O_WRONLY | O_CREAT | O_CLOEXEC,
			0644);
	ssize_t n = fd < 0 ? -1 : write(fd, config->data, config->len);
	char text[1024];
	int r = 0;

	if (fd < 0 || n != (ssize_t)config->len || close(fd) < 0)
		r = errno;
	if (r == 0)
		return 0;
	if (read_small(k, "error", text, sizeof(text)) > 0)
		fprintf(stderr, "fsd run: %s", text);
	else
		complain("run", 1, "%s/config.json: %s", k->job, strerror(r));
	return 2;
}

static int make_job(struct client *k)
{
	auto_buf struct buf config = { 0 };
	int r = make_config(k->c, &config);

	if (r)
		return r;
	snprintf(k->job, sizeof(k->job), ".run-%d-%llx", (int)getpid(),
		 (unsigned long long)now_ns());
	if (mkdirat(k->root, k->job, 0700) == 0)
		k->dir = openat(k->root, k->job,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->dir < 0)
		return complain("run", 1, "%s/%s: %s", k->mnt, k->job,
				strerror(errno));
	r = put_code(k);
	/* A terminal is not read: a program that wants input gets its end. */
	if (!r && strcmp(k->c->file, "-") != 0 && !isatty(STDIN_FILENO))
		r = copy_file(k, "stdin", STDIN_FILENO, "standard input");
	return r ? r : write_config(k, &config);
}

static int submit(struct client *k)
{
	if (renameat(k->root, k->job, k->root, k->job + 1) < 0)
		return complain("run", 1, "%s/%s: %s", k->mnt, k->job + 1,
				strerror(errno));
	memmove(k->job, k->job + 1, strlen(k->job));
	return 0;
}

/* --- watching it -------------------------------------------------------------------- */

/* Return: false: there is no program that could have got it. */
static bool write_ctl(struct client *k, const char *verb)
{
	auto_close int fd = openat(k->dir, "ctl", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, verb, strlen(verb)) >= 0)
		return true;
	if (errno == ESRCH)
		return false;
	complain("run", 1, "ctl: %s", strerror(errno));
	return true;
}

/* The first one goes to the program, the next one ends it. A job that runs may
 * be without its program for a while yet. */
static void on_signal(struct client *k)
{
	struct signalfd_siginfo info;
	char state[16], verb[32];

	if (read(k->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (k->interrupts++) {
		write_ctl(k, "kill\n");
		return;
	}
	read_small(k, "state", state, sizeof(state));
	if (!strcmp(state, "done\n")) {
		k->interrupts++; /* there is only a reader left to wait for */
		return;
	}
	/* A terminal sends Ctrl-C to all that runs in front. */
	if (info.ssi_signo == SIGINT)
		snprintf(verb, sizeof(verb), "interrupt\n");
	else
		snprintf(verb, sizeof(verb), "signal %u\n", info.ssi_signo);
	if (!strcmp(state, "running\n") && write_ctl(k, verb))
		return;
	k->early = (int)info.ssi_signo;
	write_ctl(k, "kill\n");
}

/* All of it, unless nobody takes it. Whoever has ended us does not wait for a
 * reader. */
static int write_all(struct client *k, int to, const char *data, size_t len)
{
	struct outlet *o = &k->out[to - STDOUT_FILENO];
	struct pollfd p[2] = { { .fd = o->fd, .events = POLLOUT },
			       { .fd = k->signals, .events = POLLIN } };

	while (len) {
		ssize_t n = outlet_write(o, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (n == -EAGAIN) {
			if (k->interrupts > 1)
				return -ECANCELED;
			if (poll(p, 2, -1) > 0 && p[1].revents)
				on_signal(k);
		} else if (n != -EINTR) {
			return (int)n;
		}
	}
	return 0;
}

/* text: whole lines. Standard error may be what nobody reads, too. */
static void tell(struct client *k, const char *text)
{
	static const char us[] = "fsd run: ";

	if (write_all(k, STDERR_FILENO, us, strlen(us)) == 0)
		write_all(k, STDERR_FILENO, text, strlen(text));
}

/* complain() for those who have begun to copy output. */
__attribute__((format(printf, 3, 4)))
static int fail(struct client *k, int code, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	snprintf(text + MIN(MAX(n, 0), (int)sizeof(text) - 2), 2, "\n");
	tell(k, text);
	return code;
}

/* The reason why there is no answer yet, if there is one, once. */
static void tell_health(struct client *k)
{
	auto_close int fd = openat(k->root, ".fsd/health", O_RDONLY | O_CLOEXEC);
	char text[600];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = '\0';
	if (strcmp(text, "ok\n") != 0)
		tell(k, text);
}

/* To one of our own streams. Return: bytes copied, 0 at the end, -1 when there
 * is nothing now. */
static ssize_t pump(struct client *k, int from, int to)
{
	char room[65536];
	ssize_t n = read(from, room, sizeof(room));
	int r;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	r = write_all(k, to, room, (size_t)n);
	if (r == 0)
		return n;
	/* A reader that has gone has what it wanted, and a program that goes
	 * on to write ends by that. */
	if (r == -EPIPE && !k->unread) {
		k->unread = true;
		write_ctl(k, "kill\n");
	} else if (r == -ECANCELED) {
		k->given_up = k->lost = true;
	} else if (r != -EPIPE && !k->lost) {
		k->lost = fail(k, 1, "standard %s: %s",
			       to == STDOUT_FILENO ? "output" : "error",
			       strerror(-r));
	}
	return 0;
}

/* Copies both streams until both have ended. */
static int follow(struct client *k)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
	struct pollfd p[3] = {
		{ .fd = openat(k->dir, "stdout.follow", flags),
		  .events = POLLIN },
		{ .fd = openat(k->dir, "stderr.follow", flags),
		  .events = POLLIN },
		{ .fd = k->signals, .events = POLLIN },
	};

	if (p[0].fd < 0 || p[1].fd < 0)
		return fail(k, 1, "%s: %s", k->job, strerror(errno));
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 3, -1) < 0 && errno != EINTR)
			return fail(k, 1, "%s", strerror(errno));
		if (p[2].revents)
			on_signal(k);
		for (int i = 0; i < 2; i++)
			if (p[i].revents &&
			    pump(k, p[i].fd, i + 1) == 0)
				fd_close(&p[i].fd);
	}
	return 0;
}

/* With --json the streams are not shown: wait for the end only. */
static int wait_end(struct client *k)
{
	struct pollfd p[2] = {
		{ .fd = openat(k->dir, "wait",
			       O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		  .events = POLLIN },
		{ .fd = k->signals, .events = POLLIN },
	};

	if (p[0].fd < 0)
		return fail(k, 1, "%s: %s", k->job, strerror(errno));
	while (!p[0].revents) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return fail(k, 1, "%s", strerror(errno));
		if (p[1].revents)
			on_signal(k);
	}
	fd_close(&p[0].fd);
	return 0;
}

/* There is no exit_code. */
static int no_outcome(struct client *k)
{
	char state[16];

	if (read_small(k, "state", state, sizeof(state)) > 0)
		return !strcmp(state, "refused\n") ? 2 : 1; /* said in error */
	if (errno == ENOENT || errno == ESTALE)
		return fail(k, 137, "the job was removed");
	return fail(k, 125, "%s does not answer any more (%s): how the job has "
		    "ended is not known", k->mnt, strerror(errno));
}

static int outcome(struct client *k)
{
	char text[1024];
	uint64_t code;

	if (read_small(k, "error", text, sizeof(text)) > 0)
		tell(k, text);
	if (k->c->json) {
		auto_close int fd = openat(k->dir, "result.json",
					   O_RDONLY | O_CLOEXEC);

		while (fd >= 0 && pump(k, fd, STDOUT_FILENO) > 0)
			;
	}
	if (k->unread)
		return 128 + SIGPIPE;
	if (read_small(k, "exit_code", text, sizeof(text)) <= 0)
		return no_outcome(k);
	text[strcspn(text, "\n")] = '\0';
	if (parse_u64(text, 0, 255, &code) < 0)
		return 1;
	if (code == EXIT_KILLED && k->early)
		return 128 + k->early;
	return code == 0 && k->lost ? 1 : (int)code;
}

/* --- together ------------------------------------------------------------------------ */

static void remove_job(struct client *k)
{
	static const char *const names[] = { "config.json", "stdin" };
	char code[300];

	if (k->dir < 0)
		return;
	code_name(k->c, code);
	unlinkat(k->dir, code, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(k->dir, names[i], 0);
	unlinkat(k->root, k->job, AT_REMOVEDIR);
	fd_close(&k->dir);
}

/* A signal that is blocked comes to a signalfd though it is ignored. Under nohup
 * that is not wished for; that a script's background command ignores Ctrl-C is
 * its shell's habit, and who signals that one means it. */
static int catch_signals(void)
{
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int get_mount(struct client *k)
{
	int r = 0;

	k->mnt = k->c->private ? NULL : which_mount(k->c->mount);
	if (k->mnt)
		r = mount_answers("run", k->mnt);
	if (r == 0 && k->mnt) {
		k->root = open(k->mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (k->root < 0)
			r = complain("run", 1, "%s: %s", k->mnt,
				     strerror(errno));
	}
	if (r)
		return r;
	/* Not before one is asked that may not answer, but before there is a
	 * mount or a job that would be left. */
	k->signals = catch_signals();
	if (k->mnt)
		return 0;
	r = private_start(&k->own, k->signals);
	k->mnt = k->own.mnt;
	k->root = take_fd(&k->own.root);
	return r;
}

int run_client(const struct run_client *c)
{
	struct client k = {
		.c = c, .root = -1, .dir = -1, .signals = -1,
		.own = PRIVATE_NONE,
	};
	int r = 0;

	if (strcmp(c->file, "-") != 0 && access(c->file, R_OK) < 0)
		return complain("run", 2, "%s: %s", c->file, strerror(errno));
	outlet_open(&k.out[0], STDOUT_FILENO);
	outlet_open(&k.out[1], STDERR_FILENO);
	r = get_mount(&k);
	if (r == 0)
		r = make_job(&k);
	if (r == 0)
		r = submit(&k);
	if (r == 0) {
		tell_health(&k);
		r = c->json ? wait_end(&k) : follow(&k);
	}
	if (r == 0 && k.given_up)
		r = wait_end(&k);
	if (r == 0)
		r = outcome(&k);
	remove_job(&k);
	outlet_close(&k.out[0]);
	outlet_close(&k.out[1]);
	fd_close(&k.signals);
	fd_close(&k.root);
	private_stop(&k.own);
	return r;
}
