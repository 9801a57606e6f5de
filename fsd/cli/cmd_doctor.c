/* SPDX-License-Identifier: Apache-2.0 */
/* fsd doctor: a table of checks. Each check reports what it found and, for a problem, the
 * remedy. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vm/os/spawn.h"
#include "commands.h"
#include "doctor.h"
#include "fsd/local/remote.h"
#include "fsd/server/default_dirs.h"

static void check_fuse(struct finding *f)
{
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		found(f, BAD,
		      "/dev/fuse: %s; run `chmod 666 /dev/fuse` as root",
		      strerror(errno));
	else if (fd < 0)
		found(f, BAD,
		      "/dev/fuse: %s; run `modprobe fuse` as root, or pass the "
		      "device into this container",
		      strerror(errno));
	else
		found(f, GOOD, "/dev/fuse can be opened");
}

/* True if this process has CAP_SYS_ADMIN, which a user may have in a namespace without
 * being root. */
static bool has_cap_sys_admin(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capget, &header, data) == 0 &&
	       data[0].effective & 1u << CAP_SYS_ADMIN;
}

/* Whether a setuid program such as fusermount3 gets CAP_SYS_ADMIN. A container may have
 * taken it from all of its processes. */
static bool fusermount_gains(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 &&
	       prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1;
}

static void check_mount(struct finding *f)
{
	char path[PATH_MAX];

	if (has_cap_sys_admin())
		found(f, GOOD, geteuid() == 0 ? "root may mount" :
						"this user may mount in its namespace");
	else if (geteuid() == 0)
		found(f, BAD, "this root cannot mount, for it lacks CAP_SYS_ADMIN: add it to "
			      "this container, or run as another user");
	else if (!fusermount_gains())
		found(f, GOOD, "this user may mount in a user namespace of its own, as "
			       "fsd run does; fusermount3 can gain no right here");
	else if (spawn_find("fusermount3", path) == 0)
		found(f, GOOD, "fusermount3 mounts for this user");
	else
		found(f, BAD,
		      "this user cannot mount; install the package fuse3 "
		      "(fusermount3), or run as root");
}

/* Settings that forbid user namespaces to all users but root: the file's content in that
 * case, and the remedy. */
static const struct forbids {
	const char *file;
	char value;
	const char *remedy;
} forbids[] = {
	{ "/proc/sys/user/max_user_namespaces", '0',
	  "sysctl user.max_user_namespaces=10000" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
	  "sysctl kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
	  "sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
};

/* Return: the first character of a file; 0: it cannot be read. */
static char first_of(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = 0;

	return fd >= 0 && read(fd, &c, 1) == 1 ? c : 0;
}

static void check_userns(struct finding *f)
{
	if (geteuid() == 0) {
		found(f, GOOD, "root needs no user namespace");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forbids); i++)
		if (first_of(forbids[i].file) == forbids[i].value) {
			found(f, BAD, "%s is %c: this user may make no user namespace, "
			      "so machines have no walls and a private mount needs "
			      "fusermount3; as root run `%s`", forbids[i].file,
			      forbids[i].value, forbids[i].remedy);
			return;
		}
	found(f, GOOD, "no setting forbids user namespaces");
}

/* Reports the walls that are missing or degraded; --policy strict, the default, would
 * refuse to run without them. */
static void check_walls(struct finding *f)
{
	auto_free char *dir = default_image_dir();
	struct walls walls = { 0 };
	struct vm_qemu qemu;
	struct err err = { 0 };
	auto_buf struct buf text = { 0 };
	bool bad = false;

	if (!dir || choose_qemu(&qemu, &err) < 0 ||
	    vm_walls_find(qemu.path, dir, &walls, &err) < 0) {
		found(f, BAD, "%s", dir ? err.text : strerror(ENOMEM));
		return;
	}
	for (unsigned i = 0; i < WALLS; i++) {
		const struct wall_info *info = &wall_infos[i];
		bool missing = wall_is_missing(&walls, i);

		if (!missing && walls.wall[i].state != WALL_DEGRADED)
			continue;
		bad |= missing;
		buf_fmt(&text, "%s%s is %s (%s)%s%s", text.len ? "; " : "",
			info->name, wall_state_names[walls.wall[i].state],
			walls.wall[i].detail, missing ? ": " : "",
			missing ? info->remedy : "");
	}
	found(f, bad ? BAD : text.len ? POOR : GOOD, "%s",
	      text.len ? text.data : "each machine is in a jail of its own, "
				     "and all its walls stand");
}

static void check_kvm(struct finding *f)
{
	auto_free char *state = default_state_dir();

	if (access("/dev/kvm", R_OK | W_OK) < 0 && errno == EACCES)
		found(f, POOR,
		      "/dev/kvm is there, and this user may not open it: machines run "
		      "under emulation (TCG), which is slower; as root run `usermod -aG "
		      "kvm USER`, then log in anew");
	else if (access("/dev/kvm", R_OK | W_OK) < 0)
		found(f, POOR,
		      "/dev/kvm: %s; machines run under emulation (TCG), which "
		      "works and is slower; for KVM, enable it on the host",
		      strerror(errno));
	else if (state && vm_kvm_fails(state))
		found(f, POOR,
		      "/dev/kvm can be opened, but KVM does not work here: a "
		      "mount has tried it within a day; machines run under "
		      "emulation (TCG), which is slower. %s/fsd.log says how it "
		      "failed", state);
	else
		found(f, GOOD,
		      "/dev/kvm can be opened; the first mount finds out by a "
		      "real boot whether it works, and says so in .fsd/health");
}

static int nearest_dir(char *path, struct statvfs *ret_st)
{
	while (statvfs(path, ret_st) < 0) {
		char *slash = strrchr(path, '/');

		if (errno != ENOENT || !slash || slash == path)
			return -errno;
		*slash = '\0';
	}
	return 0;
}

static void check_state(struct finding *f)
{
	auto_free char *dir = default_state_dir();
	auto_free char *where = dir ? strdup(dir) : NULL;
	auto_close int fd = -1;
	struct statvfs st;
	uint64_t mib;
	int r = where ? nearest_dir(where, &st) : -ENOMEM;

	if (!dir && errno == ENOENT) {
		found(f, BAD, "uid %u has no home directory for its state; set "
			      "HOME, or give fsd mount --state", geteuid());
		return;
	}
	if (r < 0) {
		found(f, BAD, "the state directory %s: %s; choose another with "
			      "--state",
		      dir ? dir : "?", strerror(-r));
		return;
	}
	mib = (uint64_t)st.f_bavail * st.f_frsize >> 20;
	fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (access(where, W_OK) < 0)
		found(f, BAD,
		      "the state directory %s cannot be written; choose "
		      "another with --state",
		      dir);
	else if (mib < 1024)
		found(f, BAD,
		      "%s has %llu MiB free; a template needs 1 GiB: make "
		      "room, or choose another place with --state",
		      where, (unsigned long long)mib);
	else if (fd >= 0 && is_remote(fd))
		found(f, POOR, "%s " STATE_IS_REMOTE ": choose a directory on a disk of "
			       "this host with --state", where);
	else
		found(f, GOOD, "%s, %llu MiB free", dir,
		      (unsigned long long)mib);
}

static void check_memory(struct finding *f)
{
	struct vm_allotment ours;
	uint64_t mib;

	vm_allotment(&ours);
	mib = ours.memory >> 20;
	if (mib < 1024)
		found(f, POOR,
		      "%llu MiB of memory; a warm machine takes 100 MiB and a "
		      "job its memory_mb: use a small --pool",
		      (unsigned long long)mib);
	else
		found(f, GOOD, "%llu MiB, %u CPU%s", (unsigned long long)mib,
		      ours.processors, ours.processors == 1 ? "" : "s");
}

static const struct check {
	const char *name;
	void (*fn)(struct finding *f);
} checks[] = {
	{ "fuse", check_fuse },	   { "mount", check_mount },
	{ "userns", check_userns },
	{ "qemu", check_qemu },	   { "image", check_image },
	{ "env", check_environments },
	{ "accel", check_kvm },	   { "state", check_state },
	{ "memory", check_memory }, { "walls", check_walls },
};

enum { OPT_STATE = CLI_LONG, OPT_NETWORK };

static const struct cli_option doctor_cli_options[] = {
	{ OPT_STATE, "state", "DIR", "look at this state directory", CLI_DIR,
	  NULL },
	{ OPT_NETWORK, "network", "FILE", "read this policy for fsd mount, too", CLI_FILE,
	  NULL },
	{ 0 },
};

/* policy: the operator's file for the network of jobs, or NULL. */
static int doctor_host(const char *policy)
{
	struct finding network = { 0 };
	bool bad = false;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct finding f = { 0 };

		checks[i].fn(&f);
		bad |= finding_print(checks[i].name, &f);
	}
	check_network(policy, &network);
	bad |= finding_print("network", &network);
	printf(bad ? "jobs cannot run yet\n" : "jobs can run\n");
	return bad ? 1 : 0;
}

static int command_doctor(const struct cli_command *self, int argc, char **argv)
{
	const char *state = NULL, *policy = NULL;
	struct cli_getopt g;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == OPT_STATE)
			state = optarg;
		else if (opt == OPT_NETWORK)
			policy = optarg;
		else
			return usage(self);
	}
	if (argc - optind + !!state + !!policy > 1)
		return usage(self);
	if (state)
		return doctor_state(state);
	return optind < argc ? doctor_mount(argv[optind]) : doctor_host(policy);
}

const struct cli_command doctor_command = {
	.name = "doctor", .fn = command_doctor, .group = "This host",
	.synopsis = "[MNT | --state DIR | --network FILE]",
	.summary = "tell what works here, and remedies",
	.options = doctor_cli_options, .operand = CLI_MOUNT,
	.notes = "With MNT it looks at that mount instead.",
};
