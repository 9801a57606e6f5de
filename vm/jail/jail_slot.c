/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, kills and reaps the processes of the jailer, one for each slot
 * (struct jail_slot). A slot owns a process's pidfd, its status socket, its RAM
 * descriptor and the lock of its user id.
 *
 * In order: slots whose process executes QEMU, machines forked off a zygote, and
 * the calls for both. All functions run in the jailer,
 * on its only thread; the new process continues in jail_child_main(), or in the
 * zygote (vm/zygote/orders.c).
 */
#include "jail_slot.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/os/fdpass.h"
#include "jail_pages.h"
#include "jail_relay.h"
#include "vm/zygote/wire.h"

#define SLOTS_MORE 16
/* Memory for QEMU itself: translated code, tables, libraries. */
#define QEMU_GROUP_MIB 256u
#define QEMU_THREADS 64u
#define RELAY_MIB 64u
#define RELAY_FILES 2304u /* two for each connection, and listeners */
#define QEMU_MIB 1024u /* MiB of addresses for QEMU itself */
#define ZYGOTE_MS 3000 /* limit for a fork; it takes some 5 ms */
#define THREADS_MAX 128 /* threads of one user id; one more for each processor */

/* --- slots -------------------------------------------------------------- */

static struct jail_slot *free_slot(struct jailer *j, struct jail_word *word)
{
	struct jail_slot *more, *found = NULL;
	unsigned living = 0;

	for (unsigned i = 0; i < j->slot_count; i++) {
		living += j->slots[i].pid != 0;
		if (!found && !j->slots[i].pid)
			found = &j->slots[i];
	}
	*word = (struct jail_word){ JAIL_STEP_MOST, -EAGAIN };
	if (living >= j->most)
		return NULL;
	*word = (struct jail_word){ JAIL_STEP_UID, -ENOMEM };
	if (found)
		return found;
	more = realloc(j->slots, (j->slot_count + SLOTS_MORE) * sizeof(*more));
	if (!more)
		return NULL;
	j->slots = more;
	memset(more + j->slot_count, 0, SLOTS_MORE * sizeof(*more));
	j->slot_count += SLOTS_MORE;
	return &more[j->slot_count - SLOTS_MORE];
}

static void clear(struct jail_slot *c)
{
	fd_close(&c->pidfd);
	fd_close(&c->status);
	fd_close(&c->listener);
	fd_close(&c->ram);
	fd_close(&c->lease);
	fd_close(&c->control);
	c->pid = 0;
}

static bool is_probe(uint32_t kind)
{
	return kind == JAIL_PROBE || kind == JAIL_PROBE_ZYGOTE;
}

static bool is_zygote(uint32_t kind)
{
	return kind == JAIL_ZYGOTE || kind == JAIL_PROBE_ZYGOTE;
}

static enum jailer_filter filter_of(const struct jail_request *q)
{
	if (is_zygote(q->kind))
		return FILTER_OF_ZYGOTE;
	if (q->kind == JAIL_RELAY)
		return FILTER_OF_RELAY;
	return (q->kind == JAIL_BOOT ? FILTER_OF_BOOT : FILTER_OF_RESTORE) +
	       (q->accel == VM_ACCEL_KVM ? 2 : 0);
}

static int make_argv(const struct jailer *j, const struct jail_request *q,
		     struct argv *a)
{
	struct argv_spec s = {
		.qemu = j->qemu, .kernel = j->kernel, .initrd = j->initrd,
		.accel = (enum vm_accel)q->accel,
		.cls = { .memory_mib = q->memory_mib, .cpus = q->cpus },
		.boot = q->kind == JAIL_BOOT, .tsc_khz = q->tsc_khz,
		.zygote = is_zygote(q->kind), .layers = jail_layers(q),
		.plain = q->plain,
	};

	return is_probe(q->kind) ? argv_probe(j->qemu, s.zygote, a) :
				   argv_make(&s, a);
}

/*
 * Clones a child of the jailer, in new namespaces. A zygote shares the jailer's
 * PID namespace: its forks become the jailer's children, and process 1 of a
 * namespace cannot make children for another process.
 */
static pid_t clone_child(const struct jailer *j, bool zygote, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = (zygote ? j->clone_flags & ~(unsigned long)CLONE_NEWPID :
				    j->clone_flags) |
			 CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : (pid_t)pid;
}

/* Sets the machine's limits and leases its user id. Return: 0 or negative errno. */
static int bound(struct jailer *j, const struct jail_request *q,
		 struct jail_slot *c, struct jail_bounds *ret)
{
	const uint64_t ram = vm_class_ram(&(struct vm_class){
		.memory_mib = q->memory_mib });
	int r;

	*ret = (struct jail_bounds){
		.own_names = j->own_names,
		.own_cgroup_ns = j->cgroup_ns,
		/* a restored machine writes to no file */
		.file_bytes = q->kind == JAIL_BOOT ? ram << 20 : 0,
	};
	/* Without a control group, limit the addresses instead. */
	if (j->cgroups.base[0] < 0)
		ret->address_bytes = (ram + QEMU_MIB) << 20;
	r = uids_lease(&j->uids, &ret->uid, &c->lease);
	ret->threads = ret->uid ? THREADS_MAX + q->cpus : 0;
	if (q->kind == JAIL_RELAY) {
		ret->threads = ret->uid ? 1 : 0;
		ret->files = RELAY_FILES;
	}
	return r;
}

/* Returns the limits of the process's control group. */
static struct jail_limits limits_of(const struct jail_request *q)
{
	if (q->kind == JAIL_RELAY)
		return (struct jail_limits){ RELAY_MIB, 1, 1 };
	/* One processor more than the guest has: QEMU's own thread runs beside
	 * them. */
	return (struct jail_limits){ q->memory_mib + QEMU_GROUP_MIB, q->cpus + 1,
				     q->cpus + QEMU_THREADS };
}

/* Makes a socket pair. Return: 0 or negative errno. */
static int make_pair(int *ours, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

/* Sends the setup, which orders_begin() reads when the zygote starts. */
static int set_up_zygote(const struct jailer *j, int sock)
{
	const struct sock_fprog *filter = &j->filter[FILTER_OF_FORK];
	static struct zygote_setup setup;

	setup.landlock = j->landlock >= 0;
	setup.filter_len = filter->len;
	memcpy(setup.filter, filter->filter,
	       filter->len * sizeof(*filter->filter));
	return fdpass_send(sock, &setup, sizeof(setup), NULL, 0, 0) < 0 ?
		       -EIO : 0;
}

static int prepare(struct jailer *j, const struct jail_request *q, int *fds,
		   unsigned fd_count, struct jail_slot *c, struct jail_child *child)
{
	int r;

	*child = (struct jail_child){
		.null = j->null, .fd_count = fd_count,
		.layers = jail_layers(q), .status = -1,
		.landlock = j->landlock, .control = -1,
		.filter = j->filter[filter_of(q)],
	};
	memcpy(child->fds, fds, fd_count * sizeof(*fds));
	r = bound(j, q, c, &child->bounds);
	if (r == 0)
		r = make_pair(&c->status, &child->status);
	if (r == 0 && is_zygote(q->kind))
		r = make_pair(&c->control, &child->control);
	if (r == 0 && is_zygote(q->kind))
		r = set_up_zygote(j, c->control);
	if (r == 0 && !is_probe(q->kind) && q->kind != JAIL_RELAY)
		c->ram = take_fd(&fds[JAIL_FD_RAM]);
	return r;
}

static void close_all(int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fd_close(&fds[i]);
}

/*
 * Lets the child take its next step. A failed send means that the child has died, and
 * its end is reported anyhow.
 */
static void say_go(const struct jail_slot *c)
{
	send(c->status, "", 1, MSG_NOSIGNAL);
}

static uint32_t put(const struct jail_groups *groups, pid_t pid, int *ret_code)
{
	*ret_code = jail_groups_put(groups, pid);
	return *ret_code < 0 ? JAIL_STEP_CGROUP : JAIL_STEP_NONE;
}

/* Clones the machine's process and lets it enter its jail. */
static uint32_t launch(struct jailer *j, const struct jail_request *q,
		       struct jail_slot *c, struct jail_child *child, int *ret_code)
{
	c->pid = clone_child(j, is_zygote(q->kind), &c->pidfd);
	if (c->pid == 0 && q->kind == JAIL_RELAY)
		jail_relay_main(child);
	if (c->pid == 0)
		jail_child_main(child);
	fd_close(&child->status);
	if (c->pid < 0) {
		*ret_code = c->pid;
		return JAIL_STEP_CLONE;
	}
	say_go(c);
	/* Move it to its groups while it enters the jail. It is there before
	 * its guest runs, because it gets its RAM from the jailer, later. */
	return put(&child->groups, c->pid, ret_code);
}

static uint32_t start_process(struct jailer *j, const struct jail_request *q,
			      int *fds, unsigned fd_count,
			      const struct jail_groups *groups, struct jail_slot *c,
			      int *ret_code)
{
	struct jail_child child;
	struct argv argv;
	uint32_t step = JAIL_STEP_UID;

	*ret_code = q->kind == JAIL_RELAY ? 0 : make_argv(j, q, &argv);
	if (*ret_code < 0)
		return step;
	*ret_code = prepare(j, q, fds, fd_count, c, &child);
	child.argv = q->kind == JAIL_RELAY ? NULL : argv.item;
	child.groups = *groups;
	if (*ret_code == 0)
		step = launch(j, q, c, &child, ret_code);
	fd_close(&child.status);
	fd_close(&child.control);
	return step;
}

/* --- forking off a zygote ----------------------------------------------- */

static struct jail_slot *find_zygote(struct jailer *j, uint32_t id)
{
	for (unsigned i = 0; i < j->slot_count; i++)
		if (j->slots[i].pid && is_zygote(j->slots[i].kind) &&
		    j->slots[i].id == id)
			return &j->slots[i];
	return NULL;
}

/* Orders a zygote to fork. Return: the new pid, with *ret_pidfd, or a negative
 * errno. */
static int order_child(const struct jail_slot *zygote,
		       const struct zygote_order *order, const int *fds,
		       unsigned fd_count, int *ret_pidfd)
{
	struct pollfd p = { .fd = zygote->control, .events = POLLIN };
	struct zygote_answer answer = { 0 };
	unsigned count;
	ssize_t n = fdpass_send(zygote->control, order, sizeof(*order), fds,
				fd_count, MSG_DONTWAIT);

	if (n < 0)
		return (int)n;
	if (poll(&p, 1, ZYGOTE_MS) <= 0)
		return -ETIMEDOUT;
	n = fdpass_receive(zygote->control, &answer, sizeof(answer), ret_pidfd,
			   1, &count, MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(answer))
		return n < 0 ? (int)n : -EPIPE;
	return answer.pid > 0 && !count ? -EPROTO : answer.pid;
}

int32_t jail_slot_cost(struct jailer *j, const struct jail_slot *c)
{
	uint32_t kib = 0;
	int r = jail_pages_cost(j->pages, c->pid, &kib);

	if (r == -ETIMEDOUT)
		/* close it, or a late answer would be taken for the next one */
		fd_close(&j->pages);
	return r < 0 ? r : (int32_t)MIN(kib, (uint32_t)INT32_MAX);
}

void jail_slot_teach(struct jailer *j, const struct jail_slot *c, uint32_t zygote)
{
	static struct zygote_pages pages;
	const struct jail_slot *z = find_zygote(j, zygote);
	int r = c && z ? jail_pages_ask(j->pages, c->pid, &pages) : -ESRCH;

	if (r == -ETIMEDOUT)
		/* close it, or a late answer would be taken for the next one */
		fd_close(&j->pages);
	if (r == 0)
		fdpass_send(z->control, &pages, zygote_pages_size(&pages),
			    NULL, 0, MSG_DONTWAIT);
}

/* Forks a machine off a zygote. A zygote that fails to fork is killed, and its end is
 * reported to its owner. */
static uint32_t fork_zygote(struct jailer *j, const struct jail_request *q,
			    const int *fds, const struct jail_groups *groups,
			    struct jail_slot *c, int *ret_code)
{
	struct jail_slot *zygote = find_zygote(j, q->zygote);
	struct zygote_order order = { .what = ZYGOTE_ORDER,
				      .copies = q->copies,
				      .clone_flags = j->clone_flags };
	unsigned own = groups->by_itself ? groups->count : 0;
	int with[ZYGOTE_ORDER_FDS_MAX], status = -1, r;
	uint32_t step;

	*ret_code = zygote ? bound(j, q, c, &order.bounds) : -ESRCH;
	if (*ret_code == 0)
		*ret_code = make_pair(&c->status, &status);
	if (*ret_code < 0)
		return zygote ? JAIL_STEP_UID : JAIL_STEP_ZYGOTE;
	with[ZYGOTE_ORDER_ERR] = fds[JAIL_FD_ERR];
	with[ZYGOTE_ORDER_QMP] = fds[JAIL_FD_QMP];
	with[ZYGOTE_ORDER_NET] = fds[JAIL_FD_NET];
	with[ZYGOTE_ORDER_WIRE] = fds[JAIL_FD_WIRE];
	with[ZYGOTE_ORDER_STATUS] = status;
	memcpy(with + ZYGOTE_ORDER_FDS, groups->fd, own * sizeof(*with));
	r = order_child(zygote, &order, with, ZYGOTE_ORDER_FDS + own,
			&c->pidfd);
	fd_close(&status);
	if (r < 0) {
		*ret_code = r;
		j->strays = true;
		jail_slot_kill(zygote);
		return JAIL_STEP_ZYGOTE;
	}
	c->pid = r;
	say_go(c); /* the child enters its jail */
	step = put(groups, c->pid, ret_code);
	if (*ret_code == 0)
		say_go(c); /* the child starts the guest */
	return step;
}

/* --- for both kinds ----------------------------------------------------- */

struct jail_slot *jail_slot_start(struct jailer *j, const struct jail_request *q,
				  int *fds, unsigned fd_count, struct jail_word *word)
{
	struct jail_slot *c = free_slot(j, word);
	const struct jail_limits limits = limits_of(q);
	struct jail_groups groups;

	if (c && q->kind == JAIL_RELAY && !j->relays) {
		*word = (struct jail_word){ JAIL_STEP_RELAY, -ENOTSUP };
		c = NULL;
	}
	if (c && is_zygote(q->kind) && !j->zygotes) {
		*word = (struct jail_word){ JAIL_STEP_ZYGOTE, -ENOTSUP };
		c = NULL;
	}
	if (!c) {
		close_all(fds, fd_count);
		return NULL;
	}
	*c = (struct jail_slot){
		.id = q->id, .kind = q->kind, .pidfd = -1, .status = -1,
		.listener = -1, .ram = -1, .lease = -1, .control = -1,
	};
	word->step = JAIL_STEP_CGROUP;
	word->code = jail_cgroups_slot(&j->cgroups, (unsigned)(c - j->slots),
				       &limits, &groups);
	if (word->code == 0)
		word->step = q->kind == JAIL_FORK ?
			fork_zygote(j, q, fds, &groups, c, &word->code) :
			start_process(j, q, fds, fd_count, &groups, c,
				      &word->code);
	jail_groups_close(&groups);
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

void jail_slot_kill(struct jail_slot *c)
{
	kill(c->pid, SIGKILL);
}

/* Reads the status socket: a failed step, the listener of its filter, or the
 * end by exec. */
void jail_slot_heard(struct jail_slot *c)
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
 * Answers the process's open for reading and writing with the RAM's descriptor,
 * whatever it opens. A restored machine gets the server's read-only descriptor,
 * so that the template's file stays as it was verified.
 */
void jail_slot_asked(struct jail_slot *c)
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
	/* closed, so the kernel answers a second open with ENOSYS */
	fd_close(&c->ram);
	fd_close(&c->listener);
}

void jail_slot_reap(struct jailer *j, struct jail_slot *c, struct jail_answer *ret)
{
	int status = 0;

	/* The process's last message may still be in the socket. */
	while (c->status >= 0 && !c->word.code) {
		int before = c->status;

		jail_slot_heard(c);
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
	/* A template's RAM may stay charged to this group, and the next machine
	 * of the slot needs all of its limit. */
	if (c->kind == JAIL_BOOT)
		jail_cgroups_leave(&j->cgroups, (unsigned)(c - j->slots));
	clear(c);
}

void slots_reap_stray(struct jailer *j)
{
	siginfo_t one = { 0 };

	/* Skip processes with a slot: their pidfd reports their end. */
	if (waitid(P_ALL, 0, &one, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    !one.si_pid)
		return;
	for (unsigned i = 0; i < j->slot_count; i++)
		if (j->slots[i].pid == one.si_pid)
			return;
	waitpid(one.si_pid, NULL, 0);
}
