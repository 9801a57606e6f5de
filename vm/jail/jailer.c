/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jailer's process: makes jails, starts machines in them, kills and reaps
 * them. It is the only process with these rights. Its own root is that of the
 * jails, so it cannot open a file of the host either, and it keeps only the
 * capabilities that making jails needs.
 *
 * In order: what is possible on this host, its own rights, messages, the loop.
 * Owns struct jailer. It has one thread; jail_pages.c forks a helper.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/os/fdpass.h"
#include "jail_slot.h"
#include "jail_filter.h"
#include "jail_pages.h"
#include "jail_probe.h"
#include "jail_root.h"
#include "qemu_program.h"
#include "jailer.h"
#include "vm/os/rights.h"

/* --- namespaces and user ids -------------------------------------------- */

static const struct {
	unsigned long flag;
	enum wall wall;
	const char *detail;
} namespaces[] = {
	{ CLONE_NEWPID, WALL_PID, "it is alone, process 1" },
	{ CLONE_NEWNET, WALL_NET, "one interface, lo, and that is down" },
	{ CLONE_NEWIPC, WALL_IPC, "its own" },
	{ CLONE_NEWUTS, WALL_UTS, "its own; its host name is \"machine\"" },
	{ CLONE_NEWCGROUP, WALL_CGROUP_NS, "its own" },
};

/* status: exit status of a process that tried to set the names of a UTS namespace of its
 * own. A container's filter may forbid that call, whatever the capabilities. */
static void note_names(struct jailer *j, int status, struct walls *w)
{
	j->own_names = status == 0;
	if (!j->own_names)
		wall_set(w, WALL_UTS, WALL_DEGRADED, "its own, in which the names of this "
			 "system stay, such as a container's: sethostname: %s",
			 strerror(WEXITSTATUS(status)));
}

/* Tries each namespace alone, so that the missing ones can be named. */
static void try_namespaces(struct jailer *j, struct walls *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		struct clone_args args = {
			.flags = namespaces[i].flag, .exit_signal = SIGCHLD,
		};
		long pid = syscall(SYS_clone3, &args, sizeof(args));
		int status;

		if (pid == 0)
			_exit(namespaces[i].flag == CLONE_NEWUTS ?
			      -jail_child_set_names() : 0);
		if (pid < 0) {
			wall_set(w, namespaces[i].wall, WALL_ABSENT, "%s",
				 strerror(errno));
			continue;
		}
		waitpid((pid_t)pid, &status, 0);
		if (namespaces[i].flag == CLONE_NEWCGROUP)
			j->cgroup_ns = true;
		else
			j->clone_flags |= namespaces[i].flag;
		wall_set(w, namespaces[i].wall, WALL_ACTIVE, "%s",
			 namespaces[i].detail);
		if (namespaces[i].flag == CLONE_NEWUTS)
			note_names(j, status, w);
	}
}

static int write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Enters a user namespace, if not root: capabilities there have no effect
 * outside. */
static int enter_user_namespace(struct walls *w)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		wall_set(w, WALL_USER_NS, WALL_ABSENT, "%s", strerror(errno));
		return -errno;
	}
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	r = write_file("/proc/self/uid_map", map);
	if (r == 0)
		r = write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (r == 0)
		r = write_file("/proc/self/gid_map", map);
	if (r < 0) {
		wall_set(w, WALL_USER_NS, WALL_ABSENT, "%s", strerror(-r));
		return r;
	}
	wall_set(w, WALL_USER_NS, WALL_ACTIVE, "capabilities end at it");
	wall_set(w, WALL_USER, WALL_DEGRADED, "machines run as user %u, as "
		 "fsd does, in a namespace in which it owns nothing", uid);
	return 0;
}

static int open_leases(struct jailer *j, struct walls *w)
{
	int r = uids_open(&j->uids);

	if (r < 0) {
		wall_set(w, WALL_USER, WALL_ABSENT, UIDS_DIR ": %s", strerror(-r));
		return r;
	}
	wall_set(w, WALL_USER, WALL_ACTIVE, "each its own, of %u to %u",
		 j->uids.first, j->uids.first + j->uids.count - 1);
	return 0;
}

/* As root: makes a mount namespace and uses a range of user ids. Else: a user
 * namespace. */
static int take_context(struct jailer *j, struct walls *w)
{
	if (geteuid() == 0 && uids_fit(&j->uids) && unshare(CLONE_NEWNS) == 0) {
		open_leases(j, w);
		wall_set(w, WALL_USER_NS, WALL_ABSENT, "not needed: a user id "
			 "of its own, and no capability");
		return 0;
	}
	return enter_user_namespace(w);
}

static int make_filters(struct jailer *j, struct err *err)
{
	static const unsigned where[FILTERS] = {
		[FILTER_OF_RESTORE] = FILTER_RESTORE | FILTER_TCG,
		[FILTER_OF_BOOT] = FILTER_BOOT | FILTER_TCG,
		[FILTER_OF_RESTORE + 2] = FILTER_RESTORE | FILTER_KVM,
		[FILTER_OF_BOOT + 2] = FILTER_BOOT | FILTER_KVM,
		[FILTER_OF_ZYGOTE] = FILTER_ZYGOTE | FILTER_TCG,
		[FILTER_OF_FORK] = FILTER_FORK | FILTER_TCG,
		[FILTER_OF_RELAY] = FILTER_RELAY | FILTER_TCG,
	};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < FILTERS; i++)
		r = jail_filter_make(where[i], &j->filter[i], err);
	return r;
}

static void enter_root(struct jailer *j, const struct jail_files *files,
		       bool kvm, struct walls *w)
{
	static const char *const inside[] = { JAIL_QEMU, NULL };
	struct err err = { 0 };

	if (jail_root_enter(files, kvm, &err) < 0) {
		wall_set(w, WALL_ROOT, WALL_ABSENT, "%s", err.text);
		return;
	}
	j->qemu = inside;
	j->kernel = JAIL_KERNEL;
	j->initrd = JAIL_INITRD;
	j->zygotes = true;
	wall_set(w, WALL_ROOT, WALL_ACTIVE, "read-only, %u files, all QEMU's "
		 "and the kernel's", files->count);
}

/* --- its own rights
 * ------------------------------------------------------------------ */

static const unsigned kept[] = {
	CAP_SYS_ADMIN, /* makes namespaces */
	/* a child changes its ids and drops the rest */
	CAP_SETUID, CAP_SETGID, CAP_SETPCAP,
	CAP_KILL, /* machines run as other users */
	CAP_DAC_OVERRIDE, /* the top of a cgroup tree may be read-only */
};

/* --- messages
 * ------------------------------------------------------------------------- */

static void answer(const struct jailer *j, const struct jail_answer *a)
{
	/*
	 * If the server has closed its end, the jailer ends in its next turn.
	 */
	send(j->sock, a, sizeof(*a), MSG_NOSIGNAL);
}

static void refuse(const struct jailer *j, uint32_t id, struct jail_word word)
{
	struct jail_answer a = {
		.version = JAIL_VERSION, .said = JAIL_ENDED, .id = id,
		.step = word.step, .code = word.code,
	};

	answer(j, &a);
}

static struct jail_slot *find_slot(struct jailer *j, uint32_t id)
{
	for (unsigned i = 0; i < j->slot_count; i++)
		if (j->slots[i].pid && j->slots[i].id == id)
			return &j->slots[i];
	return NULL;
}

/* Adopts a machine. If it has ended, reports that again: the first report may have gone
 * to the dead server. */
static void keep(struct jailer *j, uint32_t id)
{
	struct jail_slot *c = find_slot(j, id);

	if (c)
		c->kept = true;
	else
		refuse(j, id, (struct jail_word){ JAIL_STEP_NONE, -ESRCH });
}

/* Starts an adoption. Forgets what an earlier server has adopted, which may have been
 * killed in the middle. */
static void adopt(struct jailer *j)
{
	for (unsigned i = 0; i < j->slot_count; i++)
		j->slots[i].kept = false;
}

static void sweep(struct jailer *j)
{
	for (unsigned i = 0; i < j->slot_count; i++) {
		struct jail_slot *c = &j->slots[i];

		if (c->pid && !c->kept)
			jail_slot_kill(c);
	}
}

/* Reports the memory of a machine. If the machine has ended, its ENDED is answer
 * enough. */
static void tell_cost(struct jailer *j, const struct jail_slot *c)
{
	struct jail_answer a = {.version = JAIL_VERSION, .said = JAIL_COSTS};

	if (!c)
		return;
	a.id = c->id;
	a.code = jail_slot_cost(j, c);
	answer(j, &a);
}

static void perform(struct jailer *j, const struct jail_request *q, int *fds,
		    unsigned fd_count)
{
	struct jail_word word;
	struct jail_slot *c;

	switch ((enum jail_op)q->op) {
	case JAIL_START:
		if (!jail_slot_start(j, q, fds, fd_count, &word))
			refuse(j, q->id, word);
		return;
	case JAIL_KILL:
		c = find_slot(j, q->id);
		if (c)
			jail_slot_kill(c);
		return;
	case JAIL_ADOPT:
		adopt(j);
		return;
	case JAIL_KEEP:
		keep(j, q->id);
		return;
	case JAIL_TEACH:
		jail_slot_teach(j, find_slot(j, q->id), q->zygote);
		return;
	case JAIL_COST:
		tell_cost(j, find_slot(j, q->id));
		return;
	default:
		sweep(j);
	}
}

/*
 * Handles one message. Return: false if no process has the other end any more.
 */
static bool receive(struct jailer *j)
{
	struct jail_request q;
	char bytes[sizeof(q) + 1];
	int fds[JAIL_FDS_MAX];
	unsigned count;
	ssize_t n = fdpass_receive(j->sock, bytes, sizeof(bytes), fds,
				   ARRAY_SIZE(fds), &count, MSG_DONTWAIT);

	if (n <= 0)
		return n == -EAGAIN;
	if (jail_request_check(bytes, (size_t)n, count, &q, NULL) == 0 &&
	    (q.op != JAIL_START || jail_fds_check(&q, fds, NULL) == 0)) {
		perform(j, &q, fds, count);
		return true;
	}
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	if (n == (ssize_t)sizeof(q) && q.version == JAIL_VERSION &&
	    q.op == JAIL_START && count < jail_fd_count(&q)) {
		/* too few descriptors came: none were free */
		refuse(j, q.id, (struct jail_word){ JAIL_STEP_FDS, -EMFILE });
		return true;
	}
	/* A server that sends a wrong message is not trusted any more. */
	return false;
}

/* --- the loop
 * --------------------------------------------------------------------------- */

#define PER_SLOT 3

static unsigned fill(const struct jailer *j, struct pollfd *p)
{
	unsigned n = 0;

	p[n++] = (struct pollfd){ .fd = j->sock, .events = POLLIN };
	for (unsigned i = 0; i < j->slot_count; i++) {
		const struct jail_slot *c = &j->slots[i];

		p[n++] = (struct pollfd){ .fd = c->pid ? c->status : -1,
					  .events = POLLIN };
		p[n++] = (struct pollfd){ .fd = c->pid ? c->listener : -1,
					  .events = POLLIN };
		p[n++] = (struct pollfd){ .fd = c->pid ? c->pidfd : -1,
					  .events = POLLIN };
	}
	return n;
}

static void turn_slot(struct jailer *j, struct jail_slot *c, const struct pollfd *p)
{
	struct jail_answer a;

	if (!c->pid)
		return;
	if (p[0].revents && c->status == p[0].fd)
		jail_slot_heard(c);
	if (p[1].revents && c->listener == p[1].fd)
		jail_slot_asked(c);
	if (p[2].revents && c->pidfd == p[2].fd) {
		jail_slot_reap(j, c, &a);
		answer(j, &a);
	}
}

static bool turn(struct jailer *j)
{
	unsigned slots = j->slot_count, room = 1 + PER_SLOT * slots;
	struct pollfd *p = j->polls;

	if (room > j->poll_room) {
		p = realloc(p, room * sizeof(*p));
		if (!p)
			return false;
		j->polls = p;
		j->poll_room = room;
	}
	if (poll(p, fill(j, p), -1) < 0)
		return errno == EINTR;
	for (unsigned i = 0; i < slots; i++)
		turn_slot(j, &j->slots[i], p + 1 + i * PER_SLOT);
	if (j->strays)
		slots_reap_stray(j);
	return !p[0].revents || receive(j);
}

static void end(struct jailer *j)
{
	for (unsigned i = 0; i < j->slot_count; i++) {
		if (!j->slots[i].pid)
			continue;
		kill(j->slots[i].pid, SIGKILL);
		waitpid(j->slots[i].pid, NULL, 0);
	}
	jail_cgroups_close(&j->cgroups);
}

static int open_all(struct jailer *j, const char *qemu, bool kvm,
		    const char *image_dir, struct walls *w, struct err *err)
{
	static struct jail_files files;
	static struct qemu_program program;
	const struct rights_path paths[] = {
		{ .path = "/" }, { .path = "/dev/kvm", .write = true },
	};
	struct jail_probe probe;
	int r;

	qemu_program_find(qemu, &program);
	j->qemu = program.word;
	r = jail_files_find(&files, &program, image_dir, JAILER_FD_KERNEL,
			    JAILER_FD_INITRD, err);
	if (r == 0)
		r = make_filters(j, err);
	if (r < 0)
		return r;
	j->kernel = jail_file_of(&files, JAIL_KERNEL);
	j->initrd = jail_file_of(&files, JAIL_INITRD);
	j->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	jail_cgroups_open(&j->cgroups, w);
	jail_probe_open(&probe);
	if (take_context(j, w) == 0) {
		j->pages = jail_pages_begin();
		enter_root(j, &files, kvm, w);
	} else {
		wall_set(w, WALL_ROOT, WALL_ABSENT, "no mount namespace");
	}
	try_namespaces(j, w);
	j->landlock = rights_landlock(paths, kvm ? 2 : 1);
	r = jail_probe_run(&probe, j, w, err);
	return r < 0 ? r : rights_keep(kept, ARRAY_SIZE(kept));
}

int jailer_main(int argc, char **argv)
{
	struct walls walls = { 0 };
	struct jailer j = {
		.sock = JAILER_FD_SOCK, .landlock = -1, .pages = -1,
		.uids = { .dir = -1 },
	};
	struct err err = { 0 };
	bool kvm;

	if (argc != 7)
		return 2;
	prctl(PR_SET_NAME, "fsd-jailer");
	/* Stopping a service signals all of its processes. The jailer ends only
	 * after the server has, to remove the control groups. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* the reader of its standard error may have ended */
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	j.uids.first = (uint32_t)strtoul(argv[3], NULL, 10);
	j.uids.count = (uint32_t)strtoul(argv[4], NULL, 10);
	kvm = !strcmp(argv[5], "kvm");
	j.most = (unsigned)strtoul(argv[6], NULL, 10);
	if (open_all(&j, argv[1], kvm, argv[2], &walls, &err) < 0) {
		send(j.sock, &err, sizeof(err), MSG_NOSIGNAL);
		end(&j);
		return 1;
	}
	if (send(j.sock, &walls, sizeof(walls), MSG_NOSIGNAL) ==
	    (ssize_t)sizeof(walls))
		while (turn(&j))
			;
	end(&j);
	return 0;
}
