/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "packages" of config.json: one text a package, each with one version.
 *
 *   pandas==2.2.3  pypi:pandas==2.2.3   npm:lodash@4.17.21   deb:jq=1.7.1-6
 *
 * Pure. Each that is taken here is taken by `fsd env build` behind the option
 * of its source, and needs a shell's quotes at most.
 */
#ifndef LAYOUT_PACKAGES_H
#define LAYOUT_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "layout/base/buf.h"

#define PACKAGE_NAME_MAX 214 /* npm's */
#define PACKAGE_VERSION_MAX 128

/* In the order in which they are printed and sorted. */
enum package_source {
	PACKAGE_PYPI,
	PACKAGE_NPM,
	PACKAGE_DEBIAN,
	PACKAGE_SOURCES
};

struct package {
	enum package_source source;
	char name[PACKAGE_NAME_MAX + 1]; /* of PyPI: normalised (PEP 503) */
	char version[PACKAGE_VERSION_MAX + 1];
};

/* Sorted by source, name and version. A zeroed one is empty. */
struct packages {
	size_t count;
	struct package *item; /* owned */
};

/* Reads one text. Return: NULL, or what is wrong: the end of a sentence that
 * begins with the text. */
const char *package_parse(const char *text, struct package *ret);
/* Appends it as it was written, without the source: "pandas==2.2.3". */
int package_print(const struct package *p, struct buf *out);
/* Appends " --pypi pandas==2.2.3", quoted for a shell. */
int package_print_option(const struct package *p, struct buf *out);
/* The same package? Only the version may differ. */
bool package_is(const struct package *a, const struct package *b);
/* By source, name, version; for qsort() and bsearch(). */
int package_order(const void *a, const void *b);
/* 1.0 and 1.0.0 are one version of PyPI. */
bool package_version_is(const struct package *p, const char *version);

/*
 * The package that an entry of lock.json is: source is debian, pypi or npm.
 * Return: false: no text of "packages" could name it.
 */
bool package_of_lock(const char *source, const char *name, const char *version,
		     struct package *ret);
/*
 * Of Debian's python3-NAME and node-NAME, the package of PyPI or npm that it
 * is, with its upstream version. Return: false: it is neither.
 */
bool package_of_debian(const struct package *debian, struct package *ret);

/* The same ones, in the same versions? */
bool packages_equal(const struct packages *a, const struct packages *b);
void packages_done(struct packages *packages);

#endif
