/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints the texts of "packages", with one row for each source.
 * Pure.
 */
#include "packages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "layout/base/num.h"

#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define LARGE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"
#define ALNUM SMALL LARGE DIGIT

static bool pypi_name(const char *name);
static bool npm_name(const char *name);
static bool debian_name(const char *name);

static const struct {
	const char *prefix;    /* "pypi:" may be left out */
	const char *separator; /* text between name and version */
	const char *option;    /* its option of `fsd env build` */
	const char *lock; /* value of "source" in lock.json */
	bool (*name)(const char *name);
	const char *first, *rest; /* characters that a version may have */
	const char *bad_name, *bad_version;
} rows[PACKAGE_SOURCES] = {
	[PACKAGE_PYPI] = {
		"pypi:", "==", "--pypi", "pypi", pypi_name, ALNUM,
		ALNUM ".!+_-",
		"a name has letters, digits, \".\", \"-\" and \"_\" only",
		"it must name one version, as pandas==2.2.3",
	},
	[PACKAGE_NPM] = {
		"npm:", "@", "--npm", "npm", npm_name, DIGIT, ALNUM ".+-",
		"a name of npm has letters, digits, \".\", \"-\" and \"_\" "
		"only, behind @SCOPE/ if it has a scope",
		"it must name one version, as npm:lodash@4.17.21",
	},
	[PACKAGE_DEBIAN] = {
		"deb:", "=", "--debian", "debian", debian_name, DIGIT,
		ALNUM ".+~:-",
		"a name of Debian has small letters, digits, \".\", \"-\" and "
		"\"+\" only",
		"it must name one version, as deb:jq=1.7.1-6",
	},
};

/* --- names and versions ----------------------------------------------------- */

static bool pypi_name(const char *name)
{
	size_t len = strlen(name);

	return len && !name[strspn(name, ALNUM "._-")] &&
	       strchr(ALNUM, name[0]) && strchr(ALNUM, name[len - 1]);
}

static bool npm_part(const char *name, size_t len, const char *first,
		     const char *rest)
{
	return len && strchr(first, name[0]) && strspn(name, rest) >= len;
}

static bool npm_name(const char *name)
{
	const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;

	if (name[0] == '@' &&
	    (!slash || !npm_part(name + 1, (size_t)(slash - name) - 1,
				 SMALL DIGIT, SMALL DIGIT "._-")))
		return false;
	name = slash ? slash + 1 : name;
	return npm_part(name, strlen(name), ALNUM, ALNUM "._-");
}

static bool debian_name(const char *name)
{
	size_t len = strlen(name);

	return len > 1 && strchr(SMALL DIGIT, name[0]) &&
	       !name[strspn(name, SMALL DIGIT "+.-")];
}

static bool is_version(enum package_source source, const char *text)
{
	return text[0] && strchr(rows[source].first, text[0]) &&
	       !text[strspn(text, rows[source].rest)] &&
	       strlen(text) <= PACKAGE_VERSION_MAX;
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

/* Normalises a name by PEP 503: each run of ".", "-" and "_" becomes one "-".
 * Versions ignore case, too. */
static void normalise(struct package *p)
{
	char *to = p->name;

	for (const char *at = p->name; *at;) {
		size_t run = strspn(at, "._-");

		*to++ = run ? '-' : *at;
		at += run ? run : 1;
	}
	*to = '\0';
	lower(p->name);
	lower(p->version);
}

/* Sets p's source and name, of len bytes. Return: whether that source allows the name. */
static bool fill(struct package *p, enum package_source source,
		 const char *name, size_t len)
{
	p->source = source;
	if (len > PACKAGE_NAME_MAX)
		return false;
	memcpy(p->name, name, len);
	p->name[len] = '\0';
	return rows[source].name(p->name);
}

/* Finds the version. npm's names may begin with the separator. */
static const char *find_version(enum package_source source, const char *text)
{
	const char *separator = rows[source].separator;
	const char *at = *text ? strstr(text + 1, separator) : NULL;

	return at ? at + strlen(separator) : NULL;
}

const char *package_parse(const char *text, struct package *ret)
{
	enum package_source source = PACKAGE_PYPI;
	const char *version;

	*ret = (struct package){ 0 };
	for (unsigned i = 0; i < PACKAGE_SOURCES; i++) {
		size_t len = strlen(rows[i].prefix);

		if (strncmp(text, rows[i].prefix, len) != 0)
			continue;
		source = i;
		text += len;
		break;
	}
	version = find_version(source, text);
	if (!version)
		return rows[source].bad_version;
	if (!fill(ret, source, text, (size_t)(version - text) -
					     strlen(rows[source].separator)))
		return rows[source].bad_name;
	if (!is_version(source, version))
		return rows[source].bad_version;
	strcpy(ret->version, version);
	if (source == PACKAGE_PYPI)
		normalise(ret);
	return NULL;
}

/* --- lock.json ---------------------------------------------------------- */

bool package_of_lock(const char *source, const char *name, const char *version,
		     struct package *ret)
{
	unsigned i = 0;

	*ret = (struct package){ 0 };
	while (i < PACKAGE_SOURCES && strcmp(rows[i].lock, source) != 0)
		i++;
	if (i == PACKAGE_SOURCES || !fill(ret, i, name, strlen(name)) ||
	    !is_version(i, version))
		return false;
	strcpy(ret->version, version);
	if (ret->source == PACKAGE_PYPI)
		normalise(ret);
	return true;
}

/* Removes Debian's epoch and revision, and the mark of a source package with
 * parts left out. "+really" and similar marks stay: they change the version. */
static void upstream(const char *version, char ret[PACKAGE_VERSION_MAX + 1])
{
	static const char *const marks[] = { "+dfsg", "~dfsg", "+ds", "~ds",
					     "+~" };
	const char *colon = strchr(version, ':');
	char *at;

	strcpy(ret, colon ? colon + 1 : version);
	at = strrchr(ret, '-');
	if (at)
		*at = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		at = strstr(ret, marks[i]);
		if (at)
			*at = '\0';
	}
}

bool package_of_debian(const struct package *debian, struct package *ret)
{
	static const struct {
		const char *prefix, *source;
	} kinds[] = { { "python3-", "pypi" }, { "node-", "npm" } };
	char version[PACKAGE_VERSION_MAX + 1];

	if (debian->source != PACKAGE_DEBIAN)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(debian->name, kinds[i].prefix, len) != 0)
			continue;
		upstream(debian->version, version);
		return package_of_lock(kinds[i].source, debian->name + len,
				       version, ret);
	}
	return false;
}

/* --- comparing, printing ------------------------------------------------ */

bool package_is(const struct package *a, const struct package *b)
{
	return a->source == b->source && !strcmp(a->name, b->name);
}

int package_order(const void *a, const void *b)
{
	const struct package *x = a, *y = b;
	int r = (x->source > y->source) - (x->source < y->source);

	if (!r)
		r = strcmp(x->name, y->name);
	return r ? r : strcmp(x->version, y->version);
}

/* Returns the length of a version without ".0" at its end, if it has only
 * numbers. */
static size_t significant(const char *version)
{
	size_t len = strlen(version);

	if (version[strspn(version, DIGIT ".")])
		return len;
	while (len > 2 && !strncmp(version + len - 2, ".0", 2))
		len -= 2;
	return len;
}

bool package_version_is(const struct package *p, const char *version)
{
	size_t len = significant(p->version);

	if (p->source != PACKAGE_PYPI)
		return !strcmp(p->version, version);
	return len == significant(version) && !strncmp(p->version, version, len);
}

int package_print(const struct package *p, struct buf *out)
{
	return buf_fmt(out, "%s%s%s", p->name, rows[p->source].separator,
		       p->version);
}

int package_print_option(const struct package *p, struct buf *out)
{
	auto_buf struct buf word = { 0 };

	if (package_print(p, &word) < 0)
		return -ENOMEM;
	buf_fmt(out, " %s", rows[p->source].option);
	environment_quote(word.data, out);
	return out->failed;
}

bool packages_equal(const struct packages *a, const struct packages *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = package_order(&a->item[i], &b->item[i]) == 0;
	return same;
}

void packages_done(struct packages *packages)
{
	free(packages->item);
	*packages = (struct packages){ 0 };
}
