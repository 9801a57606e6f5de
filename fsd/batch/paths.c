/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the path for the results of an input, and checks that the paths of a list are
 * compatible: results are a directory, so no other result may be inside it.
 */
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsd/client/job_draft.h"
#include "fsd/client/run_say.h"

/* Appends one name of a path. Return: its length, or -ENAMETOOLONG. */
static int add_part(char *to, size_t room, const char *part, size_t len, bool first)
{
	bool up = len == 2 && !memcmp(part, "..", 2);
	size_t mark = strlen(RESULT_TEMPORARY);
	bool ours = first && len >= mark && !memcmp(part, RESULT_TEMPORARY, mark);
	int n = snprintf(to, room, "%s%s%.*s", first ? "" : "/",
			 up ? "%2E%2E" : ours ? "%2E" : "",
			 up ? 0 : (int)(len - ours), part + ours);

	return n < (int)room ? n : -ENAMETOOLONG;
}

int result_path(const char *name, size_t len, char ret[PATH_MAX])
{
	size_t at = 0, used = 0;

	ret[0] = '\0';
	while (at < len) {
		size_t part = strcspn(name + at, "/");
		int n = 0;

		part = MIN(part, len - at);
		if (part && !(part == 1 && name[at] == '.'))
			n = add_part(ret + used, PATH_MAX - used, name + at, part,
				     used == 0);
		if (n < 0)
			return n;
		used += (size_t)n;
		at += part + 1;
	}
	return used ? 0 : -EINVAL;
}

/* --- one input ---------------------------------------------------------------------- */

static int check_fields(const struct batch_list *l, uint32_t i, const struct run_client *c)
{
	char line[LIST_LINE], place[BELOW_PATH], other[BELOW_PATH];
	const char *field[LIST_FIELDS];
	unsigned count = batch_list_fields(l, i, line, field);
	struct err err;

	for (unsigned j = 0; j < count; j++) {
		if (input_check(c, field[j], place, &err) < 0)
			return client_complain(2, "%s", err.text);
		if (!place[0])
			return client_complain(2, "%s has no last name; give a path that "
					       "ends in one", field[j]);
		for (unsigned k = 0; k < j; k++)
			if (input_check(c, field[k], other, &err) == 0 &&
			    (below_has(place, other) || below_has(other, place)))
				return client_complain(2, "%s and %s are of one job, which "
						       "would have both as %s", field[k],
						       field[j], place);
	}
	return 0;
}

static int check_one(const struct batch_list *l, uint32_t i, const struct run_client *c,
		     bool as_stdin)
{
	const char *line = batch_list_line(l, i);
	char path[PATH_MAX];
	int r;

	if (strlen(line) >= LIST_LINE)
		return client_complain(2, "%.60s... has %zu bytes; a line may have %u", line,
				       strlen(line), LIST_LINE - 1);
	r = batch_list_path(l, i, path);
	if (r < 0)
		return client_complain(2, "%s %s", line, r == -EINVAL ?
				       "has no last name; give a path that ends in one" :
				       "is too long for a path of results");
	if (as_stdin && l->kind == LIST_FILES && strchr(line, '\t'))
		return client_complain(2, "%s: with --stdin a job has one file", line);
	return as_stdin ? 0 : check_fields(l, i, c);
}

/* --- all of them ---------------------------------------------------------- */

/* The set of the paths of all earlier inputs; finds an equal path, and a path that is
 * inside another one. */
struct path_set {
	const struct batch_list *l;
	struct path_slot {
		uint32_t index; /* index of the entry, plus 1; 0: free */
		uint32_t tag;   /* upper bits of the path's hash */
	} *slot;
	uint32_t slots;         /* a power of two */
};

/* The hash function FNV-1a. */
static uint64_t hash_of(const char *path, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)path[i]) * 0x100000001b3u;
	return h;
}

/* Returns the slot of a path, or the free slot where the path would be put. */
static struct path_slot *find(const struct path_set *s, const char *path, size_t len)
{
	uint64_t h = hash_of(path, len);
	uint32_t at = (uint32_t)h & (s->slots - 1);
	char other[PATH_MAX];

	for (; s->slot[at].index; at = (at + 1) & (s->slots - 1)) {
		if (s->slot[at].tag != (uint32_t)(h >> 32))
			continue;
		batch_list_path(s->l, s->slot[at].index - 1, other);
		if (strlen(other) == len && !memcmp(other, path, len))
			break;
	}
	if (!s->slot[at].index)
		s->slot[at].tag = (uint32_t)(h >> 32);
	return &s->slot[at];
}

static int add_all(struct path_set *s)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < s->l->count; i++) {
		struct path_slot *slot;

		batch_list_path(s->l, i, path);
		slot = find(s, path, strlen(path));
		if (slot->index)
			return client_complain(2, "%s and %s would have the same results, "
					       "r/%s", batch_list_line(s->l, slot->index - 1),
					       batch_list_line(s->l, i), path);
		slot->index = i + 1;
	}
	return 0;
}

/* Checks that the results of this input are not inside those of another one. */
static int check_inside(const struct path_set *s, uint32_t i)
{
	char path[PATH_MAX];

	batch_list_path(s->l, i, path);
	for (const char *at = path; (at = strchr(at, '/')); at++) {
		uint32_t has = find(s, path, (size_t)(at - path))->index;
		const char *outer = has ? batch_list_line(s->l, has - 1) : NULL;

		if (outer)
			return client_complain(2, "%s is in %s, so its results would be in "
					       "those of %s; give one of them, or make two "
					       "batches", batch_list_line(s->l, i), outer,
					       outer);
	}
	return 0;
}

static int check_paths(const struct batch_list *l)
{
	struct path_set s = { .l = l, .slots = 16 };
	int r;

	while (s.slots < 2 * l->count)
		s.slots *= 2;
	s.slot = calloc(s.slots, sizeof(*s.slot));
	r = s.slot ? add_all(&s) : client_complain(1, "out of memory");
	for (uint32_t i = 0; i < l->count && r == 0; i++)
		r = check_inside(&s, i);
	free(s.slot);
	return r;
}

int batch_list_check(const struct batch_list *l, const struct run_client *c, bool as_stdin)
{
	int r = 0;

	for (uint32_t i = 0; i < l->count && r == 0; i++)
		r = check_one(l, i, c, as_stdin);
	return r ? r : check_paths(l);
}
