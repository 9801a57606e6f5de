/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds jobs by number and name in the table that the previous server has left in shared
 * memory, by two indexes of 8 bytes a job. A request for a job makes its struct job; time
 * slices do this for the others.
 */
#include "unloaded_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/handover/handover.h"
#include "fsd/store/meta_copy.h"
#include "fsd/users/users.h"
#include "fsd/base/slot_index.h"
#include "jobs_int.h"

#define HELP_NS (2 * NS_PER_MS)

struct whole_record {
	uint32_t live; /* JOB_RECORDS_VERSION: the table of records has every job */
};

static HANDOVER_TABLE(whole_records, "jobs-whole", 1, struct whole_record, 1);

struct unloaded_jobs {
	struct fsd *d; /* borrowed */
	struct slot_index by_no, by_name;
	bool *has; /* owned: by slot: the job is not loaded yet */
	uint32_t count, at; /* slots when the server started; slots before `at` are
			     * done */
	bool stays; /* some jobs cannot be loaded, for lack of memory */
	struct time_slice slice;
};

static struct job_record *kept_at(const struct unloaded_jobs *s, uint32_t place)
{
	return handover_at(s->d->handover, &job_records, place);
}

static struct job_record *find_no(const struct unloaded_jobs *s, uint64_t no)
{
	uint64_t hash = hash_u64(no);
	size_t i = hash;
	uint32_t place;

	while (slot_index_next(&s->by_no, hash, &i, &place) == 0) {
		struct job_record *k = kept_at(s, place);

		if (k && k->no == no)
			return k;
	}
	return NULL;
}

static struct job_record *find_name(const struct unloaded_jobs *s, const char *name)
{
	uint64_t hash = hash_text(name, 0);
	size_t i = hash;
	uint32_t place;

	while (slot_index_next(&s->by_name, hash, &i, &place) == 0) {
		struct job_record *k = kept_at(s, place);

		if (k && !strcmp(k->name, name))
			return k;
	}
	return NULL;
}

/* Return: the record in a slot; NULL: its job was loaded, or there was none. */
static struct job_record *find_place(const struct unloaded_jobs *s, uint32_t place)
{
	return s->has[place] ? kept_at(s, place) : NULL;
}

/* --- listing -------------------------------------------------------------- */

static void count(struct fsd *d, const struct job_meta *m, int more)
{
	user_count(user_of(d->users, m->uid), m->state, more);
	quota_count_job(quota_user(users_quota(d->users), m->uid), more);
}

static uint32_t place_of(const struct unloaded_jobs *s, const struct job_meta *m)
{
	return handover_slot(s->d->handover, &job_records, m->copy);
}

static void put(struct unloaded_jobs *s, const struct job_meta *m)
{
	slot_index_add(&s->by_no, hash_u64(m->no), place_of(s, m));
	slot_index_add(&s->by_name, hash_text(m->name, 0), place_of(s, m));
	s->has[place_of(s, m)] = true;
	count(s->d, m, 1);
}

static void take_off(struct unloaded_jobs *s, const struct job_meta *m)
{
	slot_index_del(&s->by_no, hash_u64(m->no), place_of(s, m));
	slot_index_del(&s->by_name, hash_text(m->name, 0), place_of(s, m));
	s->has[place_of(s, m)] = false;
	count(s->d, m, -1);
}

/*
 * Writes and syncs the record again, before a user sees it: the earlier server may have
 * been killed before its sync, or after a failed one. was: the record that users have
 * seen.
 */
static void write_again(struct fsd *d, const struct job_record *was,
			struct job_meta *m)
{
	bool new_end = m->state == JOB_DONE &&
		       (was->state != JOB_DONE || was->run != m->run);
	int r;

	if (m->state == JOB_DRAFT || m->state == JOB_REFUSED)
		return; /* no user relies on the durability of these states */
	r = store_meta_commit(d->store, m);
	if (r == 0)
		return;
	log_warn("job %s: its record may not outlive the host: %s", m->name,
		 strerror(-r));
	if (new_end)
		m->state = JOB_RUNNING; /* the record of its end may be lost: show no
					 * end */
}

/* Reads a torn record from the disk, which has the old or the new one. */
static int ask_disk(struct unloaded_jobs *s, struct job_record *k,
		    struct job_meta *m)
{
	int r = store_scan_one(s->d->store, k->no, m);

	if (r > 0)
		meta_copy_gone(k);
	if (r)
		return r;
	write_again(s->d, k, m);
	meta_copy_end(k, m);
	free(m->name);
	return meta_copy_read(k, m);
}

/* Two jobs have one name: lists the older one, and moves the younger one to
 * lost+found. */
static void put_older(struct unloaded_jobs *s, struct job_record *other,
		      const struct job_meta *m)
{
	struct job_record *younger = m->copy;
	struct job_meta was;

	if (meta_copy_read(other, &was) == 0 && was.no > m->no) {
		younger = other;
		take_off(s, &was);
	}
	store_set_twin_aside(s->d->store, younger->no);
	meta_copy_gone(younger);
	if (younger != m->copy)
		put(s, m);
}

static int put_place(struct unloaded_jobs *s, uint32_t place)
{
	struct job_record *k = kept_at(s, place), *other;
	struct job_meta m;
	int r;

	if (!k)
		return 0;
	if (find_no(s, k->no))
		return -EINVAL;
	r = meta_copy_read(k, &m);
	if (r == -EAGAIN)
		r = ask_disk(s, k, &m);
	if (r)
		return MIN(r, 0);
	store_seen_no(s->d->store, MAX(m.no, m.queued_no));
	other = find_name(s, m.name);
	if (other)
		put_older(s, other, &m);
	else
		put(s, &m);
	return 0;
}

static int unloaded_new(struct fsd *d, struct unloaded_jobs **ret)
{
	struct unloaded_jobs *s = calloc(1, sizeof(*s));

	*ret = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->count = handover_count(d->handover, &job_records);
	s->has = calloc((size_t)s->count + 1, sizeof(*s->has));
	if (!s->has || slot_index_new(&s->by_no, s->count) < 0 ||
	    slot_index_new(&s->by_name, s->count) < 0)
		return -ENOMEM;
	return 0;
}

void unloaded_free(struct fsd *d)
{
	struct unloaded_jobs *s = take_ptr(d->jobs->unloaded);

	if (!s)
		return;
	time_slice_stop(&s->slice);
	slot_index_done(&s->by_no);
	slot_index_done(&s->by_name);
	free(s->has);
	free(s);
}

/* Called when the table is damaged: subtracts its jobs from the users' counts. */
static void put_back(struct unloaded_jobs *s)
{
	struct job_record *k;
	struct job_meta m;

	for (uint32_t i = 0; i < s->count; i++)
		if ((k = find_place(s, i)) && meta_copy_read(k, &m) == 0)
			count(s->d, &m, -1);
}

static void look_ahead(const struct unloaded_jobs *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct job_record *k = kept_at(s, i);

		if (!k)
			continue;
		slot_index_prefetch(&s->by_no, hash_u64(k->no));
		if (memchr(k->name, '\0', sizeof(k->name)))
			slot_index_prefetch(&s->by_name, hash_text(k->name, 0));
	}
}

/* Lists all jobs of the table. Return: 0; -EINVAL: the table is damaged, no server would
 * have written this; another negative errno. */
static int put_all(struct fsd *d)
{
	int r = unloaded_new(d, &d->jobs->unloaded);

	for (uint32_t i = 0; r == 0 && i < d->jobs->unloaded->count; i++) {
		if (i % PLACE_AHEAD == 0)
			look_ahead(d->jobs->unloaded, i,
				   MIN(i + PLACE_AHEAD, d->jobs->unloaded->count));
		r = put_place(d->jobs->unloaded, i);
	}
	if (r == 0)
		handover_recycle(d->handover, &job_records);
	else if (r == -EINVAL)
		put_back(d->jobs->unloaded);
	if (r < 0)
		unloaded_free(d);
	return r;
}

/* More than the number of ends that the threads of the previous server can have been
 * writing when it died. */
#define LAST_ENDS 16

struct scan {
	struct fsd *d;
	struct last_end {
		uint64_t changed_ns;
		struct job_record *kept; /* borrowed */
	} last[LAST_ENDS]; /* unsorted; changed_ns 0: unused */
};

static void note_end(struct scan *s, const struct job_meta *m,
		     struct job_record *k)
{
	struct last_end *oldest = &s->last[0];

	for (unsigned i = 1; i < LAST_ENDS; i++)
		if (s->last[i].changed_ns < oldest->changed_ns)
			oldest = &s->last[i];
	if (m->changed_ns > oldest->changed_ns)
		*oldest = (struct last_end){ m->changed_ns, k };
}

static int on_found(void *arg, const struct job_meta *meta)
{
	struct scan *s = arg;
	struct job_record *k = meta_copy_new(s->d->handover, meta->no);

	meta_copy_end(k, meta);
	if (k && meta->state == JOB_DONE)
		note_end(s, meta, k);
	return k ? 0 : -ENOMEM;
}

/* Reads all jobs from the disk. If this server dies before the end, the table does not
 * count as complete. */
static int read_disk(struct fsd *d, struct err *err)
{
	struct whole_record *whole = handover_fact(d->handover, &whole_records);
	struct scan s = { .d = d };
	int r;

	whole->live = 0;
	handover_clear(d->handover, &job_records);
	r = store_scan(d->store, on_found, &s, err);
	for (unsigned i = 0; r == 0 && i < LAST_ENDS; i++)
		meta_copy_begin(s.last[i].kept); /* its write may have been cut short: the
						  * record must be synced again */
	whole->live = r == 0 ? JOB_RECORDS_VERSION : 0;
	return r;
}

int unloaded_fill(struct fsd *d, struct err *err)
{
	const struct whole_record *whole = handover_fact(d->handover, &whole_records);
	bool known = whole->live == JOB_RECORDS_VERSION;
	int r = known ? put_all(d) : -EINVAL;

	if (r == -EINVAL && known)
		log_warn("what the server before has left is not as fsd writes "
			 "it: the jobs are read from the disk");
	if (r != -EINVAL)
		return r < 0 ? err_sys(err, r, "the jobs of the server before")
			     : 0;
	r = read_disk(d, err);
	if (r < 0)
		return r;
	r = put_all(d);
	return r < 0 ? err_sys(err, r, "the job table") : 0;
}

/* --- loading --------------------------------------------------------------- */

static struct job *take_down(struct unloaded_jobs *s, struct job_record *k)
{
	struct job_meta m;
	struct job *job;

	if (meta_copy_read(k, &m) < 0)
		return NULL; /* put_place() has read it as valid: it was damaged since */
	take_off(s, &m);
	if (job_load(s->d, &m, &job) == 0)
		return job;
	put(s, &m);
	return NULL;
}

struct job *unloaded_by_no(struct fsd *d, uint64_t no)
{
	struct unloaded_jobs *s = d->jobs->unloaded;
	struct job_record *k = s ? find_no(s, no) : NULL;

	return k ? take_down(s, k) : NULL;
}

struct job *unloaded_by_name(struct fsd *d, const char *name)
{
	struct unloaded_jobs *s = d->jobs->unloaded;
	struct job_record *k = s ? find_name(s, name) : NULL;

	return k ? take_down(s, k) : NULL;
}

void unloaded_each(struct fsd *d,
		   void (*fn)(void *arg, const struct job_meta *meta), void *arg)
{
	struct unloaded_jobs *s = d->jobs->unloaded;
	struct job_record *k;
	struct job_meta m;

	for (uint32_t i = 0; s && i < s->count; i++)
		if ((k = find_place(s, i)) && meta_copy_read(k, &m) == 0)
			fn(arg, &m);
}

/* Loads jobs. A job for which there is no memory stays unloaded: users find it by name,
 * but listings do not show it. */
static void take_some(struct unloaded_jobs *s, uint64_t until)
{
	struct job_record *k;

	for (; s->at < s->count; s->at++) {
		if (now_ns() >= until)
			return;
		k = find_place(s, s->at);
		if (k && !take_down(s, k)) {
			log_error("job %s: no memory to list it", k->name);
			s->stays = true;
		}
	}
	if (!s->stays)
		unloaded_free(s->d);
}

bool unloaded_is_empty(const struct fsd *d)
{
	return !d->jobs->unloaded || d->jobs->unloaded->at == d->jobs->unloaded->count;
}

static bool on_slice(struct time_slice *t, uint64_t until)
{
	struct unloaded_jobs *s = container_of(t, struct unloaded_jobs, slice);
	struct fsd *d = s->d;

	take_some(s, until);
	return !unloaded_is_empty(d);
}

void unloaded_empty(struct fsd *d)
{
	struct unloaded_jobs *s = d->jobs->unloaded;

	if (!s)
		return;
	if (quota_counts_bytes(users_quota(d->users))) {
		take_some(s, UINT64_MAX);
		return;
	}
	s->slice.work = on_slice;
	time_slice_later(&d->slices, &s->slice);
}

void unloaded_help(struct fsd *d)
{
	if (unloaded_is_empty(d))
		return;
	take_some(d->jobs->unloaded, now_ns() + HELP_NS);
	if (fiber_self())
		fiber_breathe();
}
