/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the inputs of a batch, completely, before any job starts: so the total is known,
 * and a list in which the results of two inputs would collide is refused. The text of the
 * list is stored once; an entry is an offset in it.
 */
#include "list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsd/client/run_say.h"
#include "fsd/local/tree_copy.h"
#include "paths.h"
#include "vm/os/sha.h"

static const char *const kinds[LIST_KINDS] = { "names", "files", "args" };

/* --- its text -------------------------------------------------------------------- */

/* Makes space for len more bytes. */
static int reserve(struct batch_list *l, size_t len)
{
	size_t want = MAX(l->room, 65536);
	char *text;

	if (l->size + len > UINT32_MAX)
		return -EFBIG;
	while (want < l->size + len)
		want *= 2;
	if (want == l->room)
		return 0;
	text = realloc(l->text, want);
	if (!text)
		return -ENOMEM;
	l->text = text;
	l->room = want;
	return 0;
}

static int add_name(struct batch_list *l, const char *name)
{
	size_t len = strlen(name) + 1;
	int r = reserve(l, len);

	if (r < 0)
		return r;
	memcpy(l->text + l->size, name, len);
	l->size += len;
	return 0;
}

/* Reads to the end of fd, with a NUL behind it. */
static int read_text(struct batch_list *l, int fd)
{
	ssize_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		r = reserve(l, 65536);
		n = r < 0 ? 0 : read(fd, l->text + l->size, 65535);
		if (n < 0 && errno != EINTR)
			return -errno;
		l->size += (size_t)MAX(n, 0);
	}
	if (r == 0 && l->size && l->text[l->size - 1])
		l->text[l->size++] = '\0';
	return r;
}

/* Ends each line by a NUL. Return: false: a NUL stands in a line. */
static bool end_lines(struct batch_list *l)
{
	if (l->size && memchr(l->text, '\0', l->size - 1))
		return false;
	for (size_t i = 0; i < l->size; i++)
		if (l->text[i] == '\n')
			l->text[i] = '\0';
	/* the last line had an end of its own */
	if (l->size > 1 && !l->text[l->size - 2])
		l->size--;
	return true;
}

static int read_source(struct batch_list *l, const struct list_source *s)
{
	bool own = s->from && !strcmp(s->from, "-");
	auto_close int fd = !s->from || own ? -1 : open(s->from, O_RDONLY | O_CLOEXEC);
	int r = 0;

	l->kind = s->args ? LIST_ARGS : s->from && !s->nul ? LIST_FILES : LIST_NAMES;
	for (unsigned i = 0; i < s->name_count && r == 0; i++)
		r = add_name(l, s->names[i]);
	if (s->from)
		r = !own && fd < 0 ? -errno : read_text(l, own ? STDIN_FILENO : fd);
	if (r < 0)
		return client_complain(r == -ENOMEM ? 1 : 2, "%s: %s",
				       own || !s->from ? "the list" : s->from,
				       strerror(-r));
	if (s->from && !s->nul && !end_lines(l))
		return client_complain(2, "%s has a NUL in a line; -0 says that NULs end "
				       "its lines", own ? "standard input" : s->from);
	return 0;
}

/* --- its entries ------------------------------------------------------------------ */

static int key_of(const struct batch_list *l, uint32_t i, uint64_t *ret)
{
	struct sha *s = sha_new();
	char hex[SHA_HEX], number[16];
	const char *line = batch_list_line(l, i);

	if (!s)
		return -ENOMEM;
	if (l->kind == LIST_ARGS) {
		snprintf(number, sizeof(number), "%u\t", i + 1);
		sha_add(s, number, strlen(number));
	}
	sha_add(s, line, strlen(line));
	sha_hex(s, hex);
	hex[16] = '\0';
	*ret = strtoull(hex, NULL, 16);
	return 0;
}

/* Returns the slot of a key, or the free slot where the key would be put. */
static uint32_t *slot_of(const struct batch_list *l, uint64_t key)
{
	uint32_t at = (uint32_t)key & (l->slots - 1);

	while (l->slot[at] && l->entry[l->slot[at] - 1].key != key)
		at = (at + 1) & (l->slots - 1);
	return &l->slot[at];
}

struct entry *batch_list_find(const struct batch_list *l, uint64_t key)
{
	uint32_t at = l->slots ? *slot_of(l, key) : 0;

	return at ? &l->entry[at - 1] : NULL;
}

static uint32_t count_lines(const struct batch_list *l)
{
	uint32_t count = 0;

	for (size_t at = 0; at < l->size; at += strlen(l->text + at) + 1)
		count += l->kind == LIST_ARGS || l->text[at];
	return count;
}

static int make_room(struct batch_list *l, uint32_t count)
{
	for (l->slots = 16; l->slots < 2 * count; l->slots *= 2)
		;
	l->entry = calloc(MAX(count, 1), sizeof(*l->entry));
	l->slot = calloc(l->slots, sizeof(*l->slot));
	return l->entry && l->slot ? 0 : -ENOMEM;
}

/* Return: 0, -ENOMEM, or -EEXIST: *twice is the second one of two lines. */
static int make_entries(struct batch_list *l, uint32_t *twice)
{
	int r = make_room(l, count_lines(l));

	for (size_t at = 0; at < l->size && r == 0; at += strlen(l->text + at) + 1) {
		struct entry *e = &l->entry[l->count];
		uint32_t *slot;

		if (l->kind != LIST_ARGS && !l->text[at])
			continue;
		*e = (struct entry){ .line = (uint32_t)at, .newest = ENTRY_NO_LINE };
		r = key_of(l, l->count, &e->key);
		slot = slot_of(l, e->key);
		*twice = l->count++;
		if (r == 0 && *slot)
			return -EEXIST;
		*slot = l->count;
	}
	return r;
}

const char *batch_list_line(const struct batch_list *l, uint32_t i)
{
	return l->text + l->entry[i].line;
}

unsigned batch_list_fields(const struct batch_list *l, uint32_t i, char line[LIST_LINE],
		     const char *field[LIST_FIELDS])
{
	char *at = line;
	unsigned count = 0;

	snprintf(line, LIST_LINE, "%s", batch_list_line(l, i));
	if (l->kind == LIST_ARGS && !*line)
		return 0;
	field[count++] = at;
	while (l->kind != LIST_NAMES && count < LIST_FIELDS && (at = strchr(at, '\t'))) {
		*at++ = '\0';
		field[count++] = at;
	}
	return count;
}

int batch_list_path(const struct batch_list *l, uint32_t i, char ret[PATH_MAX])
{
	const char *line = batch_list_line(l, i);
	size_t len = l->kind == LIST_FILES ? strcspn(line, "\t") : strlen(line);

	if (l->kind != LIST_ARGS)
		return result_path(line, len, ret);
	snprintf(ret, PATH_MAX, "%u", i + 1);
	return 0;
}

/* --- reading and writing -------------------------------------------------- */

int batch_list_read(struct batch_list *l, const struct list_source *s, const struct run_client *c,
	      bool as_stdin)
{
	uint32_t twice = 0;
	int r = read_source(l, s);

	if (r)
		return r;
	r = make_entries(l, &twice);
	if (r == -EEXIST)
		return client_complain(2, "%s is in the list twice", batch_list_line(l, twice));
	if (r < 0)
		return client_complain(1, "%s", strerror(-r));
	return l->kind == LIST_ARGS ? 0 : batch_list_check(l, c, as_stdin);
}

int batch_list_read_from(struct batch_list *l, int fd)
{
	uint32_t twice;
	size_t len;
	int r = read_text(l, fd);

	if (r < 0)
		return r;
	if (!l->size)
		return -EINVAL;
	for (l->kind = 0; l->kind < LIST_KINDS; l->kind++)
		if (!strcmp(l->text, kinds[l->kind]))
			break;
	if (l->kind == LIST_KINDS)
		return -EINVAL;
	len = strlen(l->text) + 1;
	l->size -= len;
	memmove(l->text, l->text + len, l->size);
	return make_entries(l, &twice);
}

int batch_list_write(const struct batch_list *l, int fd)
{
	int r = write_all(fd, kinds[l->kind], strlen(kinds[l->kind]) + 1);

	return r ? r : write_all(fd, l->text, l->size);
}

void batch_list_done(struct batch_list *l)
{
	free(l->entry);
	free(l->text);
	free(l->slot);
	*l = (struct batch_list){ 0 };
}
