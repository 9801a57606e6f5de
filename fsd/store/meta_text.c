/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of STATE/jobs/ID/meta: "key value" lines, each key exactly once. A damaged text
 * is refused, not repaired: a guess could give the job to another owner. An older format
 * has fewer keys, and exactly those. Pure.
 */
#include <errno.h>
#include <string.h>

#include "store.h"

enum meta_key {
	META_FORMAT, META_UID, META_GID, META_MODE, META_STATE, META_RUN,
	META_EXIT_CODE, META_CREATED, META_CHANGED, META_QUEUED, META_ENDED,
	META_ATTEMPT, META_RETRY, META_RETAIN, META_HELD, META_NAME, META_MAX
};

static const struct {
	const char *name;
	uint64_t most;   /* largest decimal number; 0: the value is no decimal number */
	unsigned format; /* the first format with this key */
} keys[META_MAX] = {
	[META_FORMAT] = { "format", STORE_FORMAT, 1 },
	[META_UID] = { "uid", UINT32_MAX, 1 },
	[META_GID] = { "gid", UINT32_MAX, 1 },
	[META_MODE] = { "mode", 0, 1 },
	[META_STATE] = { "state", 0, 1 },
	[META_RUN] = { "run", UINT32_MAX - 1, 1 },
	[META_EXIT_CODE] = { "exit_code", 255, 1 },
	[META_CREATED] = { "created", INT64_MAX, 1 },
	[META_CHANGED] = { "changed", INT64_MAX, 1 },
	[META_QUEUED] = { "queued", INT64_MAX, 2 },
	[META_ENDED] = { "ended", INT64_MAX, 2 },
	[META_ATTEMPT] = { "attempt", LIMIT_RETRY + 1, 2 },
	[META_RETRY] = { "retry", LIMIT_RETRY, 2 },
	[META_RETAIN] = { "retain", LIMIT_RETAIN_S, 2 },
	[META_HELD] = { "held", 1, 3 },
	[META_NAME] = { "name", 0, 1 },
};

int store_meta_print(const struct job_meta *m, struct buf *out)
{
	buf_fmt(out, "format %u\nuid %u\ngid %u\nmode %o\nstate %s\nrun %u\n",
		STORE_FORMAT, m->uid, m->gid, m->mode, state_name(m->state),
		m->run);
	buf_fmt(out, "exit_code %u\ncreated %llu\nchanged %llu\nqueued %llu\n",
		m->exit_code, (unsigned long long)m->created_ns,
		(unsigned long long)m->changed_ns,
		(unsigned long long)m->queued_no);
	return buf_fmt(out, "ended %llu\nattempt %u\nretry %u\nretain %u\n"
		       "held %u\nname %s\n", (unsigned long long)m->ended_ns,
		       m->attempt, m->retry, m->retain_s, m->held, m->name);
}

static int get_mode(const char *value, mode_t *ret)
{
	size_t len = strlen(value);

	if (!len || len > 3 || strspn(value, "01234567") != len)
		return -EINVAL;
	*ret = (mode_t)strtoul(value, NULL, 8);
	return 0;
}

static int get_state(const char *value, enum job_state *ret)
{
	int state = state_parse(value);

	if (state < 0)
		return -EINVAL;
	*ret = (enum job_state)state;
	return 0;
}

static int get_name(const char *value, char **ret)
{
	if (job_name_check(value) < 0)
		return -EINVAL;
	*ret = strdup(value);
	return *ret ? 0 : -ENOMEM;
}

static int get_field(struct job_meta *m, enum meta_key key, const char *value)
{
	uint64_t n = 0;

	if (keys[key].most && parse_u64(value, 0, keys[key].most, &n) < 0)
		return -EINVAL;
	switch (key) {
	case META_FORMAT:
		m->format = (unsigned)n;
		return n ? 0 : -EINVAL;
	case META_UID:
		m->uid = (uid_t)n;
		return 0;
	case META_GID:
		m->gid = (gid_t)n;
		return 0;
	case META_MODE:
		return get_mode(value, &m->mode);
	case META_STATE:
		return get_state(value, &m->state);
	case META_RUN:
		m->run = (unsigned)n;
		return 0;
	case META_EXIT_CODE:
		m->exit_code = (unsigned)n;
		return 0;
	case META_CREATED:
		m->created_ns = n;
		return 0;
	case META_CHANGED:
		m->changed_ns = n;
		return 0;
	case META_QUEUED:
		m->queued_no = n;
		return 0;
	case META_ENDED:
		m->ended_ns = n;
		return 0;
	case META_ATTEMPT:
		m->attempt = (unsigned)n;
		return 0;
	case META_RETRY:
		m->retry = (unsigned)n;
		return 0;
	case META_RETAIN:
		m->retain_s = (uint32_t)n;
		return 0;
	case META_HELD:
		m->held = n;
		return 0;
	case META_NAME:
		return get_name(value, &m->name);
	case META_MAX:
		break;
	}
	return -EINVAL;
}

/* Cuts line into key and value. Return: META_MAX if the line has no known key. */
static enum meta_key get_key(char *line, char **ret_value)
{
	enum meta_key key = 0;
	char *value = strchr(line, ' ');

	if (!value)
		return META_MAX;
	*value = '\0';
	*ret_value = value + 1;
	while (key < META_MAX && strcmp(keys[key].name, line) != 0)
		key++;
	return key;
}

/* Return: the keys of a format, bits 1 << key. */
static unsigned keys_of(unsigned format)
{
	unsigned set = 0;

	for (unsigned key = 0; key < META_MAX; key++)
		if (keys[key].format <= format)
			set |= 1u << key;
	return set;
}

static int parse(struct job_meta *m, char *text)
{
	unsigned seen = 0;
	char *save = NULL, *value = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		enum meta_key key = get_key(line, &value);
		int r;

		if (key == META_MAX || seen & 1u << key)
			return -EINVAL;
		r = get_field(m, key, value);
		if (r < 0)
			return r;
		seen |= 1u << key;
	}
	return m->format && seen == keys_of(m->format) ? 0 : -EINVAL;
}

/* Derives the fields that format 1 does not have. Numbers are microseconds of the clock:
 * store_next_no(). */
static void modernize(struct job_meta *m)
{
	if (m->format >= 2)
		return;
	if (m->state == JOB_QUEUED || m->state == JOB_RUNNING)
		m->queued_no = m->changed_ns / 1000;
	if (m->state == JOB_DONE)
		m->ended_ns = m->changed_ns;
	m->attempt = m->run ? 1 : 0;
}

int store_meta_parse(char *text, struct job_meta *ret)
{
	struct job_meta m = { .no = ret->no };
	int r = parse(&m, text);

	if (r < 0) {
		free(m.name);
		return r;
	}
	modernize(&m);
	*ret = m;
	return 0;
}

int store_no(const char *id, uint64_t *ret)
{
	char again[STORE_ID_SIZE];
	uint64_t no = strtoull(id, NULL, 16);

	store_id(no, again);
	if (!no || strcmp(id, again) != 0)
		return -EINVAL;
	*ret = no;
	return 0;
}
