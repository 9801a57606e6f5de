/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zygotes of one template: the current one, which machines are forked off,
 * and a hotter one that is being made to replace it. Without a zygote machines
 * are restored from the template; another zygote is tried later, a few times.
 * All functions run on the loop.
 */
#ifndef VM_ZYGOTES_H
#define VM_ZYGOTES_H

#include "page_probe.h"
#include "zygote.h"

/* Embedded in its owner; zeroed except what zygotes_init() sets. */
struct zygotes {
	const struct template_context *context; /* borrowed */
	struct template *t; /* borrowed */
	const struct walls *walls; /* borrowed */
	struct zygote *current, *fresh; /* owned; NULL: there is none */
	/* template_number() when each was started */
	unsigned number, fresh_number;
	struct page_probe *page_probe; /* owned; forked off fresh once that is ready */
	/* runners that need no heat in machines forked off current */
	uint32_t hot;
	bool given_up; /* zygotes_give_up() has ended both, for their memory */
	uint64_t bytes; /* memory that a zygote takes; 0: not known yet */
	unsigned ended; /* zygotes that ended, in a row */
	uint64_t retry_ns; /* make none before this time (now_ns()) */
};

void zygotes_init(struct zygotes *z, const struct template_context *context,
		  struct template *t, const struct walls *walls);
/* Ends all zygotes without an event. Call it also when the template was replaced. */
void zygotes_drop(struct zygotes *z);
/*
 * For vm_backend's prepare() and unprepare(); host->freed() follows zygotes_give_up().
 */
uint64_t zygotes_prepare(struct zygotes *z, uint32_t runners, bool thorough);
bool zygotes_give_up(struct zygotes *z);
/* Describes the zygotes for vm_backend's prepared(). */
struct backend_prepared zygotes_prepared(const struct zygotes *z);
/* Returns the number of the zygote to fork, for restore_fork(); 0: there is
 * none. */
uint32_t zygotes_id(const struct zygotes *z);
/* Call zygotes_praise() for a forked machine that runs: it clears the count of failures.
 * Call zygotes_blame() for one off zygote `id` that never ran: it ends that zygote, unless
 * another one has replaced it. */
void zygotes_praise(struct zygotes *z);
void zygotes_blame(struct zygotes *z, uint32_t id, const char *why);

#endif
