/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd mount, which becomes the service of a mount; its options are the table in
 * server/options.h. fsd umount and fsd upgrade, which ask the service behind a mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/mount/mount_table.h"
#include "fsd/server/check_dirs.h"
#include "fsd/server/daemonize.h"
#include "fsd/server/options.h"
#include "fsd/server/serve.h"
#include "fsd/server/supervisor.h"

#define ROW(name, value, how, help, takes, words) \
	{ CLI_LONG, name, value, help, takes, words },

static const struct cli_option mount_cli_options[] = { MOUNT_OPTION_TABLE(ROW) { 0 } };

int mount_options_take(struct mount_options *o, int argc, char **argv)
{
	struct err err;
	int r = mount_options_parse(o, argc, argv, &err);

	if (r == 0)
		return 0;
	if (r == -ENOTSUP)
		usage(&mount_command);
	if (err.text[0])
		complain("mount", 2, "%s", err.text);
	return r == -ENOENT ? 1 : 2;
}

/* Checks the environment at the start only: if it is removed later, a server that takes
 * over does not end because of that. */
static int check_environment(const struct mount_options *o)
{
	struct environment *e = NULL;
	struct err err = { 0 };
	int r = 0;

	if (o->environments.name)
		r = environment_open(&o->environments.places,
				     o->environments.name, &e, &err);
	environment_unref(e);
	return r < 0 ? complain("mount", 2, "--default-environment: %s",
				err.text) : 0;
}

static int command_mount(const struct cli_command *self, int argc, char **argv)
{
	struct mount_options o = { 0 };
	struct err err = { 0 };
	uid_t owner;
	int r = mount_options_take(&o, argc, argv);

	(void)self;
	if (r == 0 && places_check(&o, &err) < 0)
		r = complain("mount", 1, "%s", err.text);
	if (r == 0)
		r = check_environment(&o);
	/* hold() refuses a mount of fsd, which hides nothing. */
	if (r == 0 && !mounts_is_fsd_at(o.rooms.mountpoint, &owner) &&
	    place_hides(o.rooms.mountpoint, &err))
		complain("mount", 0, "%s", err.text);
	if (r == 0)
		r = o.daemonize ? hold_in_background(&o) : hold(&o, NULL);
	mount_options_done(&o);
	return r;
}

int command_serve(int argc, char **argv)
{
	struct mount_options o = { 0 };
	int r = mount_options_take(&o, argc, argv);

	if (r == 0)
		r = serve(&o);
	mount_options_done(&o);
	return r;
}

/* --- umount and upgrade ------------------------------------------------------- */

enum { OPT_NOW = CLI_LONG };

static const struct cli_option umount_cli_options[] = {
	{ OPT_NOW, "now", NULL, "do not wait for the jobs that run", CLI_TEXT,
	  NULL },
	{ 0 },
};

/* Reads the process ID that a mount shows in an attribute: user.fsd.service: the
 * supervisor, user.fsd.pid: the server. */
static int process_of(const char *mnt, const char *attribute, pid_t *ret_pid)
{
	char text[32];
	ssize_t n = getxattr(mnt, attribute, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	*ret_pid = (pid_t)strtol(text, NULL, 10);
	return *ret_pid > 0 ? 0 : -ESRCH;
}

static bool belongs_to(pid_t pid, uid_t owner)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && st.st_uid == owner;
}

/* Finds the process that keeps a mount. Any user can give a directory these attributes, a
 * copy has them too, and a stranger's mount can answer anything. So this asks only a
 * mount of fsd, and believes the number only of a process of the mount's owner. */
static int service_of(const char *mnt, pid_t *ret_pid)
{
	dev_t device = mounts_device(mnt);
	struct mount_found at;
	int r;

	if (!device)
		return -errno;
	if (mounts_find(device, &at) < 0)
		return -ENODATA;
	r = process_of(mnt, "user.fsd.service", ret_pid);
	if (r == 0 && !belongs_to(*ret_pid, at.owner))
		r = -ESRCH;
	return r;
}

static int wait_for_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int no_service(const char *command, const char *mnt, int r)
{
	uid_t owner = 0;

	if (r == -ENOTCONN)
		return complain(command, 1,
				"%s: the fsd of this mount is dead; `umount %s` "
				"takes it away", mnt, mnt);
	/* Another kind of file system has no such attribute, or none at all. */
	if (r == -ENODATA || r == -EOPNOTSUPP)
		return complain(command, 1, "%s is not a mount of fsd", mnt);
	if (r == -ESRCH)
		return complain(command, 1, "%s: its service is no process of "
				"the mount's owner that can be seen here", mnt);
	if (r == -EACCES && mounts_is_fsd_at(mnt, &owner))
		return complain(command, 1, "%s is the mount of uid %u, made "
				"without --allow-other: nobody else gets in; "
				"run this as that user", mnt, owner);
	if (r == -EACCES)
		return complain(command, 1, "%s cannot be reached by this user, "
				"so nobody can tell whether it is a mount of "
				"fsd: %s", mnt, strerror(-r));
	if (r == -ENOENT)
		return complain(command, 1, "%s is not a mount of fsd: it does "
				"not exist", mnt);
	return complain(command, 1, "%s is not a mount of fsd: %s", mnt,
			strerror(-r));
}

/* Reads the options of umount and upgrade, and the operand MNT. */
static int now_options(const struct cli_command *self, int argc, char **argv,
		       bool *ret_now)
{
	struct cli_getopt g;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt != OPT_NOW)
			return usage(self);
		*ret_now = true;
	}
	return optind == argc - 1 ? 0 : usage(self);
}

/* Prints why the service could not be signalled. */
static int no_signal(const char *command, const char *mnt, pid_t pid)
{
	const int error = errno;
	uid_t owner = 0;

	if (error == EPERM && mounts_is_fsd_at(mnt, &owner))
		return complain(command, 1, "%s is the mount of uid %u: that user or "
				"root has to do this", mnt, owner);
	return complain(command, 1, "fsd (process %d): %s", (int)pid,
			strerror(error));
}

static int command_umount(const struct cli_command *self, int argc, char **argv)
{
	auto_close int pidfd = -1;
	bool now = false;
	pid_t pid = -1;
	int r = now_options(self, argc, argv, &now);

	if (r)
		return r;
	r = service_of(argv[optind], &pid);
	if (r < 0)
		return no_service("umount", argv[optind], r);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0 ||
	    pidfd_send_signal(pidfd, now ? SIGTERM : SIGUSR1, NULL, 0) < 0)
		return no_signal("umount", argv[optind], pid);
	r = wait_for_end(pidfd);
	return r < 0 ? complain("umount", 1, "%s", strerror(-r)) : 0;
}

/* --- upgrade ------------------------------------------------------------------ */

/* Servers that may come and go while one is asked for its process. */
#define SERVERS_MAX 100

/* Return: a pidfd of the process that serves, or negative errno. */
static int server_of(const char *mnt)
{
	int fd = -1, r = 0;

	/* if the server that should answer was replaced, ask the next one */
	for (int i = 0; i < SERVERS_MAX && r == 0 && fd < 0; i++) {
		pid_t pid;

		r = process_of(mnt, "user.fsd.pid", &pid);
		if (r == 0)
			fd = pidfd_open(pid, 0);
		if (r == 0 && fd < 0 && errno != ESRCH)
			r = -errno;
	}
	return r < 0 ? r : fd < 0 ? -ESRCH : fd;
}

static int command_upgrade(const struct cli_command *self, int argc, char **argv)
{
	auto_close int service = -1, server = -1;
	pid_t pid = -1;
	const char *mnt;
	char version[64] = "", outcome[16] = "";
	bool now = false;
	int r = now_options(self, argc, argv, &now);

	if (r)
		return r;
	mnt = argv[optind];
	r = service_of(mnt, &pid);
	if (r == 0)
		r = server = server_of(mnt);
	if (r < 0)
		return no_service("upgrade", mnt, r);
	service = pidfd_open(pid, 0);
	if (service < 0 ||
	    pidfd_send_signal(service, now ? SUPERVISOR_NOW : SIGUSR2, NULL, 0) < 0)
		return no_signal("upgrade", mnt, pid);
	r = wait_for_end(server);
	if (r < 0)
		return complain("upgrade", 1, "%s", strerror(-r));
	/* The next server answers this call, so it waits until that one serves. */
	if (getxattr(mnt, "user.fsd.version", version, sizeof(version) - 1) < 0)
		return complain("upgrade", 1, "%s: %s", mnt, strerror(errno));
	if (getxattr(mnt, "user.fsd.upgrade", outcome, sizeof(outcome) - 1) < 0)
		outcome[0] = '\0'; /* an older server has no such attribute */
	if (!strcmp(outcome, "failed"))
		return complain("upgrade", 1, "the program that is installed "
				"does not serve; %s is served by the one before, "
				"fsd %s", mnt, version);
	printf("%s is served by fsd %s\n", mnt, version);
	return 0;
}

const struct cli_command mount_command = {
	.name = "mount", .fn = command_mount, .group = "Mounts",
	.synopsis = "[OPTIONS] MNT",
	.summary = "serve MNT; stays in the foreground",
	.options = mount_cli_options, .operand = CLI_MOUNT,
};

const struct cli_command umount_command = {
	.name = "umount", .fn = command_umount, .group = "Mounts",
	.synopsis = "[--now] MNT",
	.summary = "stop: no new jobs, running ones finish",
	.options = umount_cli_options, .operand = CLI_MOUNT,
};

const struct cli_command upgrade_command = {
	.name = "upgrade", .fn = command_upgrade, .group = "Mounts",
	.synopsis = "[--now] MNT",
	.summary = "go on with the program as it is installed now",
	.options = umount_cli_options, .operand = CLI_MOUNT,
	.notes = "It waits until no job is running; there is no unmount.",
};
