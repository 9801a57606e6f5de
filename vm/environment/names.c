/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the names of all directories, with the ids that their links lead to.
 * Owns no state; any thread.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "environment.h"
#include "layout/base/cleanup.h"
#include "manifest.h"

#define TO "../sets/"

/* Reads the id that a link leads to; "": it is not a link to a set. */
static void read_link(int dir, const char *name, char ret[SHA_HEX])
{
	char to[sizeof(TO) + SHA_HEX];
	ssize_t n = readlinkat(dir, name, to, sizeof(to) - 1);

	ret[0] = '\0';
	if (n < 0)
		return;
	to[n] = '\0';
	if (!strncmp(to, TO, strlen(TO)) && manifest_is_sum(to + strlen(TO)))
		memcpy(ret, to + strlen(TO), SHA_HEX);
}

static int add(struct environment_names *names,
	       const struct environment_places *places, int dir,
	       const char *name, unsigned place)
{
	struct environment_name *more, *n;

	if (environment_name_check(name, NULL) < 0 ||
	    environment_names_find(names, name) ||
	    (places->is_users && !environment_name_is_for(name, places->uid)))
		return 0;
	more = realloc(names->name, (names->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	names->name = more;
	n = &more[names->count++];
	snprintf(n->name, sizeof(n->name), "%.*s", ENVIRONMENT_NAME_MAX, name);
	n->place = place;
	read_link(dir, name, n->id);
	return 0;
}

static int add_place(struct environment_names *names,
		     const struct environment_places *places, unsigned number)
{
	auto_close int top = open(places->dirs[number], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = top < 0 ? -1 : openat(top, "names", O_RDONLY | O_DIRECTORY |
							     O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!dir) {
		r = errno == ENOENT ? 0 : -errno;
		fd_close(&fd);
		return r;
	}
	while (r == 0 && (errno = 0, e = readdir(dir)))
		r = add(names, places, fd, e->d_name, number);
	if (r == 0 && errno)
		r = -errno;
	closedir(dir);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct environment_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int environment_names(const struct environment_places *places,
		      struct environment_names *ret, struct err *err)
{
	int r = 0;

	*ret = (struct environment_names){ 0 };
	for (unsigned i = 0; i < ENVIRONMENT_PLACES && places->dirs[i]; i++) {
		r = add_place(ret, places, i);
		if (r < 0) {
			environment_names_done(ret);
			return err_sys(err, r, "%s/names", places->dirs[i]);
		}
	}
	if (ret->count)
		qsort(ret->name, ret->count, sizeof(*ret->name), by_name);
	return 0;
}

void environment_names_done(struct environment_names *names)
{
	free(names->name);
	*names = (struct environment_names){ 0 };
}

const struct environment_name *
environment_names_find(const struct environment_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->name[i].name, name))
			return &names->name[i];
	return NULL;
}
