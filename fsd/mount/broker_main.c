/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's process: serves one request after the other, on one thread,
 * until the server closes its socket. Keeps only the capabilities listed in
 * `kept`.
 */
#include "broker_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fsd/network/ports.h"
#include "vm/os/rights.h"
#include "mountpoint.h"
#include "mount_table.h"
#include "inotify.h"

/* The processes that the broker has started, of each kind at most so many. Of INOTIFY
 * usually one lives, and two while the last one ends; of BIND one for each socket that is
 * being bound (port_bind.c asks for fewer at a time). */
#define HELPERS_MAX 4u
#define BINDS_MAX 16u
#define DOORS_MAX 4u

struct self {
	const char *mountpoint, *others;
	dev_t device; /* the mount's, once it was seen; 0: not yet */
	const char *const *door; /* borrowed: the arguments of fsd-door; or empty */
	pid_t helper[HELPERS_MAX], bind[BINDS_MAX], doors[DOORS_MAX]; /* 0: none */
};

struct reply {
	struct broker_answer answer;
	int fds[BROKER_FDS_MAX];
	unsigned fd_count;
};

/*
 * Opens the root of the mount. A clone belongs to no directory tree, so it does
 * not make an umount of the mount point fail as busy. Without the right to
 * clone, opens the root itself. Return: a descriptor or negative errno.
 */
static int open_root(const struct self *me, bool *ret_is_clone)
{
	int fd = open_tree(AT_FDCWD, me->mountpoint,
			   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	*ret_is_clone = fd >= 0;
	if (fd < 0)
		fd = open(me->mountpoint, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int do_clone(struct self *me, struct reply *r,
		    const struct broker_request *q)
{
	bool is_clone;
	int fd = open_root(me, &is_clone);

	(void)q;
	if (fd < 0)
		return fd;
	r->answer.is_clone = is_clone;
	if (!me->device)
		me->device = mounts_device(me->mountpoint);
	r->fds[r->fd_count++] = fd;
	return 0;
}

/*
 * Starts a process, if one of the places for process ids is free. Adds `ours` (consumed)
 * and the process's pidfd to the answer.
 */
static int start(struct reply *r, pid_t *places, unsigned most,
		 const struct spawn *s, int ours)
{
	struct child c;
	unsigned i = 0;
	int code;

	while (i < most && places[i])
		i++;
	code = i < most ? spawn(s, &c, NULL) : -EAGAIN;
	if (code < 0) {
		close(ours);
		return code;
	}
	places[i] = c.pid;
	fd_close(&c.stderr_fd);
	r->answer.pid = c.pid;
	r->fds[r->fd_count++] = ours;
	r->fds[r->fd_count++] = c.pidfd;
	return 0;
}

static void forget(pid_t *places, unsigned most, pid_t pid)
{
	for (unsigned i = 0; i < most; i++)
		if (places[i] == pid)
			places[i] = 0;
}

static void reap(struct self *me)
{
	pid_t pid; /* may also be a fusermount3 */

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		forget(me->helper, HELPERS_MAX, pid);
		forget(me->bind, BINDS_MAX, pid);
		forget(me->doors, DOORS_MAX, pid);
	}
}

static int do_inotify(struct self *me, struct reply *r,
		      const struct broker_request *q)
{
	const char *argv[] = { "/proc/self/exe", INOTIFY_COMMAND, me->others,
			       NULL };
	auto_close int theirs = -1;
	int pair[2];

	(void)q;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	theirs = pair[1];
	return start(r, me->helper, HELPERS_MAX,
		     &(struct spawn){ .argv = argv, .fds = &theirs, .fd_count = 1 },
		     pair[0]);
}

static int do_door(struct self *me, struct reply *r, const struct broker_request *q)
{
	auto_close int theirs = -1;
	int pair[2];

	(void)q;
	if (!me->door[0])
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	theirs = pair[1];
	return start(r, me->doors, DOORS_MAX,
		     &(struct spawn){ .argv = me->door, .fds = &theirs, .fd_count = 1 },
		     pair[0]);
}

/* bind(2) waits for the server, so a process of its own does it. */
static int do_bind(struct self *me, struct reply *r,
		   const struct broker_request *q)
{
	char name[PORTS_NAME_SIZE];
	const char *argv[] = { "/proc/self/exe", PORT_COMMAND, name, NULL };
	bool is_clone;
	auto_close int root = open_root(me, &is_clone);
	int sock;

	if (root < 0)
		return root;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	ports_name(q->owner, q->port, name);
	return start(r, me->bind, BINDS_MAX,
		     &(struct spawn){ .argv = argv, .fd_count = 2,
				      .fds = (const int[]){ sock, root } }, sock);
}

int port_main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int sock = SPAWN_FD_FIRST, root = SPAWN_FD_FIRST + 1;
	int n = argc == 2 ? snprintf(at.sun_path, sizeof(at.sun_path), PORTS_DIR "/%s",
				     argv[1]) : -1;

	if (n < 0 || n >= (int)sizeof(at.sun_path))
		return 2;
	umask(0);
	return fchdir(root) < 0 ||
	       bind(sock, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	       listen(sock, SOMAXCONN) < 0;
}

static int do_call(struct self *me, struct reply *r,
		    const struct broker_request *q)
{
	uint64_t *call = r->answer.call;
	unsigned long long word[BROKER_CALL_WORDS];
	char name[64];
	auto_fclose FILE *f = NULL;

	(void)me;
	snprintf(name, sizeof(name), "/proc/%d/syscall", (int)q->pid);
	f = fopen(name, "re");
	if (!f)
		return -errno;
	/* The first field is decimal, or the word "running". */
	if (fscanf(f, "%llu %llx %llx %llx", &word[0], &word[1], &word[2],
		   &word[3]) != BROKER_CALL_WORDS)
		return -ENODATA;
	for (int i = 0; i < BROKER_CALL_WORDS; i++)
		call[i] = word[i];
	return 0;
}

/* Most descriptors of a process to check; with more the check would take too
 * long. */
#define OPENS_MOST 512

static bool is_open_as(pid_t pid, const char *fd, uint64_t ino)
{
	unsigned long long number;
	char name[300], line[128];
	auto_fclose FILE *f = NULL;

	snprintf(name, sizeof(name), "/proc/%d/fdinfo/%s", (int)pid, fd);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ino: %llu", &number) == 1)
			return number == ino;
	return false;
}

static int do_opens(struct self *me, struct reply *r,
		    const struct broker_request *q)
{
	char name[64];
	struct dirent *e;
	int found = 0;
	DIR *dir;

	(void)me;
	(void)r;
	snprintf(name, sizeof(name), "/proc/%d/fdinfo", (int)q->pid);
	dir = opendir(name);
	if (!dir)
		return -errno;
	for (int n = 0; !found && n < OPENS_MOST && (e = readdir(dir)); n++)
		found = e->d_name[0] != '.' &&
			is_open_as(q->pid, e->d_name, q->ino);
	closedir(dir);
	return found;
}

static int do_umount(struct self *me, struct reply *r,
		    const struct broker_request *q)
{
	(void)r;
	(void)q;
	if (!me->device)
		me->device = mounts_device(me->mountpoint);
	return mountpoint_remove(me->device);
}

static int (*const operations[BROKER_OPS])(struct self *me,
					   struct reply *r,
					   const struct broker_request *q) = {
	[BROKER_CLONE] = do_clone, [BROKER_INOTIFY] = do_inotify,
	[BROKER_CALL] = do_call, [BROKER_UMOUNT] = do_umount,
	[BROKER_OPENS] = do_opens, [BROKER_BIND] = do_bind,
	[BROKER_DOOR] = do_door,
};

/* Serves one request. Return: false when the server has ended, or has sent a
 * wrong message. */
static bool serve_one(int sock, struct self *me)
{
	struct broker_request q = { 0 };
	struct reply r = { 0 };
	unsigned count;
	int fd;
	ssize_t n = fdpass_receive(sock, &q, sizeof(q), &fd, 1, &count, 0);

	if (count)
		close(fd);
	reap(me);
	if (n != (ssize_t)sizeof(q) || count || q.op >= BROKER_OPS ||
	    !operations[q.op])
		return false;
	r.answer.code = operations[q.op](me, &r, &q);
	n = fdpass_send(sock, &r.answer, sizeof(r.answer), r.fds, r.fd_count,
			0);
	while (r.fd_count)
		close(r.fds[--r.fd_count]);
	return n == (ssize_t)sizeof(r.answer);
}

static const unsigned kept[] = {
	CAP_SYS_ADMIN, /* clones the mount, and unmounts it */
	CAP_SYS_PTRACE, /* reads the system call of another user's process */
	/* the helper and the door need these to give up their rights */
	CAP_SETUID, CAP_SETGID, CAP_SYS_CHROOT,
	/* the door alone needs this, to empty its bounding set. It must be the last one:
	 * broker_main() leaves it out if there is no door. */
	CAP_SETPCAP,
};

int broker_main(int argc, char **argv)
{
	struct self me;

	if (argc < 3)
		return 2;
	me = (struct self){
		.mountpoint = argv[1], .others = argv[2],
		.door = (const char *const *)(uintptr_t)(argv + 3),
	};
	prctl(PR_SET_NAME, "fsd-broker");
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_IGN); /* the broker ends with its server, not by a signal */
	if (geteuid() == 0 && rights_keep(kept, ARRAY_SIZE(kept) - !argv[3]) < 0)
		return 1;
	while (serve_one(SPAWN_FD_FIRST, &me))
		;
	return 0;
}
