/* SPDX-License-Identifier: Apache-2.0 */
#include "jail_probe.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../layout/base/cleanup.h"
#include "../layout/base/num.h"
#include "../layout/base/proc_status.h"
#include "loop.h"

#define GREETING_NS (10 * NS_PER_S)

void jail_probe_open(struct jail_probe *p)
{
	p->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* --- what the kernel says --------------------------------------------------------- */

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

static bool differs(int proc, pid_t pid, const char *file)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "%d/ns/%s", (int)pid, file);
	if (readlinkat(proc, path, theirs, sizeof(theirs) - 1) < 0)
		return false;
	snprintf(path, sizeof(path), "self/ns/%s", file);
	return readlinkat(proc, path, ours, sizeof(ours) - 1) > 0 &&
	       strcmp(ours, theirs) != 0;
}

static void look_at_namespaces(int proc, pid_t pid, struct walls *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespace_files); i++) {
		enum wall wall = namespace_files[i].wall;

		if (w->wall[wall].state == WALL_ACTIVE &&
		    !differs(proc, pid, namespace_files[i].file))
			wall_set(w, wall, WALL_ABSENT,
				 "a machine was seen in the daemon's own");
	}
}

/* Files that every host has must not be there. */
static void look_at_root(int proc, pid_t pid, struct walls *w)
{
	static const char *const never[] = {
		"etc", "proc/version", "sys/kernel", "dev/null", "tmp", "root",
	};
	char path[64];

	if (w->wall[WALL_ROOT].state != WALL_ACTIVE)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		snprintf(path, sizeof(path), "%d/root/%s", (int)pid, never[i]);
		if (faccessat(proc, path, F_OK, 0) == 0 || errno != ENOENT)
			wall_set(w, WALL_ROOT, WALL_ABSENT,
				 "/%s was seen in a machine's root", never[i]);
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
	/* Ours, and QEMU's above it. */
	if (s->seccomp == 2)
		wall_set(w, WALL_SECCOMP, WALL_ACTIVE, "a list of what QEMU "
			 "needs; anything else kills it");
	if (s->seccomp == 2 && s->filters != 1)
		wall_set(w, WALL_SANDBOX, WALL_ACTIVE, "-sandbox on, with all "
			 "its groups denied");
}

static int look(const struct jail_probe *p, const struct jailer *j, pid_t pid,
		struct walls *w, struct err *err)
{
	struct proc_status seen;
	int r = read_status(p->proc, pid, &seen);

	if (r < 0)
		return err_sys(err, r, "/proc/%d of a machine", (int)pid);
	look_at_status(j, &seen, w);
	look_at_namespaces(p->proc, pid, w);
	look_at_root(p->proc, pid, w);
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

/* --- the machine that is looked at --------------------------------------------------- */

/* Until it greets, or ends. Return: 0, -ECHILD (it ended), -ETIMEDOUT. */
static int wait_for_greeting(struct cell *c, int qmp)
{
	uint64_t until = now_ns() + GREETING_NS;
	char text[512];

	for (uint64_t now; (now = now_ns()) < until;) {
		struct pollfd p[] = {
			{ .fd = c->status, .events = POLLIN },
			{ .fd = c->pidfd, .events = POLLIN },
			{ .fd = qmp, .events = POLLIN },
		};

		poll(p, 3, (int)((until - now) / NS_PER_MS) + 1);
		if (p[0].revents)
			cell_heard(c);
		if (p[2].revents & POLLIN && recv(qmp, text, sizeof(text), 0) > 0)
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

static int run(const struct jail_probe *p, struct jailer *j, struct walls *w,
	       struct err *err)
{
	struct jail_request q = {
		.version = JAIL_VERSION, .op = JAIL_START, .kind = JAIL_PROBE,
		.accel = VM_ACCEL_TCG, .memory_mib = 64, .cpus = 1,
	};
	int qmp[2], said[2], r;
	struct jail_answer a;
	struct jail_word word;
	struct cell *c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) < 0)
		return err_sys(err, -errno, "a monitor");
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0) {
		fd_close(&qmp[0]);
		fd_close(&qmp[1]);
		return err_sys(err, -errno, "a pipe");
	}
	c = cell_start(j, &q, (int[]){ said[1], qmp[1] }, 2, &word);
	if (!c) {
		r = err_sys(err, word.code, "no jail can be made: %s",
			    jail_step_names[word.step]);
	} else {
		r = wait_for_greeting(c, qmp[0]);
		if (r == 0)
			r = look(p, j, c->pid, w, err);
		kill(c->pid, SIGKILL);
		cell_reap(j, c, &a);
		if (r == -ECHILD)
			explain(&a, said[0], err);
		else if (r == -ETIMEDOUT)
			err_set(err, r, "QEMU says nothing in a jail");
	}
	fd_close(&qmp[0]);
	fd_close(&said[0]);
	return r;
}

int jail_probe_run(struct jail_probe *p, struct jailer *j, struct walls *w,
		   struct err *err)
{
	int r = p->proc < 0 ? err_set(err, -ENOENT, "there is no /proc") :
			      run(p, j, w, err);

	fd_close(&p->proc);
	return r;
}
