/* SPDX-License-Identifier: Apache-2.0 */
#include "people.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static struct person *find(struct fsd *d, uid_t uid)
{
	struct hash_node *h = hash_first(&d->people_by_uid, hash_u64(uid));

	for (; h; h = hash_next(h)) {
		struct person *p = container_of(h, struct person, by_uid);

		if (p->uid == uid)
			return p;
	}
	return NULL;
}

struct person *person_of(struct fsd *d, uid_t uid)
{
	struct person *p = find(d, uid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p ||
	    hash_add(&d->people_by_uid, &p->by_uid, hash_u64(uid)) < 0) {
		free(p);
		return NULL;
	}
	p->uid = uid;
	list_init(&p->finished);
	list_add(&d->people, &p->node);
	return p;
}

void people_free(struct fsd *d)
{
	list_for_each(pos, tmp, &d->people)
		free(list_entry(pos, struct person, node));
	list_init(&d->people);
	hash_done(&d->people_by_uid);
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

void person_count(struct person *p, enum job_state state, int more)
{
	if (p)
		p->jobs[state] += (uint64_t)more;
}

bool person_may_keep(struct fsd *d, uid_t uid)
{
	const struct person *p = find(d, uid);

	return !p || p->open < d->open_most;
}

struct person *person_keeps(struct fsd *d, uid_t uid)
{
	struct person *p = person_of(d, uid);

	if (p)
		p->open++;
	return p;
}

int person_may_open(struct fsd *d, uid_t uid, struct err *err)
{
	const struct person *p = is_operator(uid) ? NULL : find(d, uid);

	if (!p || p->open < d->open_most)
		return 0;
	return err_set(err, -EMFILE,
		       "user %u has %" PRIu64 " files open, at most %" PRIu64
		       " are allowed at a time; close some first",
		       uid, p->open, d->open_most);
}

struct person *person_opens(struct fsd *d, uid_t uid)
{
	return is_operator(uid) ? NULL : person_keeps(d, uid);
}

void person_closes(struct person *p)
{
	if (p)
		p->open--;
}

int person_weigh(struct fsd *d, uid_t uid, struct person_weight *w,
		 uint64_t bytes, struct err *err)
{
	uint64_t others;

	if (!w->payer)
		w->payer = person_of(d, uid);
	if (!w->payer)
		return err_sys(err, -ENOMEM, "an open file");
	others = w->payer->bytes - w->bytes;
	if (bytes > w->bytes && others + bytes > PERSON_BYTES)
		return err_set(err, -EMFILE,
			       "what user %u has open takes %" PRIu64 " bytes of "
			       "memory, and this would take %" PRIu64 " more; at "
			       "most %u are allowed at a time: close some first",
			       w->payer->uid, others, bytes, PERSON_BYTES);
	w->payer->bytes = others + bytes;
	w->bytes = bytes;
	return 0;
}

void person_unweigh(struct person_weight *w)
{
	if (w->payer)
		w->payer->bytes -= w->bytes;
	*w = (struct person_weight){ 0 };
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
