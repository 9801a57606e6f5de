/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/format, "format N": the layout of the whole state directory.
 *
 *   1  has no such file; a job's meta has no queued, ended, attempt, retry and
 *      retain
 *   2  a job's meta has no held; files/ and output/ have no links
 *   3  store.h
 *
 * A start converts a directory of an older format while it reads the jobs (scan.c): it
 * writes each meta anew, and then the format, when all metas are on the disk. If it dies
 * in between, the directory has the older format and some new metas; the next start
 * continues.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "store_io.h"
#include "fsd/base/read_dir.h"

/* Return: the number, 0: there is no file; negative errno. */
static int read_format(int root)
{
	uint64_t number = 0;
	int r = read_number(root, "format", "format ", &number);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return number && number <= INT32_MAX ? (int)number : -EINVAL;
}

struct contents {
	bool has_jobs;  /* an entry has a name that fsd gives */
	char other[NAME_MAX + 1]; /* an entry with another name, or "" */
};

static int look_into(int root, const char *part, struct contents *ret)
{
	struct dirent *e;
	uint64_t no;
	DIR *d;
	int r = begin_entries(openat(root, part, O_RDONLY | O_DIRECTORY |
						       O_CLOEXEC | O_NOFOLLOW),
			      &d);

	*ret = (struct contents){ 0 };
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while ((r = next_entry(d, &e)) == 0 && e)
		if (store_no(e->d_name, &no) == 0)
			ret->has_jobs = true;
		else
			snprintf(ret->other, sizeof(ret->other), "%s",
				 e->d_name);
	closedir(d);
	return r;
}

/* For a directory without a format: refuses one that fsd did not write, because a start
 * moves unknown entries of jobs/ to lost+found and deletes those of trash/. */
static int check_ours(int root, const char *dir, struct err *err)
{
	static const char *const parts[] = { "jobs", "trash" };
	struct contents c;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int r = look_into(root, parts[i], &c);

		if (r < 0)
			return err_sys(err, r, "the state directory %s: "
				       "cannot open %s", dir, parts[i]);
		if (c.has_jobs)
			return 0;
		if (c.other[0])
			return err_set(err, -EINVAL,
				       "the directory %s is not a state "
				       "directory of fsd: it has %s/%s, and no "
				       "file \"format\"; choose another one "
				       "with --state", dir, parts[i], c.other);
	}
	return 0;
}

int store_format_check(int root, const char *dir, bool fresh, struct err *err)
{
	int format = read_format(root);

	if (format == -EINVAL)
		return err_set(err, -EINVAL,
			       "%s/format is not as fsd writes it, so nobody "
			       "can tell what lies there; if no newer fsd has "
			       "served this directory, remove that file",
			       dir);
	if (format < 0)
		return err_sys(err, format, "cannot read %s/format", dir);
	if (format > (int)STORE_FORMAT)
		return err_set(err, -EPROTONOSUPPORT,
			       "the state directory %s is of format %d, and "
			       "this fsd knows formats up to %u; use the newer "
			       "fsd, or another directory with --state",
			       dir, format, STORE_FORMAT);
	if (format == 0 && check_ours(root, dir, err) < 0)
		return -EINVAL;
	return format == 0 && fresh ? store_format_set(root, err) : 0;
}

static int write_format(int root)
{
	auto_close int fd = openat(root, "format.new",
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
					   O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "format %u\n", STORE_FORMAT) < 0 || fsync(fd) < 0)
		return -errno;
	if (renameat(root, "format.new", root, "format") < 0)
		return -errno;
	return fsync(root) < 0 ? -errno : 0;
}

int store_format_set(int root, struct err *err)
{
	int r = read_format(root);

	if (r == (int)STORE_FORMAT)
		return 0;
	/* All records must be on the disk before the format says so. */
	r = syncfs(root) < 0 ? -errno : write_format(root);
	return r < 0 ? err_sys(err, r, "cannot write the state directory's "
				       "format") : 0;
}
