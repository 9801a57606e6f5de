/* SPDX-License-Identifier: Apache-2.0 */
/* The walls around each QEMU, by name, and how they were found to stand. */
#ifndef VM_WALLS_H
#define VM_WALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/wire/wire.h"

enum wall {
	WALL_USER,         /* a user id that no other living process has */
	WALL_USER_NS,      /* unprivileged: capabilities mean nothing outside */
	WALL_ROOT,         /* mount namespace, a root with QEMU's files only */
	WALL_PID, WALL_NET, WALL_IPC, WALL_UTS, WALL_CGROUP_NS,
	WALL_CAPS,         /* none in any set, and no new ones */
	WALL_SECCOMP,      /* the outer filter */
	WALL_SANDBOX,      /* QEMU's own filter */
	WALL_LANDLOCK,
	WALL_CGROUP,       /* memory, processor, processes */
	WALL_RLIMITS,
	WALLS
};

enum wall_state { WALL_ABSENT, WALL_DEGRADED, WALL_ACTIVE, WALL_STATES };

/* As it travels from the jailer; no pointers. */
struct walls {
	struct {
		uint32_t state;   /* enum wall_state */
		char detail[200]; /* of a person's interest, or why not */
	} wall[WALLS];
	uint32_t forks; /* 1: they stand around one that is forked as well */
};

struct wall_info {
	const char *name;   /* in .fsd/security */
	bool required;      /* by --policy strict: it may not be absent */
	const char *does;   /* what it stops */
	const char *remedy; /* when it is missing */
};

extern const struct wall_info wall_infos[WALLS];
/* Those inside a machine, around the programs; each is required. By enum
 * wire_wall. */
extern const struct wall_info guest_wall_infos[WIRE_WALL_MAX];
extern const char *const wall_state_names[WALL_STATES];

void wall_set(struct walls *w, enum wall wall, enum wall_state state,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Whatever was in it, it can be shown now: from memory that others wrote. */
void walls_bound(struct walls *w);
/* Is it required and absent? */
bool wall_is_missing(const struct walls *w, enum wall wall);
#define WALLS_EVERYWHERE (WALLS + WIRE_WALL_MAX)
/* Their names, of those that are required and absent, and NULL. guest: those
 * that stand inside. Return: how many they are. */
unsigned walls_missing(const struct walls *w, uint32_t guest,
		       const char *ret[WALLS_EVERYWHERE + 1]);

#endif
