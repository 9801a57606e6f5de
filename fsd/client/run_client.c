/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd run: one job from the shell. It is a client of the mount like any other: it
 * makes a draft, renames it, copies the .follow files to its own streams and reads
 * exit_code. Without a mount it starts a private one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"
#include "where.h"
#include "which_mount.h"

/* --- watching it -------------------------------------------------------------------- */

/* poll(2), until that is due. Return: 0, or the exit code, and standard error says
 * why. */
static int await_any(struct client *k, struct pollfd *p, nfds_t count)
{
	uint64_t now = now_ns();
	int ms = k->health_ns == UINT64_MAX ? -1
		 : k->health_ns <= now	    ? 0
		 : (int)((k->health_ns - now) / NS_PER_MS) + 1;
	int n = poll(p, count, ms);

	if (n == 0)
		return waits_tell(k);
	if (n > 0 || errno == EINTR)
		return 0;
	return client_fail(k, 1, "%s", strerror(errno));
}

/* Waits for what the job says, for signals, and for standard input. p has room for
 * two more; of the count first the caller asks. Return: 0, or the exit code. */
static int watch(struct client *k, struct pollfd *p, nfds_t count)
{
	nfds_t all = count + 1;
	int r;

	p[count] = (struct pollfd){ .fd = k->signals, .events = POLLIN };
	all += input_poll(k, &p[all]);
	p[all - 1].revents = p[count].revents = 0;
	r = await_any(k, p, all);
	if (r)
		return r;
	if (p[count].revents)
		client_on_signal(k);
	if (all > count + 1 && p[count + 1].revents)
		input_go_on(k);
	return 0;
}

/* Copies both streams until both have ended. */
static int follow(struct client *k)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
	struct pollfd p[4] = {
		{ .fd = openat(k->dir, "stdout.follow", flags),
		  .events = POLLIN },
		{ .fd = openat(k->dir, "stderr.follow", flags),
		  .events = POLLIN },
	};
	int r = 0;

	if (p[0].fd < 0 || p[1].fd < 0)
		return client_fail(k, 1, "%s: %s", k->job, strerror(errno));
	while (r == 0 && (p[0].fd >= 0 || p[1].fd >= 0)) {
		p[0].revents = p[1].revents = 0;
		r = watch(k, p, 2);
		for (int i = 0; i < 2; i++)
			if (p[i].revents &&
			    client_pump(k, p[i].fd, i + 1) == 0)
				fd_close(&p[i].fd);
	}
	return r;
}

/* With --json the streams are not shown: wait for the end only. */
static int wait_end(struct client *k)
{
	struct pollfd p[3] = {
		{ .fd = openat(k->dir, "wait",
			       O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		  .events = POLLIN },
	};
	int r = 0;

	if (p[0].fd < 0)
		return client_fail(k, 1, "%s: %s", k->job, strerror(errno));
	while (r == 0 && !p[0].revents)
		r = watch(k, p, 1);
	fd_close(&p[0].fd);
	return r;
}

/* --- together ------------------------------------------------------------------------ */

/* A signal that is blocked comes to a signalfd though it is ignored. Under nohup
 * that is not wished for; that a script's background command ignores Ctrl-C is
 * its shell's habit, and who signals that one means it. */
int client_catch_signals(void)
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

static int private_mount(struct client *k)
{
	char word[32];
	enum run_opt opt = is_set(k->c, RUN_KEEP) ? RUN_KEEP : RUN_SESSION;
	int r;

	if (is_set(k->c, opt))
		return client_complain(2, "%s needs a mount that stays, and a "
				"private one goes with `fsd %s`: give --mount MNT "
				"or FSD_MOUNT", run_option_word(opt, word),
				k->c->command);
	k->signals = client_catch_signals();
	r = private_start(&k->own, k->c->command, k->signals);
	if (r > 128) {
		k->last = r - 128;
		k->got |= 1ull << k->last;
	}
	k->mnt = k->own.mnt;
	k->root = take_fd(&k->own.root);
	return r;
}

static int get_mount(struct client *k)
{
	struct err err = { 0 };

	k->mnt = is_set(k->c, RUN_PRIVATE)
			 ? NULL
			 : which_mount(k->c->value[RUN_MOUNT]);
	if (!k->mnt)
		return private_mount(k);
	if (where_is_mount(k->mnt, &err) < 0)
		return client_complain(1, "%s", err.text);
	k->root = open(k->mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (k->root < 0)
		return client_complain(1, "%s: %s", k->mnt, strerror(errno));
	/* Not before a mount is asked that may not answer, but before there is a
	 * job that would be left. */
	k->signals = client_catch_signals();
	return 0;
}

static int check(struct client *k)
{
	int r = is_set(k->c, RUN_OUTPUT)
			? results_check(k)
			: 0;

	if (r == 0)
		r = inputs_check(k->c);
	return r ? r : program_find(k->c, &k->program);
}

static int run_job(struct client *k)
{
	int r = draft_make(k);

	if (r == 0)
		r = draft_submit(k);
	if (r)
		return r;
	input_begin(k);
	waits_begin(k);
	r = is_set(k->c, RUN_JSON) ? wait_end(k) : follow(k);
	if (r == 0 && k->given_up)
		r = wait_end(k);
	return r ? r : client_outcome(k);
}

void client_die_of_signal(const struct client *k, int code)
{
	/* the program has ended by one, or we have ended the program because of the
	 * second one */
	int number = code > 128 && code < 128 + 64 &&
				     k->got & (1ull << (code - 128)) ? code - 128
		   : code == EXIT_KILLED && k->interrupts > 1 ? k->last : 0;
	sigset_t set;

	if (number != SIGINT && number != SIGTERM && number != SIGHUP)
		return; /* SIGQUIT would dump core */
	fflush(NULL);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int run_client(const struct run_client *c)
{
	struct client k = {
		.c = c, .root = -1, .dir = -1, .hold = -1, .signals = -1,
		.own = PRIVATE_NONE, .program = { .fd = -1 },
		.input = { .state = -1, .feed = -1, .pipe = { -1, -1 } },
	};
	int r;

	outlet_open(&k.out[0], STDOUT_FILENO);
	outlet_open(&k.out[1], STDERR_FILENO);
	r = check(&k);
	if (r == 0)
		r = get_mount(&k);
	if (r == 0)
		r = run_job(&k);
	draft_remove(&k);
	outlet_close(&k.out[0]);
	outlet_close(&k.out[1]);
	fd_close(&k.program.fd);
	fd_close(&k.signals);
	fd_close(&k.root);
	private_stop(&k.own);
	client_die_of_signal(&k, r);
	return r;
}
