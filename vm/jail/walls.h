/* SPDX-License-Identifier: Apache-2.0 */
/* The walls around each QEMU: their names, and how each was found to stand. */
#ifndef VM_WALLS_H
#define VM_WALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/wire/wire.h"

enum wall {
	WALL_USER,         /* a user id that no other living process has */
	WALL_USER_NS, /* unprivileged: capabilities have no effect outside */
	WALL_ROOT, /* mount namespace, and a root with QEMU's files only */
	WALL_PID, WALL_NET, WALL_IPC, WALL_UTS, WALL_CGROUP_NS,
	WALL_CAPS, /* the process has no capability in any set, and can gain none */
	WALL_SECCOMP,      /* the outer filter */
	WALL_SANDBOX,      /* the filter that QEMU has itself */
	WALL_LANDLOCK,
	WALL_CGROUP, /* limits of memory, processor and processes */
	WALL_RLIMITS,
	WALL_RELAY, /* all of these, around each relay (vm/net/relay.h) */
	WALLS
};

enum wall_state { WALL_ABSENT, WALL_DEGRADED, WALL_ACTIVE, WALL_STATES };

/* The jailer sends this struct, so it has no pointers. */
struct walls {
	struct {
		uint32_t state;   /* enum wall_state */
		/* for people: how the wall is built, or why it is missing */
		char detail[200];
	} wall[WALLS];
	uint32_t forks; /* 1: they also stand around a forked machine */
};

struct wall_info {
	const char *name;   /* the wall's name in .fsd/security */
	bool required; /* --policy strict requires this wall */
	const char *does;   /* the attacks that the wall stops */
	const char *remedy; /* what to do if the wall is missing */
};

extern const struct wall_info wall_infos[WALLS];
/* The walls inside a guest, around the programs. Each is required. Indexed by
 * enum wire_wall. */
extern const struct wall_info guest_wall_infos[WIRE_WALL_MAX];
extern const char *const wall_state_names[WALL_STATES];

void wall_set(struct walls *w, enum wall wall, enum wall_state state,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Corrects values that are out of range, so that the struct can be shown. It
 * may come from memory that another process wrote. */
void walls_bound(struct walls *w);
/* Returns whether the wall is required and absent. */
bool wall_is_missing(const struct walls *w, enum wall wall);
#define WALLS_EVERYWHERE (WALLS + WIRE_WALL_MAX)
/* Lists the names of required walls that are absent; ret ends with NULL. guest:
 * bits of the walls that stand inside. Return: their number. */
unsigned walls_missing(const struct walls *w, uint32_t guest,
		       const char *ret[WALLS_EVERYWHERE + 1]);

#endif
