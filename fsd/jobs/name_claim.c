/* SPDX-License-Identifier: Apache-2.0 */
/* Names of jobs that fibers are about to take: a second fiber waits for the first one. */
#include "jobs_int.h"

#include <string.h>

#include "fsd/base/fiber.h"

struct claim_place {
	struct list node;
	struct fiber *fiber;
};

static struct name_claim *find_claim(struct fsd *d, const char *name)
{
	list_for_each(pos, tmp, &d->jobs->claims) {
		struct name_claim *c = list_entry(pos, struct name_claim, node);

		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

void name_claim(struct fsd *d, struct name_claim *c, const char *name)
{
	struct name_claim *other;

	while ((other = find_claim(d, name)) && fiber_self()) {
		struct claim_place p = { .fiber = fiber_self() };

		list_add_tail(&other->waiting, &p.node);
		fiber_pause();
	}
	*c = (struct name_claim){ .name = name };
	list_init(&c->waiting);
	list_add_tail(&d->jobs->claims, &c->node);
}

bool name_claim_free(struct fsd *d, struct name_claim *c, const char *name)
{
	if (job_by_name(d, name) || find_claim(d, name))
		return false;
	name_claim(d, c, name);
	return true;
}

void name_release(struct name_claim *c)
{
	list_del(&c->node);
	list_for_each(pos, tmp, &c->waiting) {
		list_del(pos);
		fiber_wake(list_entry(pos, struct claim_place, node)->fiber);
	}
}
