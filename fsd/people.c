/* SPDX-License-Identifier: Apache-2.0 */
#include "people.h"

#include <stdlib.h>
#include <unistd.h>

static struct person *find(struct fsd *d, uid_t uid)
{
	list_for_each(pos, tmp, &d->people) {
		struct person *p = list_entry(pos, struct person, node);

		if (p->uid == uid)
			return p;
	}
	return NULL;
}

struct person *person_of(struct fsd *d, uid_t uid)
{
	struct person *p = find(d, uid);

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->uid = uid;
		list_init(&p->finished);
	}
	list_del(&p->node);
	list_add(&d->people, &p->node); /* who is busy is found at once */
	return p;
}

void people_free(struct fsd *d)
{
	list_for_each(pos, tmp, &d->people)
		free(list_entry(pos, struct person, node));
	list_init(&d->people);
}

void person_changed(struct fsd *d, struct person *p)
{
	d->times.changed_ns = realtime_ns();
	if (p)
		p->times.changed_ns = d->times.changed_ns;
}

void person_listed(struct fsd *d, struct person *p)
{
	person_changed(d, p);
	d->times.listed_ns = d->times.changed_ns;
	if (p)
		p->times.listed_ns = p->times.changed_ns;
}

bool is_operator(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

struct times people_times(struct fsd *d, uid_t uid)
{
	const struct person *p = is_operator(uid) ? NULL : find(d, uid);
	struct times t = p ? p->times : (struct times){ 0 };

	if (is_operator(uid))
		t = d->times;
	t.listed_ns = MAX(t.listed_ns, d->started_ns);
	t.changed_ns = MAX(t.changed_ns, MAX(d->health_ns, d->started_ns));
	return t;
}
