/* SPDX-License-Identifier: Apache-2.0 */
#include "mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keeper.h"
#include "lifecycle.h"
#include "ops.h"

/* Requests are served for so long before other sources have a turn, */
#define TURN_NS (2 * NS_PER_MS)
/* and none may take longer by its size alone. */
#define WRITE_MAX (256u << 10)

/*
 * Who works with files asks again at once: while the questions come closer
 * together than this, the next one is waited for awake. That halves the time
 * of each, and costs a processor as long as a burst lasts.
 */
#define LINGER_NS (200000ull)

struct mountpoint {
	struct fsd *d;
	uint64_t last_ns; /* when the last request was answered */
	struct loop_fd src;
	struct fuse_buf buf; /* libfuse allocates it at the first request */
};

static struct mountpoint *mountpoint_of(struct fsd *d)
{
	static struct mountpoint only; /* libfuse's callbacks need a fixed place */

	only.d = d;
	return &only;
}

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	/* Our replies are short or come from a buffer: a copy is cheaper than
	 * a pipe. */
	conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
	conn->max_write = MIN(conn->max_write, WRITE_MAX);
	conn->time_gran = 1;
}

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

static int check_mountpoint(const char *mountpoint, struct err *err)
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
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return err_sys(err, -errno,
			       "/dev/fuse cannot be opened; load the module "
			       "fuse, or pass the device into this container");
	return 0;
}

static int make_session(struct fsd *d)
{
	char options[128];
	char *argv[] = { (char[]){ "fsd" }, (char[]){ "-o" }, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	static struct fuse_lowlevel_ops ops;

	ops = fsd_ops;
	ops.init = on_init;
	snprintf(options, sizeof(options), "fsname=fsd,subtype=fsd%s",
		 d->options->allow_other ? ",allow_other" : "");
	d->session = fuse_session_new(&args, &ops, sizeof(ops), d);
	fuse_opt_free_args(&args);
	return d->session ? 0 : -ENOMEM;
}

int mountpoint_open(struct fsd *d, struct err *err)
{
	const char *mountpoint = d->options->mountpoint;
	int r = check_mountpoint(mountpoint, err);

	if (r < 0)
		return r;
	r = make_session(d);
	if (r < 0)
		return err_sys(err, r, "the FUSE session");
	if (fuse_session_mount(d->session, mountpoint) != 0) {
		fuse_session_destroy(d->session);
		d->session = NULL;
		return err_set(err, -EPERM,
			       "%s cannot be mounted: run as root, or install "
			       "fuse3 (fusermount3)%s",
			       mountpoint,
			       d->options->allow_other && geteuid()
				       ? " and put user_allow_other into "
					 "/etc/fuse.conf"
				       : "");
	}
	return 0;
}

static void on_gone(struct mountpoint *s, int r)
{
	if (r < 0)
		log_error("the mount's channel failed: %s", strerror(-r));
	else
		log_info("%s was unmounted", s->d->options->mountpoint);
	loop_fd_del(&s->src);
	lifecycle_stop(s->d, true);
}

/* Request after request, for a turn; less when one of them has set something
 * going: a job's machine is to start before its owner's next question. */
static void on_requests(struct loop_fd *src, uint32_t events)
{
	struct mountpoint *s = src->arg;
	uint64_t now = now_ns(), until = now + TURN_NS;
	bool burst = now - s->last_ns < LINGER_NS;

	(void)events;
	do {
		int n = fuse_session_receive_buf(s->d->session, &s->buf);

		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n <= 0) {
			on_gone(s, n == -ENODEV ? 0 : n);
			return;
		}
		ops_serve(s->d->session, &s->buf);
		if (fuse_session_exited(s->d->session)) {
			on_gone(s, 0);
			return;
		}
		s->last_ns = now_ns();
	} while (s->last_ns < until && !loop_is_due(s->d->loop));
	if (burst)
		loop_linger(s->d->loop, LINGER_NS);
}

int mountpoint_serve(struct fsd *d, struct err *err)
{
	struct mountpoint *s = mountpoint_of(d);
	int fd = fuse_session_fd(d->session);
	int flags = fcntl(fd, F_GETFL), r;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, -errno, "the mount's channel");
	s->src = (struct loop_fd){
		.fd = fd, .events = EPOLLIN, .fn = on_requests, .arg = s,
	};
	r = loop_fd_add(d->loop, &s->src);
	return r < 0 ? err_sys(err, r, "the mount's channel") : 0;
}

uint64_t mountpoint_asked_ns(struct fsd *d)
{
	return mountpoint_of(d)->last_ns;
}

void mountpoint_close(struct fsd *d)
{
	struct mountpoint *s = mountpoint_of(d);

	if (!d->session)
		return;
	loop_fd_del(&s->src);
	/* The library's own way takes rights that may be given up already; it
	 * then finds that the mount has gone. */
	keeper_umount(d->keeper);
	fuse_session_unmount(d->session);
	fuse_session_destroy(d->session);
	free(s->buf.mem);
	ops_serve_done();
	s->buf = (struct fuse_buf){ 0 };
	d->session = NULL;
}
