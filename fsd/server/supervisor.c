/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: makes the mount and keeps its descriptor, starts one server after the
 * other, forwards signals, and keeps descriptors for the next server. It is one thread
 * around poll(2).
 *
 * It replaces a dead server at once; if that server never answered, after a pause that
 * grows. An upgrade starts the installed program. The supervisor keeps the old program
 * until the new one answers, and starts the old one again if the new one fails.
 */
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/os/fdpass.h"
#include "vm/os/loop.h"
#include "vm/os/spawn.h"
#include "fsd/base/complain.h"
#include "fsd/base/daemon_log.h"
#include "fsd/control/about.h"
#include "fsd/handover/fdstore.h"
#include "fsd/handover/handover.h"
#include "fsd/mount/mountpoint.h"
#include "open_limit.h"
#include "options.h"
#include "service_manager.h"

/* A server that dies before it answers is replaced up to TRIES_MAX times, after
 * a pause that begins with PAUSE_MS and doubles up to PAUSE_MAX_MS. */
#define TRIES_MAX 12
#define PAUSE_MS 50u
#define PAUSE_MAX_MS 5000u

/* Time for a newly installed program to answer; a start with 100,000 jobs on a
 * slow disk takes some 5 s. */
#define ANSWER_NS (60 * NS_PER_S)

/* OWN_FDS: descriptors for other uses than a server's stored ones. HEAR_MAX:
 * messages of a server that are read in one turn. */
#define OWN_FDS 64u
/* a server takes some 40, a machine 6, a job as many as it opens */
#define FILES_MIN 256
#define HEAR_MAX 256

/* Signals that the supervisor handles. It forwards all but SIGCHLD to the server. */
#define HEARD { SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SUPERVISOR_NOW, SIGCHLD }
/* A private mount is that of one command, such as `fsd run`, and ends with it. Signals
 * that its supervisor handles, and those that it ignores. */
#define HEARD_PRIVATE { SUPERVISOR_LEAVE, SIGCHLD }
#define IGNORED_PRIVATE { SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2 }

struct supervisor {
	const struct mount_options *options;
	struct ready *ready; /* the process to notify when the mount answers; NULL: none,
			      * or it was notified */
	/* owned: path of the service manager's socket; NULL once notified, or none
	 * waits */
	char *manager;
	int signals, handover;      /* owned */
	struct fuse_session *session; /* owned: the mount's session, or NULL */
	int mount; /* borrowed: the mount's descriptor, or -1 */
	dev_t device; /* device of the mount's filesystem */
	int exe; /* owned: the program for the next server */
	int old_exe; /* owned: the program to fall back to, or -1 */
	char path[PATH_MAX]; /* path of the installed program */
	struct child server;
	int control; /* owned: our socket to the server */
	struct fdstore_table *kept; /* owned: the stored descriptors */
	enum supervisor_upgrade upgrade;
	int asked; /* signal that asked for an upgrade, until it is forwarded */
	uint64_t started_ns; /* when it started the server (now_ns()) */
	bool serves, ever_served;
	bool ending; /* a user has asked for the end */
	bool given_up; /* `ending` is set, and a candidate was killed because of it */
	unsigned tries;
	int code; /* exit code of the service; < 0: not yet */
};

/* --- the server -------------------------------------------------------------------- */

/* Returns the signal that ends a server at once. */
static int ending_signal(const struct supervisor *h)
{
	return h->options->die_with_parent ? SUPERVISOR_LEAVE : SIGTERM;
}

static int start_server(struct supervisor *h, struct err *err)
{
	const struct mount_options *o = h->options;
	char program[32];
	const char **argv = calloc((size_t)o->argc + 2, sizeof(*argv));
	auto_close int theirs = -1;
	int pair[2], r;

	if (!argv)
		return err_sys(err, -ENOMEM, "the serving process");
	snprintf(program, sizeof(program), "/proc/self/fd/%d", h->exe);
	argv[0] = h->path;
	argv[1] = SUPERVISOR_SERVES;
	for (int i = 1; i < o->argc; i++)
		argv[i + 1] = o->argv[i];
	argv[o->argc] = o->rooms.mountpoint; /* absolute */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(argv);
		return err_sys(err, -errno, "the serving process");
	}
	h->control = pair[0];
	theirs = pair[1];
	r = spawn(&(struct spawn){
			  .argv = argv, .program = program,
			  .fds = (int[]){ theirs, h->handover },
			  .fd_count = 2,
			  .error_fd = STDERR_FILENO,
			  .may_gain = true, /* the server's broker may run fusermount3 */
			  .parting = ending_signal(h),
		  }, &h->server, err);
	free(argv);
	if (r < 0)
		fd_close(&h->control);
	fdstore_table_next(h->kept);
	h->serves = false;
	h->started_ns = now_ns();
	return r;
}

/* Makes the mount, if there is none, and sends its descriptor to the server. The
 * server asks for it when all else is prepared: so an error about machines is
 * reported before there is a mount. */
static void give_mount(struct supervisor *h)
{
	struct supervisor_mount what;
	struct err err = { 0 };

	if (h->mount < 0) {
		h->mount = mountpoint_make(h->options->rooms.mountpoint,
					   h->options->rooms.allow_other,
					   &h->session, &h->device, &err);
		if (h->mount < 0) {
			h->code = complain("mount", 1, "%s", err.text);
			return; /* the server then reads the end of its socket, and ends */
		}
	}
	what = (struct supervisor_mount){ .upgrade = h->upgrade };
	if (fdpass_send(h->control, &what, sizeof(what), &h->mount, 1, 0) < 0)
		log_warn("the serving process does not take the mount");
}

/* Forwards a signal. */
static void tell_server(struct supervisor *h, int sig)
{
	if (h->server.pidfd >= 0)
		pidfd_send_signal(h->server.pidfd, sig, NULL, 0);
}

/* Returns whether the server runs a newly installed program and has not
 * answered yet. */
static bool is_candidate(const struct supervisor *h)
{
	return h->old_exe >= 0 && !h->serves && h->server.pidfd >= 0;
}

/* Ends the service. A candidate gets SIGKILL, since it may never handle a signal. It has
 * changed no state yet, and the previous server left its state consistent. */
static void end_server(struct supervisor *h, int sig)
{
	h->ending = true;
	h->given_up |= is_candidate(h);
	tell_server(h, h->given_up ? SIGKILL : sig);
}

/* Opens the program with a number above those that a server inherits. Return:
 * fd or -errno. */
static int open_program(const char *path)
{
	auto_close int low = open(path, O_PATH | O_CLOEXEC);
	int fd = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC,
				       SPAWN_FD_FIRST + SPAWN_FDS_MAX);

	return fd < 0 ? -errno : fd;
}

/* Takes the installed program for the next server. Keeps the present one until
 * the new one has answered. */
static void take_installed(struct supervisor *h)
{
	int fd = open_program(h->path);

	if (fd < 0) {
		log_error("%s: %s; going on with the program before", h->path,
			  strerror(-fd));
		h->upgrade = UPGRADE_FAILED;
		return;
	}
	h->upgrade = UPGRADE_DONE;
	if (h->old_exe >= 0)
		fd_close(&h->exe);
	else
		h->old_exe = take_fd(&h->exe);
	h->exe = fd;
}

/* Starts an upgrade; the present server must be serving. */
static void upgrade(struct supervisor *h)
{
	take_installed(h);
	tell_server(h, h->asked);
	h->asked = 0;
}

static ssize_t send_ready(const struct supervisor *h, const struct ready *ready)
{
	auto_close int root = -1;

	if (!ready->root)
		return write(ready->fd, "", 1);
	root = open(h->options->rooms.mountpoint, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno
			: fdpass_send(ready->fd, "", 1, &root, 1, 0);
}

/* Notifies the service manager that the mount answers. A private mount does not: it is
 * part of a command, and no service. */
static void tell_manager(struct supervisor *h)
{
	auto_free char *socket = take_ptr(h->manager);
	struct err err = { 0 };

	if (socket && !h->options->die_with_parent &&
	    service_manager_tell(socket, "READY=1", &err) < 0)
		log_warn("the service manager is not told that the mount answers: %s",
			 err.text);
}

static void tell_ready(struct supervisor *h)
{
	struct ready *ready = take_ptr(h->ready);

	tell_manager(h);
	h->serves = h->ever_served = true;
	h->tries = 0;
	fd_close(&h->old_exe);
	if (h->asked)
		upgrade(h);
	if (!ready)
		return;
	if (ready->log)
		daemon_log_begin(ready->log);
	if (send_ready(h, ready) != 1) {
		log_warn("who started this has gone: the service ends");
		h->ending = true;
		tell_server(h, ending_signal(h));
	}
	fd_close(&ready->fd);
}

static void hear_kept(struct supervisor *h, const struct fdstore_message *m, int fd)
{
	const struct fdstore_entry *answer;
	int theirs = -1;

	answer = fdstore_table_hear(h->kept, m, fd, &theirs);
	if (answer && fdpass_send(h->control, answer, sizeof(*answer), &theirs,
				  theirs >= 0, MSG_DONTWAIT) < 0)
		/* the server waits for one answer only */
		fd_close(&h->control);
}

/* Handles one message of the server. dead: the server has ended, and these are its last
 * ones. Return: true if there may be more. */
static bool hear_one(struct supervisor *h, bool dead)
{
	struct fdstore_message m = { 0 };
	unsigned count = 0;
	char what;
	int fd = -1;
	ssize_t n = fdpass_receive(h->control, &m, sizeof(m), &fd, 1, &count,
				   MSG_DONTWAIT);

	memcpy(&what, &m, 1);
	if (n == sizeof(m)) {
		hear_kept(h, &m, fd);
		return h->control >= 0;
	}
	fd_close(&fd);
	if (n == 1 && what == SUPERVISOR_PREPARED && !dead)
		give_mount(h);
	else if (n == 1 && what == SUPERVISOR_READY)
		tell_ready(h);
	else if (n != -EAGAIN)
		fd_close(&h->control);
	return n == 1;
}

static void hear_server(struct supervisor *h)
{
	for (int i = 0; i < HEAR_MAX && hear_one(h, false); i++)
		;
}

/* --- one server after the other ----------------------------------------- */

static void say_end(int status)
{
	if (WIFSIGNALED(status))
		log_warn("the serving process was killed (%s); another one "
			 "takes over", strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != SUPERVISOR_NEXT)
		log_warn("the serving process ended with status %d; another "
			 "one is tried", WEXITSTATUS(status));
}

/* True if a server died from a signal that the supervisor sends. Such a server had not
 * installed its signalfd yet, so it has changed no state. */
static bool by_us(int signal)
{
	return signal == SIGTERM || signal == SIGUSR1 ||
	       signal == SUPERVISOR_LEAVE;
}

/* Returns the exit code of the service, or -1: start another server. */
static int judge_end(const struct supervisor *h, int status)
{
	bool next = WIFEXITED(status) && WEXITSTATUS(status) == SUPERVISOR_NEXT;
	bool by_itself = WIFEXITED(status) && !next;

	if (h->code >= 0)
		return h->code;
	if (h->given_up)
		return 0;
	if (by_itself && (h->serves || !h->ever_served))
		return WEXITSTATUS(status);
	if (h->ending && WIFSIGNALED(status) && !by_us(WTERMSIG(status)))
		log_warn("the serving process was killed (%s) before the "
			 "service ended", strsignal(WTERMSIG(status)));
	if (h->ending)
		return next || by_us(WTERMSIG(status)) ? 0 : 1;
	if (!h->ever_served && !next)
		return complain("mount", 1, "the serving process was killed "
				"while it started (%s)",
				WIFSIGNALED(status)
					? strsignal(WTERMSIG(status))
					: "?");
	return -1;
}

static void on_signal(struct supervisor *h);

/* Waits before the next server, unless a signal asks for the end. */
static void rest(struct supervisor *h)
{
	struct pollfd p = { .fd = h->signals, .events = POLLIN };
	uint64_t pause = MIN(PAUSE_MS << MIN(h->tries, 8u), PAUSE_MAX_MS);
	uint64_t end = now_ns() + pause * NS_PER_MS, now;

	while (!h->ending && (now = now_ns()) < end)
		if (poll(&p, 1, (int)((end - now) / NS_PER_MS) + 1) > 0)
			on_signal(h);
}

/* Falls back to the previous program. The new one may fail to start, or be unable to take
 * over the state of the old one. */
static void go_back(struct supervisor *h)
{
	if (h->old_exe < 0)
		return;
	log_error("%s does not serve: going on with the program before",
		  h->path);
	fd_close(&h->exe);
	h->exe = take_fd(&h->old_exe);
	h->upgrade = UPGRADE_FAILED;
}

static void next_server(struct supervisor *h, int status)
{
	struct err err = { 0 };

	h->code = judge_end(h, status);
	if (h->code >= 0)
		return;
	say_end(status);
	if (!h->serves) {
		go_back(h);
		rest(h);
		h->tries++;
	}
	while (!h->ending && h->tries < TRIES_MAX &&
	       start_server(h, &err) < 0) {
		log_error("%s", err.text);
		if (h->old_exe >= 0) {
			go_back(h);
			continue;
		}
		rest(h);
		h->tries++;
	}
	if (h->server.pidfd >= 0)
		return;
	if (!h->ending)
		log_error("no serving process lives: giving up");
	h->code = 1;
}

static void on_end(struct supervisor *h)
{
	int status;

	if (!child_reap(&h->server, &status))
		return;
	/* handle the messages that the server sent before its end */
	while (h->control >= 0 && h->code < 0 && hear_one(h, true))
		;
	child_end(&h->server);
	fd_close(&h->control);
	next_server(h, status);
}

/* Reaps the children of a killed server, which end by themselves. The kernel makes them
 * children of this process. */
static void reap_orphans(const struct supervisor *h)
{
	siginfo_t info = { 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid > 0 && info.si_pid != h->server.pid) {
		waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

static void on_signal(struct supervisor *h)
{
	struct signalfd_siginfo info;
	int sig;

	if (read(h->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	sig = (int)info.ssi_signo;
	if (sig == SIGCHLD) {
		reap_orphans(h);
		return;
	}
	if (sig != SIGUSR2 && sig != SUPERVISOR_NOW) {
		end_server(h, sig == SIGINT ? SIGTERM : sig);
		return;
	}
	/* While the server starts, keep the signal for later: the server has not
	 * blocked it yet and would die of it, as if it could not serve. */
	h->asked = sig;
	if (h->serves)
		upgrade(h);
}

/* --- start and end -------------------------------------------------------- */

static int watch_signals(struct supervisor *h)
{
	static const int ignored[] = IGNORED_PRIVATE;
	const int heard[] = HEARD, heard_private[] = HEARD_PRIVATE;
	bool private = h->options->die_with_parent;
	size_t count = private ? ARRAY_SIZE(heard_private) : ARRAY_SIZE(heard);
	sigset_t set;

	/*
	 * SIGINT is handled even if a shell has set it to ignored for
	 * background commands: a user who ends a script by Ctrl-C wants no
	 * mount left.
	 */
	sigemptyset(&set);
	for (size_t i = 0; i < count; i++)
		sigaddset(&set, private ? heard_private[i] : heard[i]);
	for (size_t i = 0; private && i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* with SIG_IGN the kernel reaps children itself */
	h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return h->signals < 0 ? -errno : 0;
}

/* Makes the table of stored descriptors. It has room for as many as this process
 * may have open, less OWN_FDS. */
static int make_store(struct supervisor *h, struct err *err)
{
	uint64_t files = open_limit_raise();
	int r;

	if (files < FILES_MIN)
		return err_set(err, -EMFILE, "only %" PRIu64 " files may be open "
			       "at once (RLIMIT_NOFILE), and %d are needed at "
			       "least: see ulimit -n, or LimitNOFILE= of a "
			       "systemd unit", files, FILES_MIN);
	r = fdstore_table_new((unsigned)MIN(files - OWN_FDS, UINT_MAX), &h->kept);
	return r < 0 ? err_sys(err, r, "fsd") : 0;
}

static int begin(struct supervisor *h, struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", h->path, sizeof(h->path) - 1);
	int r = n < 0 ? -errno : watch_signals(h);

	if (r < 0)
		return err_sys(err, r, "fsd");
	h->manager = service_manager_take();
	r = make_store(h, err);
	if (r < 0)
		return r;
	h->path[n] = '\0';
	h->exe = open_program("/proc/self/exe");
	h->handover = handover_make();
	if (h->exe < 0 || h->handover < 0)
		return err_sys(err, MIN(h->exe, h->handover),
			       "%s", h->exe < 0 ? h->path :
			       "memory that servers leave to each other");
	r = mountpoint_check(h->options->rooms.mountpoint, err);
	return r < 0 ? r : start_server(h, err);
}

/* Returns milliseconds until a newly installed program that does not answer is
 * ended; -1: never. */
static int patience(struct supervisor *h)
{
	uint64_t end = h->started_ns + ANSWER_NS, now = now_ns();

	if (!is_candidate(h))
		return -1;
	if (now < end)
		return (int)((end - now) / NS_PER_MS) + 1;
	tell_server(h, SIGKILL);
	return -1;
}

static void watch(struct supervisor *h)
{
	struct pollfd p[] = {
		{ .fd = h->signals, .events = POLLIN },
		{ .fd = h->control, .events = POLLIN },
		{ .fd = h->server.pidfd, .events = POLLIN },
	};

	if (poll(p, ARRAY_SIZE(p), patience(h)) < 0)
		return;
	if (p[0].revents)
		on_signal(h);
	if (p[1].revents)
		hear_server(h);
	if (p[2].revents) {
		on_end(h);
		reap_orphans(h);
	}
}

int hold(const struct mount_options *options, struct ready *ready)
{
	struct supervisor h = {
		.options = options, .ready = ready, .code = -1,
		.signals = -1, .handover = -1, .mount = -1, .exe = -1,
		.old_exe = -1, .control = -1,
		.server = { .pidfd = -1, .stderr_fd = -1 },
	};
	struct err err = { 0 };

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (options->die_with_parent)
		prctl(PR_SET_PDEATHSIG, SUPERVISOR_LEAVE);
	if (begin(&h, &err) < 0)
		h.code = complain("mount", 1, "%s", err.text);
	while (h.code < 0)
		watch(&h);
	free(h.manager);
	fd_close(&h.control);
	child_end(&h.server);
	fdstore_table_free(h.kept);
	mountpoint_free(h.session, h.device, options->rooms.mountpoint);
	fd_close(&h.exe);
	fd_close(&h.old_exe);
	fd_close(&h.handover);
	fd_close(&h.signals);
	return h.code;
}
