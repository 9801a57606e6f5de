/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the draft of `fsd run` and of `fsd submit`: project, program, inputs, standard
 * input, config.json. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/below.h"
#include "fsd/local/tree_copy.h"
#include "run_int.h"

#define CONFIG "config.json"

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

/* Does the path end in "." or ".."? Then it means all that is in that directory. */
static bool is_contents(const char *path)
{
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	return (end - start == 1 && path[start] == '.') ||
	       (end - start == 2 && !memcmp(path + start, "..", 2));
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Where an input stands in the job; "": all that is in it stands at the top. Return:
 * false: the path names no such place. */
static bool place_of(const struct run_client *c, const char *path,
		     char ret[BELOW_PATH])
{
	if (is_set(c, RUN_RELATIVE))
		return below_path(path, ret) == 0;
	ret[0] = '\0';
	return is_contents(path) || last_name(path, ret);
}

/* The first name of a path in the job. */
static void top_name(const char *place, char ret[BELOW_PATH])
{
	snprintf(ret, BELOW_PATH, "%.*s", (int)strcspn(place, "/"), place);
}

bool input_has_name(const struct run_client *c, const char *path, const char *name,
		    const char *program)
{
	char place[BELOW_PATH], top[BELOW_PATH];
	auto_close int at = -1;
	struct stat st, of;

	if (!place_of(c, path, place))
		return false;
	top_name(place, top);
	if (place[0])
		return !strcmp(top, name);
	at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return at >= 0 && fstatat(at, name, &st, 0) == 0 &&
	       (stat(program, &of) < 0 || !is_same_file(&st, &of));
}

static int no_place(const struct run_client *c, const char *path)
{
	if (is_set(c, RUN_RELATIVE))
		return client_complain(2, "-i %s: with -R a path must be relative, "
				"without \"..\" and of at most %d bytes", path,
				BELOW_PATH - 1);
	return client_complain(2, "-i %s has no last name; give a path that ends in "
			"one", path);
}

/* No two inputs may stand in one place, or one in the other. */
static int check_others(const struct run_client *c, unsigned i, const char *place)
{
	char other[BELOW_PATH];
	bool in;

	for (unsigned j = 0; j < i; j++) {
		if (!place_of(c, c->inputs[j], other) || !other[0])
			continue;
		in = below_has(place, other);
		if (!strcmp(place, other))
			return client_complain(2, "-i %s and -i %s have the same %s",
					c->inputs[j], c->inputs[i],
					is_set(c, RUN_RELATIVE) ? "path" : "last name");
		if (in || below_has(other, place))
			return client_complain(2, "-i %s is in -i %s, which brings "
					"it; give one of them",
					c->inputs[in ? j : i], c->inputs[in ? i : j]);
	}
	return 0;
}

static int check_input(const struct run_client *c, unsigned i)
{
	char place[BELOW_PATH], top[BELOW_PATH];
	const char *path = c->inputs[i];
	struct stat st;

	if (stat(path, &st) < 0)
		return client_complain(2, "-i %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return client_complain(2, "-i %s is neither a file nor a "
				"directory", path);
	if (!place_of(c, path, place))
		return no_place(c, path);
	if (!place[0])
		return 0; /* put_contents() looks at its names */
	top_name(place, top);
	if (input_is_taken(top))
		return client_complain(2, "-i %s: the name %s is taken by the job "
				"itself; rename the input", path, top);
	return check_others(c, i, place);
}

static bool project_has(const struct run_client *c, const char *name)
{
	char path[4096];

	return is_set(c, RUN_PROJECT) &&
	       snprintf(path, sizeof(path), "%s/%s", c->value[RUN_PROJECT], name) <
		       (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool has_stdin(const struct run_client *c)
{
	return project_has(c, "stdin");
}

bool project_has_config(const struct run_client *c)
{
	return project_has(c, CONFIG);
}

int inputs_check(const struct run_client *c)
{
	int r = 0;

	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = check_input(c, i);
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

/* Says what a copy has met. r: of tree_copy(); option: "-i ", or ""; dir: what its path is
 * relative to, or "". */
static int copy_failed(struct client *k, const struct tree_copy *t, int r,
		       const char *option, const char *dir)
{
	int code = t->writing || k->c->submit ? 1 : 2;
	char text[600];

	if (r >= 0)
		return r;
	if (t->link)
		return client_complain(code, "%s%s%s%s: %s; -L copies what it leads "
				"to", option, dir, *dir ? "/" : "", t->path, t->why);
	/* The mount's own sentence is better than an errno. */
	if (t->writing && client_read(k, "error", text, sizeof(text)) > 0)
		return client_complain(code, "%.*s", (int)strcspn(text, "\n"),
				text);
	return client_complain(code, "%s%s%s%s: %s%s%s", option, dir,
			*dir ? "/" : "", t->path, t->why,
			t->writing ? "; it cannot be copied into the mount "
				   : "", t->writing ? k->mnt : "");
}

/* A directory of the job, for what the user named, could not be made. */
static int not_made(struct client *k, const char *option, const char *path,
		    const char *dir, int error)
{
	char text[600];

	if (client_read(k, "error", text, sizeof(text)) > 0)
		return client_complain(2, "%.*s", (int)strcspn(text, "\n"), text);
	return client_complain(2, "%s %s: the job cannot have a directory %s: %s",
			option, path, dir, strerror(error));
}

struct putting {
	struct client *k;
	const char *path; /* of the directory */
	int at;           /* it */
};

static int goes_on_putting(void *arg)
{
	const struct putting *p = arg;

	return goes_on(p->k);
}

/* The program itself has its place already. */
static bool is_program(void *arg, const char *name)
{
	const struct putting *p = arg;
	struct stat st, program;

	return p->k->program.fd >= 0 && fstat(p->k->program.fd, &program) == 0 &&
	       fstatat(p->at, name, &st, 0) == 0 && is_same_file(&st, &program);
}

/* "-i .": names that a job has for something else are refused. */
static int check_contents(struct putting *p)
{
	auto_close int fd = openat(p->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!dir)
		return client_complain(2, "-i %s: %s", p->path, strerror(errno));
	take_fd(&fd);
	while (r == 0 && (e = readdir(dir)))
		if (input_is_taken(e->d_name) && !is_program(p, e->d_name))
			r = client_complain(2, "-i %s: the name %s is taken by the "
					"job itself; rename the input, or run the "
					"directory by -C", p->path, e->d_name);
	closedir(dir);
	return r;
}

static int put_contents(struct client *k, const char *path)
{
	auto_close int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct putting p = { .k = k, .path = path, .at = at };
	struct tree_copy t = { .may = goes_on_putting, .skip = is_program,
			       .arg = &p, .follow = is_set(k->c, RUN_FOLLOW) };
	int r;

	if (at < 0)
		return client_complain(2, "-i %s: %s", path, strerror(errno));
	r = check_contents(&p);
	return r ? r : copy_failed(k, &t, tree_copy_all(&t, at, k->dir), "-i ",
				   path);
}

static int put_input(struct client *k, const char *path)
{
	struct tree_copy t = { .may = goes_on, .arg = k,
			       .follow = is_set(k->c, RUN_FOLLOW) };
	auto_close int to = -1;
	char place[BELOW_PATH];
	const char *dir, *name;

	place_of(k->c, path, place);
	if (!place[0])
		return put_contents(k, path);
	name = below_split(place, &dir);
	to = below_make(k->dir, dir);
	if (to < 0)
		return not_made(k, "-i", path, dir, -to);
	return copy_failed(k, &t, tree_copy(&t, AT_FDCWD, path, true, to, name),
			   "-i ", "");
}

/* Leaves out config.json, which comes last: it may start the job. It also leaves out
 * the virtual files of a job, which are read-only. For a project it complains of such
 * files; a copy of a job leaves them behind. */
static bool is_own(void *arg, const char *name)
{
	const struct putting *p = arg;

	if (!strcmp(name, CONFIG))
		return true;
	if (!p->k->c->submit || !job_row_by_name(name))
		return false;
	if (!p->k->copies_job)
		client_complain(0, "%s/%s is left out: each job has a %s of its own",
				p->path, name, name);
	return true;
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
	struct putting p = { .k = k, .path = path, .at = at };
	struct tree_copy t = { .may = goes_on_putting, .arg = &p, .skip = is_own,
			       .follow = is_set(k->c, RUN_FOLLOW) };
	int r;

	if (at < 0)
		return client_complain(2, "-C %s: %s", path, strerror(errno));
	r = k->c->submit ? 0 : check_names(path, at);
	return r ? r : copy_failed(k, &t, tree_copy_all(&t, at, k->dir),
				   k->c->submit ? "" : "-C ", path);
}

/* --- the rest --------------------------------------------------------------------------- */

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

/* Reads a regular file without moving its offset. So a loop of the shell that reads names
 * from the same file continues where it was. at: the next byte; < 0: not a regular file. */
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

int client_put_files(struct client *k)
{
	const struct run_client *c = k->c;
	int r = is_set(c, RUN_PROJECT) ? put_project(k) : 0;

	if (r == 0)
		r = put_program(k);
	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = put_input(k, c->inputs[i]);
	return r;
}

/* A directory, or what is open for writing alone: a program that never asks does not mind. */
static bool can_be_read(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY &&
	       fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* `fsd submit` takes a regular file alone: the end of anything else may be far. */
static bool is_whole(const struct client *k)
{
	return k->c->submit ? offset_of(STDIN_FILENO) >= 0 &&
				      !is_set(k->c, RUN_PROJECT)
			    : !isatty(STDIN_FILENO);
}

/* The whole of it, unless it is streamed. A terminal is never read to its end. */
int client_put_stdin(struct client *k)
{
	if (k->input.open || !takes_stdin(k->c) || !is_whole(k) ||
	    !can_be_read(STDIN_FILENO) || has_stdin(k->c))
		return 0;
	return copy_stream(k, "stdin", STDIN_FILENO, "standard input", false);
}

/* A refusal comes at a write or at the close, with a sentence in `error`. */
int client_put_config(struct client *k, const struct buf *config)
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
		said.data[strcspn(said.data, "\n")] = '\0';
		client_complain(2, "%s", said.data);
	} else {
		client_complain(1, "%s/config.json: %s", k->job, strerror(r));
	}
	return k->c->submit ? 1 : 2;
}

static int read_config(const struct client *k, struct buf *b)
{
	char path[4096];
	auto_fclose FILE *f = NULL;
	size_t n = 1;

	snprintf(path, sizeof(path), "%s/" CONFIG, k->c->value[RUN_PROJECT]);
	f = fopen(path, "re");
	while (f && n && buf_reserve(b, 65536) == 0) {
		n = fread(b->data + b->len, 1, 65536, f);
		b->len += n;
	}
	if (!f || ferror(f) || b->failed)
		return client_complain(2, "%s: %s", path, strerror(errno));
	return 0;
}

int client_make_config(struct client *k, struct buf *ret)
{
	auto_buf struct buf file = { 0 }, options = { 0 };
	bool has_file = project_has_config(k->c);
	int r;

	k->input.open = input_is_open(k) && !has_file && !has_stdin(k->c);
	r = client_config(k, &options);
	if (r == 0 && has_file)
		r = read_config(k, &file);
	if (r)
		return r;
	if (config_merge(file.data, file.len, options.data, options.len, ret) < 0)
		return client_complain(1, "out of memory");
	return 0;
}
