/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a directory, as the store has them. */
#include <fcntl.h>

#include "vm/os/loop.h"
#include "fsd/base/read_dir.h"
#include "fsd/base/fiber.h"
#include "node_int.h"

/* Makes the node of a directory entry. With dir->again some nodes exist already, and the
 * entry may have been deleted meanwhile. */
static int load_entry(struct node *dir, int fd, const struct dirent *e)
{
	struct stat st = { .st_ino = e->d_ino,
			   .st_mode = DTTOIF(e->d_type) };

	if (dir->again && node_child(dir, e->d_name))
		return 0;
	if ((dir->again || e->d_type == DT_UNKNOWN) &&
	    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
	    !S_ISLNK(st.st_mode))
		return 0; /* nothing that we ever make */
	if (!node_add_child(dir, e->d_name, &st))
		return -ENOMEM;
	return 0;
}

void node_load_end(struct node *dir)
{
	if (dir->loading)
		closedir(dir->loading);
	dir->loading = NULL;
}

static int open_entries(struct node *dir, DIR **ret)
{
	int fd = node_open(dir, O_RDONLY | O_DIRECTORY);

	*ret = NULL;
	return fd < 0 ? fd : begin_entries(fd, ret);
}

int node_load_some(struct node *dir, uint64_t until)
{
	struct dirent *e;
	DIR *entries = dir->loading;
	int r = 0;

	if (dir->loaded)
		return 0;
	if (!entries)
		r = open_entries(dir, &entries);
	dir->loading = entries;
	while (r == 0 && (r = next_entry(dir->loading, &e)) == 0 && e) {
		r = load_entry(dir, dirfd(dir->loading), e);
		if (r == 0 && now_ns() >= until)
			return 1;
	}
	node_load_end(dir);
	dir->loaded = r == 0;
	dir->again = r < 0;
	return r;
}

void node_load_again(struct node *dir)
{
	node_load_end(dir);
	dir->loaded = false;
	dir->again = true;
}

int node_load(struct node *dir)
{
	return node_load_some(dir, UINT64_MAX);
}

void node_load_all(struct node *dir)
{
	while (node_load_some(dir, now_ns() + NS_PER_MS) > 0 && fiber_self())
		fiber_breathe();
}

bool node_has_entries(struct node *dir)
{
	struct dirent *e;
	DIR *d;
	int r;

	if (dir->child_count || dir->loaded)
		return dir->child_count;
	if (open_entries(dir, &d) < 0)
		return true; /* unknown: may have entries */
	r = next_entry(d, &e);
	closedir(d);
	return e || r < 0;
}
