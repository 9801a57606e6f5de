/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints the manifest of a set, and computes its id. Owns no state;
 * any thread.
 */
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define REMEDY "build the environment again"

const char *const set_files[SET_FILES] = {
	[SET_LAYER] = "layer.erofs",
	[SET_LOCK] = "lock.json",
	[SET_WARM] = "warm.json",
	[SET_RECIPE] = "recipe.json",
};

void set_done(struct set_manifest *m)
{
	buf_done(&m->needs);
}

int set_print(const struct set_manifest *m, struct buf *out)
{
	buf_fmt(out, "format 1\nenvironment %s\nabi %s\nparent %s\n"
		"packages %" PRIu64 "\n", m->id, m->abi, m->parent,
		m->packages);
	for (size_t at = 0; at < m->needs.len;
	     at += strlen(m->needs.data + at) + 1)
		buf_fmt(out, "needs %s\n", m->needs.data + at);
	buf_fmt(out, "heap %" PRIu64 "\n", m->heap);
	for (unsigned i = 0; i < SET_FILES; i++)
		buf_fmt(out, "part %s %" PRIu64 " %s\n", set_files[i],
			m->part[i].size, m->part[i].sum);
	return out->failed;
}

int set_id(const struct set_manifest *m, char ret[SHA_HEX])
{
	struct sha *s = sha_new();

	if (!s)
		return -ENOMEM;
	sha_field(s, "1");
	sha_field(s, m->abi);
	sha_field(s, m->parent);
	for (unsigned i = 0; i < SET_FILES; i++) {
		sha_field(s, set_files[i]);
		sha_field(s, m->part[i].sum);
	}
	sha_hex(s, ret);
	return 0;
}

static bool is_plain(const char *text, size_t max)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= 0x20 || text[i] >= 0x7f)
			return false;
	return len && len <= max;
}

static int take_line(void *arg, const char *key, const char *value)
{
	struct set_manifest *m = arg;

	if (!strcmp(key, "environment") && manifest_is_sum(value))
		snprintf(m->id, sizeof(m->id), "%s", value);
	else if (!strcmp(key, "abi") && strlen(value) < sizeof(m->abi))
		snprintf(m->abi, sizeof(m->abi), "%s", value);
	else if (!strcmp(key, "parent") &&
		 (manifest_is_sum(value) || !strcmp(value, ENVIRONMENT_BASE)))
		snprintf(m->parent, sizeof(m->parent), "%s", value);
	else if (!strcmp(key, "packages"))
		return parse_u64(value, 0, UINT32_MAX, &m->packages);
	else if (!strcmp(key, "heap"))
		return parse_u64(value, 0, SET_HEAP_MAX, &m->heap);
	else if (!strcmp(key, "needs") && is_plain(value, 128))
		return buf_add(&m->needs, value, strlen(value) + 1);
	else
		return -EINVAL;
	return 0;
}

/* Returns whether the text has the form "debian-13-amd64 python-3.13": plain words, one
 * blank between them. */
static bool abi_is_sound(const char *abi)
{
	for (const char *p = abi; *p; p++)
		if (*p < 0x20 || *p >= 0x7f ||
		    (*p == ' ' && (p == abi || p[1] == ' ' || !p[1])))
			return false;
	return *abi;
}

static int take_parts(const struct manifest_parts *parts,
		      struct set_manifest *m, struct err *err)
{
	for (unsigned i = 0; i < SET_FILES; i++) {
		const struct manifest_part *p =
			manifest_part(parts, set_files[i]);
		uint64_t max = i == SET_LAYER ? SET_LAYER_MAX :
						ENVIRONMENT_TEXT_MAX;

		if (!p)
			return err_set(err, -EBADMSG,
				       "manifest: no part %s; " REMEDY,
				       set_files[i]);
		if (p->size > max)
			return err_set(err, -EBADMSG,
				       "manifest: %s has %" PRIu64 " bytes; at "
				       "most %" PRIu64 " are allowed",
				       set_files[i], p->size, max);
		m->part[i] = *p;
	}
	return 0;
}

/*
 * Accepts a text only if set_print() of the parsed values gives the same text.
 */
static int check(const struct set_manifest *m, const char *text, size_t len,
		 struct err *err)
{
	auto_buf struct buf again = { 0 };
	char id[SHA_HEX];

	if (set_print(m, &again) < 0 || set_id(m, id) < 0)
		return err_sys(err, -ENOMEM, "manifest");
	if (!abi_is_sound(m->abi) || again.len != len ||
	    memcmp(again.data, text, len) != 0)
		return err_set(err, -EBADMSG,
			       "manifest: a line is missing, doubled or out of "
			       "its order; " REMEDY);
	if (strcmp(id, m->id) != 0)
		return err_set(err, -EBADMSG,
			       "manifest: its id is %.12s, and %.12s follows "
			       "from its lines; " REMEDY, m->id, id);
	return 0;
}

int set_parse(const char *text, size_t len, struct set_manifest *ret,
	      struct err *err)
{
	struct manifest_parts parts;
	int r;

	*ret = (struct set_manifest){ 0 };
	r = manifest_read(text, len, &parts, take_line, ret, REMEDY, err);
	if (r == 0)
		r = take_parts(&parts, ret, err);
	if (r == 0)
		r = check(ret, text, len, err);
	return r == -EINVAL ? -EBADMSG : r;
}

const struct environment_layer *set_file(const struct environment *e,
					 unsigned number)
{
	static const enum environment_text text_of[SET_FILES] = {
		[SET_LOCK] = ENV_LOCK, [SET_WARM] = ENV_WARM,
		[SET_RECIPE] = ENV_RECIPE,
	};

	return number == SET_LAYER ? &e->layers[0] :
				     &e->texts[text_of[number]];
}

int set_open_file(int dir, const char *name)
{
	/* O_NONBLOCK: the open of a FIFO must not wait */
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
					   O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int set_read(int dir, const char *id, struct set_manifest *ret,
	     struct err *err)
{
	auto_close int fd = set_open_file(dir, "manifest");
	auto_free char *text = malloc(MANIFEST_MAX);
	ssize_t n = -1;
	int r;

	*ret = (struct set_manifest){ 0 };
	if (!text)
		return err_sys(err, -ENOMEM, "manifest");
	if (fd >= 0)
		n = pread(fd, text, MANIFEST_MAX, 0);
	if (n < 0)
		return err_sys(err, fd < 0 ? fd : -errno, "manifest");
	r = set_parse(text, (size_t)n, ret, err);
	if (r == 0 && id && strcmp(id, ret->id) != 0)
		return err_set(err, -EBADMSG,
			       "manifest: it is of %.12s; " REMEDY, ret->id);
	return r;
}

int set_find(const struct environment_places *places, const char *id)
{
	int r = -ENOENT;

	for (unsigned i = 0; i < ENVIRONMENT_PLACES && places->dirs[i]; i++) {
		auto_free char *path = NULL;
		int fd;

		if (asprintf(&path, "%s/sets/%s", places->dirs[i], id) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					O_NOFOLLOW);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT)
			r = -errno;
	}
	return r;
}
