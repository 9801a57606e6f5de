/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts one QEMU in a jail, reads /proc about it, and records each wall as seen. Then
 * it starts a zygote, forks a child and compares the child's walls with the first
 * QEMU's.
 *
 * It runs in the jailer at its start and blocks until QEMU answers, at most 10 s a step.
 * /proc is opened before the jailer changes its root, since the new root has no real
 * one.
 */
#include "jail_probe.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/base/proc_status.h"
#include "vm/net/relay_wire.h"
#include "vm/os/loop.h"

#define GREETING_NS (10 * NS_PER_S)
/* /proc of another user's process. A container's root has no such right. */
#define UNSEEN "it cannot be looked at (%s); that takes the capability SYS_PTRACE"

void jail_probe_open(struct jail_probe *p)
{
	p->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* --- reading the kernel's view ------------------------------------------ */

static int read_status(int proc, pid_t pid, struct proc_status *ret)
{
	char path[64], text[PROC_STATUS_MAX];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/status", (int)pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	proc_status_parse(text, ret);
	return 0;
}

static const struct {
	const char *file;
	enum wall wall;
} namespace_files[] = {
	{ "pid", WALL_PID }, { "net", WALL_NET }, { "ipc", WALL_IPC },
	{ "uts", WALL_UTS }, { "cgroup", WALL_CGROUP_NS },
};

/* Return: 1: the namespace is not ours; 0: it is; or negative errno. */
static int differs(int proc, pid_t pid, const char *file)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "%d/ns/%s", (int)pid, file);
	if (readlinkat(proc, path, theirs, sizeof(theirs) - 1) < 0)
		return -errno;
	snprintf(path, sizeof(path), "self/ns/%s", file);
	if (readlinkat(proc, path, ours, sizeof(ours) - 1) < 0)
		return -errno;
	return strcmp(ours, theirs) != 0;
}

static void look_at_namespaces(int proc, pid_t pid, struct walls *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespace_files); i++) {
		enum wall wall = namespace_files[i].wall;
		int r = w->wall[wall].state == WALL_ABSENT ? 1 :
			differs(proc, pid, namespace_files[i].file);

		if (r == 0)
			wall_set(w, wall, WALL_ABSENT,
				 "a machine was seen in the daemon's own");
		else if (r < 0)
			wall_set(w, wall, WALL_ABSENT, UNSEEN, strerror(-r));
	}
}

/* Files that every host has must not be there. /tmp and /root are not in the list, as
 * QEMU may lie below them. */
static void look_at_root(int proc, pid_t pid, struct walls *w)
{
	static const char *const never[] = {
		"etc", "proc/version", "sys/kernel", "dev/null", "var", "run",
	};
	char path[64];

	if (w->wall[WALL_ROOT].state != WALL_ACTIVE)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		snprintf(path, sizeof(path), "%d/root/%s", (int)pid, never[i]);
		if (faccessat(proc, path, F_OK, 0) == 0)
			wall_set(w, WALL_ROOT, WALL_ABSENT,
				 "/%s was seen in a machine's root", never[i]);
		else if (errno != ENOENT)
			wall_set(w, WALL_ROOT, WALL_ABSENT, UNSEEN, strerror(errno));
	}
}

static void look_at_status(const struct jailer *j,
			   const struct proc_status *s, struct walls *w)
{
	const struct uid_range *u = &j->uids;

	if (w->wall[WALL_USER].state == WALL_ACTIVE &&
	    (!proc_ids_are(s->uid, u->first, u->count) ||
	     !proc_ids_are(s->gid, u->first, u->count) || s->groups))
		wall_set(w, WALL_USER, WALL_ABSENT,
			 "a machine was seen as user %u, group %u", s->uid[1],
			 s->gid[1]);
	if (s->caps || s->no_new_privs != 1)
		wall_set(w, WALL_CAPS, WALL_ABSENT, "capabilities %" PRIx64
			 ", no_new_privs %u were seen", s->caps,
			 s->no_new_privs);
	else
		wall_set(w, WALL_CAPS, WALL_ACTIVE,
			 "none in any set, no_new_privs");
	/* Two filters are expected: ours, and QEMU's. */
	if (s->seccomp == 2)
		wall_set(w, WALL_SECCOMP, WALL_ACTIVE, "a list of what QEMU "
			 "needs; anything else kills it");
	if (s->seccomp == 2 && s->filters != 1)
		wall_set(w, WALL_SANDBOX, WALL_ACTIVE, "-sandbox on, with all "
			 "its groups denied; of a machine that is forked the "
			 "outer list denies spawn and elevateprivileges");
}

static int look(const struct jail_probe *p, const struct jailer *j,
		const struct jail_slot *c, struct walls *w, struct err *err)
{
	struct proc_status seen;
	pid_t pid = c->pid;
	int r = read_status(p->proc, pid, &seen);

	if (r < 0)
		return err_sys(err, r, "/proc/%d of a machine", (int)pid);
	look_at_status(j, &seen, w);
	look_at_namespaces(p->proc, pid, w);
	look_at_root(p->proc, pid, w);
	if (w->wall[WALL_CGROUP].state != WALL_ABSENT &&
	    !jail_cgroups_hold(&j->cgroups, (unsigned)(c - j->slots), pid))
		wall_set(w, WALL_CGROUP, WALL_ABSENT,
			 "a machine was seen outside its own");
	if (j->landlock >= 0)
		wall_set(w, WALL_LANDLOCK, WALL_ACTIVE,
			 "files of its root may be read, nothing else");
	else
		wall_set(w, WALL_LANDLOCK, WALL_ABSENT,
			 "the kernel does not have it");
	wall_set(w, WALL_RLIMITS, WALL_ACTIVE, "no core dump, no file to "
		 "write, 256 descriptors, bounded threads");
	return 0;
}

/* --- the QEMU to inspect ------------------------------------------------ */

/* A QEMU to inspect, with our ends of its sockets. */
struct sample {
	struct jail_slot *slot;
	int qmp, said;
	int port; /* of a relay */
};

/* Waits until the QEMU sends something or ends. Return: 0, -ECHILD: it has ended,
 * -ETIMEDOUT. */
static int hear(struct sample *s)
{
	uint64_t until = now_ns() + GREETING_NS;
	struct jail_slot *c = s->slot;
	char text[512];

	for (uint64_t now; (now = now_ns()) < until;) {
		struct pollfd p[] = {
			{ .fd = c->status, .events = POLLIN },
			{ .fd = c->pidfd, .events = POLLIN },
			{ .fd = s->qmp, .events = POLLIN },
		};

		poll(p, 3, (int)((until - now) / NS_PER_MS) + 1);
		if (p[0].revents)
			jail_slot_heard(c);
		if (p[2].revents & POLLIN &&
		    recv(s->qmp, text, sizeof(text), 0) > 0)
			return 0;
		if (p[1].revents)
			return -ECHILD;
	}
	return -ETIMEDOUT;
}

static void explain(const struct jail_answer *a, int said, struct err *err)
{
	char words[256] = "";
	ssize_t n = read(said, words, sizeof(words) - 1);

	words[n > 0 ? n : 0] = '\0';
	words[strcspn(words, "\n")] = '\0';
	if (a->code < 0)
		err_sys(err, a->code, "QEMU does not start in a jail: %s",
			a->step < JAIL_STEPS ? jail_step_names[a->step] : "?");
	else if (WIFSIGNALED(a->code))
		err_set(err, -EIO, "QEMU does not run in a jail: signal %d%s%s",
			WTERMSIG(a->code), words[0] ? ": " : "", words);
	else
		err_set(err, -EIO, "QEMU does not run in a jail: status %d%s%s",
			WEXITSTATUS(a->code), words[0] ? ": " : "", words);
}

/* Makes the port of the relay to inspect: a socket pair, as a relay polls its port, which
 * /dev/null does not allow. */
static int give_port(struct sample *s, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	fd_close(theirs);
	*theirs = pair[1];
	s->port = pair[0];
	return 0;
}

/* Starts a QEMU of q's kind, with /dev/null in place of a machine's other descriptors. */
static int start(struct jailer *j, const struct jail_request *q,
		 struct sample *s, struct err *err)
{
	int qmp[2], said[2], fds[JAIL_FDS_MAX];
	unsigned count = q->kind == JAIL_PROBE_ZYGOTE ? JAIL_FD_LAYER :
							jail_fd_count(q);
	struct jail_word word;

	*s = (struct sample){ .qmp = -1, .said = -1, .port = -1 };
	if (socketpair(AF_UNIX, (q->kind == JAIL_RELAY ? SOCK_SEQPACKET : SOCK_STREAM) |
				SOCK_CLOEXEC, 0, qmp) < 0)
		return err_sys(err, -errno, "a monitor");
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0) {
		fd_close(&qmp[0]);
		fd_close(&qmp[1]);
		return err_sys(err, -errno, "a pipe");
	}
	s->qmp = qmp[0];
	s->said = said[0];
	fds[JAIL_FD_ERR] = said[1];
	fds[JAIL_FD_QMP] = qmp[1];
	for (unsigned i = JAIL_FD_QMP + 1; i < count; i++)
		fds[i] = fcntl(j->null, F_DUPFD_CLOEXEC, 0);
	if (q->kind == JAIL_RELAY && give_port(s, &fds[JAIL_FD_NET]) < 0) {
		for (unsigned i = 0; i < count; i++)
			fd_close(&fds[i]);
		return err_sys(err, -errno, "a relay's port");
	}
	s->slot = jail_slot_start(j, q, fds, count, &word);
	return s->slot ? 0 : err_sys(err, word.code, "no jail can be made: %s",
				     jail_step_names[word.step]);
}

/* Ends the QEMU. r: the result so far, which is returned; *err gets more details. */
static int finish(struct jailer *j, struct sample *s, int r, struct err *err)
{
	struct jail_answer a;

	if (s->slot) {
		jail_slot_kill(s->slot);
		jail_slot_reap(j, s->slot, &a);
		if (r == -ECHILD)
			explain(&a, s->said, err);
		else if (r == -ETIMEDOUT)
			err_set(err, r, "QEMU says nothing in a jail");
	}
	fd_close(&s->qmp);
	fd_close(&s->said);
	fd_close(&s->port);
	return r;
}

static const struct jail_request probe = {
	.version = JAIL_VERSION, .op = JAIL_START, .kind = JAIL_PROBE,
	.accel = VM_ACCEL_TCG, .memory_mib = 64, .cpus = 1,
};

static int run(const struct jail_probe *p, struct jailer *j, struct walls *w,
	       struct err *err)
{
	struct sample s;
	int r = start(j, &probe, &s, err);

	if (r == 0)
		r = hear(&s);
	if (r == 0)
		r = look(p, j, s.slot, w, err);
	return finish(j, &s, r, err);
}

/* --- a forked one ------------------------------------------------------- */

/* Sends a command to the monitor. An answer shows that QEMU's main thread runs. */
static int ask(struct sample *s, const char *command)
{
	if (send(s->qmp, command, strlen(command), MSG_NOSIGNAL) < 0)
		return -errno;
	return hear(s);
}

/* Checks that the forked QEMU has at least the walls of the executed one. */
static int compare(const struct walls *w, const struct walls *forked,
		   struct err *err)
{
	for (unsigned i = 0; i < WALLS; i++)
		if (forked->wall[i].state < w->wall[i].state)
			return err_set(err, -EPERM, "%s: %s",
				       wall_infos[i].name,
				       forked->wall[i].detail);
	return 0;
}

/* Checks that the zygote's filter is still active in the forked process, above
 * its own. */
static int count_lists(const struct jail_probe *p, pid_t zygote, pid_t child,
		       struct err *err)
{
	struct proc_status above, own;
	int r = read_status(p->proc, zygote, &above);

	if (r == 0)
		r = read_status(p->proc, child, &own);
	if (r < 0)
		return err_sys(err, r, "/proc of a zygote and its child");
	return own.filters > above.filters ? 0 :
		err_set(err, -EPERM, "it was seen with %u lists of calls, "
			"where the zygote has %u", own.filters,
			above.filters);
}

static int fork_and_look(const struct jail_probe *p, struct jailer *j,
			 const struct jail_slot *zygote, const struct walls *w,
			 struct err *err)
{
	struct jail_request q = probe;
	pid_t zygote_pid = zygote->pid;
	struct walls forked = *w;
	struct sample s;
	int r;

	q.kind = JAIL_FORK;
	q.zygote = zygote->id;
	/* look() sets these two walls only to ACTIVE, so they start as ABSENT. */
	forked.wall[WALL_SECCOMP].state = WALL_ABSENT;
	forked.wall[WALL_SANDBOX].state = WALL_ABSENT;
	r = start(j, &q, &s, err);
	if (r == 0)
		r = ask(&s, "{\"execute\":\"query-status\"}\n");
	if (r == 0)
		r = look(p, j, s.slot, &forked, err);
	if (r == 0)
		r = compare(w, &forked, err);
	if (r == 0 && w->wall[WALL_SECCOMP].state == WALL_ACTIVE)
		r = count_lists(p, zygote_pid, s.slot->pid, err);
	return finish(j, &s, r, err);
}

static int try_zygote(const struct jail_probe *p, struct jailer *j,
		      const struct walls *w, struct err *err)
{
	struct jail_request q = probe;
	struct sample s;
	int r;

	q.kind = JAIL_PROBE_ZYGOTE;
	q.id = 1;
	r = start(j, &q, &s, err);
	if (r == 0)
		r = hear(&s);
	if (r == 0)
		r = ask(&s, "{\"execute\":\"qmp_capabilities\"}\n");
	if (r < 0)
		return finish(j, &s, r, err);
	r = fork_and_look(p, j, s.slot, w, err);
	finish(j, &s, 0, NULL);
	return r;
}

/* Sets w->forks: machines may be forked only if a forked QEMU had the same
 * walls. */
static void look_at_zygotes(const struct jail_probe *p, struct jailer *j,
			    struct walls *w)
{
	struct err err = { 0 };

	w->forks = j->zygotes && try_zygote(p, j, w, &err) == 0;
	if (w->forks || !j->zygotes)
		return;
	j->zygotes = false;
	wall_set(w, WALL_SANDBOX, w->wall[WALL_SANDBOX].state,
		 "-sandbox on, with all its groups denied; machines are not "
		 "forked: %s", err.text);
}

/* --- a relay ------------------------------------------------------------ */

/* Starts a relay, with an account and a port of this process, and inspects it once it has
 * sent READY: then its filter is installed. */
static int try_relay(const struct jail_probe *p, struct jailer *j, const struct walls *w,
		     struct err *err)
{
	struct jail_request q = probe;
	struct relay_order order = { .version = RELAY_VERSION, .op = RELAY_START,
				     .connections = 1, .rate = 1, .bytes = 1 };
	struct walls relay = *w;
	struct sample s;
	int r;

	q.kind = JAIL_RELAY;
	relay.wall[WALL_SECCOMP].state = WALL_ABSENT;
	r = start(j, &q, &s, err);
	if (r == 0 && send(s.qmp, &order, sizeof(order), MSG_NOSIGNAL) < 0)
		r = err_sys(err, -errno, "a relay's account");
	if (r == 0)
		r = hear(&s);
	if (r == 0)
		r = look(p, j, s.slot, &relay, err);
	/* WALL_SANDBOX is QEMU's own second filter; a relay needs none */
	relay.wall[WALL_SANDBOX].state = w->wall[WALL_SANDBOX].state;
	if (r == 0)
		r = compare(w, &relay, err);
	return finish(j, &s, r, err);
}

/* Sets WALL_RELAY: jobs may have a network only if a relay had the walls of a QEMU. */
static void look_at_relays(const struct jail_probe *p, struct jailer *j, struct walls *w)
{
	struct err err = { 0 };

	j->relays = true;
	j->relays = try_relay(p, j, w, &err) == 0;
	if (j->relays)
		wall_set(w, WALL_RELAY, WALL_ACTIVE, "those of a QEMU; its own list of "
			 "calls has no socket, connect, open and execve");
	else
		wall_set(w, WALL_RELAY, WALL_ABSENT, "%.180s", err.text);
}

int jail_probe_run(struct jail_probe *p, struct jailer *j, struct walls *w,
		   struct err *err)
{
	int r = p->proc < 0 ? err_set(err, -ENOENT, "there is no /proc") :
			      run(p, j, w, err);

	if (r == 0)
		look_at_zygotes(p, j, w);
	if (r == 0)
		look_at_relays(p, j, w);
	fd_close(&p->proc);
	return r;
}
