/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/jobs/ID/meta: "key value" lines, each exactly once. It is ours, but
 * lies on a disk: what is not as we write it is no job, since a guess could
 * give it to another owner.
 */
#include <errno.h>
#include <string.h>

#include "depot.h"

enum meta_key {
	META_FORMAT, META_UID, META_GID, META_MODE, META_STATE, META_RUN,
	META_EXIT_CODE, META_CREATED, META_CHANGED, META_NAME, META_MAX
};

static const struct {
	const char *name;
	uint64_t most; /* of a decimal number; 0: it is none */
} keys[META_MAX] = {
	[META_FORMAT] = { "format", 1 },
	[META_UID] = { "uid", UINT32_MAX },
	[META_GID] = { "gid", UINT32_MAX },
	[META_MODE] = { "mode", 0 },
	[META_STATE] = { "state", 0 },
	[META_RUN] = { "run", UINT32_MAX - 1 },
	[META_EXIT_CODE] = { "exit_code", 255 },
	[META_CREATED] = { "created", INT64_MAX },
	[META_CHANGED] = { "changed", INT64_MAX },
	[META_NAME] = { "name", 0 },
};

int depot_meta_print(const struct job_meta *m, struct buf *out)
{
	buf_fmt(out, "format 1\nuid %u\ngid %u\nmode %o\nstate %s\nrun %u\n",
		m->uid, m->gid, m->mode, state_name(m->state), m->run);
	return buf_fmt(out, "exit_code %u\ncreated %llu\nchanged %llu\nname %s\n",
		       m->exit_code, (unsigned long long)m->created_ns,
		       (unsigned long long)m->changed_ns, m->name);
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
		return n == 1 ? 0 : -EINVAL;
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
	case META_NAME:
		return get_name(value, &m->name);
	case META_MAX:
		break;
	}
	return -EINVAL;
}

/* Cuts line into key and value. Return: META_MAX if it is none. */
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
	return seen == (1u << META_MAX) - 1 ? 0 : -EINVAL;
}

int depot_meta_parse(char *text, struct job_meta *ret)
{
	struct job_meta m = { .no = ret->no };
	int r = parse(&m, text);

	if (r < 0)
		free(m.name);
	else
		*ret = m;
	return r;
}

int depot_no(const char *id, uint64_t *ret)
{
	char again[STORE_ID_SIZE];
	uint64_t no = strtoull(id, NULL, 16);

	depot_id(no, again);
	if (!no || strcmp(id, again) != 0)
		return -EINVAL;
	*ret = no;
	return 0;
}
