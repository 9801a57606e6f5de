/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of hosts that programs look up. One grammar holds wherever such a name is
 * read, so that no two readers see different names in the same bytes. Pure.
 */
#ifndef LAYOUT_BASE_HOST_NAME_H
#define LAYOUT_BASE_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_NAME_MAX_LEN 253
#define HOST_LABEL_MAX_LEN 63

/*
 * Reads labels of 1 to 63 letters, digits, "-" and "_" with dots between them. *ret gets
 * them in lower case and without the last dot. A name whose last label is a number (of
 * any base that a resolver knows) is refused: some programs take it for an address.
 * Return: 0; -EINVAL: no name; -ENAMETOOLONG: a label or all of it; -EILSEQ: it has a
 * byte over 127. Then *ret is not set.
 */
int host_name_read(const char *text, size_t len, char ret[HOST_NAME_MAX_LEN + 1]);

/* Returns whether the name, as host_name_read() gives it, lies below the domain. The
 * domain itself does not. */
bool host_name_is_below(const char *name, const char *domain);
/* Returns whether the name is "localhost", or one below it, which means the machine that
 * asks. */
bool host_name_is_local(const char *name);

#endif
