/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the file tree of the machine in the order in which mounts.h lists the calls:
 * initramfs, root image and layers, system mounts, devices, settings, walls. Later it
 * only changes the size of the user's tmpfs mounts. Tables say what is mounted, made,
 * set and covered; each function works through one of them.
 */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "sys.h"

#define ROOT_DEVICE "/dev/vda"
#define DISK_WAIT_MS 30000
#define IMAGE_LAYER "/image"
#define EMPTY_LAYER "/empty"
/* exists only until mount_user_files() has bound its parts */
#define USER_FILES "/run/user-files"
#define LAYERS_MAX 8 /* disks of an environment, beside the image's */

struct mount_row {
	const char *target, *type, *options;
	unsigned long flags;
};

/*
 * Sizes: inputs may fill much of the machine's memory. /tmp and /dev/shm get
 * half of a job's memory, but at least 480 MiB; a program's files there also
 * count against its own limit. mounts_reduce_dev() mounts /dev/shm.
 */
static const struct mount_row system_mounts[] = {
	{"/proc", "proc", "hidepid=2", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	{"/sys", "sysfs", "", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY},
	{"/sys/fs/cgroup", "cgroup2", "", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	{"/run", "tmpfs", "mode=0755,size=1m,nr_inodes=1k",
	 MS_NOSUID | MS_NODEV | MS_NOEXEC},
	{"/run/input", "tmpfs", "mode=0755,size=75%,nr_inodes=16",
	 MS_NOSUID | MS_NODEV | MS_NOEXEC},
	{"/tmp", "tmpfs", "mode=1777,size=480m,nr_inodes=100k",
	 MS_NOSUID | MS_NODEV},
	{USER_FILES, "tmpfs", "mode=0700,size=75%,nr_inodes=200k",
	 MS_NOSUID | MS_NODEV},
};

/*
 * The user's directories are parts of one filesystem, which has one limit.
 * /workspace and /code are the start directories of programs that were written
 * for other sandboxes; files there are no output.
 */
static const struct {
	const char *part, *target;
} user_mounts[] = {
	{USER_FILES "/home", HOME},
	{USER_FILES "/workspace", "/workspace"},
	{USER_FILES "/code", "/code"},
};

static int mount_row(const struct mount_row *m, struct err *err)
{
	if (mount(m->type, m->target, m->type, m->flags, m->options))
		return err_sys(err, -errno, "cannot mount %s on %s", m->type,
			       m->target);
	return 0;
}

int mounts_early(struct err *err)
{
	static const struct mount_row dev = {"/dev", "devtmpfs", "mode=0755",
					     MS_NOSUID | MS_NOEXEC};

	mkdir("/dev", 0755);
	return mount_row(&dev, err);
}

/* Waits for the kernel to make the node of a disk. */
static int wait_disk(const char *path)
{
	auto_close int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd p = {.fd = watch, .events = POLLIN};
	uint64_t end = sys_now() + DISK_WAIT_MS * 1000000ull;
	char events[1024];

	if (watch < 0 || inotify_add_watch(watch, "/dev", IN_CREATE) < 0)
		return -errno;
	while (access(path, F_OK)) {
		uint64_t now = sys_now();

		if (now >= end)
			return -ETIMEDOUT;
		poll(&p, 1, (int)((end - now) / 1000000u) + 1);
		while (read(watch, events, sizeof(events)) > 0)
			;
	}
	return 0;
}

/* Returns the number of layers. The kernel passes unknown words of its command
 * line to init as variables; without an environment the host sets none. */
static unsigned count_layers(void)
{
	const char *text = getenv("fsd_layers");
	uint64_t count = 0;

	if (!text || parse_u64(text, 0, LAYERS_MAX, &count) < 0)
		return 0;
	return (unsigned)count;
}

/*
 * Checks the serial number of a disk: the host gives layer i "layer" and i, and
 * the image none. The letters of disks follow the order in which the kernel
 * finds them. In another order a layer would hide the image.
 */
static int check_disk(char letter, const char *want, struct err *err)
{
	char path[40], serial[24] = "";
	int r;

	snprintf(path, sizeof(path), "/dev/vd%c", letter);
	r = wait_disk(path);
	if (r)
		return err_sys(err, r, "no disk %s", path);
	snprintf(path, sizeof(path), "/sys/block/vd%c/serial", letter);
	r = sys_read_line(path, serial, sizeof(serial));
	if (r < 0)
		return err_sys(err, r, "cannot read %s", path);
	if (strcmp(serial, want))
		return err_set(err, -EINVAL, "the disk /dev/vd%c is \"%s\"; "
			       "it must be \"%s\"", letter, serial, want);
	return 0;
}

static int mount_layer(unsigned i, struct err *err)
{
	char device[16], target[24];

	snprintf(device, sizeof(device), "/dev/vd%c", (char)('b' + i));
	snprintf(target, sizeof(target), "/layer%u", i);
	mkdir(target, 0700);
	if (mount(device, target, "erofs", MS_RDONLY | MS_NODEV | MS_NOSUID,
		  ""))
		return err_sys(err, -errno, "cannot mount the layer %s",
			       device);
	return 0;
}

/* Mounts each layer on a directory of its own, from the environment's own to
 * that of its last parent. */
static int mount_layers(unsigned count, struct err *err)
{
	static const struct mount_row sys = {
		"/sys", "sysfs", "", MS_NOSUID | MS_NODEV | MS_NOEXEC};
	char want[16];
	int r;

	mkdir(sys.target, 0700);
	r = mount_row(&sys, err);
	if (!r)
		r = check_disk('a', "", err);
	for (unsigned i = 0; !r && i < count; i++) {
		snprintf(want, sizeof(want), "layer%u", i);
		r = check_disk((char)('b' + i), want, err);
		if (!r)
			r = mount_layer(i, err);
	}
	umount2(sys.target, MNT_DETACH);
	return r;
}

/* Puts the image first: if a name exists there, no layer replaces it. */
static int mount_overlay(unsigned layers, struct err *err)
{
	char options[256];
	int used = snprintf(options, sizeof(options), "lowerdir=" IMAGE_LAYER);

	for (unsigned i = 0; i < layers; i++)
		used += snprintf(options + used,
				 sizeof(options) - (size_t)used, ":/layer%u",
				 i);
	snprintf(options + used, sizeof(options) - (size_t)used,
		 ",upperdir=" EMPTY_LAYER "/upper,workdir=" EMPTY_LAYER
		 "/work");
	mkdir("/root", 0700);
	if (mount("overlay", "/root", "overlay",
		  MS_NODEV | MS_NOSUID | MS_NOATIME, options))
		return err_sys(err, -errno, "cannot mount overlay on /root");
	return 0;
}

/*
 * Mounts the root as an overlay with an empty, read-only upper layer. A
 * read-only filesystem returns EROFS before any other error, also to a user
 * without permission and for a file that does not exist; programs expect the
 * errors of a normal machine. So the overlay looks writable to the kernel. All
 * files belong to uid 0, and even uid 0 can change nothing.
 */
static int mount_root(unsigned layers, struct err *err)
{
	static const struct mount_row empty = {
		EMPTY_LAYER, "tmpfs", "mode=0755", MS_NODEV | MS_NOSUID};
	int r;

	mkdir(IMAGE_LAYER, 0700);
	if (mount(ROOT_DEVICE, IMAGE_LAYER, "erofs",
		  MS_RDONLY | MS_NODEV | MS_NOSUID, ""))
		return err_sys(err, -errno, "cannot mount erofs on %s",
			       IMAGE_LAYER);
	mkdir(EMPTY_LAYER, 0700);
	r = mount_row(&empty, err);
	if (r)
		return r;
	mkdir(EMPTY_LAYER "/upper", 0755);
	mkdir(EMPTY_LAYER "/work", 0700);
	r = mount_overlay(layers, err);
	if (r)
		return r;
	if (mount(NULL, EMPTY_LAYER, NULL,
		  MS_REMOUNT | MS_RDONLY | MS_NODEV | MS_NOSUID, NULL))
		return err_sys(err, -errno, "cannot close %s", EMPTY_LAYER);
	return 0;
}

int mounts_switch_root(struct err *err)
{
	unsigned layers = count_layers();
	int r = wait_disk(ROOT_DEVICE);

	if (r)
		return err_sys(err, r, "no root disk %s", ROOT_DEVICE);
	if (layers)
		r = mount_layers(layers, err);
	if (!r)
		r = mount_root(layers, err);
	if (r)
		return r;
	if (mount("/dev", "/root/dev", NULL, MS_MOVE, NULL))
		return err_sys(err, -errno, "cannot move /dev");
	unlink("/init"); /* frees its memory; this process keeps the open file */
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) ||
	    chroot(".") || chdir("/"))
		return err_sys(err, -errno, "cannot move into the root image");
	return 0;
}

static int mount_user_files(struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(user_mounts); i++) {
		const char *part = user_mounts[i].part;

		if (mkdir(part, 0755) || chown(part, USER_ID, USER_ID) ||
		    mount(part, user_mounts[i].target, NULL, MS_BIND, NULL))
			return err_sys(err, -errno, "cannot mount %s",
				       user_mounts[i].target);
	}
	if (umount2(USER_FILES, MNT_DETACH) || rmdir(USER_FILES))
		return err_sys(err, -errno, "cannot take %s off", USER_FILES);
	return 0;
}

int mounts_system(struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_mounts); i++) {
		int r;

		/* make the target: it may lie in a filesystem that was just mounted */
		mkdir(system_mounts[i].target, 0755);
		r = mount_row(&system_mounts[i], err);
		if (r)
			return r;
	}
	/* A program may neither read nor change its limits. */
	if (chmod("/sys/fs/cgroup", 0700))
		return err_sys(err, -errno, "cannot close the cgroup tree");
	return mount_user_files(err);
}

struct node_row {
	const char *path;
	unsigned major, minor;
	mode_t mode;
};

static const struct node_row dev_nodes[] = {
	{"/dev/null", 1, 3, 0666},    {"/dev/zero", 1, 5, 0666},
	{"/dev/full", 1, 7, 0666},    {"/dev/random", 1, 8, 0444},
	{"/dev/urandom", 1, 9, 0444}, {"/dev/tty", 5, 0, 0666},
	{"/dev/kmsg", 1, 11, 0200}, /* init writes its last message there */
};

static const struct {
	const char *path, *target;
} dev_links[] = {
	{"/dev/fd", "/proc/self/fd"},	{"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
	{"/dev/ptmx", "pts/ptmx"},
};

static int make_nodes(struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(dev_nodes); i++) {
		const struct node_row *n = &dev_nodes[i];

		if (mknod(n->path, S_IFCHR | n->mode,
			  makedev(n->major, n->minor)) ||
		    chmod(n->path, n->mode))
			return err_sys(err, -errno, "cannot make %s", n->path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(dev_links); i++)
		if (symlink(dev_links[i].target, dev_links[i].path))
			return err_sys(err, -errno, "cannot make %s",
				       dev_links[i].path);
	return 0;
}

int mounts_reduce_dev(struct err *err)
{
	static const struct mount_row dev = {
		"/dev", "tmpfs", "mode=0755,size=64k,nr_inodes=64",
		MS_NOSUID | MS_NOEXEC};
	static const struct mount_row inside[] = {
		{"/dev/pts", "devpts", "mode=0620,ptmxmode=0666,newinstance",
		 MS_NOSUID | MS_NOEXEC},
		{"/dev/shm", "tmpfs", "mode=1777,size=480m,nr_inodes=20k",
		 MS_NOSUID | MS_NODEV | MS_NOEXEC},
	};
	int r;

	if (umount2("/dev", MNT_DETACH))
		return err_sys(err, -errno, "cannot take the kernel's /dev off");
	r = mount_row(&dev, err);
	if (!r)
		r = make_nodes(err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(inside); i++) {
		if (mkdir(inside[i].target, 0755))
			return err_sys(err, -errno, "cannot make %s",
				       inside[i].target);
		r = mount_row(&inside[i], err);
	}
	if (!r && mount(NULL, "/dev", NULL,
			MS_REMOUNT | MS_BIND | MS_RDONLY | dev.flags, NULL))
		r = err_sys(err, -errno, "cannot make /dev read-only");
	return r;
}

/* required: false if kernels may be built without the feature that the setting
 * disables. */
static const struct {
	const char *path, *value;
	bool required;
} settings[] = {
	/* hide the kernel's log and addresses */
	{"/proc/sys/kernel/dmesg_restrict", "1", true},
	{"/proc/sys/kernel/kptr_restrict", "2", true},
	{"/proc/sys/kernel/randomize_va_space", "2", true},
	/* ways into the kernel; the filter of system calls closes most of them,
	 * too */
	{"/proc/sys/kernel/perf_event_paranoid", "3", false},
	{"/proc/sys/kernel/unprivileged_bpf_disabled", "1", false},
	{"/proc/sys/net/core/bpf_jit_harden", "2", false},
	{"/proc/sys/kernel/io_uring_disabled", "2", false},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", false},
	{"/proc/sys/user/max_user_namespaces", "0", false},
	{"/proc/sys/vm/unprivileged_userfaultfd", "0", false},
	{"/proc/sys/vm/mmap_min_addr", "65536", true},
	{"/proc/sys/net/mptcp/enabled", "0", false},
	{"/proc/sys/dev/tty/ldisc_autoload", "0", false},
	{"/proc/sys/dev/tty/legacy_tiocsti", "0", false},
	{"/proc/sys/kernel/sysrq", "0", false},
	{"/proc/sys/kernel/kexec_load_disabled", "1", false},
	/* 1: a program may debug its children, and no other process */
	{"/proc/sys/kernel/yama/ptrace_scope", "1", true},
	{"/proc/sys/fs/protected_hardlinks", "1", true},
	{"/proc/sys/fs/protected_symlinks", "1", true},
	{"/proc/sys/fs/protected_fifos", "2", true},
	{"/proc/sys/fs/protected_regular", "2", true},
	{"/proc/sys/fs/suid_dumpable", "0", true},
	/* a program may set its core limit, but no core file is written */
	{"/proc/sys/kernel/core_uses_pid", "0", true},
	{"/proc/sys/kernel/core_pattern", "\n", true},
	{"/proc/sys/vm/overcommit_memory", "1", true},
	/* panic after an oops: a program may have caused it */
	{"/proc/sys/kernel/panic_on_oops", "1", true},
	/* helper programs that the kernel would start as root: there is none, and it
	 * would have no capability */
	{"/proc/sys/kernel/modprobe", "\n", false},
	{"/proc/sys/kernel/usermodehelper/bset", "0 0", true},
	{"/proc/sys/kernel/usermodehelper/inheritable", "0 0", true},
	/* the last one: no module may be loaded any more */
	{"/proc/sys/kernel/modules_disabled", "1", false},
};

int mounts_settings(struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		int r = sys_write(settings[i].path, settings[i].value);

		if (r && (settings[i].required || r != -ENOENT))
			return err_sys(err, r, "cannot set %s",
				       settings[i].path);
	}
	return 0;
}

/*
 * Files in which the kernel describes itself or takes orders. The user could
 * read some and write none. Covering them closes them to uid 0 as well, in case
 * a program becomes that without a capability.
 */
enum cover {
	COVER_FILE,      /* reads as empty */
	COVER_DIRECTORY, /* reads as empty */
	COVER_WRITES, /* stays readable, but cannot be written */
};

static const struct {
	const char *path;
	enum cover how;
} covers[] = {
	{"/proc/sys", COVER_WRITES},
	{"/proc/sysrq-trigger", COVER_WRITES},
	{"/proc/irq", COVER_WRITES},
	{"/proc/bus", COVER_WRITES},
	{"/proc/fs", COVER_WRITES},
	{"/proc/kcore", COVER_FILE},
	{"/proc/kmsg", COVER_FILE},
	{"/proc/kallsyms", COVER_FILE},
	{"/proc/keys", COVER_FILE},
	{"/proc/key-users", COVER_FILE},
	{"/proc/timer_list", COVER_FILE},
	{"/proc/sched_debug", COVER_FILE},
	{"/proc/interrupts", COVER_FILE},
	{"/proc/config.gz", COVER_FILE},
	{"/proc/iomem", COVER_FILE},
	{"/proc/ioports", COVER_FILE},
	{"/proc/mtrr", COVER_FILE},
	{"/proc/slabinfo", COVER_FILE},
	{"/proc/vmallocinfo", COVER_FILE},
	{"/proc/pagetypeinfo", COVER_FILE},
	{"/proc/kpagecgroup", COVER_FILE},
	{"/proc/kpagecount", COVER_FILE},
	{"/proc/kpageflags", COVER_FILE},
	{"/proc/acpi", COVER_DIRECTORY},
	{"/proc/scsi", COVER_DIRECTORY},
	{"/proc/dynamic_debug", COVER_DIRECTORY},
	{"/sys/firmware", COVER_DIRECTORY},
	{"/sys/fs/bpf", COVER_DIRECTORY},
	{"/sys/fs/pstore", COVER_DIRECTORY},
	{"/sys/kernel/boot_params", COVER_DIRECTORY},
	{"/sys/kernel/btf", COVER_DIRECTORY}, /* the layout of its structures */
	{"/sys/kernel/debug", COVER_DIRECTORY},
	{"/sys/kernel/irq", COVER_DIRECTORY},
	{"/sys/kernel/livepatch", COVER_DIRECTORY},
	{"/sys/kernel/security", COVER_DIRECTORY},
	{"/sys/kernel/slab", COVER_DIRECTORY},
	{"/sys/kernel/tracing", COVER_DIRECTORY},
	{"/sys/kernel/notes", COVER_FILE},      /* addresses */
	{"/sys/kernel/vmcoreinfo", COVER_FILE}, /* an address */
};

#define SEALED (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)

static int cover(const char *path, enum cover how)
{
	int r = 0;

	switch (how) {
	case COVER_FILE:
		r = mount("/dev/null", path, NULL, MS_BIND, NULL);
		break;
	case COVER_DIRECTORY:
		r = mount("tmpfs", path, "tmpfs", SEALED,
			  "mode=0555,size=4k,nr_inodes=2");
		break;
	case COVER_WRITES:
		r = mount(path, path, NULL, MS_BIND, NULL);
		if (!r)
			r = mount(NULL, path, NULL,
				  MS_REMOUNT | MS_BIND | SEALED, NULL);
		break;
	}
	return r ? -errno : 0;
}

struct share_row {
	const char *path;
	unsigned long flags;
	unsigned part; /* the mount gets 1/part of the memory */
};

static int give_shares(const struct share_row *rows, size_t count,
		       uint64_t memory, struct err *err)
{
	char size[40];

	for (size_t i = 0; i < count; i++) {
		snprintf(size, sizeof(size), "size=%" PRIu64 "k",
			 memory / rows[i].part >> 10);
		if (mount(NULL, rows[i].path, NULL, MS_REMOUNT | rows[i].flags,
			  size))
			return err_sys(err, -errno, "cannot give %s %s",
				       rows[i].path, size);
	}
	return 0;
}

int mounts_fit(uint64_t memory, struct err *err)
{
	static const struct share_row half[] = {
		{"/tmp", MS_NOSUID | MS_NODEV, 2},
		{"/dev/shm", MS_NOSUID | MS_NODEV | MS_NOEXEC, 2},
	};

	return memory / 2 <= 480ull << 20
		       ? 0
		       : give_shares(half, ARRAY_SIZE(half), memory, err);
}

int mounts_share(uint64_t memory, struct err *err)
{
	static const struct share_row rows[] = {
		{HOME, MS_NOSUID | MS_NODEV, 2},
		{"/tmp", MS_NOSUID | MS_NODEV, 4},
		{"/dev/shm", MS_NOSUID | MS_NODEV | MS_NOEXEC, 8},
	};

	return give_shares(rows, ARRAY_SIZE(rows), memory, err);
}

bool mounts_close_home(void)
{
	return !mount(NULL, HOME, NULL,
		      MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		      NULL);
}

int mounts_seal(struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(covers); i++) {
		int r = cover(covers[i].path, covers[i].how);

		if (r && r != -ENOENT) /* ENOENT: this kernel does not have the file */
			return err_sys(err, r, "cannot cover %s",
				       covers[i].path);
	}
	return 0;
}
