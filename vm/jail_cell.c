/* SPDX-License-Identifier: Apache-2.0 */
#include "jail_cell.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../layout/base/cleanup.h"
#include "../layout/base/num.h"
#include "fdpass.h"
#include "jail_root.h"

#define CELLS_MORE 16
#define QEMU_MIB 1024u  /* of addresses, beside the guest's memory */
#define THREADS_MAX 128 /* of one user id, beside one a processor */

/* --- user ids ------------------------------------------------------------------ */

/*
 * One that nobody else has leased, of any daemon on this host: a lock on a file
 * of its name, which ends with its holder. Where ids are not changed it stays
 * 0 and there is no lock. Return: 0 or negative errno.
 */
static int lease_uid(struct uid_range *u, uid_t *ret, int *ret_lock)
{
	char name[16];

	*ret = 0;
	if (u->dir < 0)
		return 0;
	for (uint32_t tried = 0; tried < u->count; tried++) {
		uid_t uid = u->first + u->next++ % u->count;
		int fd;

		snprintf(name, sizeof(name), "%u", uid);
		fd = openat(u->dir, name, O_RDONLY | O_CREAT | O_CLOEXEC |
			    O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			*ret = uid;
			*ret_lock = fd;
			return 0;
		}
		close(fd);
	}
	return -EUSERS;
}

/* --- cells --------------------------------------------------------------------- */

static struct cell *free_cell(struct jailer *j, struct jail_word *word)
{
	struct cell *more, *found = NULL;
	unsigned living = 0;

	for (unsigned i = 0; i < j->cell_count; i++) {
		living += j->cells[i].pid != 0;
		if (!found && !j->cells[i].pid)
			found = &j->cells[i];
	}
	*word = (struct jail_word){ JAIL_STEP_MOST, -EAGAIN };
	if (living >= j->most)
		return NULL;
	*word = (struct jail_word){ JAIL_STEP_UID, -ENOMEM };
	if (found)
		return found;
	more = realloc(j->cells, (j->cell_count + CELLS_MORE) * sizeof(*more));
	if (!more)
		return NULL;
	j->cells = more;
	memset(more + j->cell_count, 0, CELLS_MORE * sizeof(*more));
	j->cell_count += CELLS_MORE;
	return &more[j->cell_count - CELLS_MORE];
}

static void clear(struct cell *c)
{
	fd_close(&c->pidfd);
	fd_close(&c->status);
	fd_close(&c->listener);
	fd_close(&c->ram);
	fd_close(&c->lease);
	c->pid = 0;
}

unsigned filter_index(bool boot, bool kvm)
{
	return (boot ? 1u : 0) + (kvm ? 2u : 0);
}

static int make_argv(const struct jailer *j, const struct jail_request *q,
		     struct argv *a)
{
	struct argv_spec s = {
		.qemu = j->qemu, .kernel = j->kernel, .initrd = j->initrd,
		.accel = (enum vm_accel)q->accel,
		.cls = { .memory_mib = q->memory_mib, .cpus = q->cpus },
		.boot = q->kind == JAIL_BOOT, .tsc_khz = q->tsc_khz,
	};

	return q->kind == JAIL_PROBE ? argv_probe(j->qemu, a) :
				       argv_make(&s, a);
}

/* In a child of ours, in all its namespaces. */
static pid_t clone_child(const struct jailer *j, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = j->clone_flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : (pid_t)pid;
}

static int prepare(struct jailer *j, const struct jail_request *q, int *fds,
		   unsigned fd_count, struct cell *c, struct jail_child *child)
{
	bool boot = q->kind == JAIL_BOOT;
	int pair[2], r;

	*child = (struct jail_child){
		.null = j->null, .fd_count = fd_count, .status = -1,
		.landlock = j->landlock,
		.own_uts = j->clone_flags & CLONE_NEWUTS,
		.own_cgroup_ns = j->cgroup_ns,
		/* A restored machine writes to no file at all. */
		.file_bytes = boot ? (uint64_t)q->memory_mib << 20 : 0,
		.filter = j->filter[filter_index(boot,
						 q->accel == VM_ACCEL_KVM)],
	};
	memcpy(child->fds, fds, fd_count * sizeof(*fds));
	r = lease_uid(&j->uids, &child->uid, &c->lease);
	if (r < 0)
		return r;
	/* Where no control group bounds its memory. */
	if (j->cgroups.base[0] < 0)
		child->address_bytes = ((uint64_t)q->memory_mib + QEMU_MIB)
				       << 20;
	child->threads = child->uid ? THREADS_MAX + q->cpus : 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	c->status = pair[0];
	child->status = pair[1];
	if (q->kind != JAIL_PROBE)
		c->ram = take_fd(&fds[JAIL_FD_RAM]);
	return 0;
}

static void close_all(int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fd_close(&fds[i]);
}

/* From the clone to "go". */
static uint32_t launch(struct jailer *j, const struct jail_request *q,
		       struct cell *c, struct jail_child *child, int *ret_code)
{
	c->pid = clone_child(j, &c->pidfd);
	if (c->pid == 0)
		jail_child_main(child);
	fd_close(&child->status);
	if (c->pid < 0) {
		*ret_code = c->pid;
		return JAIL_STEP_CLONE;
	}
	/* It fails when the child is dead already: then its end says so. */
	send(c->status, "", 1, MSG_NOSIGNAL);
	/*
	 * To move a process to another group takes the kernel up to 10 ms, in
	 * which this one is on its way down. It is there before its guest runs,
	 * for its RAM comes from here, later.
	 */
	*ret_code = jail_cgroups_enter(&j->cgroups, (unsigned)(c - j->cells),
				       c->pid, q->memory_mib, q->cpus);
	return *ret_code < 0 ? JAIL_STEP_CGROUP : JAIL_STEP_NONE;
}

struct cell *cell_start(struct jailer *j, const struct jail_request *q,
			int *fds, unsigned fd_count, struct jail_word *word)
{
	struct cell *c = free_cell(j, word);
	struct jail_child child;
	struct argv argv;
	int r;

	if (!c) {
		close_all(fds, fd_count);
		return NULL;
	}
	r = make_argv(j, q, &argv);
	*word = (struct jail_word){ JAIL_STEP_UID, r };
	if (r < 0) {
		close_all(fds, fd_count);
		return NULL;
	}
	*c = (struct cell){
		.id = q->id, .kind = q->kind, .pidfd = -1, .status = -1,
		.listener = -1, .ram = -1, .lease = -1,
	};
	word->code = prepare(j, q, fds, fd_count, c, &child);
	child.argv = argv.item;
	if (word->code == 0)
		word->step = launch(j, q, c, &child, &word->code);
	fd_close(&child.status);
	close_all(fds, fd_count);
	if (word->code == 0)
		return c;
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	clear(c);
	return NULL;
}

/* Its way down: a failure, or the listener of its filter, or exec. */
void cell_heard(struct cell *c)
{
	struct jail_word word = { 0 };
	int fd;
	unsigned count;
	ssize_t n = fdpass_receive(c->status, &word, sizeof(word), &fd, 1,
				   &count, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return;
	if (count) {
		fd_close(&c->listener);
		c->listener = fd;
		return;
	}
	if (n == (ssize_t)sizeof(word) && word.code < 0)
		c->word = word;
	fd_close(&c->status);
}

/*
 * It opens something to read and write: whatever it is, it gets the RAM. The
 * descriptor is the daemon's, read-only for a restored machine, so that the
 * template's file stays what was verified.
 */
void cell_asked(struct cell *c)
{
	struct seccomp_notif ask = { 0 };
	struct seccomp_notif_addfd add = {
		.flags = SECCOMP_ADDFD_FLAG_SEND,
	};

	if (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) < 0) {
		if (errno != EINTR && errno != ENOENT)
			fd_close(&c->listener);
		return;
	}
	add.id = ask.id;
	add.srcfd = (uint32_t)c->ram;
	if (c->ram >= 0)
		ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	/* Who asks once more is told ENOSYS by the kernel. */
	fd_close(&c->ram);
	fd_close(&c->listener);
}

void cell_reap(struct jailer *j, struct cell *c, struct jail_answer *ret)
{
	int status = 0;

	/* What it said last may still lie in the socket. */
	while (c->status >= 0 && !c->word.code) {
		int before = c->status;

		cell_heard(c);
		if (c->status == before && c->listener < 0)
			break;
		if (c->listener >= 0)
			fd_close(&c->listener);
	}
	waitpid(c->pid, &status, 0);
	*ret = (struct jail_answer){
		.version = JAIL_VERSION, .said = JAIL_ENDED, .id = c->id,
		.step = c->word.step,
		.code = c->word.code < 0 ? c->word.code : status,
	};
	/* A template's RAM may lie in memory, and the next machine here is to
	 * have all of its own. */
	if (c->kind == JAIL_BOOT)
		jail_cgroups_leave(&j->cgroups, (unsigned)(c - j->cells));
	clear(c);
}
