/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "packages" of config.json: one text for each package, each with one version.
 *
 *   pandas==2.2.3  pypi:pandas==2.2.3   npm:lodash@4.17.21   deb:jq=1.7.1-6
 *
 * Pure. `fsd env build` accepts each of them behind the option of its source;
 * they need at most a shell's quotes.
 */
#ifndef LAYOUT_PACKAGES_H
#define LAYOUT_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "layout/base/buf.h"

#define PACKAGE_NAME_MAX 214 /* npm's */
#define PACKAGE_VERSION_MAX 128

/* In the order of printing and sorting. */
enum package_source {
	PACKAGE_PYPI,
	PACKAGE_NPM,
	PACKAGE_DEBIAN,
	PACKAGE_SOURCES
};

struct package {
	enum package_source source;
	char name[PACKAGE_NAME_MAX + 1]; /* of a PyPI package: normalised (PEP 503) */
	char version[PACKAGE_VERSION_MAX + 1];
};

/* Sorted by source, name and version. A zeroed one is empty. */
struct packages {
	size_t count;
	struct package *item; /* owned */
};

/* Parses one text. Return: NULL, or the mistake: the end of a sentence that
 * begins with the text. */
const char *package_parse(const char *text, struct package *ret);
/* Appends the package as it is written, without the source: "pandas==2.2.3". */
int package_print(const struct package *p, struct buf *out);
/* Appends " --pypi pandas==2.2.3", quoted for a shell. */
int package_print_option(const struct package *p, struct buf *out);
/* Returns whether both are the same package; versions may differ. */
bool package_is(const struct package *a, const struct package *b);
/* Compares by source, name, version; for qsort() and bsearch(). */
int package_order(const void *a, const void *b);
/* Compares versions: for PyPI 1.0 and 1.0.0 are the same. */
bool package_version_is(const struct package *p, const char *version);

/* Makes a package of an entry of lock.json. source: debian, pypi or npm.
 * Return: false: "packages" cannot name it. */
bool package_of_lock(const char *source, const char *name, const char *version,
		     struct package *ret);
/* Translates Debian's python3-NAME and node-NAME to the package of PyPI or npm,
 * with its upstream version. Return: false: it is neither. */
bool package_of_debian(const struct package *debian, struct package *ret);

/* Returns whether both lists have the same packages in the same versions. */
bool packages_equal(const struct packages *a, const struct packages *b);
void packages_done(struct packages *packages);

#endif
