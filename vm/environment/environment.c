/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a set with its parents, compares checksums, and checks whether it fits
 * an image. Owns no state but struct environment, which is counted. Any thread;
 * waits for the disk.
 */
#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "set.h"

static const unsigned part_of[ENV_TEXTS] = {
	[ENV_LOCK] = SET_LOCK, [ENV_WARM] = SET_WARM, [ENV_RECIPE] = SET_RECIPE,
};

static void free_list(char **list)
{
	for (char **p = list; p && *p; p++)
		free(*p);
	free(list);
}

static void free_all(struct environment *e)
{
	for (unsigned i = 0; i < e->layer_count; i++)
		fd_close(&e->layers[i].fd);
	for (unsigned i = 0; i < ENV_TEXTS; i++)
		fd_close(&e->texts[i].fd);
	free_list(e->env);
	free_list(e->needs);
	free(e->fresh_env);
	free(e);
}

struct environment *environment_ref(struct environment *e)
{
	if (e)
		atomic_fetch_add(&e->refs, 1);
	return e;
}

void environment_unref(struct environment *e)
{
	if (e && atomic_fetch_sub(&e->refs, 1) == 1)
		free_all(e);
}

/* Turns texts that each end with NUL into a list that ends with NULL. */
static char **list_of(const struct buf *texts)
{
	size_t count = 0;
	char **list;

	for (size_t at = 0; at < texts->len; at++)
		count += texts->data[at] == '\0';
	list = calloc(count + 1, sizeof(*list));
	for (size_t at = 0, i = 0; list && at < texts->len; i++) {
		list[i] = strdup(texts->data + at);
		if (!list[i]) {
			free_list(list);
			return NULL;
		}
		at += strlen(texts->data + at) + 1;
	}
	return list;
}

/* --- reading one set ---------------------------------------------------- */

static int open_part(int dir, const struct manifest_part *p,
		     struct environment_layer *ret, struct err *err)
{
	auto_close int fd = set_open_file(dir, p->name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? fd : -errno, "%s", p->name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s is no file", p->name);
	if ((uint64_t)st.st_size != p->size)
		return err_set(err, -EBADMSG, "%s has %" PRIu64 " bytes, its "
			       "manifest says %" PRIu64, p->name,
			       (uint64_t)st.st_size, p->size);
	ret->size = p->size;
	memcpy(ret->sum, p->sum, SHA_HEX);
	ret->fd = take_fd(&fd);
	return 0;
}

static int compare(const struct environment_layer *file, const char *name,
		   const atomic_bool *cancel, struct err *err)
{
	char sum[SHA_HEX];
	int r = sha_file(file->fd, cancel, sum);

	if (r < 0)
		return err_sys(err, r, "%s", name);
	return strcmp(sum, file->sum) ? err_set(err, -EBADMSG, "%s is not what "
						"its manifest says", name) : 0;
}

int environment_read(const struct environment *e, enum environment_text which,
		     struct buf *out, struct err *err)
{
	const struct environment_layer *file = &e->texts[which];
	const char *name = set_files[part_of[which]];
	size_t had = 0;
	int r = compare(file, name, NULL, err);

	if (r < 0)
		return r;
	/* one byte more, so that a full buffer is not an error */
	out->cap = MAX(out->cap, ENVIRONMENT_TEXT_MAX + 1);
	if (buf_reserve(out, file->size) < 0)
		return err_sys(err, -ENOMEM, "%s", name);
	while (had < file->size) {
		ssize_t n = pread(file->fd, out->data + out->len,
				  file->size - had, (off_t)had);

		if (n <= 0)
			return err_sys(err, n < 0 ? -errno : -EBADMSG, "%s",
				       name);
		had += (size_t)n;
		out->len += (size_t)n;
	}
	out->data[out->len] = '\0';
	return 0;
}

static int read_warm(struct environment *e, struct err *err)
{
	auto_buf struct buf text = { 0 };
	struct environment_warm warm = { 0 };
	int r = environment_read(e, ENV_WARM, &text, err);

	if (r == 0)
		r = environment_warm_read(text.data, text.len, &warm, err);
	if (r == 0) {
		e->env = list_of(&warm.env);
		e->fresh_env = strdup(warm.at_start.len ? warm.at_start.data :
							  "");
		r = e->env && e->fresh_env ? 0 : err_sys(err, -ENOMEM,
							 "warm.json");
	}
	environment_warm_done(&warm);
	return r == -EINVAL ? -EBADMSG : r;
}

static int take_own(struct environment *e, int dir,
		    const struct set_manifest *m, struct err *err)
{
	int r = 0;

	memcpy(e->id, m->id, sizeof(e->id));
	memcpy(e->abi, m->abi, sizeof(e->abi));
	memcpy(e->parent, m->parent, sizeof(e->parent));
	memcpy(e->warm_sum, m->part[SET_WARM].sum, SHA_HEX);
	e->heap = m->heap;
	e->packages = m->packages;
	e->needs = list_of(&m->needs);
	if (!e->needs)
		return err_sys(err, -ENOMEM, "manifest");
	for (unsigned i = 0; r == 0 && i < ENV_TEXTS; i++)
		r = open_part(dir, &m->part[part_of[i]], &e->texts[i], err);
	return r < 0 ? r : read_warm(e, err);
}

/* Adds the layer of one set. *ret_parent: its parent's id. */
static int add_layer(struct environment *e,
		     const struct environment_places *places, const char *id,
		     char ret_parent[SHA_HEX], struct err *err)
{
	auto_close int dir = set_find(places, id);
	struct set_manifest m = { 0 };
	int r;

	if (e->layer_count == ENVIRONMENT_LAYERS_MAX)
		return err_set(err, -EBADMSG, "it has more than %u layers, its "
			       "parents' among them", ENVIRONMENT_LAYERS_MAX);
	if (dir < 0)
		return err_sys(err, dir, "%sset %.12s",
			       e->layer_count ? "its parent, " : "", id);
	r = set_read(dir, id, &m, err);
	if (r == 0 && !e->layer_count)
		r = take_own(e, dir, &m, err);
	else if (r == 0 && strcmp(e->abi, m.abi) != 0)
		r = err_set(err, -EBADMSG, "its parent %.12s was made for "
			    "another image", id);
	if (r == 0)
		r = open_part(dir, &m.part[SET_LAYER],
			      &e->layers[e->layer_count], err);
	if (r == 0) {
		e->layer_count++;
		memcpy(ret_parent, m.parent, SHA_HEX);
	}
	set_done(&m);
	return r;
}

static int open_layers(struct environment *e,
		       const struct environment_places *places, const char *id,
		       struct err *err)
{
	char at[SHA_HEX];
	int r = 0;

	snprintf(at, sizeof(at), "%s", id);
	while (r == 0 && strcmp(at, ENVIRONMENT_BASE) != 0) {
		char next[SHA_HEX];

		r = add_layer(e, places, at, next, err);
		if (r == 0)
			memcpy(at, next, sizeof(at));
	}
	return r;
}

int environment_open_id(const struct environment_places *places, const char *id,
			struct environment **ret, struct err *err)
{
	struct environment *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return err_sys(err, -ENOMEM, "environment");
	atomic_init(&e->refs, 1);
	for (unsigned i = 0; i < ENVIRONMENT_LAYERS_MAX; i++)
		e->layers[i].fd = -1;
	for (unsigned i = 0; i < ENV_TEXTS; i++)
		e->texts[i].fd = -1;
	r = open_layers(e, places, id, err);
	if (r < 0) {
		environment_unref(e);
		return r;
	}
	*ret = e;
	return 0;
}

/* --- opening ------------------------------------------------------------ */

static int no_such(const struct environment_names *names, const char *spec,
		   struct err *err)
{
	auto_buf struct buf list = { 0 };
	char room[ENVIRONMENT_SHOWN_MAX];

	for (size_t i = 0; i < names->count && list.len < 240; i++)
		buf_fmt(&list, ", %s", names->name[i].name);
	return err_set(err, -ENOENT,
		       "\"environment\" is %s; it must be one of base%s",
		       environment_shown(spec, room), list.len ? list.data : "");
}

int environment_open_found(const struct environment_places *places,
			   const struct environment_name *n,
			   struct environment **ret, struct err *err)
{
	int r = n->id[0] ? environment_open_id(places, n->id, ret, err) :
			   err_set(err, -EBADMSG, "its name leads nowhere");

	if (r == 0)
		snprintf((*ret)->name, sizeof((*ret)->name), "%s", n->name);
	return r == -ENOENT || r == -ELOOP ? -EBADMSG : r;
}

static int open_named(const struct environment_places *places,
		      const struct environment_names *names, const char *spec,
		      struct environment **ret, struct err *err)
{
	struct environment_spec s;
	const struct environment_name *n;
	char room[ENVIRONMENT_SHOWN_MAX];
	int r = environment_spec_parse(spec, &s, err);

	if (r < 0)
		return r;
	n = environment_names_find(names, s.name);
	if (!n)
		return no_such(names, spec, err);
	if (strncmp(n->id, s.digits, strlen(s.digits)) != 0)
		return err_set(err, -ESTALE,
			       "\"environment\" is %s; \"%s\" is %.12s "
			       "now", environment_shown(spec, room), n->name,
			       n->id);
	r = environment_open_found(places, n, ret, err);
	if (r < 0)
		err_wrap(err, "\"environment\" is %s; it is damaged",
			 environment_shown(spec, room));
	return r;
}

int environment_open(const struct environment_places *places, const char *spec,
		     struct environment **ret, struct err *err)
{
	struct environment_names names;
	int r;

	*ret = NULL;
	if (!strcmp(spec, ENVIRONMENT_BASE))
		return 0;
	r = environment_names(places, &names, err);
	if (r < 0)
		return r;
	r = open_named(places, &names, spec, ret, err);
	environment_names_done(&names);
	return r;
}

/* --- checking ----------------------------------------------------------- */

int environment_verify(const struct environment *e, const atomic_bool *cancel,
		       struct err *err)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ENV_TEXTS; i++)
		r = compare(&e->texts[i], set_files[part_of[i]], cancel, err);
	for (unsigned i = 0; r == 0 && i < e->layer_count; i++) {
		r = compare(&e->layers[i], set_files[SET_LAYER], cancel, err);
		if (r < 0 && i)
			err_wrap(err, "of a parent");
	}
	return r;
}

uint64_t environment_size(const struct environment *e)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->layer_count; i++)
		sum += e->layers[i].size;
	return sum;
}

/* Finds the first word of an abi that differs from the other one's at the same
 * position. */
static bool differs(const char *abi, const char *other, char word[2][40])
{
	while (*abi || *other) {
		size_t a = strcspn(abi, " "), b = strcspn(other, " ");

		snprintf(word[0], 40, "%.*s", (int)a, abi);
		snprintf(word[1], 40, "%.*s", (int)b, other);
		if (a != b || memcmp(abi, other, a) != 0)
			return true;
		abi += a + (abi[a] == ' ');
		other += b + (other[b] == ' ');
	}
	return false;
}

/* Returns whether a list of "name version" lines has this name. */
static bool has_package(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = list; *line;
	     line = strchrnul(line, '\n'), line += *line == '\n')
		if (!strncmp(line, name, len) && line[len] == ' ')
			return true;
	return false;
}

int environment_misfit(const struct environment *e, const char *abi,
		       const char *packages, struct err *err)
{
	char word[2][40];

	if (differs(e->abi, abi, word))
		return err_set(err, -ENOEXEC, "it was made for %s and this "
			       "image has %s: run fsd env build %s",
			       word[0][0] ? word[0] : "less",
			       word[1][0] ? word[1] : "none", e->name);
	for (char **need = e->needs; *need; need++)
		if (!has_package(packages, *need))
			return err_set(err, -ENOEXEC, "it needs %.80s and this "
				       "image has none: run fsd env build %s",
				       *need, e->name);
	return 0;
}

int environment_fits(const struct environment *e, const char *abi,
		     const char *packages, struct err *err)
{
	int r = environment_misfit(e, abi, packages, err);

	if (r < 0 && err) {
		struct err why = *err;

		err_set(err, r, "\"environment\" is \"%s\"; %.400s", e->name,
			why.text);
	}
	return r;
}
