/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks packages up in the index, and prints the command that builds an
 * environment with them. Any thread; the calls take the catalog's lock.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "catalog_int.h"
#include "layout/base/num.h"

enum has { HAS_NOT, HAS_OTHER, HAS };

/* A lock may have several versions of one npm package. Only the one at the top
 * is in the list. */
static enum has has(const struct packages *list, const struct package *wanted)
{
	struct package first = *wanted;
	size_t low = 0, high = list->count;

	first.version[0] = '\0';
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (package_order(&list->item[mid], &first) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == list->count || !package_is(&list->item[low], wanted))
		return HAS_NOT;
	return package_version_is(wanted, list->item[low].version) ? HAS :
								     HAS_OTHER;
}

static enum has chain_has(const struct environment_catalog *c,
			  const struct entry *e, const struct package *wanted,
			  bool mapped)
{
	for (unsigned i = 0; e && i < ENVIRONMENT_LAYERS_MAX; i++) {
		enum has h = has(mapped ? &e->mapped : &e->own, wanted);

		if (h != HAS_NOT)
			return h;
		e = catalog_entry(c, e->parent);
	}
	return has(mapped ? &c->base_mapped : &c->base, wanted);
}

/* Returns whether e (NULL: the base) has all. A wheel is found before Debian's
 * package of that name. */
static bool has_all(const struct environment_catalog *c, const struct entry *e,
		    const struct packages *wanted)
{
	for (size_t i = 0; i < wanted->count; i++) {
		enum has h = chain_has(c, e, &wanted->item[i], false);

		if (h == HAS_NOT)
			h = chain_has(c, e, &wanted->item[i], true);
		if (h != HAS)
			return false;
	}
	return true;
}

/*
 * Returns whether e is the set `below`, or is built on it. below "": the base.
 */
static bool is_on(const struct environment_catalog *c, const struct entry *e,
		  const char *below)
{
	for (unsigned i = 0; e && i < ENVIRONMENT_LAYERS_MAX; i++) {
		if (e->damaged)
			return false;
		if (!strcmp(e->parent, ENVIRONMENT_BASE) && !below[0])
			return true;
		if (!strcmp(e->id, below))
			return true;
		e = catalog_entry(c, e->parent);
	}
	return false;
}

static const struct environment_name *
find_name(const struct environment_catalog *c, const char *name, uid_t uid)
{
	return environment_name_is_for(name, uid) ?
		       environment_names_find(&c->names, name) : NULL;
}

static const struct entry *usable(const struct environment_catalog *c,
				  const struct environment_name *n, uid_t uid,
				  const char *below)
{
	const struct entry *e = n && n->id[0] ? catalog_entry(c, n->id) : NULL;

	return e && e->fits && environment_name_is_for(n->name, uid) &&
			       is_on(c, e, below) ? e : NULL;
}

static const struct environment_name *
smallest(const struct environment_catalog *c, const char *below,
	 const struct environment_wanted *w)
{
	const struct environment_name *best = NULL;
	uint64_t size = 0;

	for (size_t i = 0; i < c->names.count; i++) {
		const struct environment_name *n = &c->names.name[i];
		const struct entry *e = usable(c, n, w->uid, below);

		if (!e || (best && e->size >= size) ||
		    !has_all(c, e, w->packages))
			continue;
		best = n;
		size = e->size;
	}
	return best;
}

/*
 * Names an environment by a hash of the request and of the set it is built on.
 */
static int name_of(const struct packages *wanted, const char *below,
		   char ret[16])
{
	auto_buf struct buf text = { 0 };
	struct sha *s = sha_new();
	char sum[SHA_HEX];

	if (!s)
		return -ENOMEM;
	sha_field(s, below[0] ? below : ENVIRONMENT_BASE);
	for (size_t i = 0; i < wanted->count; i++) {
		buf_clear(&text);
		if (package_print_option(&wanted->item[i], &text) == 0)
			sha_field(s, text.data);
	}
	sha_hex(s, sum);
	snprintf(ret, 16, "p-%.8s", sum);
	return text.failed;
}

/* Makes the name of an environment that a server builds for a user. */
static void own_name(const char *name, uid_t uid,
		     char ret[ENVIRONMENT_NAME_MAX])
{
	snprintf(ret, ENVIRONMENT_NAME_MAX, "%s.%u", name, (unsigned)uid);
}

/* Returns whether e was built for this request, which may write its versions in
 * another way. */
static bool was_asked(const struct entry *e, const struct packages *wanted)
{
	auto_buf struct buf text = { 0 };

	for (size_t i = 0; e && i < wanted->count; i++) {
		const char *at = e->recipe.len ? e->recipe.data : "";
		bool found = false;

		buf_clear(&text);
		if (package_print_option(&wanted->item[i], &text) < 0)
			return false;
		for (; !found && (at = strstr(at, text.data)); at++)
			found = !at[text.len] || at[text.len] == ' ';
		if (!found)
			return false;
	}
	return e;
}

/* Lists the names of all packages, or of the first. */
static void list(const struct packages *wanted, bool all, struct buf *out)
{
	for (size_t i = 0; i < wanted->count && (all || !i); i++) {
		if (i)
			buf_str(out, i + 1 < wanted->count ? ", " : " and ");
		package_print(&wanted->item[i], out);
	}
	if (!all)
		buf_fmt(out, " and %zu others", wanted->count - 1);
}

/* Leaves room for "config.json: " and the NUL. */
static bool fits_err(const struct buf *text)
{
	return !text->failed && text->len + 16 < sizeof(((struct err *)0)->text);
}

static void print_words(const char *spec, const struct packages *wanted,
			struct buf *out)
{
	if (strcmp(spec, ENVIRONMENT_BASE) != 0)
		buf_fmt(out, " --from %s", spec);
	for (size_t i = 0; i < wanted->count; i++)
		package_print_option(&wanted->item[i], out);
}

static int none_has(const struct environment_catalog *c, const char *name,
		    const struct environment_wanted *w, struct err *err)
{
	const struct packages *wanted = w->packages;
	auto_buf struct buf command = { 0 }, text = { 0 };

	buf_fmt(&command, "fsd env build %s", name);
	if (c->of.named) {
		buf_str(&command, " --environments");
		environment_quote(c->of.named, &command);
	}
	print_words(w->spec, wanted, &command);
	for (unsigned i = 0; i < 3 && (!i || !fits_err(&text)); i++) {
		buf_clear(&text);
		buf_str(&text, "\"packages\" needs ");
		list(wanted, !i || wanted->count < 2, &text);
		buf_str(&text, ", which no environment here has; to make one: ");
		if (i < 2)
			buf_str(&text, command.data);
		else
			buf_fmt(&text, "fsd env build %s, with --pypi, --npm or "
				"--debian before each of them", name);
	}
	return text.failed || command.failed ?
		       err_sys(err, -ENOMEM, "the environments") :
		       err_set(err, -ENOPKG, "%s", text.data);
}

/* Finds the id that `spec` has now; "": the base. */
static int below_of(const struct environment_catalog *c,
		    const struct environment_wanted *w, char ret[SHA_HEX], struct err *err)
{
	struct environment_places places = *c->of.places;
	struct environment *e = NULL;
	const struct environment_name *n;
	struct environment_spec s;
	int r = environment_spec_parse(w->spec, &s, err);

	ret[0] = '\0';
	if (r < 0 || !strcmp(s.name, ENVIRONMENT_BASE))
		return r;
	n = find_name(c, s.name, w->uid);
	if (n && n->id[0] && !strncmp(n->id, s.digits, strlen(s.digits))) {
		memcpy(ret, n->id, SHA_HEX);
		return 0;
	}
	places.is_users = true;
	places.uid = w->uid;
	r = environment_open(&places, w->spec, &e, err);
	if (r < 0)
		return r;
	memcpy(ret, e->id, SHA_HEX); /* the environment was made after the index was
				      * read */
	environment_unref(e);
	return 0;
}

/*
 * Finds an environment that was built for this request: for this user, or for all by the
 * operator.
 */
static const struct environment_name *
made_for(const struct environment_catalog *c, const char *below,
	 const char *name, const struct environment_wanted *w)
{
	char own[ENVIRONMENT_NAME_MAX];
	const char *names[] = { own, name };

	own_name(name, w->uid, own);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct environment_name *n =
			environment_names_find(&c->names, names[i]);

		if (was_asked(usable(c, n, w->uid, below), w->packages))
			return n;
	}
	return NULL;
}

static int find_locked(struct environment_catalog *c,
		       const struct environment_wanted *w,
		       char ret[ENVIRONMENT_SPEC_MAX], struct err *err)
{
	const struct environment_name *n;
	char below[SHA_HEX], name[16];
	int r = catalog_refresh(c, err);

	if (r == 0)
		r = below_of(c, w, below, err);
	if (r < 0)
		return r;
	if (!below[0] && has_all(c, NULL, w->packages)) {
		strcpy(ret, ENVIRONMENT_BASE);
		return 0;
	}
	n = smallest(c, below, w);
	if (!n && name_of(w->packages, below, name) < 0)
		return err_sys(err, -ENOMEM, "the environments");
	if (!n)
		n = made_for(c, below, name, w);
	if (!n)
		return none_has(c, name, w, err);
	snprintf(ret, ENVIRONMENT_SPEC_MAX, "%s@%s", n->name, n->id);
	return 0;
}

int environment_catalog_find(struct environment_catalog *c,
			     const struct environment_wanted *w,
			     char ret[ENVIRONMENT_SPEC_MAX], struct err *err)
{
	int r;

	if (!c)
		return err_sys(err, -ENOMEM, "the environments");
	pthread_mutex_lock(&c->lock);
	r = find_locked(c, w, ret, err);
	pthread_mutex_unlock(&c->lock);
	return r;
}

int environment_catalog_lacks(struct environment_catalog *c,
			      const struct environment_wanted *w,
			      struct buf *ret, struct err *err)
{
	char found[ENVIRONMENT_SPEC_MAX], below[SHA_HEX], name[16];
	char own[ENVIRONMENT_NAME_MAX];
	int r = environment_catalog_find(c, w, found, err);

	if (r != -ENOPKG)
		return r < 0 ? r : -EEXIST;
	pthread_mutex_lock(&c->lock);
	r = below_of(c, w, below, err);
	pthread_mutex_unlock(&c->lock);
	if (r == 0)
		r = name_of(w->packages, below, name);
	if (r < 0)
		return r;
	own_name(name, w->uid, own);
	buf_str(ret, own);
	print_words(w->spec, w->packages, ret);
	return ret->failed ? -ENOMEM : 0;
}

static bool has_locked(struct environment_catalog *c, const char *id,
		       const struct environment_wanted *w)
{
	const struct entry *e = catalog_entry(c, id);
	char below[SHA_HEX] = "";

	if ((id[0] && !e) || (w->spec && below_of(c, w, below, NULL) < 0))
		return false;
	return (e ? is_on(c, e, below) : !below[0]) &&
	       has_all(c, e, w->packages);
}

bool environment_catalog_has(struct environment_catalog *c, const char *id,
			     const struct environment_wanted *w)
{
	bool found;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	found = catalog_refresh(c, NULL) == 0 && has_locked(c, id, w);
	pthread_mutex_unlock(&c->lock);
	return found;
}
