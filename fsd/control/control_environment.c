/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of .fsd/templates. The names are read from the disk at each
 * lookup; a name's hash is its key, so no table is kept. Owns no state. All
 * functions run on the loop.
 */
#include "control_environment.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/base/hash.h"
#include "fsd/jobs/environments.h"
#include "fsd/users/users.h"
#include "vm/vm.h"

/* An environment to show. e NULL: base, or one that cannot be opened. */
struct shown {
	const struct fsd *d;
	bool base;
	char id[SHA_HEX];
	struct environment *e;
	struct err err; /* why it cannot be opened */
};

/* Hashes a name. A collision is ignored: it is very unlikely. */
static uint64_t key_of(const char *name)
{
	return (hash_text(name, 0) & UINT32_MAX) | 1;
}

static void names_of(const struct fsd *d, uid_t uid, struct environment_names *ret)
{
	struct environment_places places = *environments_places(d->environments);

	places.is_users = !is_operator(uid);
	places.uid = uid;
	if (environment_names(&places, ret, NULL) < 0)
		*ret = (struct environment_names){ 0 };
}

/* Returns the name with that key, or NULL. */
static const struct environment_name *
by_key(const struct environment_names *names, uint64_t key)
{
	for (size_t i = 0; i < names->count; i++)
		if (key_of(names->name[i].name) == key)
			return &names->name[i];
	return NULL;
}

int control_environment_check(const struct fsd *d, uid_t uid, uint64_t key)
{
	struct environment_names names;
	const struct environment_name *n;
	int r;

	if (is_operator(uid))
		return 0;
	names_of(d, 0, &names);
	n = by_key(&names, key);
	r = n && !environment_name_is_for(n->name, uid) ? -EACCES : 0;
	environment_names_done(&names);
	return r;
}

uint64_t control_environment(const struct fsd *d, uid_t uid, const char *name)
{
	struct environment_names names;
	bool found = !strcmp(name, ENVIRONMENT_BASE);

	if (!found) {
		names_of(d, uid, &names);
		found = environment_names_find(&names, name);
		environment_names_done(&names);
	}
	return found ? key_of(name) : 0;
}

void control_environments(const struct fsd *d, uid_t uid,
		       void (*fn)(void *arg, const char *name, uint64_t key),
		       void *arg)
{
	struct environment_names names;

	fn(arg, ENVIRONMENT_BASE, key_of(ENVIRONMENT_BASE));
	names_of(d, uid, &names);
	for (size_t i = 0; i < names.count; i++)
		fn(arg, names.name[i].name, key_of(names.name[i].name));
	environment_names_done(&names);
}

/* --- texts -------------------------------------------------------------------- */

static int text_id(const struct shown *s, struct buf *out)
{
	return buf_fmt(out, "%s\n", s->id);
}

static const struct image_about *image_of(const struct fsd *d)
{
	return environments_image(d->environments);
}

static int text_abi(const struct shown *s, struct buf *out)
{
	return buf_fmt(out, "%s\n", s->base ? image_of(s->d)->abi :
				    s->e ? s->e->abi : "");
}

static int text_parent(const struct shown *s, struct buf *out)
{
	return s->e ? buf_fmt(out, "%s\n", s->e->parent) : 0;
}

static int on_package(void *arg, const struct environment_package *p)
{
	return buf_fmt(arg, "%s %s %s\n", p->source, p->name, p->version);
}

/* Prints the image's packages, from a list of "name version" lines. */
static int text_image(const struct shown *s, struct buf *out)
{
	const char *list = image_of(s->d)->packages, *at = list ? list : "";

	for (; *at; at += strcspn(at, "\n"), at += *at == '\n')
		buf_fmt(out, "debian %.*s\n", (int)strcspn(at, "\n"), at);
	return out->failed;
}

static int text_packages(const struct shown *s, struct buf *out)
{
	auto_buf struct buf lock = { 0 };
	struct err err;
	int r;

	if (s->base)
		return text_image(s, out);
	if (!s->e)
		return 0;
	r = environment_read(s->e, ENV_LOCK, &lock, &err);
	if (r == 0)
		r = environment_lock_read(lock.data, lock.len, on_package, out,
					  &err);
	return r < 0 ? -EIO : 0;
}

/* Prints the warm modules, one a line. */
static int text_imported(const struct shown *s, struct buf *out)
{
	struct environment_warm warm = { 0 };
	auto_buf struct buf text = { 0 };
	struct err err;
	int r = s->e ? environment_read(s->e, ENV_WARM, &text, &err) : -ENOENT;

	if (r == 0)
		r = environment_warm_read(text.data, text.len, &warm, &err);
	for (const char *at = r == 0 && warm.modules.len ?
				      warm.modules.data : ""; *at;) {
		size_t len = strcspn(at, ",");

		buf_fmt(out, "%.*s\n", (int)len, at);
		at += len;
		at += strspn(at, ", ");
	}
	environment_warm_done(&warm);
	return out->failed;
}

/* Prints the modules that are not warm. Each interpreter reports its own, so a
 * line may be there twice. */
static int text_cold(const struct shown *s, struct buf *out)
{
	const char *all = s->base || s->e ?
				  vm_template_cold(s->d->vm, s->e) : "";

	for (const char *at = all; *at;) {
		size_t len = strcspn(at, "\n") + 1;
		const char *first = memmem(all, (size_t)(at - all) + len, at, len);

		if (first == at || (first != all && first[-1] != '\n'))
			buf_add(out, at, len);
		at += len;
	}
	return out->failed;
}

static int text_env(const struct shown *s, struct buf *out)
{
	for (char **p = s->e ? s->e->env : NULL; p && *p; p++)
		buf_fmt(out, "%s\n", *p);
	return out->failed;
}

static int text_size(const struct shown *s, struct buf *out)
{
	return buf_fmt(out, "%" PRIu64 "\n",
		       s->e ? environment_size(s->e) : 0);
}

static int text_memory(const struct shown *s, struct buf *out)
{
	return buf_fmt(out, "%" PRIu64 "\n", environments_least_mb(s->e));
}

/* Finds the rest of a sentence that begins `"environment" is "NAME"; it `. */
static const char *fault_of(const struct err *err, const char *before)
{
	const char *at = strstr(err->text, before);

	return at ? at + strlen(before) : err->text;
}

#define DAMAGED "is damaged: "

static int text_failed(const struct err *err, struct buf *out)
{
	bool damaged = strstr(err->text, DAMAGED);

	return buf_fmt(out, "%s: %s\n", damaged ? "damaged" : "failed",
		       damaged ? fault_of(err, DAMAGED) : err->text);
}

static int text_state(const struct shown *s, struct buf *out)
{
	const char *abi = image_of(s->d)->abi, *list = image_of(s->d)->packages;
	struct err err = { 0 };

	if (!s->base && !s->e)
		return buf_fmt(out, "damaged: %s\n", s->err.text);
	if (s->e && abi[0] &&
	    environment_fits(s->e, abi, list ? list : "", &err) < 0)
		return buf_fmt(out, "stale: %s\n", fault_of(&err, "; "));
	switch (vm_template_state(s->d->vm, s->e, &err)) {
	case VM_MADE_READY:
		return buf_str(out, "ready\n");
	case VM_MADE_MAKING:
		return buf_str(out, "making its template\n");
	case VM_MADE_FAILED:
		return text_failed(&err, out);
	default:
		return buf_str(out, "not used yet\n");
	}
}

static const struct {
	const char *name;
	int (*text)(const struct shown *s, struct buf *out);
} fields[] = {
	{ "id", text_id },	     { "abi", text_abi },
	{ "parent", text_parent },   { "packages", text_packages },
	{ "imported", text_imported }, { "cold", text_cold },
	{ "env", text_env },	     { "size", text_size },
	{ "memory_mb", text_memory }, { "state", text_state },
};

const char *control_environment_field(unsigned field)
{
	return field < ARRAY_SIZE(fields) ? fields[field].name : NULL;
}

/* Finds the environment of a key. Return: 0 or -ESTALE. */
static int find(const struct fsd *d, uint64_t key, struct shown *ret)
{
	struct environment_names names;
	const struct environment_name *n;

	*ret = (struct shown){ .d = d,
			       .base = key == key_of(ENVIRONMENT_BASE) };
	if (ret->base) {
		snprintf(ret->id, sizeof(ret->id), "%s", image_of(d)->id);
		return 0;
	}
	names_of(d, 0, &names);
	n = by_key(&names, key);
	if (n)
		memcpy(ret->id, n->id, sizeof(ret->id));
	if (n && environment_open_id(environments_places(d->environments), ret->id,
				     &ret->e, &ret->err) == 0)
		snprintf(ret->e->name, sizeof(ret->e->name), "%s", n->name);
	environment_names_done(&names);
	return n ? 0 : -ESTALE;
}

int control_environment_text(const struct fsd *d, uint64_t key, unsigned field,
			  struct buf *out)
{
	struct shown s;
	int r = field < ARRAY_SIZE(fields) ? find(d, key, &s) : -ENOENT;

	if (r < 0)
		return r;
	r = fields[field].text(&s, out);
	environment_unref(s.e);
	return r < 0 ? r : out->failed;
}
