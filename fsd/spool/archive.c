/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks an archive by a job, because this process must not parse archives. The archive
 * is the job's input, and its output is the tree that becomes the claim's job. The job
 * may run more than once, so its acceptance is not recorded: a start begins again.
 */
#include "archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/job_view.h"
#include "spool_int.h"

#define TREE "tree"
#define EXIT_EARLY 3
#define UNPACKED "{\"args\":[\"archive%s\"],\"output_limit\":%llu%s}\n"
#define LIMITS ",\"timeout\":300,\"memory_mb\":%llu"
#define MEMORY_MOST_MB 4096u
#define FILES_OF_ARCHIVE 6u /* the machine keeps the unpacked files in its memory */

static const char *const endings[] = { ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz",
				       ".zip" };

static const char *ending_of(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t end = strlen(endings[i]);

		if (len > end && !strcmp(name + len - end, endings[i]))
			return name + len - end;
	}
	return NULL;
}

size_t archive_base(const char *name)
{
	const char *ending = ending_of(name);

	return ending ? (size_t)(ending - name) : 0;
}

/* --- its job -------------------------------------------------------------- */

static uint64_t memory_mb(const struct claim *c)
{
	struct stat st = { 0 };

	if (fstatat(c->dir, CLAIM_INPUT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DEFAULT_MEMORY_MB;
	return MIN(DEFAULT_MEMORY_MB + ((uint64_t)st.st_size >> 20) * FILES_OF_ARCHIVE,
		   MEMORY_MOST_MB);
}

/* Writes the job's config with limits for this archive. If the operator allows less,
 * writes it without, and the job gets the defaults. */
static int put_config(const struct claim *c, int draft, const char *ending,
		      struct trouble *t)
{
	char text[200], limits[64];
	int r = 0;

	snprintf(limits, sizeof(limits), LIMITS, (unsigned long long)memory_mb(c));
	for (int i = 0; i < 2; i++) {
		int len = snprintf(text, sizeof(text), UNPACKED, ending,
				   (unsigned long long)LIMIT_STREAM_BYTES,
				   i ? "" : limits);

		r = put_text(draft, "config.json", text, (size_t)len, t);
		if (r == 0 || t->kind != TROUBLE_ENTRY)
			break;
	}
	return r;
}

static int fill(struct spool *s, struct claim *c, int draft, struct trouble *t)
{
	const char *ending = ending_of(c->name);
	char name[32];
	int r;

	snprintf(name, sizeof(name), "archive%s", ending);
	r = put_copy(s, c->dir, CLAIM_INPUT, draft, name, t);
	if (r == 0)
		r = put_text(draft, "code.py", unpack_program, strlen(unpack_program),
				t);
	return r ? r : put_config(c, draft, ending, t);
}

int archive_put(struct spool *s, struct claim *c, struct trouble *t)
{
	char from[JOB_NAME], to[JOB_NAME];
	auto_close int draft = -1;

	claim_job_name(c->id, JOB_DRAFT_UNPACKS, from);
	claim_job_name(c->id, JOB_UNPACKS, to);
	claim_job_remove(s, to, true); /* the draft may remain from an earlier attempt */
	draft = put_begin(s, c, JOB_DRAFT_UNPACKS, t);
	if (draft < 0 || fill(s, c, draft, t) < 0)
		return -1;
	if (renameat(s->mount.root, from, s->mount.root, to) < 0)
		return trouble_mount(t, -errno, draft);
	c->step = STEP_UNPACK;
	return claim_job_await(c, draft, t);
}

/* --- what it has unpacked ------------------------------------------------- */

/* Takes the last line of its standard error as the reason, or else the message in
 * result.json. */
static int unpacked_badly(int dir, const struct job_view *v, struct trouble *t)
{
	enum trouble_kind kind = TROUBLE_ENTRY;
	char text[4096], *line;

	if (v->exit_code == EXIT_EARLY || !strcmp(v->status, "failed") ||
	    !strcmp(v->status, "interrupted"))
		kind = TROUBLE_UNREADABLE;
	job_view_text(dir, "stderr", text, sizeof(text));
	for (size_t n = strlen(text); n && text[n - 1] == '\n'; n--)
		text[n - 1] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	utf8_make_plain(line);
	return trouble(t, kind, "the archive cannot be unpacked: %.400s",
		       v->message[0] ? v->message : line[0] ? line : v->status);
}

/* Opens the unpacked tree. If its top has one directory and no other entry, that
 * directory is the tree. Return: a descriptor. */
static int open_top(int tree, struct trouble *t)
{
	char name[NAME_MAX + 1] = "";
	int fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), top;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned count = 0;
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return trouble_mount(t, -errno, -1);
	}
	while ((e = readdir(dir))) {
		if (is_dots(e->d_name))
			continue;
		snprintf(name, sizeof(name), "%s", e->d_name);
		count++;
	}
	closedir(dir);
	top = openat(tree, count == 1 ? name : ".",
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0 && count == 1 && (errno == ENOTDIR || errno == ELOOP))
		top = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? trouble_mount(t, -errno, -1) : top;
}

static bool is_whole(int dir, const struct job_view *v)
{
	char text[8];

	return v->exit_code == 0 && !strcmp(v->status, "exited") && !v->message[0] &&
	       job_view_text(dir, "exit_code", text, sizeof(text)) > 0;
}

int archive_take(struct spool *s, struct claim *c, struct trouble *t)
{
	auto_close int dir = claim_job_open(s, c, JOB_UNPACKS), tree = -1, top = -1;
	char name[JOB_NAME];
	struct job_view v;
	int r = dir < 0 ? dir : job_view_read(dir, &v);

	if (r == -ENOENT) /* a user has removed the unpacking job */
		return trouble(t, TROUBLE_UNREADABLE, "the job that unpacks it is gone");
	if (r < 0)
		return trouble_mount(t, r, -1);
	if (!is_whole(dir, &v))
		return unpacked_badly(dir, &v, t);
	tree = openat(dir, "output/" TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tree < 0)
		return errno == ENOENT ? trouble(t, TROUBLE_ENTRY, "the archive is empty")
				       : trouble_mount(t, -errno, -1);
	top = open_top(tree, t);
	if (top < 0 || put_tree(s, c, top, t) < 0)
		return -1;
	claim_job_name(c->id, JOB_UNPACKS, name);
	claim_job_remove(s, name, false);
	return 0;
}
