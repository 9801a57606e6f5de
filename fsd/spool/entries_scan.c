/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans a spool's directory: reads all names, and no other data of the entries. Adds
 * unknown names, sorted. A scan that fails midway removes no entry.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entries_int.h"
#include "fsd/local/remote.h"

struct names {
	char **at;
	size_t count, size;
};

static int names_add(struct names *n, const char *name)
{
	if (n->count == n->size) {
		size_t size = n->size ? n->size * 2 : 256;
		char **at = realloc(n->at, size * sizeof(char *));

		if (!at)
			return -ENOMEM;
		n->at = at;
		n->size = size;
	}
	n->at[n->count] = strdup(name);
	return n->at[n->count++] ? 0 : -ENOMEM;
}

static void names_free(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->at[i]);
	free(n->at);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Marks known names, collects unknown ones. */
static int read_names(struct entries *e, DIR *d, struct names *ret)
{
	struct dirent *found;
	struct entry *x;
	int r = 0;

	while (errno = 0, r == 0 && (found = readdir(d))) {
		if (entry_is_ignored(found->d_name)) /* "." and ".." are */
			continue;
		x = table_find(&e->table, found->d_name);
		if (x)
			x->scan = e->scan;
		else
			r = names_add(ret, found->d_name);
	}
	return r < 0 ? r : -errno;
}

static int open_dir(const struct entries *e, DIR **ret)
{
	auto_close int fd = openat(e->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_nlink == 0)
		return -ENOENT;
	*ret = fdopendir(fd);
	if (!*ret)
		return -errno;
	take_fd(&fd);
	remote_refresh(dirfd(*ret));
	return 0;
}

/* Forgets entries that are gone, in the order in which they were seen. */
static void forget_gone(struct entries *e)
{
	list_for_each(node, next, &e->all) {
		struct entry *x = list_entry(node, struct entry, in_all);

		if (x->scan != e->scan)
			entries_forget(e, x);
	}
}

static int scan(struct entries *e, int64_t now, struct names *n)
{
	DIR *d = NULL;
	int r = open_dir(e, &d);

	if (r < 0)
		return r;
	e->scan++;
	r = read_names(e, d, n);
	closedir(d);
	if (r < 0)
		return r;
	forget_gone(e);
	if (n->count)
		qsort(n->at, n->count, sizeof(char *), by_name);
	/* a name may be in the list twice */
	for (size_t i = 0; i < n->count && r == 0; i++)
		if (!table_find(&e->table, n->at[i]) && !entries_add(e, n->at[i], now))
			r = -ENOMEM;
	return r;
}

int entries_scan(struct entries *e, int64_t now, struct err *err)
{
	struct names n = { 0 };
	int64_t begin = entries_clock();
	int r = scan(e, now, &n);
	int64_t cost = entries_clock() - begin;

	watch_scanned(&e->watch, r < 0 ? WATCH_SCAN_FAILED
				 : n.count ? WATCH_SCAN_FOUND : WATCH_SCAN_QUIET,
		      cost, now + cost);
	names_free(&n);
	return r < 0 ? err_sys(err, r, "the directory new cannot be read") : 0;
}
