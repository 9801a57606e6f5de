/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a disk gives back of a job: its record, its number, a line about an
 * earlier attempt; and what an operator
 * writes for a size. What must hold: what is taken is written again as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "fsd/store/store.h"
#include "fsd/users/quota.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_meta(const char *text)
{
	struct job_meta m = { .no = 7 }, again = { .no = 7 };
	auto_buf struct buf printed = { .cap = 0 };
	char *copy = strdup(text);

	check(copy != NULL);
	if (store_meta_parse(copy, &m) == 0) {
		check(m.no == 7 && job_name_check(m.name) == 0);
		check(m.mode <= 0777 && m.state < JOB_STATE_MAX);
		check(m.exit_code <= 255);
		check(store_meta_print(&m, &printed) == 0);
		check(store_meta_parse(printed.data, &again) == 0);
		check(!strcmp(m.name, again.name) && m.uid == again.uid &&
		      m.gid == again.gid && m.mode == again.mode &&
		      m.state == again.state && m.run == again.run &&
		      m.created_ns == again.created_ns &&
		      m.changed_ns == again.changed_ns);
		check(m.queued_no == again.queued_no &&
		      m.ended_ns == again.ended_ns &&
		      m.attempt == again.attempt && m.retry == again.retry &&
		      m.retain_s == again.retain_s && m.held == again.held &&
		      printed.len <= 512);
		check(m.retry <= LIMIT_RETRY && m.attempt <= LIMIT_RETRY + 1 &&
		      m.retain_s <= LIMIT_RETAIN_S &&
		      again.format == STORE_FORMAT);
		free(again.name);
		free(m.name);
	}
	free(copy);
}

static void check_attempt(const char *text)
{
	struct result_attempt a = { .known = false };
	char *copy = strdup(text);
	unsigned run = 0;

	check(copy != NULL);
	if (store_attempt_parse(copy, &run, &a) == 0)
		check(run && a.known && a.status < JOB_STATUS_MAX &&
		      a.started_ns <= INT64_MAX && a.ended_ns <= INT64_MAX &&
		      (!a.message || *a.message));
	free(copy);
}

static void check_no(const char *text)
{
	char again[STORE_ID_SIZE];
	uint64_t no;

	if (store_no(text, &no) < 0)
		return;
	store_id(no, again);
	check(no && !strcmp(text, again) && !strchr(text, '/'));
}

static void check_size(const char *text)
{
	uint64_t bytes;

	if (quota_parse_size(text, &bytes) == 0)
		check(bytes <= INT64_MAX && text[0] >= '0' && text[0] <= '9');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	check(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	check_meta(text);
	check_attempt(text);
	check_no(text);
	check_size(text);
	free(text);
	return 0;
}
