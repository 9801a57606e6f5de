/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zygotes of one template: the one that machines are forked off, and a
 * hotter one that is being made to replace it. When one ends machines are
 * restored from the template; another is tried later, a few times.
 */
#ifndef VM_ZYGOTES_H
#define VM_ZYGOTES_H

#include "page_probe.h"
#include "zygote.h"

/* Embedded in its owner, zeroed but for what zygotes_init() sets. */
struct zygotes {
	const struct template_context *context; /* borrowed, */
	struct template *t;                   /* as is this, */
	const struct walls *walls;            /* and these */
	struct zygote *current, *fresh;       /* owned; NULL: there is none */
	unsigned number, fresh_number;        /* template_number() of theirs */
	struct page_probe *page_probe;        /* owned: off fresh, which is ready */
	uint32_t hot;       /* runners that need no heat in current's children */
	bool given_up;      /* both, by us, for their memory */
	uint64_t bytes;     /* of memory that one takes; 0: not known yet */
	unsigned ended;     /* in a row */
	uint64_t retry_ns;  /* none is made before that time */
};

void zygotes_init(struct zygotes *z, const struct template_context *context,
		  struct template *t, const struct walls *walls);
/* All end, nothing follows; also when the template is another one now. */
void zygotes_drop(struct zygotes *z);
/* As vm_backend's prepare and unprepare say; host->freed follows the second. */
uint64_t zygotes_prepare(struct zygotes *z, uint32_t runners, bool thorough);
bool zygotes_give_up(struct zygotes *z);
/* What there is. */
struct backend_prepared zygotes_prepared(const struct zygotes *z);
/* The one to fork, for restore_fork(); 0: there is none. */
uint32_t zygotes_id(const struct zygotes *z);
/* A machine that was forked runs; one, off that one, never did, and why. */
void zygotes_praise(struct zygotes *z);
void zygotes_blame(struct zygotes *z, uint32_t id, const char *why);

#endif
