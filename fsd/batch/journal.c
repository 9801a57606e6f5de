/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends lines to the journal of a batch, and reads all of its journals. A line that was
 * cut by a crash is the start of a JSON object, so it is recognized by its missing brace.
 * Members are found by their names: no name with its quotes can stand in a text, whose
 * quotes are escaped, and "value", which may have members of its own, is the last one.
 */
#include "journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/tree_copy.h"

#include "paths.h"

/* --- writing -------------------------------------------------------------- */

/* True if the file does not end with a complete line. */
static bool is_broken(int fd, off_t size)
{
	char last;

	return size && (pread(fd, &last, 1, size - 1) != 1 || last != '\n');
}

int journal_open(struct journal *j, int out, const char *name, bool syncs)
{
	struct stat st;

	j->fd = openat(out, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (j->fd < 0 || fstat(j->fd, &st) < 0)
		return -errno;
	j->broken = is_broken(j->fd, st.st_size);
	j->syncs = syncs;
	return 0;
}

void journal_close(struct journal *j)
{
	fd_close(&j->fd);
	buf_done(&j->lines);
}

int journal_flush(struct journal *j)
{
	struct stat st;
	int r;

	if (!j->lines.len)
		return 0;
	if (fstat(j->fd, &st) < 0)
		return -errno;
	r = j->broken ? write_all(j->fd, "\n", 1) : 0;
	if (r == 0)
		r = write_all(j->fd, j->lines.data, j->lines.len);
	if (r == 0 && j->syncs && fdatasync(j->fd) < 0)
		r = -errno;
	if (r < 0) {
		if (ftruncate(j->fd, st.st_size) < 0)
			j->broken = true;
		return r;
	}
	j->broken = false;
	buf_clear(&j->lines);
	return 0;
}

/* --- reading -------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_journal(const char *name)
{
	return !strcmp(name, "journal") || !strncmp(name, "journal.", 8);
}

static unsigned find_names(int out, char **name)
{
	int fd = openat(out, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned count = 0;
	struct dirent *e;

	while (dir && count < JOURNALS_MOST && (e = readdir(dir)))
		if (is_journal(e->d_name) && (name[count] = strdup(e->d_name)))
			count++;
	if (dir)
		closedir(dir);
	else
		fd_close(&fd);
	qsort(name, count, sizeof(*name), by_name);
	return count;
}

int journals_open(struct journals *j, int out)
{
	char **name = calloc(JOURNALS_MOST, sizeof(*name));
	unsigned count = name ? find_names(out, name) : 0;
	int r = name ? 0 : -ENOMEM;

	*j = (struct journals){ .fd = calloc(MAX(count, 1u), sizeof(int)) };
	for (unsigned i = 0; i < count; i++) {
		int fd = r || !j->fd ? -1
				     : openat(out, name[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			j->fd[j->count++] = fd;
		else if (r == 0 && errno != ENOENT)
			r = j->fd ? -errno : -ENOMEM;
		free(name[i]);
	}
	free(name);
	return r;
}

void journals_close(struct journals *j)
{
	for (unsigned i = 0; i < j->count; i++)
		close(j->fd[i]);
	free(j->fd);
	*j = (struct journals){ 0 };
}

/* True if the line is a complete JSON object. A line that was cut by a crash is not. */
static bool is_whole(const char *line)
{
	bool text = false;
	int depth = 0;

	if (*line != '{')
		return false;
	for (; *line; line++) {
		if (text && *line == '\\' && line[1])
			line++;
		else if (*line == '"')
			text = !text;
		else if (!text && (*line == '{' || *line == '['))
			depth++;
		else if (!text && (*line == '}' || *line == ']') && --depth == 0)
			return !line[1];
	}
	return false;
}

struct reading {
	struct journals *j;
	unsigned file;
	uint64_t offset;  /* the offset in the file where data begins */
	struct buf data;
	int (*fn)(void *arg, uint64_t at, const char *line);
	void *arg;
};

/* Calls fn for each complete line in data, and keeps the rest. end: no more data
 * follows. */
static int give_lines(struct reading *r, bool end)
{
	char *at = r->data.data, *stop = at + r->data.len;
	int result = 0;

	while (result == 0 && at < stop) {
		char *next = memchr(at, '\n', (size_t)(stop - at));

		if (!next && !end)
			break;
		if (next)
			*next = '\0';
		if (!next || strlen(at) != (size_t)(next - at) || !is_whole(at))
			r->j->ignored++;
		else
			result = r->fn(r->arg, JOURNAL_AT(r->file, r->offset +
					(uint64_t)(at - r->data.data)), at);
		at = next ? next + 1 : stop;
	}
	r->offset += (uint64_t)(at - r->data.data);
	buf_eat(&r->data, (size_t)(at - r->data.data));
	return result;
}

#define BLOCK (256u << 10)

static int read_one(struct reading *r, int fd)
{
	ssize_t n = 1;
	int result = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while (result == 0 && n > 0) {
		if (buf_reserve(&r->data, BLOCK) < 0)
			return -ENOMEM;
		n = read(fd, r->data.data + r->data.len, BLOCK);
		if (n < 0)
			return -errno;
		r->data.len += (size_t)n;
		result = give_lines(r, n == 0);
	}
	return result;
}

int journals_each(struct journals *j, int (*fn)(void *arg, uint64_t at, const char *line),
		  void *arg)
{
	struct reading r = { .j = j, .fn = fn, .arg = arg };
	int result = 0;

	for (; r.file < j->count && result == 0; r.file++) {
		r.offset = 0;
		buf_clear(&r.data);
		result = read_one(&r, j->fd[r.file]);
	}
	buf_done(&r.data);
	return result;
}

int journals_line(const struct journals *j, uint64_t at, struct buf *ret)
{
	off_t offset = (off_t)(at & ((1ull << 48) - 1));
	char *end = NULL;

	buf_clear(ret);
	while (!end) {
		ssize_t n;

		if (buf_reserve(ret, 2048) < 0)
			return -ENOMEM;
		n = pread(j->fd[at >> 48], ret->data + ret->len, 2047,
			  offset + (off_t)ret->len);
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		end = memchr(ret->data + ret->len, '\n', (size_t)n);
		ret->len += (size_t)n;
	}
	*end = '\0';
	ret->len = (size_t)(end - ret->data);
	return 0;
}

/* --- a line --------------------------------------------------------------- */

const char *journal_member(const char *line, const char *name, size_t *len)
{
	const char *at = strstr(line, name), *end;

	if (!at)
		return NULL;
	at += strlen(name);
	end = at;
	if (*at != '"') {
		*len = strcspn(at, ",}");
		return at;
	}
	for (end++; *end && *end != '"'; end++)
		if (*end == '\\' && end[1])
			end++;
	*len = (size_t)(end - at) + (*end == '"');
	return at;
}

int64_t journal_number(const char *line, const char *name)
{
	size_t len;
	const char *at = journal_member(line, name, &len);

	return at && *at >= '0' && *at <= '9' ? (int64_t)strtoull(at, NULL, 10) : -1;
}

bool journal_is(const char *line, const char *name, const char *text)
{
	size_t len;
	const char *at = journal_member(line, name, &len);

	return at && len == strlen(text) && !memcmp(at, text, len);
}
