/* SPDX-License-Identifier: Apache-2.0 */
/* The holder's side: making the mount and taking it away. */
#include "mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../vm/spawn.h"
#include "ops.h"

#define REMOVE_WAIT_MS 2500

static bool is_ours(const char *mountpoint)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	bool found = false;

	if (!f)
		return false;
	while ((m = getmntent(f)))
		if (!strcmp(m->mnt_dir, mountpoint))
			found = !strcmp(m->mnt_type, "fuse.fsd");
	endmntent(f);
	return found;
}

int mountpoint_check(const char *mountpoint, struct err *err)
{
	struct stat st;

	if (is_ours(mountpoint)) {
		if (stat(mountpoint, &st) == 0 || errno != ENOTCONN)
			return err_set(err, -EBUSY,
				       "%s: fsd is mounted here already; "
				       "`fsd umount %s` ends it",
				       mountpoint, mountpoint);
		log_warn("%s: taking away the mount of a dead fsd", mountpoint);
		umount2(mountpoint, MNT_DETACH);
	}
	if (stat(mountpoint, &st) < 0)
		return err_sys(err, -errno, "the mount point %s", mountpoint);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR,
			       "the mount point %s is not a directory",
			       mountpoint);
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

/* The library knows how, also where fusermount3 has to. Its session serves
 * nothing: each server makes its own. */
static struct fuse_session *make_session(const struct mount_options *o)
{
	static const struct fuse_lowlevel_ops none;
	char options[128];
	char *argv[] = { (char[]){ "fsd" }, (char[]){ "-o" }, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *session;

	snprintf(options, sizeof(options), "fsname=fsd,subtype=fsd%s",
		 o->allow_other ? ",allow_other" : "");
	session = fuse_session_new(&args, &none, sizeof(none), NULL);
	fuse_opt_free_args(&args);
	return session;
}

int mountpoint_make(const struct mount_options *options,
		    struct fuse_session **ret_session, struct err *err)
{
	struct fuse_session *session = make_session(options);
	int fd, flags;

	if (!session)
		return err_sys(err, -ENOMEM, "the FUSE session");
	if (fuse_session_mount(session, options->mountpoint) != 0) {
		fuse_session_destroy(session);
		return err_set(err, -EPERM,
			       "%s cannot be mounted: run as root, or install "
			       "fuse3 (fusermount3)%s",
			       options->mountpoint,
			       options->allow_other && geteuid()
				       ? " and put user_allow_other into "
					 "/etc/fuse.conf"
				       : "");
	}
	*ret_session = session;
	fd = fuse_session_fd(session);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, -errno, "the mount's channel");
	return fd;
}

void mountpoint_free(const struct mount_options *options,
		     struct fuse_session *session)
{
	if (!session)
		return;
	mountpoint_remove(options->mountpoint);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
}

int mountpoint_remove(const char *path)
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
