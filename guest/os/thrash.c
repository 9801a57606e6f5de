/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a program is out of memory without being killed: the kernel reads its
 * code again and again. Pure arithmetic over two samples; job.c takes the samples and
 * kills.
 */
#include "thrash.h"

#include "layout/base/num.h"

#define PAGE 4096u
#define LEFT_OF 64u /* thrashing: file pages are less than 1/64 of the job's memory */
#define LEFT_MIN (256u << 10)
#define TURNS 100u /* thrashing: the file pages were read again more often than this */
#define USER_OF 20u /* thrashing: less than 1/20 of its processor time was user time */

void thrash_begin(struct thrash *t, uint64_t now)
{
	*t = (struct thrash){
		.next = now + THRASH_LOOK_MS * 1000000ull,
	};
}

int thrash_due(const struct thrash *t, uint64_t now)
{
	if (!t->next)
		return -1;
	return now < t->next ? (int)((t->next - now) / 1000000u) + 1 : 0;
}

/* Keeps a sample; later samples are compared with it. Return: false, for
 * thrash_judge(). */
static bool mark(struct thrash *t, const struct strain *s, bool full)
{
	t->marked = full;
	t->mark = *s;
	return false;
}

bool thrash_judge(struct thrash *t, const struct strain *s)
{
	uint64_t before = t->mark.full, user, all, turned;

	if (s->full == before || !t->marked)
		return mark(t, s, s->full != before);
	user = s->user_us - t->mark.user_us;
	all = user + s->system_us - t->mark.system_us;
	if (user > all / USER_OF ||
	    s->file_bytes > MAX(s->limit / LEFT_OF, (uint64_t)LEFT_MIN))
		return mark(t, s, true);
	turned = (s->refaults - t->mark.refaults) * PAGE;
	return turned > TURNS * MAX(s->file_bytes, (uint64_t)LEFT_MIN);
}
