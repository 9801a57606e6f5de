/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases on the lanes of a shared machine; for pool_*.c and vm.c. All functions
 * run on the loop.
 */
#ifndef VM_POOL_SHARED_H
#define VM_POOL_SHARED_H

#include "pool.h"

/* Returns the channel that the lease's job uses; NULL: none now. */
static inline struct channel *lease_channel(const struct vm_lease *l)
{
	if (l->of)
		return l->lane ? lane_channel(l->lane) : NULL;
	return l->machine ? l->machine->ch : NULL;
}
/* Makes the machine of a granted lease a shared one. */
void pool_share(struct vm_lease *lease);
/* Return: 0 or negative errno; see vm_join(). */
int pool_join(struct vm_lease *machine, struct vm_lease *lease);
/* See vm_rejoin(). */
int pool_rejoin(struct vm_lease *machine, unsigned number, bool aborts,
		struct vm_lease *lease);
void pool_run_lane(struct vm_lease *lease);
/* Ends a lease that was joined. */
void pool_part(struct vm_lease *lease);
/*
 * The shared machine has ended; lease is its own. The leases on its lanes then do this:
 * pool_lose_lanes(): wait for another machine, which replaces it. pool_fail_lanes():
 * fail. pool_orphan_lanes(): fail and leave `joined`, because lease is freed.
 */
void pool_lose_lanes(struct vm_lease *lease);
void pool_fail_lanes(struct vm_lease *lease, const char *sentence);
void pool_orphan_lanes(struct vm_lease *lease);

#endif
