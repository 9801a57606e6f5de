/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One server from start to end. Before the mount answers, an error ends the
 * server with a sentence; afterwards no error may end it. A server may be killed
 * at any moment: the supervisor starts another one, which finds unfinished work
 * in d->handover and in the store. Owns struct fsd. All functions run on the
 * main thread, which runs the loop.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fsd/base/complain.h"
#include "fsd/base/daemon_log.h"
#include "fsd/control/about.h"
#include "fsd/control/control.h"
#include "fsd/handover/fdstore.h"
#include "supervisor.h"
#include "fsd/handover/handover.h"
#include "fsd/network/network.h"
#include "fsd/jobs/job.h"
#include "fsd/mount/broker.h"
#include "fsd/files/node.h"
#include "fsd/mount/inotify.h"
#include "fsd/mount/port_bind.h"
#include "fsd/fuse/handle_table.h"
#include "fsd/fuse/ops.h"
#include "open_limit.h"
#include "options.h"
#include "fsd/fuse/ops_guest.h"
#include "vm/os/fdpass.h"
#include "fsd/users/users.h"
#include "restrain.h"
#include "serve.h"
#include "default_dirs.h"
#include "shutdown.h"
#include "fsd/submit/submit.h"
#include "fsd/submit/restart.h"
#include "fsd/submit/drain.h"
#include "fsd/submit/submit_state.h"
#include "fsd/mount/mountpoint.h"
#include "fsd/mount/blocked_reads.h"
#include "fsd/store/store.h"
#include "fsd/files/guest_inode.h"
#include "fsd/builds/builds.h"
#include "fsd/living/machine_files.h"
#include "fsd/run/runs.h"
#include "fsd/run/run.h"
#include "fsd/run/run_host.h"
#include "fsd/run/sched_open.h"
#include "fsd/living/sandbox_adopt.h"
#include "fsd/living/sandboxes.h"
#include "fsd/jobs/environments.h"
#include "fsd/jobs/job_log.h"
#include "fsd/jobs/unloaded_jobs.h"
#include "fsd/jobs/lifecycle.h"

/* Real machines, or in fsd-fake those of tests; set by the Makefile. */
extern const struct vm_backend FSD_BACKEND;

/* --- signals --------------------------------------------------------------- */

static void on_signal(struct loop_fd *src, uint32_t events)
{
	struct fsd *d = src->arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(src->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR2 || (int)info.ssi_signo == SUPERVISOR_NOW)
			shutdown_trust_disk(d);
		if (info.ssi_signo == SIGUSR2)
			shutdown_hand_over(d, false);
		else if ((int)info.ssi_signo == SUPERVISOR_NOW)
			shutdown_hand_over(d, true);
		else
			shutdown_stop(d, info.ssi_signo != SIGUSR1);
	}
}

static int watch_signals(struct fsd *d, bool private, struct loop_fd *src)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SUPERVISOR_LEAVE);
	if (private) { /* the supervisor has the same rule */
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
	} else {
		sigaddset(&set, SIGINT);
		sigaddset(&set, SIGTERM);
	}
	sigaddset(&set, SIGUSR1); /* end after the running jobs */
	sigaddset(&set, SIGUSR2); /* the same, and another server follows */
	/* end at once, and another server follows */
	sigaddset(&set, SUPERVISOR_NOW);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* with this write(2) fails, as on a full disk */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	src->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	src->events = EPOLLIN;
	src->fn = on_signal;
	src->arg = d;
	return src->fd < 0 ? -errno : loop_fd_add(d->loop, src);
}

/* --- events of vm/ and the broker --------------------------------------- */

static void on_vm_changed(void *arg)
{
	struct fsd *d = arg;
	struct err err = { 0 };
	int r = vm_health(d->vm, &err);

	if (r == 0)
		log_info("jobs can run");
	else if (r != -EAGAIN)
		log_error("jobs cannot run: %s", err.text);
	if (d->sched)
		sched_kick(d->sched);
}

/* Hands over to another server, which has a jailer of its own: this server's jailer has
 * ended, and its machines with it, but not those of earlier servers. */
static void on_vm_broken(void *arg)
{
	struct fsd *d = arg;

	log_warn("machines cannot be started any more: another server takes "
		 "over");
	lifecycle_break(d->lifecycle);
	shutdown_hand_over(d, false);
}

/* Hands over to another server. Jobs do not need the broker, so it waits until none
 * runs. */
static void on_broker_gone(void *arg)
{
	shutdown_hand_over(arg, false);
}

static void on_vm_progress(void *arg, const char *sentence)
{
	(void)arg;
	log_info("machines: %s", sentence);
}

static void on_keep(void *arg, uint64_t key, int fd)
{
	struct fsd *d = arg;

	fdstore_keep(d->fdstore, FDSTORE_SOCKET, key, fd);
}

static void on_drop(void *arg, uint64_t key)
{
	struct fsd *d = arg;

	fdstore_drop(d->fdstore, FDSTORE_SOCKET, key);
}

#define PACKAGES_MAX (1u << 20) /* most bytes of the list of packages */

/* Reads the image's packages, which environments may need: lines "name
 * version". */
static char *find_packages(const char *image)
{
	auto_buf struct buf text = { .cap = PACKAGES_MAX };
	auto_close int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/packages.list", image);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || node_read(fd, PACKAGES_MAX, &text) < 0)
		return NULL;
	return take_ptr(text.data);
}

static struct image_about find_image(const char *image)
{
	struct image_about about = { .packages = find_packages(image) };
	char path[PATH_MAX], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/manifest", image);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "image %12[0-9a-f]", about.id) != 1 &&
		    !strncmp(line, "abi ", 4))
			snprintf(about.abi, sizeof(about.abi), "%.*s",
				 (int)sizeof(about.abi) - 1, line + 4);
	}
	if (f)
		fclose(f);
	return about;
}

struct machines_record {
	uint32_t live; /* always 0: handover_fact() returns the record all the same */
	struct vm_known known;
};

static HANDOVER_TABLE(machines_records, "machines", 1, struct machines_record, 1);

static int start_machines(struct fsd *d, const struct mount_options *o,
			  struct err *err)
{
	const struct vm_keep keep = {
		.keep = on_keep, .drop = on_drop, .arg = d,
	};
	struct vm_options vo = o->vm;
	struct vm_watch watch = {
		.changed = on_vm_changed, .progress = on_vm_progress,
		.freed = sched_on_freed, .may_warm = sched_on_may_warm,
		.environment = environments_on_find,
		.broken = on_vm_broken, .arg = d,
	};
	const struct image_about image = find_image(vo.image_dir);
	int r;

	vo.backend = &FSD_BACKEND;
	vo.known = &((struct machines_record *)
		     handover_fact(d->handover, &machines_records))->known;
	vo.keep = &keep;
	r = environments_new(&o->environments, &image, &d->environments);
	if (r < 0)
		return err_sys(err, r, "the environments");
	r = vm_new(d->loop, &vo, &watch, &d->vm, err);
	if (r == 0 && vm_has_relays(d->vm))
		network_have_relays(d->network);
	if (r == 0 && sched_open(d, &o->sched, take_back) < 0)
		r = err_sys(err, -ENOMEM, "the scheduler");
	return r;
}

/* --- from the previous server ------------------------------------------- */

/* Gets the kernel's descriptor of the mount; the supervisor makes it for the
 * first server. */
static int get_mount(enum supervisor_upgrade *upgrade, struct err *err)
{
	struct supervisor_mount what = { 0 };
	char byte = SUPERVISOR_PREPARED;
	unsigned count = 0;
	int fd = -1;
	ssize_t n = send(SUPERVISOR_FD_CONTROL, &byte, 1, MSG_NOSIGNAL);

	if (n == 1)
		n = fdpass_receive(SUPERVISOR_FD_CONTROL, &what, sizeof(what), &fd,
				   1, &count, 0);
	/* The supervisor may be of another version. */
	if (n == (ssize_t)sizeof(what) && what.upgrade <= UPGRADE_FAILED)
		*upgrade = what.upgrade;
	if (n > 0 && count)
		return fd;
	/* the supervisor has already reported why */
	return err_set(err, -EPIPE, "%s", "");
}

static void on_unmounted(struct fsd *d)
{
	shutdown_stop(d, true);
}

static int take_over(struct fsd *d, struct about *about, struct err *err)
{
	int fd, r;

	control_take_over(d);
	drain_take_over(d);
	inotify_take_over(d);
	sandboxes_adopt(d);
	guest_inodes_adopt(d->guest_inodes, machine_files_are_kept, d);
	ops_restore(d);
	restart_jobs(d);
	network_take_over(d->network);
	fdstore_sweep(d->fdstore);
	fd = get_mount(&about->upgrade, err);
	if (fd < 0)
		return fd;
	r = mountpoint_serve(d, &fsd_ops, on_unmounted, fd, err);
	if (r < 0)
		return r;
	ops_wake_polls(d);
	inotify_start(d);
	port_bind_start(d);
	handover_serves(d->handover);
	return 0;
}

/* --- start and end --------------------------------------------------------------- */

/* The watchers are called in this order: waiting reads are answered before
 * inotify events are sent, and both before retention counts the job's age. */
static const struct job_watcher *const watchers[] = {
	&run_watcher, &submit_watcher, &blocked_watcher, &inotify_watcher,
	&retain_watcher, NULL,
};

static int start_builds(struct fsd *d, const struct mount_options *o,
			struct err *err)
{
	const struct builds_options options = {
		.image_dir = o->vm.image_dir,
		.environments_dir = o->environments.asked,
		.sources = o->build_sources,
	};

	return o->build_packages ? builds_open(d, &options, err) : 0;
}

static int open_state(struct fsd *d, const struct mount_options *o,
		      struct loop_fd *signals, struct err *err)
{
	int r = loop_new(&d->loop);

	if (r == 0)
		r = shutdown_init(d);
	time_slices_init(&d->slices, d->loop);
	if (r == 0)
		r = watch_signals(d, o->die_with_parent, signals);
	if (r < 0)
		return err_sys(err, r, "the event loop");
	r = handover_open(SUPERVISOR_FD_HANDOVER, &d->handover, err);
	if (r < 0)
		return r;
	/* A quarter of all descriptors for each user leaves enough for the
	 * others. */
	r = users_new(open_limit_raise() / 4, &o->quota, &d->users);
	if (r < 0)
		return err_sys(err, r, "the users");
	r = store_open(d->loop, o->state_dir, &d->store, err);
	if (r < 0)
		return r;
	store_set_relaxed(d->store, o->relaxed);
	shutdown_heed_disk(d);
	return 0;
}

/* Makes the contexts that need no option, lower rooms first. */
static int make_contexts(struct fsd *d)
{
	int r = fdstore_new(SUPERVISOR_FD_CONTROL, &d->fdstore);

	if (r == 0)
		r = nodes_new(&(struct nodes_use){
			.store = d->store, .slices = &d->slices,
			.handover = d->handover, .users = d->users }, &d->nodes);
	if (r == 0)
		r = guest_inodes_new(d->handover, &d->guest_inodes);
	if (r == 0)
		r = network_new(d->handover, d->fdstore, &d->network);
	if (r == 0)
		r = jobs_new(d, watchers);
	if (r == 0)
		r = runs_new(&run_own_host, &living_host, &d->runs);
	if (r == 0)
		r = sandboxes_new(&d->sandboxes);
	if (r == 0)
		r = submit_new(d, &d->submit);
	if (r == 0)
		r = open_files_new(d->handover, &d->open_files);
	return r;
}

/* --- the network ------------------------------------------------------------ */

#define DOOR "fsd-door"

/* The command line of fsd-door, which lies beside this program: path is set. */
struct door_words {
	char path[PATH_MAX], first[16], count[16];
	const char *argv[2 * NET_RULES_MAX + 12];
	unsigned argc;
};

static void add_word(struct door_words *w, const char *word)
{
	w->argv[w->argc++] = word;
}

static void make_door_words(const struct mount_options *o, struct door_words *w)
{
	add_word(w, w->path);
	if (o->vm.uid_count) {
		snprintf(w->first, sizeof(w->first), "%u", o->vm.uid_first);
		snprintf(w->count, sizeof(w->count), "%u", o->vm.uid_count);
		add_word(w, "--uid-first");
		add_word(w, w->first);
		add_word(w, "--uid-count");
		add_word(w, w->count);
	}
	if (o->network) {
		add_word(w, "--policy");
		add_word(w, o->network);
	}
	for (unsigned i = 0; !o->network && i < o->network_rule_count; i++) {
		add_word(w, "--allow");
		add_word(w, o->network_rules[i]);
	}
}

static int start_door(void *arg, struct network_door *ret, struct err *err)
{
	struct fsd *d = arg;
	int fd = broker_door(d->broker, &ret->pid);

	if (fd < 0)
		return err_sys(err, fd, "the network's helper (" DOOR ")");
	ret->sock = fd;
	return 0;
}

static int open_broker(struct fsd *d, const struct mount_options *o, struct err *err)
{
	const struct network_use use = {
		.loop = d->loop, .start = start_door, .arg = d,
	};
	bool has_network = o->network || o->network_rule_count;
	struct door_words words = { .argc = 0 };
	int r;

	r = program_beside(DOOR, words.path);
	if (has_network && r < 0)
		return err_sys(err, r, "%s, which --network needs", words.path);
	make_door_words(o, &words);
	r = broker_open(o->rooms.mountpoint, o->rooms.allow_other,
			has_network ? words.argv : NULL, &d->broker, err);
	if (r == 0 && broker_watch(d->broker, d->loop, on_broker_gone, d) < 0)
		log_warn("the end of the broker would not be noticed");
	if (r == 0 && has_network)
		r = network_open(d->network, &use, handover_is_next(d->handover), err);
	return r;
}

static int start(struct fsd *d, const struct mount_options *o,
		 struct about *about, struct loop_fd *signals, struct err *err)
{
	int r = open_state(d, o, signals, err);

	if (r < 0)
		return r;
	r = make_contexts(d);
	if (r < 0)
		return err_sys(err, r, "the job table");
	r = start_machines(d, o, err);
	if (r < 0)
		return r;
	r = start_builds(d, o, err);
	if (r < 0)
		return r;
	r = open_broker(d, o, err);
	/* An attacker may have taken over the previous server: read its data
	 * with no more rights than it had. */
	if (r == 0)
		r = restrain(o, &about->walls, err);
	if (r < 0)
		return r;
	environments_warm(d);
	if (!o->die_with_parent) /* a private mount has no watchers */
		inotify_new(d);
	r = unloaded_fill(d, err);
	return r < 0 ? r : take_over(d, about, err);
}

/*
 * Finishes all fibers that wait for a worker thread, the broker or the door: the loop,
 * which would wake them, does not run any more. A woken fiber may ask the broker or the
 * door again, but gives no more work to a thread.
 */
static void finish_begun(struct fsd *d)
{
	bool asked;

	store_finish_tasks(d->store); /* finish the tasks first: some answer requests,
				       * some end runs */
	do {
		asked = broker_drain(d->broker);
		asked |= network_drain(d->network);
		fibers_finish();
	} while (asked);
}

/* Ends the work first, then frees the contexts, also those of a start that failed. */
static void finish(struct fsd *d, struct loop_fd *signals)
{
	finish_begun(d);
	ops_listings_free(d); /* first: listings have cursors in the lists of jobs */
	jobs_end(d);
	sandboxes_end(d);
	time_slices_finish(&d->slices);
	vm_free(d->vm);
	sched_free(d->sched);
	mountpoint_close(d);
	inotify_free(d);
	broker_close(d->broker);
	ops_handles_free(d);
	guest_listings_free(d);
	time_slices_finish(&d->slices);
	sandboxes_free(d->sandboxes);
	guest_inodes_free(d->guest_inodes);
	nodes_free(d->nodes);
	store_close(d->store);
	builds_close(d);
	environments_free(d->environments);
	runs_free(d->runs);
	submit_free(d->submit);
	jobs_free(d->jobs);
	network_free(d->network);
	fdstore_free(d->fdstore);
	users_free(d->users);
	open_files_free(d->open_files);
	handover_close(d->handover);
	close(SUPERVISOR_FD_CONTROL);
	loop_fd_del(signals);
	fd_close(&signals->fd);
	fibers_done();
	lifecycle_free(d->lifecycle);
	loop_free(d->loop);
}

static void tell_ready(void)
{
	char byte = SUPERVISOR_READY;

	if (send(SUPERVISOR_FD_CONTROL, &byte, 1, MSG_NOSIGNAL) != 1)
		log_warn("nobody waits for the mount to be ready");
}

/* Ends this server so that another one takes over: as if it had been killed,
 * but after all pending writes. */
__attribute__((noreturn)) static void hand_over(struct fsd *d)
{
	job_logs_flush(d);
	finish_begun(d);
	log_info("another server takes over");
	_exit(SUPERVISOR_NEXT);
}

/* Logs the missing walls, which --policy permissive allows. */
static void tell_walls(const struct fsd *d)
{
	const struct walls *walls = vm_walls(d->vm);
	const char *missing[WALLS_EVERYWHERE + 1] = { NULL };

	if (walls) /* a guest's walls are known later */
		walls_missing(walls, WIRE_WALLS_ALL, missing);
	for (unsigned i = 0; missing[i]; i++)
		log_warn("the wall %s is missing; .fsd/security says why",
			 missing[i]);
}

int serve(const struct mount_options *options)
{
	struct about about = { .service = getppid() };
	struct fsd d = { .options = &options->rooms, .about = &about };
	struct daemon_log *log = NULL; /* NULL: standard error stays */
	struct loop_fd signals = { .fd = -1 };
	struct err err = { 0 };
	int r;

	prctl(PR_SET_NAME, "fsd-server");
	if (options->daemonize || options->die_with_parent)
		log = daemon_log_open(options->state_dir, DAEMON_LOG_LIMIT);
	r = start(&d, options, &about, &signals, &err);
	if (r < 0) {
		finish(&d, &signals);
		daemon_log_close(log);
		return r == -EPIPE && !err.text[0]
			       ? 1
			       : complain("mount", 1, "%s", err.text);
	}
	/* Log to the file from now on: --daemon prints nothing when all is
	 * well. */
	if (log)
		daemon_log_begin(log);
	log_info("serving %s, state in %s", options->rooms.mountpoint,
		 options->state_dir);
	tell_ready();
	tell_walls(&d);
	fibers_init(d.loop);
	r = loop_run(d.loop);
	if (lifecycle_is_handing_over(d.lifecycle))
		hand_over(&d);
	finish(&d, &signals);
	log_info("ended");
	daemon_log_close(log);
	return r < 0 ? 1 : 0;
}
