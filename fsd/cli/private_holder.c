/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that holds the private mount of one client, such as `fsd run`. It makes a
 * directory for all that the mount has, keeps a lock on it, and removes it at the end.
 *
 * The mount is in a mount namespace of its own, so that the kernel takes it away with the
 * last process of that namespace, however that ends. The client gets a descriptor of the
 * mount's root and needs no path to it. Templates are kept in the usual place, so that
 * only the first private mount has to boot a machine.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/base/daemon_log.h"
#include "fsd/local/own_dir.h"
#include "fsd/client/private.h"
#include "fsd/server/supervisor.h"
#include "fsd/server/options.h"
#include "fsd/server/default_dirs.h"
#include "vm/os/spawn.h"

static int write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Makes this user's ids the only ones of a new user namespace. */
static int map_ids(uid_t uid, gid_t gid)
{
	char map[64];
	int r;

	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	r = write_file("/proc/self/uid_map", map);
	if (r == 0)
		r = write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return r ? r : write_file("/proc/self/gid_map", map);
}

/* Enters a new mount namespace; an ordinary user needs a user namespace for that. Mounts
 * of the host stay visible in it; ours are not visible outside. Return: 0 or negative
 * errno; after an error this process must end. */
static int enter_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = 0;

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0)
		return -errno;
	if (uid)
		r = map_ids(uid, gid);
	if (r == 0 && mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		r = -errno;
	return r;
}

/* Makes a directory in $TMPDIR, or else in /tmp. Return: the descriptor of its lock; -1:
 * standard error has the sentence. */
static int make_dir(const char *command, char dir[PRIVATE_DIR])
{
	const char *base = private_base();
	auto_close int at = -1;
	char name[NAME_MAX + 1];
	int fd;

	if (strlen(base) >= PRIVATE_DIR - sizeof(name)) {
		complain(command, 1, "TMPDIR is %s; it may have %zu bytes at "
			 "most", base, PRIVATE_DIR - sizeof(name) - 1);
		return -1;
	}
	at = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = at < 0 ? -errno : own_dir_make(at, PRIVATE_NAME, name);
	if (fd < 0)
		complain(command, 1, "%s: %s", base, strerror(-fd));
	else
		snprintf(dir, PRIVATE_DIR, "%s/%s", base, name);
	return fd;
}

/* The options of a private mount, as `fsd mount` takes them. */
struct words {
	char state[PRIVATE_PATH], mnt[PRIVATE_PATH];
	const char **argv; /* owned */
	int argc;
};

/* The client's wishes for the mount. */
struct wanted {
	uint64_t jobs;
	char **rules; /* borrowed: the servers that its jobs may reach */
	int rule_count;
};

/* Makes the command line of the private mount's server. From PRIVATE_MANY jobs on, the
 * mount keeps machines ready. plain: the machines run one program with a #! line. cache:
 * borrowed as long as the words are used. */
static int make_words(struct words *w, const struct wanted *want, bool plain,
		      const char *cache)
{
	bool many = want->jobs >= PRIVATE_MANY;
	const char *const words[] = {
		PRIVATE_COMMAND, "--state", w->state, "--cache", cache,
		"--log-level", "warn", "--durability", "relaxed",
		"--max-timeout", "0", "--max-memory", "0", "--private",
		"--fork", many ? "yes" : "no",
		many ? "--heat" : "--pool", many ? "quick" : "0",
	};

	w->argv = calloc(ARRAY_SIZE(words) + 2 * (size_t)want->rule_count + 3,
			 sizeof(*w->argv));
	if (!w->argv)
		return complain(PRIVATE_COMMAND, 1, "out of memory");
	memcpy(w->argv, words, sizeof(words));
	w->argc = ARRAY_SIZE(words);
	for (int i = 0; i < want->rule_count; i++) {
		w->argv[w->argc++] = "--network-allow";
		w->argv[w->argc++] = want->rules[i];
	}
	w->argv[w->argc++] = plain ? "--plain" : "--";
	w->argv[w->argc++] = w->mnt;
	return 0;
}

static int hold_in(const char *command, const struct wanted *want, const char *dir,
		   struct ready *ready)
{
	/* a build that tries an environment sets a directory for its template, which is
	 * removed afterwards */
	const char *passing = getenv("FSD_PASSING");
	auto_free char *cache = passing ? strdup(passing) : default_state_dir();
	struct words w = { 0 };
	struct mount_options o;
	int r;

	if (!cache)
		return complain(command, 1, "uid %u has no home directory for "
				"templates: set HOME or XDG_STATE_HOME",
				geteuid());
	snprintf(w.state, sizeof(w.state), "%s/state", dir);
	snprintf(w.mnt, sizeof(w.mnt), "%s" PRIVATE_MNT, dir);
	mkdir(w.mnt, 0700);
	r = make_words(&w, want, passing != NULL, cache);
	if (r)
		return r;
	r = mount_options_take(&o, w.argc, (char **)(uintptr_t)w.argv);
	if (r == 0) {
		ready->log = daemon_log_open(o.state_dir, DAEMON_LOG_LIMIT);
		r = hold(&o, ready);
		daemon_log_close(ready->log);
	}
	mount_options_done(&o);
	free(w.argv);
	return r;
}

unsigned private_machines(unsigned jobs)
{
	struct words w = { .state = "/", .mnt = "/" };
	unsigned machines = 0;
	struct mount_options o;

	if (make_words(&w, &(struct wanted){ .jobs = jobs }, false, "/"))
		return 0;
	if (mount_options_take(&o, w.argc, (char **)(uintptr_t)w.argv) == 0)
		machines = o.vm.max_machines;
	mount_options_done(&o);
	free(w.argv);
	return machines;
}

/* private COMMAND JOBS PRIVATE_PLAIN|PRIVATE_SPACE RULE... */
int private_main(int argc, char **argv)
{
	char dir[PRIVATE_DIR];
	struct ready ready = { .fd = SPAWN_FD_FIRST, .root = true };
	auto_close int lock = -1;
	bool plain = argc > 3 && !strcmp(argv[3], PRIVATE_PLAIN);
	sigset_t leave;
	struct wanted want = { .rules = argv + MIN(argc, 4),
			       .rule_count = MAX(argc - 4, 0) };
	int r = 1;

	if (argc < 3 || parse_u64(argv[2], 0, UINT32_MAX, &want.jobs) < 0)
		return 2;
	prctl(PR_SET_NAME, "fsd");
	fcntl(ready.fd, F_SETFD, FD_CLOEXEC);
	sigemptyset(&leave);
	sigaddset(&leave, SUPERVISOR_LEAVE);
	sigprocmask(SIG_BLOCK, &leave, NULL); /* until hold() has its signalfd */
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!plain && enter_namespace() < 0)
		return PRIVATE_NO_NAMESPACE;
	lock = make_dir(argv[1], dir);
	if (lock < 0)
		return 1;
	if (write(ready.fd, dir, sizeof(dir)) == (ssize_t)sizeof(dir))
		r = hold_in(argv[1], &want, dir, &ready);
	private_remove(dir);
	return r;
}
