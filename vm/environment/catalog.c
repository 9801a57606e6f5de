/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of environments: an entry for each set that a name leads to, and
 * for its parents, with the packages of the set's own lock, sorted. A look-up
 * costs one stat() for each directory: DIR/names gets a new mtime whenever a
 * name is added, removed or renamed. Any thread; a lock protects the index.
 */
#include "catalog_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

/* A change within one tick of the clock leaves the mtime as it was. A directory
 * that has just changed is therefore listed again. */
#define SETTLED_NS 1000000000ll

/* --- lists of packages ------------------------------------------------------ */

static int add(struct packages *list, const struct package *p)
{
	struct package *more = list->item;

	/* the array grows to 16, 32, ... */
	if (list->count % 16 == 0 && (list->count & (list->count - 1)) == 0)
		more = reallocarray(list->item, MAX(list->count * 2, 16u),
				    sizeof(*more));
	if (!more)
		return -ENOMEM;
	list->item = more;
	list->item[list->count++] = *p;
	return 0;
}

static int add_both(struct packages *own, struct packages *mapped,
		    const char *source, const char *name, const char *version)
{
	struct package p, other;
	int r;

	if (!package_of_lock(source, name, version, &p))
		return 0;
	r = add(own, &p);
	if (r == 0 && package_of_debian(&p, &other))
		r = add(mapped, &other);
	return r;
}

static void sort(struct packages *list)
{
	if (list->count)
		qsort(list->item, list->count, sizeof(*list->item),
		      package_order);
}

/* --- reading ---------------------------------------------------------------- */

static void entry_free(struct entry *e)
{
	packages_done(&e->own);
	packages_done(&e->mapped);
	buf_done(&e->recipe);
	free(e);
}

static int on_package(void *arg, const struct environment_package *p)
{
	struct entry *e = arg;
	const char *modules = "node_modules/";

	/* a package inside another package's node_modules belongs to that */
	if (p->at[0] && (strncmp(p->at, modules, strlen(modules)) != 0 ||
			 strcmp(p->at + strlen(modules), p->name) != 0))
		return 0;
	return add_both(&e->own, &e->mapped, p->source, p->name, p->version);
}

static int read_texts(const struct environment *env, struct entry *e,
		      struct err *err)
{
	auto_buf struct buf lock = { 0 }, recipe = { 0 };
	int r = environment_read(env, ENV_LOCK, &lock, err);

	if (r >= 0)
		r = environment_lock_read(lock.data, lock.len, on_package, e,
					  err);
	if (r >= 0)
		r = environment_read(env, ENV_RECIPE, &recipe, err);
	if (r >= 0)
		r = environment_recipe_read(recipe.data, recipe.len,
					    &e->recipe, err);
	sort(&e->own);
	sort(&e->mapped);
	return r;
}

static int load(struct environment_catalog *c, struct entry *e)
{
	struct environment *env = NULL;
	struct err err = { 0 };
	int r = environment_open_id(c->of.places, e->id, &env, &err);

	if (r == 0)
		r = read_texts(env, e, &err);
	if (r >= 0) {
		memcpy(e->parent, env->parent, SHA_HEX);
		e->size = environment_size(env);
		e->fits = !c->of.abi[0] ||
			  environment_misfit(env, c->of.abi, c->of.packages,
					     NULL) == 0;
	}
	environment_unref(env);
	e->damaged = r < 0;
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
}

struct entry *catalog_entry(const struct environment_catalog *c,
			    const char *id)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->entry[i]->id, id))
			return c->entry[i];
	return NULL;
}

/* Finds the entry of an id; reads the set if it is new. */
static int need(struct environment_catalog *c, const char *id,
		struct entry **ret)
{
	struct entry **more, *e = catalog_entry(c, id);
	int r;

	*ret = e;
	if (e)
		return 0;
	e = calloc(1, sizeof(*e));
	more = reallocarray(c->entry, c->count + 1, sizeof(*more));
	if (more)
		c->entry = more;
	if (!e || !more) {
		free(e);
		return -ENOMEM;
	}
	memcpy(e->id, id, SHA_HEX);
	r = load(c, e);
	if (r < 0) {
		entry_free(e);
		return r;
	}
	c->entry[c->count++] = *ret = e;
	return 0;
}

/* Drops entries that are damaged or that no name needs. all: drops every entry. */
static void sweep(struct environment_catalog *c, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct entry *e = c->entry[i];

		if (all || !e->used || e->damaged)
			entry_free(e);
		else
			c->entry[kept++] = e;
	}
	c->count = kept;
}

/* Reads the set of a name, and its parents, unless the index has them. */
static int need_chain(struct environment_catalog *c, const char *id)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ENVIRONMENT_LAYERS_MAX; i++) {
		struct entry *e;

		r = need(c, id, &e);
		if (r < 0 || e->damaged || !strcmp(e->parent, ENVIRONMENT_BASE))
			return r;
		id = e->parent;
	}
	return r;
}

static void mark(struct environment_catalog *c)
{
	for (size_t i = 0; i < c->count; i++)
		c->entry[i]->used = false;
	for (size_t i = 0; i < c->names.count; i++) {
		struct entry *e = catalog_entry(c, c->names.name[i].id);

		for (; e && !e->used; e = catalog_entry(c, e->parent))
			e->used = true;
	}
}

static int read_all(struct environment_catalog *c, struct err *err)
{
	struct environment_names names;
	int r = environment_names(c->of.places, &names, err);

	if (r < 0)
		return r;
	environment_names_done(&c->names);
	c->names = names;
	mark(c);
	sweep(c, false);
	for (size_t i = 0; r == 0 && i < names.count; i++)
		if (names.name[i].id[0])
			r = need_chain(c, names.name[i].id);
	return r < 0 ? err_sys(err, r, "the environments") : 0;
}

static void take_stamp(const char *place, struct stamp *ret)
{
	auto_free char *path = NULL;
	struct stat st;

	*ret = (struct stamp){ 0 };
	if (asprintf(&path, "%s/names", place) < 0) {
		path = NULL;
		return;
	}
	if (stat(path, &st) == 0)
		*ret = (struct stamp){ st.st_dev, st.st_ino, st.st_mtim };
}

static bool same(const struct stamp *a, const struct stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino &&
	       a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec;
}

static bool is_settled(const struct stamp *s)
{
	struct timespec now;
	long long age;

	clock_gettime(CLOCK_REALTIME, &now);
	age = ((long long)now.tv_sec - s->mtime.tv_sec) * 1000000000ll +
	      now.tv_nsec - s->mtime.tv_nsec;
	return age > SETTLED_NS;
}

/* Takes the stamps before it lists the names, so that the next call sees a
 * change in between. */
int catalog_refresh(struct environment_catalog *c, struct err *err)
{
	bool known = c->known, settled = true;
	int r;

	for (unsigned i = 0; i < ENVIRONMENT_PLACES && c->of.places->dirs[i];
	     i++) {
		struct stamp s;

		take_stamp(c->of.places->dirs[i], &s);
		known = known && same(&s, &c->stamp[i]);
		settled = settled && is_settled(&s);
		c->stamp[i] = s;
	}
	if (known)
		return 0;
	r = read_all(c, err);
	c->known = r == 0 && settled;
	return r;
}

/* --- the whole -------------------------------------------------------------------- */

static int read_image(struct environment_catalog *c)
{
	const char *at = c->of.packages;
	int r = 0;

	while (r == 0 && *at) {
		char name[256], version[256];

		if (sscanf(at, "%255s %255s", name, version) == 2)
			r = add_both(&c->base, &c->base_mapped, "debian", name,
				     version);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	sort(&c->base);
	sort(&c->base_mapped);
	return r;
}

struct environment_catalog *
environment_catalog_new(const struct environment_catalog_of *of)
{
	struct environment_catalog *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->of = *of;
	if (read_image(c) == 0)
		return c;
	environment_catalog_free(c);
	return NULL;
}

void environment_catalog_free(struct environment_catalog *c)
{
	if (!c)
		return;
	sweep(c, true);
	free(c->entry);
	environment_names_done(&c->names);
	packages_done(&c->base);
	packages_done(&c->base_mapped);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
