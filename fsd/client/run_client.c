/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd run: one job from the shell. It is a client of the mount like any other: it
 * makes a draft, renames it, copies the .follow files to its own streams and reads
 * exit_code. Without a mount it starts a private one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_int.h"

/* --- watching it -------------------------------------------------------------------- */

/* Calls poll(2), at most until the mount's health must be asked for. Return: 0, or the
 * exit code, and standard error says why. */
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

/* Waits for events of the job, signals, and standard input. p has room for two more
 * entries behind the caller's `count` entries. Return: 0, or the exit code. */
static int watch(struct client *k, struct pollfd *p, nfds_t count)
{
	nfds_t all = count + 1;
	int r;

	p[count] = (struct pollfd){ .fd = k->signals.fd, .events = POLLIN };
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
		{ .fd = openat(k->draft.dir, "stdout.follow", flags),
		  .events = POLLIN },
		{ .fd = openat(k->draft.dir, "stderr.follow", flags),
		  .events = POLLIN },
	};
	int r = 0;

	if (p[0].fd < 0 || p[1].fd < 0)
		return client_fail(k, 1, "%s: %s", k->draft.name, strerror(errno));
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

/* Waits for the end only: with --json the streams are not shown. */
static int wait_end(struct client *k)
{
	struct pollfd p[3] = {
		{ .fd = openat(k->draft.dir, "wait",
			       O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		  .events = POLLIN },
	};
	int r = 0;

	if (p[0].fd < 0)
		return client_fail(k, 1, "%s: %s", k->draft.name, strerror(errno));
	while (r == 0 && !p[0].revents)
		r = watch(k, p, 1);
	fd_close(&p[0].fd);
	return r;
}

/* --- together ------------------------------------------------------------- */

static int check(struct client *k)
{
	int r = is_set(k->c, RUN_OUTPUT)
			? results_check(k)
			: 0;

	if (r == 0)
		r = gets_check(k->c);
	if (r == 0)
		r = inputs_check(k->c);
	return r ? r : program_find(k->c, &k->program);
}

/* Prints the draft's sentence about its failure, if the draft has one. */
static int said(const struct client *k, int r)
{
	enum draft_fault fault = k->draft.fault;

	return !fault || fault == DRAFT_SIGNAL ?
		       r : client_complain(r, "%s", k->draft.said);
}

static int submit_job(struct client *k)
{
	char name[sizeof(k->draft.name)];
	int r;

	snprintf(name, sizeof(name), ".run-%d-%llx", (int)getpid(),
		 (unsigned long long)now_ns());
	k->draft.streams_stdin = input_is_open(k->c);
	r = job_draft_make(&k->draft, name, !is_set(k->c, RUN_KEEP));
	if (r == 0)
		r = job_draft_submit(&k->draft, name + 1);
	if (r)
		return said(k, r);
	k->input.open = k->draft.stdin_open;
	if (is_set(k->c, RUN_KEEP))
		client_complain(0, "the job stays: %s/%s", k->mount.mnt,
				k->draft.name);
	return 0;
}

/* Says where the sockets of --port are. A private mount is in a namespace of its own; its
 * path outside is by our descriptor of the job. */
static void tell_ports(const struct client *k)
{
	const struct run_client *c = k->c;
	char job[PATH_MAX + NAME_MAX + 2];

	if (client_mount_is_private(c))
		snprintf(job, sizeof(job), "/proc/%d/fd/%d", (int)getpid(), k->draft.dir);
	else
		snprintf(job, sizeof(job), "%s/%s", k->mount.mnt, k->draft.name);
	for (unsigned i = 0; i < c->port_count; i++)
		client_complain(0, "port %u is the socket %s/ports/%u while the job runs",
				c->ports[i], job, c->ports[i]);
}

static int run_job(struct client *k)
{
	int r = submit_job(k);

	if (r)
		return r;
	tell_ports(k);
	input_begin(k);
	waits_begin(k);
	r = is_set(k->c, RUN_JSON) ? wait_end(k) : follow(k);
	if (r == 0 && k->given_up)
		r = wait_end(k);
	return r ? r : client_outcome(k);
}

/* Return: the signal that ended the job, if the program has ended by one that we got, or
 * we have killed it because of a second one; 0: no signal has ended it. */
static int ended_by(const struct client *k, int code)
{
	const struct client_signals *s = &k->signals;

	if (code > 128 && code < 128 + 64 && s->got & (1ull << (code - 128)))
		return code - 128;
	return code == EXIT_KILLED && k->interrupts > 1 ? s->last : 0;
}

int run_client(const struct run_client *c)
{
	struct client k = {
		.c = c, .mount = CLIENT_MOUNT_NONE,
		.signals = CLIENT_SIGNALS_NONE, .program = { .fd = -1 },
		.draft = JOB_DRAFT(c, &k.program, &k.mount, &k.signals),
		.input = { .state = -1, .feed = -1, .pipe = { -1, -1 } },
	};
	int r;

	nonblocking_output_open(&k.out[0], STDOUT_FILENO);
	nonblocking_output_open(&k.out[1], STDERR_FILENO);
	r = check(&k);
	if (r == 0)
		r = client_mount_open(&k.mount, c, &k.signals);
	if (r == 0)
		r = run_job(&k);
	input_close(&k.input);
	job_draft_done(&k.draft, is_set(c, RUN_KEEP));
	nonblocking_output_close(&k.out[0]);
	nonblocking_output_close(&k.out[1]);
	program_done(&k.program);
	fd_close(&k.signals.fd);
	client_mount_close(&k.mount);
	client_die_of(ended_by(&k, r));
	return r;
}
