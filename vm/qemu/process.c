/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts or adopts one QEMU through the jailer, keeps the last bytes of its standard
 * error and explains its end. A struct process owns the pipe, the monitor (qmp.c) and
 * its entry at the jailer.
 *
 * explain() separates an end that the host caused (a signal from outside, no memory)
 * from QEMU's or the guest's own. Only the former is `taken`. All functions run on the
 * loop.
 */
#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "layout/base/cleanup.h"
#include "host.h"
#include "vm/os/accel.h"
#include "layout/base/log.h"

#define GRACE_MS 1000
#define SAID_MAX 1000 /* bytes of standard error that are kept: the last ones */

struct process {
	struct loop *loop;
	const struct process_events *ev;
	void *arg;
	struct jailed jailed;
	int said_fd; /* owned; the read end of its standard error */
	struct loop_fd says;
	struct qmp *qmp;       /* owned */
	int net_fd; /* owned; the host's end of the second port; -1: it is lost */
	struct jailed relay; /* the process that gets net_fd */
	/* set when the process seems to end: kills it if it still lives after GRACE_MS */
	struct loop_timer grace;
	char said[SAID_MAX];
	size_t said_len;
	char why[300]; /* why this server killed it; "": it did not */
	/* QEMU's word for how the guest shut down; "": it did not */
	char shutdown[32];
	uint64_t oom_kills; /* host_oom_kills() when it was started */
};

/* --- standard error ----------------------------------------------------- */

static bool read_said(struct process *p)
{
	char block[512];
	ssize_t n = read(p->said_fd, block, sizeof(block));
	size_t drop;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	drop = p->said_len + (size_t)n > SAID_MAX ?
		       p->said_len + (size_t)n - SAID_MAX : 0;
	memmove(p->said, p->said + drop, p->said_len - drop);
	p->said_len -= drop;
	memcpy(p->said + p->said_len, block, (size_t)n);
	p->said_len += (size_t)n;
	return true;
}

static void on_says(struct loop_fd *src, uint32_t events)
{
	struct process *p = src->arg;

	if (!read_said(p) && events & EPOLLHUP)
		loop_fd_del(&p->says);
}

/* Copies the last line that it wrote into text, made printable. */
static void last_words(struct process *p, char *text, size_t size)
{
	size_t end = p->said_len, start;

	while (end && p->said[end - 1] == '\n')
		end--;
	for (start = end; start && p->said[start - 1] != '\n'; start--)
		;
	snprintf(text, size, "%.*s", (int)(end - start), p->said + start);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
}

/* --- the end ------------------------------------------------------------ */

/* Signals that mean a fault of the process itself. */
static const int faults[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV,
			      SIGSYS, SIGTRAP };

/* Words that QEMU and its libraries use for a lack of memory or processes. */
static const char *const lacks[] = {
	"Cannot allocate memory", "failed to allocate",
	"Resource temporarily unavailable", "Out of memory",
};

static bool is_fault(int sig)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i] == sig)
			return true;
	return false;
}

static bool is_lack(const char *words)
{
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (strstr(words, lacks[i]))
			return true;
	return false;
}

/*
 * Returns whether QEMU ended because of a signal that it handles. It reports
 * that to its monitor, unless it has just started: then it may even crash while
 * it ends.
 */
static bool obeyed_signal(const struct process *p, int status,
			  const char *words)
{
	if (p->shutdown[0])
		return !strcmp(p->shutdown, "host-signal");
	return (WIFSIGNALED(status) || WEXITSTATUS(status) == 0) &&
	       strstr(words, "terminating on signal ");
}

/* Explains an end that another process has caused: by a fatal signal, or by one
 * that QEMU handles. */
static bool explain_outside(struct process *p, int status, const char *words,
			    char *text, size_t size)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (sig == SIGKILL)
		snprintf(text, size, "QEMU was killed from outside%s",
			 host_oom_kills() != p->oom_kills ?
				 ": memory ran out on the host or in its "
				 "control group" : "");
	else if (sig && !is_fault(sig))
		snprintf(text, size, "QEMU was ended from outside, by signal "
				     "%d (%s)", sig, strsignal(sig));
	else if (obeyed_signal(p, status, words))
		snprintf(text, size, "QEMU was ended from outside%s%s",
			 words[0] ? ": " : "", words);
	else
		return false;
	return true;
}

/* Writes a sentence that explains the end. Return: the `taken` of process_events.gone(). */
static bool explain(struct process *p, int status, char *text, size_t size)
{
	char words[200];

	last_words(p, words, sizeof(words));
	if (p->why[0]) {
		snprintf(text, size, "%s", p->why);
		return false;
	}
	if (explain_outside(p, status, words, text, size))
		return true;
	if (p->shutdown[0] && WIFEXITED(status)) {
		snprintf(text, size, "the guest's kernel has ended: a panic, "
				     "or a reset by whoever is root there (%s)",
			 p->shutdown);
		return false;
	}
	if (WIFSIGNALED(status))
		snprintf(text, size, "QEMU was ended by signal %d (%s)%s%s",
			 WTERMSIG(status), strsignal(WTERMSIG(status)),
			 words[0] ? ": " : "", words);
	else
		snprintf(text, size, "QEMU ended with status %d%s%s",
			 WEXITSTATUS(status), words[0] ? ": " : "", words);
	return is_lack(words);
}

static void on_ended(struct jailed *m, int status, const struct err *err)
{
	struct process *p = container_of(m, struct process, jailed);
	bool taken = true; /* true if the process was never started, or the jailer is
			    * dead */
	char text[400];

	loop_timer_del(&p->grace);
	while (read_said(p))
		;
	loop_fd_del(&p->says);
	qmp_free(p->qmp);
	p->qmp = NULL;
	if (err->code)
		snprintf(text, sizeof(text), "%.399s", err->text);
	else
		taken = explain(p, status, text, sizeof(text));
	p->ev->gone(p->arg, text, taken);
}

int process_teach(struct process *p, uint32_t zygote)
{
	return jailed_teach(&p->jailed, zygote);
}

void process_ask_cost(struct process *p)
{
	jailed_ask_cost(&p->jailed);
}

static void on_cost(struct jailed *m, uint64_t bytes)
{
	struct process *p = container_of(m, struct process, jailed);

	if (p->ev->cost)
		p->ev->cost(p->arg, bytes);
}

void process_kill(struct process *p, const char *why)
{
	if (why && !p->why[0])
		snprintf(p->why, sizeof(p->why), "%s", why);
	jailed_kill(&p->jailed);
}

static void on_event(void *arg, const char *name, const char *status)
{
	struct process *p = arg;

	if (!strcmp(name, "SHUTDOWN"))
		snprintf(p->shutdown, sizeof(p->shutdown), "%s",
			 status[0] ? status : "shutdown");
	p->ev->event(p->arg, name, status);
}

static void on_grace(struct loop_timer *t)
{
	process_kill(t->arg, "QEMU closed its monitor or its wire, or spoke no "
			     "JSON");
}

/* Waits a moment for the process to end by itself: its exit status explains the
 * end, and a kill would hide that. If it lives on it is killed. */
void process_is_ending(struct process *p)
{
	if (!p->grace.loop)
		loop_timer_set(p->loop, &p->grace, GRACE_MS * NS_PER_MS);
}

static void on_closed(void *arg, const char *why)
{
	(void)why;
	process_is_ending(arg);
}

static const struct qmp_events qmp_events = {
	.event = on_event,
	.closed = on_closed,
};

/* --- the relay ------------------------------------------------------------ */

/* Only logs: the lease learns of the relay's end from its account (pool_network.c). */
static void on_relay_ended(struct jailed *m, int status, const struct err *err)
{
	(void)m;
	if (err->code == -ESRCH) /* the relay had ended before this server adopted the machine */
		return;
	if (err->code)
		log_warn("a machine's relay cannot start: %s", err->text);
	else if (WIFSIGNALED(status))
		log_warn("a machine's relay was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
}

int process_relay(struct process *p, struct jail *jail, int account, struct err *err)
{
	const struct jail_request what = {
		.kind = JAIL_RELAY, .accel = VM_ACCEL_TCG, .memory_mib = 1, .cpus = 1,
	};
	auto_close int reads = -1, writes = -1;
	int table[JAIL_FDS_MAX], pair[2], r;

	if (p->net_fd < 0)
		return err_set(err, -ESRCH, "the machine's second port is lost");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "a relay's standard error");
	reads = pair[0];
	writes = pair[1];
	table[JAIL_FD_ERR] = writes;
	table[JAIL_FD_QMP] = account;
	table[JAIL_FD_NET] = p->net_fd;
	r = jail_start(jail, &what, table, &p->relay, err);
	fd_close(&p->net_fd);
	return r;
}

uint32_t process_relay_id(const struct process *p)
{
	return p->relay.jail ? p->relay.id : 0;
}

/* --- start and end ------------------------------------------------------ */

void process_free(struct process *p)
{
	if (!p)
		return;
	loop_fd_del(&p->says);
	loop_timer_del(&p->grace);
	qmp_free(p->qmp);
	jailed_drop(&p->jailed);
	jailed_drop(&p->relay);
	fd_close(&p->said_fd);
	fd_close(&p->net_fd);
	free(p);
}

struct qmp *process_qmp(struct process *p)
{
	return p->qmp;
}

uint32_t process_id(const struct process *p)
{
	return p->jailed.id;
}

static int watch(struct process *p)
{
	p->says = (struct loop_fd){
		.fd = p->said_fd, .events = EPOLLIN, .fn = on_says,
		.arg = p,
	};
	return loop_fd_add(p->loop, &p->says);
}

static int run(struct process *p, struct jail *jail,
	       const struct jail_request *what, const int *fds, int *ret_qmp,
	       struct err *err)
{
	auto_close int ours = -1, theirs = -1, said = -1, net = -1;
	int table[JAIL_FDS_MAX], pair[2], r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "QEMU's standard error");
	p->said_fd = pair[0];
	said = pair[1];
	fcntl(p->said_fd, F_SETFL, O_NONBLOCK);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "QEMU's monitor");
	ours = pair[0];
	theirs = pair[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(err, -errno, "a machine's second port");
	p->net_fd = pair[0];
	net = pair[1];
	table[JAIL_FD_ERR] = said;
	table[JAIL_FD_NET] = net;
	table[JAIL_FD_QMP] = theirs;
	memcpy(table + JAIL_FD_WIRE, fds,
	       (jail_fd_count(what) - JAIL_FD_WIRE) * sizeof(*fds));
	r = jail_start(jail, what, table, &p->jailed, err);
	if (r == 0)
		*ret_qmp = take_fd(&ours);
	return r;
}

static struct process *blank(struct loop *loop,
			     const struct process_events *ev, void *arg)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->loop = loop;
	p->ev = ev;
	p->arg = arg;
	p->grace = (struct loop_timer){ .fn = on_grace, .arg = p };
	p->jailed.ended = on_ended;
	p->jailed.cost = on_cost;
	p->relay.ended = on_relay_ended;
	p->said_fd = p->net_fd = -1;
	p->oom_kills = host_oom_kills();
	return p;
}

int process_adopt(struct loop *loop, struct jail *jail, uint32_t id, uint32_t relay,
		  int monitor, const struct process_events *ev, void *arg,
		  struct process **ret)
{
	auto_close int owned = monitor;
	struct process *p = blank(loop, ev, arg);
	int r = p ? qmp_adopt(loop, take_fd(&owned), &qmp_events, p, &p->qmp)
		  : -ENOMEM;

	if (r < 0) {
		free(p);
		return r;
	}
	jail_keep(jail, id, &p->jailed);
	if (relay)
		jail_keep(jail, relay, &p->relay);
	*ret = p;
	return 0;
}

int process_new(struct loop *loop, struct jail *jail,
		const struct jail_request *what, const int *fds,
		const struct process_events *ev, void *arg,
		struct process **ret, struct err *err)
{
	struct process *p = blank(loop, ev, arg);
	int qmp = -1, r;

	if (!p)
		return err_sys(err, -ENOMEM, "QEMU");
	r = run(p, jail, what, fds, &qmp, err);
	if (r == 0) {
		r = qmp_new(loop, qmp, &qmp_events, p, &p->qmp);
		if (r == 0)
			r = watch(p);
		if (r < 0)
			err_sys(err, r, "watching QEMU");
	}
	if (r < 0) {
		process_free(p);
		return r;
	}
	*ret = p;
	return 0;
}
