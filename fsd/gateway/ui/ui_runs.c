/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ended runs. The gateway removes its jobs at their end, so it keeps one record of
 * each run in memory (the ring). Ended jobs of other clients are still in the mount.
 * On the loop; ui_run_read() on any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "ui_int.h"

#define LAST 64u

static int64_t integer(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

void ui_run_read(struct ui_run *run, const json_t *result)
{
	const json_t *timing = json_object_get(result, "timing");
	const char *ended = text_member(result, "ended");

	copy(run->language, sizeof(run->language),
	     text_member(result, "language"));
	copy(run->status, sizeof(run->status), text_member(result, "status"));
	run->exit_code = (int)integer(result, "exit_code");
	run->run_ms = integer(timing, "run_ms");
	run->queued_ms = integer(timing, "queued_ms") +
			 integer(timing, "machine_ms");
	run->ended_ms = ended ? text_untime(ended) : 0;
	if (run->ended_ms < 0)
		run->ended_ms = 0;
}

/* Finds a run among the newest; NULL: it is not there. */
static const struct ui_run *find_last(const struct ui_ring *ring, const char *job)
{
	for (size_t i = 1; i <= ring->count && i <= LAST; i++) {
		const struct ui_run *run =
			&ring->run[(ring->next + UI_KEPT - i) % UI_KEPT];

		if (!strcmp(run->name, job))
			return run;
	}
	return NULL;
}

bool ui_ring_has(const struct ui_ring *ring, const char *job)
{
	return find_last(ring, job);
}

void ui_ring_done(struct ui_ring *ring)
{
	for (size_t i = 0; i < ARRAY_SIZE(ring->seen); i++)
		json_decref(ring->seen[i].json);
	free(ring->run);
}

void ui_ring_see(struct ui_ring *ring, const char *job, json_t *json)
{
	const struct ui_run *run = find_last(ring, job);
	struct ui_seen *to = &ring->seen[ring->seen_next];

	if (!run) {
		json_decref(json);
		return;
	}
	json_decref(to->json);
	to->json = json;
	copy(to->name, sizeof(to->name), run->name);
	copy(to->owner, sizeof(to->owner), run->owner);
	ring->seen_next = (ring->seen_next + 1) % ARRAY_SIZE(ring->seen);
}

const json_t *ui_ring_seen(const struct ui_ring *ring, const char *job,
			   const char *owner)
{
	for (size_t i = 0; i < ARRAY_SIZE(ring->seen); i++) {
		const struct ui_seen *at = &ring->seen[i];

		if (at->json && !strcmp(at->name, job) &&
		    !strcmp(at->owner, owner))
			return at->json;
	}
	return NULL;
}

/* --- the view ----------------------------------------------------------- */

static bool is_failure(const struct ui_run *run)
{
	return strcmp(run->status, "exited") != 0 || run->exit_code;
}

static int newest_first(const void *a, const void *b)
{
	const struct ui_run *x = *(const struct ui_run *const *)a;
	const struct ui_run *y = *(const struct ui_run *const *)b;

	if (x->ended_ms != y->ended_ms)
		return x->ended_ms > y->ended_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Chooses the runs of one owner. Return: how many. */
static size_t choose(const struct ui_ring *ring, const struct ui_run *other,
		     size_t others, const char *owner,
		     const struct ui_run **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < ring->count; i++)
		if (!strcmp(ring->run[i].owner, owner))
			ret[count++] = &ring->run[i];
	for (size_t i = 0; i < others; i++)
		if (!strcmp(other[i].owner, owner))
			ret[count++] = &other[i];
	qsort(ret, count, sizeof(*ret), newest_first);
	return count;
}

static json_t *show(const struct ui_run *run)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:I, s:I, s:I}", "name",
			 text_string(run->name, strlen(run->name)), "language",
			 text_string(run->language, strlen(run->language)),
			 "status", text_string(run->status, strlen(run->status)),
			 "exit_code", run->exit_code, "ms",
			 (json_int_t)run->run_ms, "waited_ms",
			 (json_int_t)run->queued_ms, "ended",
			 (json_int_t)run->ended_ms);
}

static json_t *figures(const struct ui_run *const *run, size_t count,
		       int64_t now_ms)
{
	int64_t *ms = calloc(count ? count : 1, sizeof(*ms));
	size_t n = 0, failures = 0;
	json_t *json;

	if (!ms)
		return NULL;
	for (; n < count && run[n]->ended_ms > now_ms - UI_HOUR_MS; n++) {
		ms[n] = run[n]->run_ms;
		failures += is_failure(run[n]);
	}
	qsort(ms, n, sizeof(*ms), by_number);
	json = json_pack("{s:I, s:I, s:I, s:I}", "runs", (json_int_t)n,
			 "failures", (json_int_t)failures, "p50",
			 (json_int_t)(n ? ms[(n - 1) / 2] : 0), "p95",
			 (json_int_t)(n ? ms[(n - 1) * 95 / 100] : 0));
	free(ms);
	return json;
}

void ui_runs_show(const struct ui_ring *ring, const struct ui_run *other,
		  size_t others, const char *owner, int64_t now_ms,
		  json_t *view)
{
	const struct ui_run **run = calloc(ring->count + others + 1,
					   sizeof(*run));
	json_t *list = json_array();
	size_t count;

	if (run && list) {
		count = choose(ring, other, others, owner, run);
		for (size_t i = 0; i < count && i < UI_RUNS; i++)
			json_array_append_new(list, show(run[i]));
		json_object_set_new(view, "figures", figures(run, count, now_ms));
	}
	json_object_set_new(view, "runs", list);
	free(run);
}
