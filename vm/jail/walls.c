/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the tables of all walls, around QEMU and inside the guest: name, required or not,
 * purpose, remedy. It also sets a wall's state and lists the missing ones.
 *
 * The jailer fills in a struct walls (jail_probe.c), and the server reads it from a
 * socket. walls_bound() repairs values that such a struct must not have.
 */
#include "walls.h"

#include <stdarg.h>
#include <stdio.h>

#define AS_ROOT "run fsd as root, or allow user namespaces " \
		"(sysctl user.max_user_namespaces; in a container its profiles of " \
		"seccomp and AppArmor)"
#define ALLOW_NS "allow it: sysctl user.max_*_namespaces, and in a container " \
		 "the capability SYS_ADMIN"

const struct wall_info wall_infos[WALLS] = {
	[WALL_USER] = { "qemu-user", true,
		"a QEMU that is taken over owns no file and no process",
		"run fsd as root, with a writable /run" },
	[WALL_USER_NS] = { "qemu-user-namespace", false,
		"what a QEMU may do ends at its namespaces", AS_ROOT },
	[WALL_ROOT] = { "qemu-root", true,
		"no file of the host can be named", AS_ROOT },
	[WALL_PID] = { "qemu-pid-namespace", true,
		"no process of the host can be named", ALLOW_NS },
	[WALL_NET] = { "qemu-network-namespace", true,
		"no network, but for a loopback that is down", ALLOW_NS },
	[WALL_IPC] = { "qemu-ipc-namespace", true,
		"no shared memory of the host's", ALLOW_NS },
	[WALL_UTS] = { "qemu-uts-namespace", true,
		"the host's name is not known", ALLOW_NS },
	[WALL_CGROUP_NS] = { "qemu-cgroup-namespace", true,
		"control groups of the host cannot be named", ALLOW_NS },
	[WALL_CAPS] = { "qemu-capabilities", true,
		"nothing that root may do", AS_ROOT },
	[WALL_SECCOMP] = { "qemu-seccomp", true,
		"a system call that QEMU does not need kills it",
		"a kernel of 5.14 or later with CONFIG_SECCOMP_FILTER" },
	[WALL_SANDBOX] = { "qemu-sandbox", true,
		"QEMU's own system call filter",
		"a QEMU that is built with seccomp" },
	[WALL_LANDLOCK] = { "qemu-landlock", false,
		"no file can be written, whatever its modes say",
		"a kernel of 5.13 or later with landlock among its LSMs" },
	[WALL_CGROUP] = { "qemu-cgroup", true,
		"memory, processor time and threads are bounded",
		"a writable cgroup tree in /sys/fs/cgroup" },
	[WALL_RLIMITS] = { "qemu-rlimits", true,
		"no core dump, no file, few descriptors", "none is needed" },
	[WALL_RELAY] = { "relay-walls", false,
		"what moves a machine's connections can make none, opens no file and "
		"executes nothing", "without it jobs have no network; see the walls of QEMU" },
};

#define IMAGE "make the guest image anew: make image"

const struct wall_info guest_wall_infos[WIRE_WALL_MAX] = {
	[WIRE_WALL_USER] = { "guest-user", true,
		"programs run as uid 1000, in no other group", IMAGE },
	[WIRE_WALL_CAPS] = { "guest-capabilities", true,
		"programs have none in any set and can get none", IMAGE },
	[WIRE_WALL_FILTER] = { "guest-seccomp", true,
		"a filter keeps them from what no program in a sandbox needs",
		IMAGE },
	[WIRE_WALL_ROOT] = { "guest-root", true,
		"the system's files are read-only", IMAGE },
	[WIRE_WALL_DEVICES] = { "guest-devices", true,
		"no disk, no console, no way to the daemon in /dev", IMAGE },
	[WIRE_WALL_MODULES] = { "guest-modules", true,
		"the guest's kernel takes no more modules", IMAGE },
	[WIRE_WALL_NETWORK] = { "network", true,
		"machines have no network device", IMAGE },
	[WIRE_WALL_NET_HELPER] = { "guest-network-helper", true,
		"it has a user of its own, no capability, a list of calls", IMAGE },
};

const char *const wall_state_names[WALL_STATES] = {
	[WALL_ABSENT] = "absent", [WALL_DEGRADED] = "degraded",
	[WALL_ACTIVE] = "active",
};

void wall_set(struct walls *w, enum wall wall, enum wall_state state,
	      const char *fmt, ...)
{
	va_list ap;

	w->wall[wall].state = state;
	va_start(ap, fmt);
	vsnprintf(w->wall[wall].detail, sizeof(w->wall[wall].detail), fmt, ap);
	va_end(ap);
}

bool wall_is_missing(const struct walls *w, enum wall wall)
{
	return wall_infos[wall].required && w->wall[wall].state == WALL_ABSENT;
}

unsigned walls_missing(const struct walls *w, uint32_t guest,
		       const char *ret[WALLS_EVERYWHERE + 1])
{
	unsigned n = 0;

	for (unsigned i = 0; i < WALLS; i++)
		if (wall_is_missing(w, i))
			ret[n++] = wall_infos[i].name;
	for (unsigned i = 0; i < WIRE_WALL_MAX; i++)
		if (!(guest & 1u << i))
			ret[n++] = guest_wall_infos[i].name;
	ret[n] = NULL;
	return n;
}

void walls_bound(struct walls *w)
{
	for (unsigned i = 0; i < WALLS; i++) {
		if (w->wall[i].state >= WALL_STATES)
			w->wall[i].state = WALL_ABSENT;
		w->wall[i].detail[sizeof(w->wall[i].detail) - 1] = '\0';
	}
}
