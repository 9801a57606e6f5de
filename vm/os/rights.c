/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops capabilities and restricts files with Landlock, by direct system calls. The
 * capability functions are async-signal-safe and run in children between fork and exec.
 *
 * Constants of newer kernels are written as numbers, because the headers of Debian 12
 * lack them. The Landlock version of the running kernel selects the rights that are
 * restricted.
 */
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

static bool is_among(const unsigned *caps, size_t count, unsigned cap)
{
	for (size_t i = 0; i < count; i++)
		if (caps[i] == cap)
			return true;
	return false;
}

int rights_bound(const unsigned *caps, size_t count)
{
	for (unsigned cap = 0; cap < 64; cap++)
		if (!is_among(caps, count, cap) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
			return -errno;
	return 0;
}

/* Sets the effective and permitted capabilities to those of caps that the
 * thread has. */
static int set_caps(const unsigned *caps, size_t count, bool inheritable)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct has[2], want[2] = { 0 };

	if (syscall(SYS_capget, &head, has) < 0)
		return -errno;
	for (size_t i = 0; i < count; i++)
		want[caps[i] / 32].permitted |=
			has[caps[i] / 32].permitted & 1u << caps[i] % 32;
	/* This fails without CAP_SETPCAP. Then there are no capabilities to drop, or
	 * no_new_privs keeps them from being gained. */
	rights_bound(caps, count);
	for (unsigned i = 0; i < 2; i++) {
		want[i].effective = want[i].permitted;
		want[i].inheritable = inheritable ? want[i].permitted : 0;
	}
	return syscall(SYS_capset, &head, want) < 0 ? -errno : 0;
}

int rights_keep(const unsigned *caps, size_t count)
{
	return set_caps(caps, count, false);
}

int rights_hand_on(const unsigned *caps, size_t count)
{
	int r = set_caps(caps, count, true);

	for (size_t i = 0; r == 0 && i < count; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, caps[i], 0,
			  0) < 0)
			r = -errno;
	return r;
}

/* The file rights that each version of the interface can forbid. */
static const uint64_t file_rights[] = {
	[1] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
	[2] = 1ull << 13, /* LANDLOCK_ACCESS_FS_REFER */
	[3] = 1ull << 14, /* LANDLOCK_ACCESS_FS_TRUNCATE */
	[4] = 0,
	[5] = 1ull << 15, /* IOCTL_DEV */
};

/* As in linux/landlock.h of 6.12; older headers lack the later members. */
struct ruleset {
	uint64_t files, net, scoped;
};

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | \
		 LANDLOCK_ACCESS_FS_EXECUTE)
/* The rights that a rule for a single file may name. */
#define OF_FILES (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | \
		  LANDLOCK_ACCESS_FS_WRITE_FILE | 1ull << 14 | 1ull << 15)
#define NET_BIND 1ull    /* BIND_TCP: from version 4 */
#define NET_ALL 3ull     /* BIND_TCP, CONNECT_TCP */
#define SCOPED_SOCKETS 1ull /* abstract ones: from version 6 */
#define SCOPED_SIGNALS 2ull

static int add_path(int set, const struct rights_path *p, uint64_t all)
{
	auto_close int fd = open(p->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = p->write ? all : all & READING,
		.parent_fd = fd,
	};
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	return fd < 0 || syscall(SYS_landlock_add_rule, set,
				 LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ?
		       -errno : 0;
}

static int new_ruleset(const struct rights_path *paths, size_t count, uint64_t net,
		       uint64_t scoped)
{
	struct ruleset set = { 0 };
	size_t size = 8;
	auto_close int fd = -1;
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);

	if (version < 1)
		return -ENOSYS;
	for (long v = 1; v < (long)ARRAY_SIZE(file_rights); v++)
		set.files |= v <= version ? file_rights[v] : 0;
	if (version >= 4) {
		set.net = net;
		size = 16;
	}
	if (version >= 6) {
		set.scoped = scoped;
		size = 24;
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < count; i++) {
		int r = add_path(fd, &paths[i], set.files);

		if (r < 0)
			return r;
	}
	return take_fd(&fd);
}

int rights_landlock(const struct rights_path *paths, size_t count)
{
	return new_ruleset(paths, count, NET_ALL, SCOPED_SOCKETS | SCOPED_SIGNALS);
}

int rights_landlock_signals(const struct rights_path *paths, size_t count)
{
	return new_ruleset(paths, count, NET_ALL, SCOPED_SOCKETS);
}

int rights_landlock_connects(const struct rights_path *paths, size_t count)
{
	return new_ruleset(paths, count, NET_BIND, SCOPED_SOCKETS | SCOPED_SIGNALS);
}

int rights_landlock_enter(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
