/* SPDX-License-Identifier: Apache-2.0 */
/* What a server knows of another's jobs, and does not believe; and how it finds
 * one of them, in their order or by a key. */
#include "fsd/store/meta_copy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fsd/base/hash.h"
#include "fsd/base/sorted_ids.h"
#include "fsd/base/slot_index.h"
#include "tests/unit/tap.h"

static char name[] = "a job";

static struct job_meta sample(void)
{
	return (struct job_meta){
		.no = 77, .name = name, .uid = 1, .gid = 2,
		.mode = 0750, .state = JOB_DONE, .run = 3, .exit_code = 4,
		.created_ns = 5, .changed_ns = 6, .queued_no = 7,
		.ended_ns = 8, .attempt = 9, .retry = 10, .retain_s = 11, .held = true,
	};
}

static struct job_record *keep(struct handover *in)
{
	struct job_meta m = sample();
	struct job_record *k = meta_copy_new(in, m.no);

	meta_copy_end(k, &m);
	return k;
}

static void what_is_on_record_is_kept(struct handover *in)
{
	struct job_meta m, was = sample();
	struct job_record *k = meta_copy_new(in, was.no);

	ok(meta_copy_read(k, &m) == -EAGAIN, "a new one is the disk's to tell");
	meta_copy_end(k, &was);
	ok(meta_copy_read(k, &m) == 0 && m.copy == k, "then it is known");
	ok(m.no == 77 && !strcmp(m.name, "a job") && m.uid == 1 && m.gid == 2 &&
	   m.mode == 0750 && m.state == JOB_DONE && m.run == 3 &&
	   m.exit_code == 4 && m.created_ns == 5 && m.changed_ns == 6 &&
	   m.queued_no == 7 && m.ended_ns == 8 && m.attempt == 9 &&
	   m.retry == 10 && m.retain_s == 11 && m.held, "with all that is on record");
	meta_copy_begin(k);
	ok(meta_copy_read(k, &m) == -EAGAIN,
	   "while it is written the disk is asked again");
	was.no = 78;
	meta_copy_end(k, &was);
	ok(meta_copy_read(k, &m) == -EAGAIN, "another job's record is not its own");
	meta_copy_gone(k);
	ok(!handover_at(in, &job_records,
		       handover_slot(in, &job_records, k)),
	   "one that is gone is not there");
}

static void nothing_is_believed(struct handover *in)
{
	static const char bad_utf8[] = "a\xff", control[] = "a\n";
	struct job_record *k = keep(in), good = *k;
	struct job_meta m;

#define IS_REFUSED(field, value)                                        \
	do {                                                            \
		*k = good;                                              \
		k->field = (value);                                     \
		ok(meta_copy_read(k, &m) == -EINVAL, "no such " #field);     \
	} while (0)
	IS_REFUSED(no, 0);
	IS_REFUSED(no, UINT64_MAX);
	IS_REFUSED(mode, 01777);
	IS_REFUSED(state, JOB_STATE_MAX);
	IS_REFUSED(run, UINT32_MAX);
	IS_REFUSED(exit_code, 256);
	IS_REFUSED(attempt, LIMIT_RETRY + 2);
	IS_REFUSED(retry, LIMIT_RETRY + 1);
	IS_REFUSED(retain_s, LIMIT_RETAIN_S + 1);
	IS_REFUSED(created_ns, UINT64_MAX);
	IS_REFUSED(changed_ns, UINT64_MAX);
	IS_REFUSED(queued_no, UINT64_MAX);
	IS_REFUSED(ended_ns, UINT64_MAX);
	IS_REFUSED(name[0], '\0');
	IS_REFUSED(name[0], '/');
	*k = good;
	memset(k->name, 'x', sizeof(k->name));
	ok(meta_copy_read(k, &m) == -EINVAL, "no name without an end");
	memcpy(k->name, bad_utf8, sizeof(bad_utf8));
	ok(meta_copy_read(k, &m) == -EINVAL, "no name that is not text");
	memcpy(k->name, control, sizeof(control));
	ok(meta_copy_read(k, &m) == -EINVAL, "nor with control characters");
	*k = good;
	ok(meta_copy_read(k, &m) == 0, "but what is right");
}

static void a_table_is_emptied(struct handover *in)
{
	uint32_t place;

	handover_clear(in, &job_records);
	ok(handover_count(in, &job_records) == 0, "nothing is left of a table");
	handover_recycle(in, &job_records);
	ok(handover_add(in, &job_records, &place) && place == 0,
	   "it begins at its first place");
}

static void in_order(void)
{
	static const uint64_t keys[] = { 5, 1, 9, 5, 3 };
	struct sorted_ids o = { 0 };
	uint64_t got = 0;

	for (unsigned i = 0; i < 5; i++)
		sorted_ids_add(&o, keys[i], 5 - i);
	sorted_ids_sort(&o);
	for (unsigned i = 0; i < 5; i++)
		got = got * 10 + sorted_ids_next(&o);
	ok(got == 41253, "by key, then by number");
	ok(sorted_ids_next(&o) == 0 && !o.at, "then there is none");
	for (uint64_t i = 1; i <= 1000; i++)
		sorted_ids_add(&o, i, i);
	sorted_ids_sort(&o);
	ok(sorted_ids_next(&o) == 1 && sorted_ids_next(&o) == 2, "many come in order");
	sorted_ids_done(&o);
}

#define MANY 5000u

static bool has(const struct slot_index *p, uint32_t place)
{
	uint64_t hash = hash_u64(place % (MANY / 2)); /* two of each */
	size_t i = hash;
	uint32_t got;

	while (slot_index_next(p, hash, &i, &got) == 0)
		if (got == place)
			return true;
	return false;
}

static void by_key(void)
{
	struct slot_index p = { 0 };
	unsigned found = 0, wrong = 0;

	ok(!has(&p, 1), "nothing is found where nothing is");
	slot_index_new(&p, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		slot_index_add(&p, hash_u64(i % (MANY / 2)), i);
	for (uint32_t i = 0; i < MANY; i += 3)
		slot_index_del(&p, hash_u64(i % (MANY / 2)), i);
	for (uint32_t i = 0; i < MANY; i++) {
		found += has(&p, i);
		wrong += has(&p, i) != (i % 3 != 0);
	}
	ok(found == MANY - (MANY + 2) / 3 && !wrong,
	   "what was added is found, and not what was taken out");
	slot_index_add(&p, hash_u64(0), 0);
	ok(has(&p, 0), "which can come back");
	slot_index_done(&p);
}

int main(void)
{
	struct handover *in = NULL;
	struct err err;

	ok(handover_open(-1, &in, &err) == 0, "memory");
	what_is_on_record_is_kept(in);
	nothing_is_believed(in);
	a_table_is_emptied(in);
	handover_close(in);
	in_order();
	by_key();
	return done_testing();
}
