/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a job's record into shared memory and reads it back in the next server. `torn`
 * is set before the record on disk changes and cleared after it.
 *
 * A server that is killed in between leaves `torn` set, and the next one reads the disk.
 * meta_copy_read() checks every field, because the server before may have been compromised.
 * meta_copy_begin() and meta_copy_end() may run on a thread for the disk.
 */
#include "meta_copy.h"

#include <errno.h>
#include <string.h>

HANDOVER_TABLE(job_records, "jobs", JOB_RECORDS_VERSION, struct job_record, 1u << 22);

_Static_assert(sizeof(((struct job_record *)0)->name) > LIMIT_JOB_NAME,
	       "room for every name");
_Static_assert(JOB_VFILE_MAX <= 16, "a bit for every row");

struct job_record *meta_copy_new(struct handover *in, uint64_t no)
{
	uint32_t place;
	struct job_record *k = handover_add(in, &job_records, &place);

	if (!k)
		return NULL;
	k->no = no;
	k->torn = 1;
	handover_publish(&k->live);
	return k;
}

/* Sets `torn`. No later store to memory takes effect before this one, so a server that is
 * killed leaves them in order. */
static void set_torn(struct job_record *k, uint32_t torn)
{
	__atomic_store_n(&k->torn, torn, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void meta_copy_begin(struct job_record *k)
{
	if (k)
		set_torn(k, 1);
}

static void fill(struct job_record *k, const struct job_meta *m)
{
	k->uid = m->uid;
	k->gid = m->gid;
	k->mode = m->mode;
	k->state = m->state;
	k->run = m->run;
	k->exit_code = m->exit_code;
	k->attempt = m->attempt;
	k->retry = m->retry;
	k->retain_s = m->retain_s;
	k->held = m->held;
	k->created_ns = m->created_ns;
	k->changed_ns = m->changed_ns;
	k->queued_no = m->queued_no;
	k->ended_ns = m->ended_ns;
}

void meta_copy_end(struct job_record *k, const struct job_meta *m)
{
	size_t len = strlen(m->name);

	/* k may be another job's by now: its job was freed while a thread wrote meta. */
	if (!k || k->no != m->no || len >= sizeof(k->name))
		return;
	fill(k, m);
	memcpy(k->name, m->name, len + 1);
	set_torn(k, 0);
}

void meta_copy_gone(struct job_record *k)
{
	if (k)
		__atomic_store_n(&k->live, 0u, __ATOMIC_SEQ_CST);
}

void meta_copy_free(struct handover *in, struct job_record *k)
{
	if (k)
		handover_del(in, &job_records, k);
}

/* Checks the ranges of all fields; they are those of store_meta_parse(). */
static bool is_sane(const struct job_record *k)
{
	return k->no && k->no <= INT64_MAX && k->mode <= 0777 &&
	       k->state < JOB_STATE_MAX && k->run < UINT32_MAX &&
	       k->exit_code <= 255 && k->attempt <= LIMIT_RETRY + 1 &&
	       k->retry <= LIMIT_RETRY && k->retain_s <= LIMIT_RETAIN_S &&
	       k->created_ns <= INT64_MAX && k->changed_ns <= INT64_MAX &&
	       k->queued_no <= INT64_MAX && k->ended_ns <= INT64_MAX &&
	       !(k->hidden >> JOB_VFILE_MAX) && !(k->copied >> JOB_VFILE_MAX) &&
	       k->sink <= 1 && k->held <= 1 &&
	       memchr(k->name, '\0', sizeof(k->name)) &&
	       job_name_check(k->name) == 0;
}

int meta_copy_read(struct job_record *k, struct job_meta *ret)
{
	if (k->torn)
		return -EAGAIN;
	if (!is_sane(k))
		return -EINVAL;
	*ret = (struct job_meta){
		.no = k->no, .name = k->name, .uid = k->uid, .gid = k->gid,
		.mode = k->mode, .state = (enum job_state)k->state,
		.run = k->run, .exit_code = k->exit_code,
		.created_ns = k->created_ns, .changed_ns = k->changed_ns,
		.queued_no = k->queued_no, .ended_ns = k->ended_ns,
		.attempt = k->attempt, .retry = k->retry,
		.retain_s = k->retain_s, .held = k->held, .copy = k,
	};
	return 0;
}
