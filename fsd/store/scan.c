/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads STATE/jobs at a start. The mount answers only after all jobs are read, perhaps a
 * hundred thousand, so for each job this reads one record and checks one directory;
 * store_tidy() does the rest later. A server that takes over from a killed one does not
 * scan: it has copies of the records (meta_copy.h).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"
#include "fsd/base/read_dir.h"

struct found {
	struct job_meta *metas; /* owned, and their names */
	size_t count, room;
};

static void found_done(struct found *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->metas[i].name);
	free(f->metas);
}

static int found_add(struct found *f, const struct job_meta *m)
{
	size_t room = f->room ? f->room * 2 : 256;
	struct job_meta *metas = f->metas;

	if (f->count == f->room) {
		metas = reallocarray(f->metas, room, sizeof(*metas));
		if (!metas)
			return -ENOMEM;
		f->metas = metas;
		f->room = room;
	}
	metas[f->count++] = *m;
	return 0;
}

/* --- one entry ----------------------------------------------------------- */

static int meta_read(const struct store *s, const char *path,
		     struct job_meta *m)
{
	char text[4096];
	auto_close int fd = -1;
	ssize_t n;

	fd = openat(store_jobs_fd(s), path,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	if (memchr(text, '\0', (size_t)n)) /* a hole in the file */
		return -EINVAL;
	text[n] = '\0';
	return store_meta_parse(text, m);
}

int store_unlinked_job(struct store *s, struct job_meta *ret)
{
	char path[STORE_ID_SIZE + sizeof(STORE_UNLINKED)], id[STORE_ID_SIZE];

	store_id(ret->no, id);
	snprintf(path, sizeof(path), STORE_UNLINKED "%s", id);
	return meta_read(s, path, ret);
}

static bool has_files(const struct store *s, const char *entry)
{
	char path[NAME_MAX + 8];
	struct stat st;

	snprintf(path, sizeof(path), "%s/files", entry);
	return fstatat(store_jobs_fd(s), path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* True for a directory, not for a link to one. Most file systems fill in d_type. */
static bool is_dir(const struct store *s, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(store_jobs_fd(s), e->d_name, &st,
		       AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_gone(int r)
{
	return r == 0 || errno == ENOENT;
}

/* Removes a job that a server had begun to make when it died: meta is missing or empty,
 * and mkdir(2) has not returned to the user, so it has no files. Return: true if it is
 * removed; false: it has files. */
static bool drop_unborn(struct store *s, const char *entry)
{
	auto_close int job = openat(store_jobs_fd(s), entry,
				    O_PATH | O_DIRECTORY | O_CLOEXEC |
					    O_NOFOLLOW);

	return job >= 0 && is_gone(unlinkat(job, "files", AT_REMOVEDIR)) &&
	       is_gone(unlinkat(job, "meta", 0)) &&
	       unlinkat(store_jobs_fd(s), entry, AT_REMOVEDIR) == 0;
}

/* Return: what is wrong with an entry whose record gave error r; NULL: the error is the
 * server's (out of memory), so the entry may be a good job. */
static const char *fault_of(int r)
{
	switch (r) {
	case -ENOENT:
	case -ENODATA:
		return "it has no record (meta)";
	case -EINVAL:
		return "its record (meta) is not as fsd writes it";
	case -EIO:
		return "its record (meta) cannot be read from the disk";
	case -EACCES:
		return "its record (meta) may not be read";
	case -ELOOP:
	case -ENOTDIR:
	case -EISDIR:
	case -ENXIO:
		return "it is not a directory with a record (meta)";
	default:
		return NULL;
	}
}

static void set_aside(struct store *s, const char *entry, const char *reason)
{
	int r = store_set_aside(s, entry, reason);

	if (r < 0)
		log_error("%s/jobs/%s: left alone (%s), it cannot be moved to "
			  "lost+found: %s", store_dir(s), entry, reason,
			  strerror(-r));
	else
		log_error("%s/jobs/%s: set aside, see .fsd/lost+found: %s",
			  store_dir(s), entry, reason);
}

void store_set_twin_aside(struct store *s, uint64_t no)
{
	char id[STORE_ID_SIZE];

	store_id(no, id);
	set_aside(s, id, "there is an older job of the same name");
}

/* Return: 0: a job; 1: no job, and removed; negative errno: *ret_fault is the entry's
 * fault, or NULL. */
static int read_entry(struct store *s, const struct dirent *e,
		      struct job_meta *m, const char **ret_fault)
{
	const char *entry = e->d_name;
	char path[NAME_MAX + 8];
	int r;

	*ret_fault = "its name is not one that fsd gives";
	if (store_no(entry, &m->no) < 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/meta", entry);
	r = is_dir(s, e) ? meta_read(s, path, m) : -ENOTDIR;
	*ret_fault = fault_of(r);
	if ((r == -ENODATA || r == -ENOENT) && drop_unborn(s, entry))
		return 1;
	if (r < 0 || has_files(s, entry))
		return r;
	free(take_ptr(m->name));
	*ret_fault = "its directory files/ is missing";
	return -ENOENT;
}

/* Return: 0: a job; 1: no job, removed or set aside; negative errno: it cannot be
 * read. */
static int take_entry(struct store *s, const struct dirent *e,
		      struct job_meta *m)
{
	const char *fault;
	int r = read_entry(s, e, m, &fault);

	if (r >= 0 || !fault)
		return r;
	set_aside(s, e->d_name, fault);
	return 1;
}

/* Return: 0; negative errno: the scan must end. */
static int scan_entry(struct store *s, const struct dirent *e, struct found *f)
{
	struct job_meta m = { 0 };
	int r = take_entry(s, e, &m);

	if (r == 0)
		r = found_add(f, &m);
	if (r < 0)
		free(m.name);
	return MIN(r, 0);
}

int store_scan_one(struct store *s, uint64_t no, struct job_meta *ret)
{
	struct dirent e = { .d_type = DT_UNKNOWN };
	char id[STORE_ID_SIZE];
	struct stat st;

	store_id(no, id);
	memcpy(e.d_name, id, sizeof(id));
	*ret = (struct job_meta){ 0 };
	if (fstatat(store_jobs_fd(s), id, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : -errno;
	return take_entry(s, &e, ret);
}

/* --- all of them --------------------------------------------------------- */

static int read_all(struct store *s, struct found *f)
{
	int fd = openat(store_jobs_fd(s), ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	DIR *dir;
	int r = begin_entries(fd, &dir);

	if (r < 0)
		return r;
	while (r == 0 && (r = next_entry(dir, &e)) == 0 && e)
		r = scan_entry(s, e, f);
	closedir(dir);
	return r;
}

static int by_no(const void *a, const void *b)
{
	const struct job_meta *x = a, *y = b;

	return x->no < y->no ? -1 : x->no > y->no;
}

/* Writes the record in the present format. Return: 0; negative errno: it keeps the older
 * one. */
static int modernize(struct store *s, struct job_meta *m)
{
	int r = m->format < STORE_FORMAT ? store_meta_write(s, m) : 0;

	if (r < 0)
		log_warn("job %s: its record cannot be written in format %u: "
			 "%s", m->name, STORE_FORMAT, strerror(-r));
	return r;
}

/* Writes the format. A failure is only logged: the next start tries again. */
static void set_format(struct store *s)
{
	struct err err = { 0 };

	if (store_format_set(store_root_fd(s), &err) < 0)
		log_warn("%s: %s", store_dir(s), err.text);
}

int store_scan(struct store *s,
	       int (*fn)(void *arg, const struct job_meta *meta), void *arg,
	       struct err *err)
{
	struct found f = { 0 };
	int r, old = 0;

	store_lost_tidy(s);
	r = read_all(s, &f);
	if (f.count)
		qsort(f.metas, f.count, sizeof(*f.metas), by_no);
	for (size_t i = 0; r == 0 && i < f.count; i++) {
		struct job_meta *m = &f.metas[i];

		store_seen_no(s, MAX(m->no, m->queued_no));
		old |= modernize(s, m);
		r = fn(arg, m);
	}
	found_done(&f);
	if (r < 0)
		return err_sys(err, r, "the jobs in %s/jobs cannot be taken up",
			       store_dir(s));
	if (old == 0)
		set_format(s);
	return 0;
}
