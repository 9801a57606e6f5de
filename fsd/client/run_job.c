/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the job as a draft, `.run-...`, and submits it by one rename; removes it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"
#include "tree_copy.h"

ssize_t client_read(struct client *k, const char *name, char *room, size_t size)
{
	auto_close int fd = openat(k->dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, size - 1);

	room[MAX(n, 0)] = '\0';
	return n;
}

/* --- inputs ----------------------------------------------------------------------- */

bool input_is_taken(const char *name)
{
	return job_row_by_name(name) || !strcmp(name, "config.json") ||
	       !strcmp(name, "stdin") || code_kind(name) != CODE_NO;
}

/* "data" of "in/data/". Return: false: it has none, as "/" and "..". */
static bool last_name(const char *path, char room[LIMIT_FILE_NAME + 1])
{
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	if (end == start || end - start > LIMIT_FILE_NAME)
		return false;
	memcpy(room, path + start, end - start);
	room[end - start] = '\0';
	return !is_dots(room);
}

bool input_has_name(const char *path, const char *name)
{
	char own[LIMIT_FILE_NAME + 1];

	return last_name(path, own) && !strcmp(own, name);
}

static int check_input(const struct run_client *c, unsigned i)
{
	char name[LIMIT_FILE_NAME + 1];
	const char *path = c->inputs[i];
	struct stat st;

	if (stat(path, &st) < 0)
		return client_complain(2, "-i %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return client_complain(2, "-i %s is neither a file nor a "
				"directory", path);
	if (!last_name(path, name))
		return client_complain(2, "-i %s has no last name; give a path "
				"that ends in one", path);
	if (input_is_taken(name))
		return client_complain(2, "-i %s: the name %s is taken by the job "
				"itself; rename the input", path, name);
	for (unsigned j = 0; j < i; j++)
		if (input_has_name(c->inputs[j], name))
			return client_complain(2, "-i %s and -i %s have the same "
					"last name", c->inputs[j], path);
	return 0;
}

static bool has_stdin(const struct run_client *c)
{
	char path[4096];

	return is_set(c, RUN_PROJECT) &&
	       snprintf(path, sizeof(path), "%s/stdin", c->value[RUN_PROJECT]) <
		       (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

/* With -C the options of a job directory come from its config.json, unless the
 * command line has some. */
static bool has_config(const struct run_client *c)
{
	char path[4096];

	return is_set(c, RUN_PROJECT) &&
	       snprintf(path, sizeof(path), "%s/config.json",
			c->value[RUN_PROJECT]) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool has_options(const struct run_client *c)
{
	bool any = c->arg_count || c->env_count || is_set(c, RUN_MAIN);

	for (int i = 0; i < RUN_OPTIONS; i++)
		any |= run_options[i].key && is_set(c, i);
	return any;
}

int inputs_check(const struct run_client *c)
{
	int r = 0;

	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = check_input(c, i);
	if (r == 0 && has_config(c) && has_options(c))
		r = client_complain(2, "%s/config.json has the options of the "
			     "job; with it there may be no options of the program "
			     "on the command line", c->value[RUN_PROJECT]);
	return r;
}

/* Asked before each block: a signal means that there will be no job. */
static int goes_on(void *arg)
{
	int number = client_signal(arg);

	return number ? 128 + number : 0;
}

/* The same, until there is something to read. */
static int await_input(struct client *k, int from)
{
	struct pollfd p[2] = { { .fd = from, .events = POLLIN },
			       { .fd = k->signals, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return client_complain(1, "%s", strerror(errno));
	return p[1].revents ? goes_on(k) : 0;
}

/* Says what a copy has met. r: of tree_copy(); dir: what its path is relative to. */
static int copy_failed(const struct client *k, const struct tree_copy *t, int r,
		       const char *option, const char *dir)
{
	if (r >= 0)
		return r;
	return client_complain(t->writing ? 1 : 2, "%s %s%s%s: %s%s%s", option,
			dir, *dir ? "/" : "", t->path, t->why,
			t->writing ? "; it cannot be copied into the mount "
				   : "", t->writing ? k->mnt : "");
}

static int put_input(struct client *k, const char *path)
{
	struct tree_copy t = { .may = goes_on, .arg = k };
	char name[LIMIT_FILE_NAME + 1];

	last_name(path, name);
	return copy_failed(k, &t, tree_copy(&t, AT_FDCWD, path, true, k->dir,
					    name), "-i", "");
}

/* config.json comes last: it may start the job. */
static bool is_config(void *arg, const char *name)
{
	(void)arg;
	return !strcmp(name, "config.json");
}

/* No project may have these at its top: they are files of the job itself. */
static int check_names(const char *path, int at)
{
	for (int row = 1; row < JOB_ROW_MAX; row++) {
		const char *name = job_rows[row].name;

		if (faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return client_complain(2, "-C %s: the name %s is taken "
					"by the job itself, and the program would "
					"not have it; rename it", path, name);
	}
	return 0;
}

static int put_project(struct client *k)
{
	const char *path = k->c->value[RUN_PROJECT];
	auto_close int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tree_copy t = { .may = goes_on, .arg = k, .skip = is_config };
	int r;

	if (at < 0)
		return client_complain(2, "-C %s: %s", path, strerror(errno));
	r = check_names(path, at);
	return r ? r : copy_failed(k, &t, tree_copy_all(&t, at, k->dir), "-C",
				   path);
}

/* --- the draft ------------------------------------------------------------------------ */

static int create(struct client *k, const char *name)
{
	int fd = openat(k->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		client_complain(1, "%s/%s: %s", k->job, name, strerror(errno));
	return fd;
}

static int put_bytes(struct client *k, const char *name, int fd,
		     const char *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		return client_complain(1, "%s/%s: %s", k->job, name,
				strerror(errno));
	return 0;
}

/* Reads a regular file without moving its offset: a loop of the shell that reads names
 * from the same file goes on where it was. at: the next byte; < 0: not a regular file. */
static ssize_t read_some(int from, off_t *at, char *room, size_t size)
{
	ssize_t n = *at < 0 ? read(from, room, size) :
			      pread(from, room, size, *at);

	if (*at >= 0)
		*at += MAX(n, 0);
	return n;
}

static off_t offset_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ?
		       lseek(fd, 0, SEEK_CUR) : -1;
}

/* Copies until the end of from, which the user knows as `whose`. program: its first
 * bytes are looked at. */
static int copy_stream(struct client *k, const char *name, int from,
		       const char *whose, bool program)
{
	auto_close int fd = create(k, name);
	off_t at = offset_of(from);
	char room[65536];
	ssize_t n;
	int r;

	if (fd < 0)
		return 1;
	while ((r = await_input(k, from)) == 0) {
		n = read_some(from, &at, room, sizeof(room));
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue; /* a process that shares it made it so */
		if (n < 0)
			return client_complain(2, "%s: %s", whose,
					strerror(errno));
		if (program)
			r = program_check(k->c, &k->program, room, (size_t)n);
		program = false;
		if (r == 0)
			r = put_bytes(k, name, fd, room, (size_t)n);
		if (r)
			return r;
	}
	return r;
}

static int put_program(struct client *k)
{
	struct program *p = &k->program;

	if (is_set(k->c, RUN_CODE)) {
		const char *text = k->c->value[RUN_CODE];
		auto_close int fd = create(k, p->name);

		return fd < 0 ? 1
			      : put_bytes(k, p->name, fd, text, strlen(text));
	}
	if (is_program_on_stdin(k->c))
		return copy_stream(k, p->name, STDIN_FILENO, p->what, true);
	return p->fd < 0 ? 0 : copy_stream(k, p->name, p->fd, p->what, true);
}

static int put_all(struct client *k)
{
	const struct run_client *c = k->c;
	int r = is_set(c, RUN_PROJECT) ? put_project(k) : 0;

	if (r == 0)
		r = put_program(k);
	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = put_input(k, c->inputs[i]);
	return r;
}

/* The whole of it, unless it is streamed. A terminal is never read to its end. */
static int put_stdin(struct client *k)
{
	if (k->input.open || !takes_stdin(k->c) || isatty(STDIN_FILENO) ||
	    has_stdin(k->c))
		return 0;
	return copy_stream(k, "stdin", STDIN_FILENO, "standard input", false);
}

/* A refusal comes at a write or at the close, with a sentence in `error`. */
static int write_config(struct client *k, const struct buf *config)
{
	int fd = openat(k->dir, "config.json", O_WRONLY | O_CREAT | O_CLOEXEC,
			0644);
	ssize_t n = fd < 0 ? -1 : write(fd, config->data, config->len);
	auto_buf struct buf said = { 0 };
	char text[1024];
	int r = 0;

	if (fd < 0 || n != (ssize_t)config->len)
		r = errno ? errno : EIO;
	if (fd >= 0 && close(fd) < 0 && r == 0)
		r = errno;
	if (r == 0)
		return 0;
	if (client_read(k, "error", text, sizeof(text)) > 0) {
		client_errors(k, text, &said);
		fprintf(stderr, "fsd run: %s", said.data ? said.data : text);
	} else {
		client_complain(1, "%s/config.json: %s", k->job, strerror(r));
	}
	return 2;
}

static int read_config(const struct client *k, struct buf *b)
{
	char path[4096];
	auto_fclose FILE *f = NULL;
	size_t n = 1;

	snprintf(path, sizeof(path), "%s/config.json", k->c->value[RUN_PROJECT]);
	f = fopen(path, "re");
	while (f && n && buf_reserve(b, 65536) == 0) {
		n = fread(b->data + b->len, 1, 65536, f);
		b->len += n;
	}
	if (!f || ferror(f) || b->failed)
		return client_complain(2, "%s: %s", path, strerror(errno));
	return 0;
}

int draft_make(struct client *k)
{
	auto_buf struct buf config = { 0 };
	int r;

	k->input.open = input_is_open(k) && !has_config(k->c) &&
			!has_stdin(k->c);
	r = has_config(k->c) ? read_config(k, &config)
			     : client_config(k, &config);
	if (r)
		return r;
	snprintf(k->job, sizeof(k->job), ".run-%d-%llx", (int)getpid(),
		 (unsigned long long)now_ns());
	if (mkdirat(k->root, k->job, 0700) == 0)
		k->dir = openat(k->root, k->job,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->dir < 0)
		return client_complain(1, "%s/%s: %s", k->mnt, k->job,
				strerror(errno));
	/* A mount of an older fsd has no such file. */
	if (!is_set(k->c, RUN_KEEP))
		k->hold = openat(k->dir, "hold", O_RDONLY | O_CLOEXEC);
	r = put_all(k);
	if (r == 0)
		r = put_stdin(k);
	return r ? r : write_config(k, &config);
}

int draft_submit(struct client *k)
{
	if (renameat(k->root, k->job, k->root, k->job + 1) < 0)
		return client_complain(1, "%s/%s: %s", k->mnt, k->job + 1,
				strerror(errno));
	memmove(k->job, k->job + 1, strlen(k->job));
	if (is_set(k->c, RUN_KEEP))
		fprintf(stderr, "fsd run: the job stays: %s/%s\n", k->mnt,
			k->job);
	return 0;
}

void draft_remove(struct client *k)
{
	bool draft = k->job[0] == '.';

	input_close(&k->input);
	if (k->dir >= 0 && (draft || !is_set(k->c, RUN_KEEP)))
		tree_remove(k->root, k->job);
	fd_close(&k->dir);
	fd_close(&k->hold);
}

/* --- its words ---------------------------------------------------------------------- */

/* The beginning of a sentence about the program's file or a key of config.json, as
 * the user knows it. Return: how much of the text it stands for, 0: none. */
static size_t known_as(const struct client *k, const char *text, struct buf *ret)
{
	const char *name = k->program.name;
	char key[64], word[32];

	if (name[0] && k->program.what && !strncmp(text, name, strlen(name)) &&
	    !strncmp(text + strlen(name), ": ", 2)) {
		buf_str(ret, k->program.what);
		return strlen(name);
	}
	for (int i = 0; i < RUN_OPTIONS; i++) {
		if (!run_options[i].key || has_config(k->c))
			continue;
		snprintf(key, sizeof(key), "config.json: \"%s\"",
			 run_options[i].key);
		if (strncmp(text, key, strlen(key)) != 0)
			continue;
		buf_str(ret, run_option_word(i, word));
		return strlen(key);
	}
	return 0;
}

void client_errors(struct client *k, const char *text, struct buf *ret)
{
	while (*text) {
		size_t len = strcspn(text, "\n") + 1, known;

		len = MIN(len, strlen(text));
		known = known_as(k, text, ret);
		buf_add(ret, text + known, len - known);
		text += len;
	}
}
