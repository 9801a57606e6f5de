/* SPDX-License-Identifier: Apache-2.0 */
/* Leases on the lanes of a shared machine; for the files of the pool and vm.c. */
#ifndef VM_POOL_SHARED_H
#define VM_POOL_SHARED_H

#include "pool.h"

/* What its job is sent by; NULL: there is none now. */
static inline struct channel *lease_channel(const struct vm_lease *l)
{
	if (l->of)
		return l->lane ? lane_channel(l->lane) : NULL;
	return l->machine ? l->machine->ch : NULL;
}
/* Its machine, which it has, is shared from now on. */
void pool_share(struct vm_lease *lease);
/* Return: 0 or negative errno; see vm_join(). */
int pool_join(struct vm_lease *machine, struct vm_lease *lease);
/* See vm_rejoin(). */
int pool_rejoin(struct vm_lease *machine, unsigned number, bool aborts,
		struct vm_lease *lease);
void pool_run_lane(struct vm_lease *lease);
/* A lease that was joined is not wanted any more. */
void pool_part(struct vm_lease *lease);
/* Its machine has ended: another one comes; none does; nor is it heard of. */
void pool_lose_lanes(struct vm_lease *lease);
void pool_fail_lanes(struct vm_lease *lease, const char *sentence);
void pool_orphan_lanes(struct vm_lease *lease);

#endif
