/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of the mount: makes it and unmounts it, by fusermount3 if this
 * user may not do it directly. Runs in the supervisor, which has one thread; may wait for
 * fusermount3.
 */
#include "mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/os/spawn.h"
#include "mount_table.h"
#include "library.h"

#define REMOVE_WAIT_MS 2500

/* Unmounts by force: processes inside get no more answers. Uses fusermount3
 * where this user may not unmount. */
static int take_away(const char *path)
{
	const char *argv[] = { "fusermount3", "-u", "-q", "-z", "--", path,
			       NULL };
	struct spawn s = { .argv = argv, .may_gain = true };
	struct child c;
	int r;

	if (umount2(path, MNT_DETACH | MNT_FORCE) == 0)
		return 0;
	if (geteuid() == 0)
		return -errno;
	r = spawn(&s, &c, NULL);
	if (r == 0) {
		struct pollfd p = { .fd = c.pidfd, .events = POLLIN };

		poll(&p, 1, REMOVE_WAIT_MS);
		r = child_end(&c) == 0 ? 0 : -EPERM;
	}
	return r;
}

/* Checks the conditions of fusermount3. */
static bool may_mount_on(const char *path, const struct stat *st)
{
	return geteuid() == 0 || st->st_uid == geteuid() ||
	       (!(st->st_mode & S_ISVTX) && access(path, W_OK) == 0);
}

int mountpoint_check(const char *mountpoint, struct err *err)
{
	struct stat st;

	if (mounts_is_fsd(mountpoint)) {
		if (stat(mountpoint, &st) == 0 || errno != ENOTCONN)
			return err_set(err, -EBUSY,
				       "%s: fsd is mounted here already; "
				       "`fsd umount %s` ends it",
				       mountpoint, mountpoint);
		log_warn("%s: taking away the mount of a dead fsd", mountpoint);
		take_away(mountpoint);
	}
	if (stat(mountpoint, &st) < 0)
		return err_sys(err, -errno, "the mount point %s", mountpoint);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR,
			       "the mount point %s is not a directory",
			       mountpoint);
	if (!may_mount_on(mountpoint, &st))
		return err_set(err, -EACCES,
			       "the mount point %s belongs to uid %u, mode %03o, "
			       "and fusermount3 mounts only where this user may "
			       "write: make a directory of your own, or run as "
			       "root", mountpoint, st.st_uid,
			       st.st_mode & 0777);
	if (access("/dev/fuse", R_OK | W_OK) < 0 && errno == EACCES)
		return err_set(err, -EACCES,
			       "/dev/fuse cannot be opened by this user; run "
			       "`chmod 666 /dev/fuse` as root");
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return err_sys(err, -errno,
			       "/dev/fuse cannot be opened; load the module "
			       "fuse, or pass the device into this container");
	return 0;
}

/* Lets the library mount, because it also knows fusermount3. The session serves no
 * request: each server makes its own. */
static struct fuse_session *make_session(bool allow_other)
{
	static const struct fuse_lowlevel_ops none;
	char options[128];
	char *argv[] = { (char[]){ "fsd" }, (char[]){ "-o" }, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *session;

	snprintf(options, sizeof(options), "fsname=fsd,subtype=fsd%s",
		 allow_other ? ",allow_other" : "");
	session = fuse_session_new(&args, &none, sizeof(none), NULL);
	fuse_opt_free_args(&args);
	return session;
}

static bool has_fusermount(void)
{
	static const char *const places[] = {
		"/usr/bin/fusermount3", "/bin/fusermount3",
		"/usr/local/bin/fusermount3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], X_OK) == 0)
			return true;
	return false;
}

/* Returns the cause; the library and fusermount3 have written more on standard
 * error. */
static const char *why_not(bool allow_other)
{
	if (geteuid() == 0)
		return "the kernel refuses it, as the line above says; in a "
		       "container it takes CAP_SYS_ADMIN and /dev/fuse";
	if (!has_fusermount())
		return "run as root, or install fuse3 (fusermount3)";
	if (allow_other)
		return "fusermount3 refuses it, as the line above says; for "
		       "--allow-other /etc/fuse.conf needs user_allow_other";
	return "fusermount3 refuses it, as the line above says";
}

int mountpoint_make(const char *path, bool allow_other,
		    struct fuse_session **ret_session, dev_t *ret_device,
		    struct err *err)
{
	struct fuse_session *session = make_session(allow_other);
	int fd, flags;

	if (!session)
		return err_sys(err, -ENOMEM, "the FUSE session");
	if (fuse_session_mount(session, path) != 0) {
		fuse_session_destroy(session);
		return err_set(err, -EPERM, "%s cannot be mounted: %s", path,
			       why_not(allow_other));
	}
	*ret_session = session;
	*ret_device = mounts_device(path);
	fd = fuse_session_fd(session);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, -errno, "the mount's channel");
	return fd;
}

bool mountpoint_has_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = 0 };

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

/*
 * Returns whether the mount found at path is the one that we made at `made`.
 * When a connection has ended, the kernel gives its device number to the next
 * mount: that may be another fsd's, and dead, too.
 */
static bool is_ours(int fd, const char *path, const char *made)
{
	struct stat st;

	return !mountpoint_has_ended(fd) ||
	       (!strcmp(path, made) && stat(path, &st) < 0 &&
		errno == ENOTCONN);
}

void mountpoint_free(struct fuse_session *session, dev_t device,
		     const char *path)
{
	/* the session of a mount that stays */
	static struct fuse_session *left;
	struct mount_found at;
	int r = -EBUSY;

	if (!session || session == left)
		return;
	if (mounts_find(device, &at) == 0 &&
	    is_ours(fuse_session_fd(session), at.path, path))
		r = take_away(at.path);
	if (mountpoint_has_ended(fuse_session_fd(session))) {
		fuse_session_unmount(session);
		fuse_session_destroy(session);
		return;
	}
	if (r < 0)
		log_warn("%s: something else is mounted above the mount of "
			 "fsd, which stays under it without a service", path);
	/* Keep the session: freeing it would unmount whatever is there now. The
	 * end of this process ends the connection. */
	left = session;
}

int mountpoint_remove(dev_t device)
{
	struct mount_found at;

	return mounts_find(device, &at) < 0 ? -ENOENT : take_away(at.path);
}
