/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the draft of a job: project, program, inputs, standard input, config.json. The
 * draft stores the sentence about a failure and prints nothing, so that a command of many
 * jobs can continue with the others.
 */
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
#include "job_view.h"
#include "run_int.h"

#define CONFIG "config.json"

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

/* Called before each block of a copy. If a signal has come, there will be no job. */
static int goes_on(void *arg)
{
	struct job_draft *d = arg;
	int number = client_signal(d->signals);

	return number ? job_draft_fail(d, DRAFT_SIGNAL, 128 + number, "a signal came")
		      : 0;
}

/* Waits until there is something to read, or a signal comes. Return: as goes_on(). */
static int await_input(struct job_draft *d, int from)
{
	struct pollfd p[2] = { { .fd = from, .events = POLLIN },
			       { .fd = d->signals->fd, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return job_draft_fail(d, DRAFT_FAILED, 1, "%s",
					      strerror(errno));
	return p[1].revents ? goes_on(d) : 0;
}

/* The origin of a copy: the words before its path in a sentence, and the fault of a
 * failure. */
struct source {
	const char *option; /* "-i ", or "" */
	const char *dir;    /* the directory to which its path is relative, or "" */
	enum draft_fault fault;
};

/* True if the mount fails, whatever is copied. */
static bool is_of_mount(int error)
{
	static const int those[] = { EAGAIN, EDQUOT, ENOSPC, ESHUTDOWN, ENOTCONN,
				     ECONNABORTED, ENODEV, EIO };

	for (size_t i = 0; i < ARRAY_SIZE(those); i++)
		if (error == those[i])
			return true;
	return false;
}

/* Stores the failure of a copy in the draft. r: of tree_copy(). */
static int copy_failed(struct job_draft *d, const struct tree_copy *t, int r,
		       const struct source *s)
{
	int code = t->writing || d->c->submit ? 1 : 2;
	enum draft_fault fault = t->writing && is_of_mount(-r) ? DRAFT_MOUNT : s->fault;
	const char *slash = *s->dir ? "/" : "";
	char text[600];

	if (r >= 0)
		return r;
	d->error = -r;
	if (t->link)
		return job_draft_fail(d, fault, code, "%s%s%s%s: %s; -L copies what it "
				      "leads to", s->option, s->dir, slash, t->path,
				      t->why);
	/* The mount's own sentence is better than an errno. */
	if (t->writing && job_view_text(d->dir, "error", text, sizeof(text)) > 0)
		return job_draft_fail(d, fault, code, "%.*s",
				      (int)strcspn(text, "\n"), text);
	return job_draft_fail(d, fault, code, "%s%s%s%s: %s%s%s", s->option, s->dir,
			      slash, t->path, t->why,
			      t->writing ? "; it cannot be copied into the mount " : "",
			      t->writing ? d->mount->mnt : "");
}

/* Stores the failure: a directory of the job could not be made. */
static int not_made(struct job_draft *d, const struct source *s, const char *path,
		    const char *dir, int error)
{
	enum draft_fault fault = is_of_mount(error) ? DRAFT_MOUNT : s->fault;
	char text[600];

	d->error = error;
	if (job_view_text(d->dir, "error", text, sizeof(text)) > 0)
		return job_draft_fail(d, fault, 2, "%.*s", (int)strcspn(text, "\n"),
				      text);
	return job_draft_fail(d, fault, 2, "%s%s: the job cannot have a directory %s: %s",
			      s->option, path, dir, strerror(error));
}

struct putting {
	struct job_draft *d;
	const char *path; /* path of the directory */
	int at;           /* descriptor of the directory */
};

static int goes_on_putting(void *arg)
{
	const struct putting *p = arg;

	return goes_on(p->d);
}

/* True for the program itself, which has its place in the job already. */
static bool is_program(void *arg, const char *name)
{
	const struct putting *p = arg;
	struct stat st, program;

	return p->d->program->fd >= 0 && fstat(p->d->program->fd, &program) == 0 &&
	       fstatat(p->at, name, &st, 0) == 0 && is_same_file(&st, &program);
}

/* For "-i .": refuses names that have a meaning in a job. */
static int check_contents(struct putting *p)
{
	auto_close int fd = openat(p->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!dir)
		return job_draft_fail(p->d, DRAFT_FAILED, 2, "-i %s: %s", p->path,
				      strerror(errno));
	take_fd(&fd);
	while (r == 0 && (e = readdir(dir)))
		if (input_is_taken(e->d_name) && !is_program(p, e->d_name))
			r = job_draft_fail(p->d, DRAFT_FAILED, 2, "-i %s: the name %s "
					   "is taken by the job itself; rename the input, "
					   "or run the directory by -C", p->path,
					   e->d_name);
	closedir(dir);
	return r;
}

static int put_contents(struct job_draft *d, const char *path)
{
	auto_close int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct source s = { "-i ", path, DRAFT_FAILED };
	struct putting p = { .d = d, .path = path, .at = at };
	struct tree_copy t = { .may = goes_on_putting, .skip = is_program,
			       .arg = &p, .follow = is_set(d->c, RUN_FOLLOW) };
	int r;

	if (at < 0)
		return job_draft_fail(d, DRAFT_FAILED, 2, "-i %s: %s", path,
				      strerror(errno));
	r = check_contents(&p);
	return r ? r : copy_failed(d, &t, tree_copy_all(&t, at, d->dir), &s);
}

/* Copies the file or directory to the name `as` in the job's directory `to`. */
static int put_path(struct job_draft *d, const struct source *s, const char *path,
		    int to, const char *as)
{
	struct tree_copy t = { .may = goes_on, .arg = d,
			       .follow = is_set(d->c, RUN_FOLLOW) };

	return copy_failed(d, &t, tree_copy(&t, AT_FDCWD, path, true, to, as), s);
}

static int put_input(struct job_draft *d, const struct source *s, const char *path)
{
	auto_close int to = -1;
	char place[BELOW_PATH];
	const char *dir, *name;

	input_place(d->c, path, place);
	if (!place[0])
		return put_contents(d, path);
	name = below_split(place, &dir);
	to = below_make(d->dir, dir);
	if (to < 0)
		return not_made(d, s, path, dir, -to);
	return put_path(d, s, path, to, name);
}

/* True for a name that is not copied: config.json, which may start the job and so comes
 * last, and for `fsd submit` the virtual files of a job, which are read-only. If the
 * directory is not a job, a sentence reports such a file. */
static bool is_own(void *arg, const char *name)
{
	const struct putting *p = arg;

	if (!strcmp(name, CONFIG))
		return true;
	if (!p->d->c->submit || !job_vfile_by_name(name))
		return false;
	if (!p->d->copies_job)
		client_complain(0, "%s/%s is left out: each job has a %s of its own",
				p->path, name, name);
	return true;
}

/* Checks that the project has no such names at its top: they are files of the job
 * itself. */
static int check_names(struct job_draft *d, const char *path, int at)
{
	for (int row = 1; row < JOB_VFILE_MAX; row++) {
		const char *name = job_vfiles[row].name;

		if (faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return job_draft_fail(d, DRAFT_FAILED, 2, "-C %s: the name %s "
					      "is taken by the job itself, and the "
					      "program would not have it; rename it",
					      path, name);
	}
	return 0;
}

static int put_project(struct job_draft *d)
{
	const char *path = d->c->value[RUN_PROJECT];
	auto_close int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct source s = { d->c->submit ? "" : "-C ", path, DRAFT_FAILED };
	struct putting p = { .d = d, .path = path, .at = at };
	struct tree_copy t = { .may = goes_on_putting, .arg = &p, .skip = is_own,
			       .follow = is_set(d->c, RUN_FOLLOW) };
	int r;

	if (at < 0)
		return job_draft_fail(d, DRAFT_FAILED, 2, "-C %s: %s", path,
				      strerror(errno));
	r = d->c->submit ? 0 : check_names(d, path, at);
	return r ? r : copy_failed(d, &t, tree_copy_all(&t, at, d->dir), &s);
}

/* --- the rest ------------------------------------------------------------- */

/* Stores the failure of a call on a file of the job. */
static int call_failed(struct job_draft *d, const char *name)
{
	d->error = errno;
	return job_draft_fail(d, DRAFT_MOUNT, 1, "%s/%s: %s", d->name, name,
			      strerror(errno));
}

static int create(struct job_draft *d, const char *name)
{
	int fd = openat(d->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		call_failed(d, name);
	return fd;
}

static int put_bytes(struct job_draft *d, const char *name, int fd,
		     const char *data, size_t len)
{
	return write(fd, data, len) == (ssize_t)len ? 0 : call_failed(d, name);
}

/* Reads a regular file without moving its offset. So a loop of the shell that reads names
 * from the same file continues where it was. at: the next byte; < 0: not a regular
 * file. */
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

/* The argument of copy_stream(). */
struct stream {
	const char *name;  /* name in the job */
	int from;
	const char *whose; /* name that the user gave it */
	bool program;      /* check the file's first bytes */
};

static int check_first(struct job_draft *d, const struct stream *s, const char *data,
		       size_t len)
{
	struct err err;

	if (!s->program || program_check(d->c, d->program, data, len, &err))
		return 0;
	return job_draft_fail(d, DRAFT_FAILED, 2, "%s", err.text);
}

/* Copies standard input or a fifo until its end. */
static int copy_stream(struct job_draft *d, const struct stream *s)
{
	auto_close int fd = create(d, s->name);
	off_t at = offset_of(s->from);
	char room[65536];
	bool first = true;
	ssize_t n;
	int r;

	if (fd < 0)
		return 1;
	while ((r = await_input(d, s->from)) == 0) {
		n = read_some(s->from, &at, room, sizeof(room));
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue; /* another process that shares the pipe has set
				   * O_NONBLOCK */
		if (n < 0)
			return job_draft_fail(d, DRAFT_FAILED, 2, "%s: %s", s->whose,
					      strerror(errno));
		r = first ? check_first(d, s, room, (size_t)n) : 0;
		first = false;
		if (r == 0)
			r = put_bytes(d, s->name, fd, room, (size_t)n);
		if (r)
			return r;
	}
	return r;
}

static int put_code(struct job_draft *d, const char *text)
{
	auto_close int fd = create(d, d->program->name);

	return fd < 0 ? 1 : put_bytes(d, d->program->name, fd, text, strlen(text));
}

static int put_program(struct job_draft *d)
{
	const struct program *p = d->program;
	struct stream s = { p->name, p->fd, p->what, true };

	if (is_set(d->c, RUN_CODE))
		return put_code(d, d->c->value[RUN_CODE]);
	if (is_program_on_stdin(d->c))
		s.from = STDIN_FILENO;
	return s.from < 0 ? 0 : copy_stream(d, &s);
}

/* False for a directory, and for a descriptor that is open only for writing: a program
 * that never reads does not mind. */
static bool can_be_read(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY &&
	       fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* True if standard input is sent with the draft. `fsd submit` sends only a regular file,
 * since any other input may take long to end. */
static bool is_whole(const struct job_draft *d)
{
	return d->c->submit ? offset_of(STDIN_FILENO) >= 0 &&
				      !is_set(d->c, RUN_PROJECT)
			    : !isatty(STDIN_FILENO);
}

/* Copies standard input completely, unless it is streamed later. A terminal is never read
 * to its end. */
static int put_stdin(struct job_draft *d)
{
	const struct stream own = { "stdin", STDIN_FILENO, "standard input", false };
	const struct source file = { "", "", DRAFT_INPUT };

	if (d->stdin_path)
		return put_path(d, &file, d->stdin_path, d->dir, "stdin");
	if (d->stdin_open || !takes_stdin(d->c) || !is_whole(d) ||
	    !can_be_read(STDIN_FILENO) || has_stdin(d->c))
		return 0;
	return copy_stream(d, &own);
}

/* Makes the directory in which the program is to leave a file of -g. */
static int make_directory(struct job_draft *d, const char *path)
{
	const struct source s = { "-g ", "", DRAFT_FAILED };
	auto_close int at = -1;
	char place[BELOW_PATH];
	const char *dir;

	if (below_path(path, place) < 0)
		return 0; /* gets_check() */
	below_split(place, &dir);
	at = below_make(d->dir, dir);
	return at < 0 ? not_made(d, &s, path, dir, -at) : 0;
}

int draft_put_files(struct job_draft *d)
{
	const struct source shared = { "-i ", "", DRAFT_FAILED };
	const struct source own = { "", "", DRAFT_INPUT };
	const struct run_client *c = d->c;
	int r = is_set(c, RUN_PROJECT) ? put_project(d) : 0;

	if (r == 0)
		r = put_program(d);
	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = put_input(d, &shared, c->inputs[i]);
	for (unsigned i = 0; i < d->input_count && r == 0; i++)
		r = put_input(d, &own, d->inputs[i]);
	for (unsigned i = 0; i < c->get_count && r == 0; i++)
		r = make_directory(d, c->gets[i]);
	return r ? r : put_stdin(d);
}

/* Writes config.json. A refusal comes at a write or at the close, with a sentence in
 * `error`. */
int draft_put_config(struct job_draft *d, const struct buf *config)
{
	int fd = openat(d->dir, CONFIG, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t n = fd < 0 ? -1 : write(fd, config->data, config->len);
	int code = d->c->submit ? 1 : 2, r = 0;
	auto_buf struct buf said = { 0 };
	char text[1024];

	if (fd < 0 || n != (ssize_t)config->len)
		r = errno ? errno : EIO;
	if (fd >= 0 && close(fd) < 0 && r == 0)
		r = errno;
	if (r == 0)
		return 0;
	d->error = r;
	if (job_view_text(d->dir, "error", text, sizeof(text)) <= 0)
		return job_draft_fail(d, DRAFT_MOUNT, code, "%s/" CONFIG ": %s", d->name,
				      strerror(r));
	job_draft_errors(d, text, &said);
	return job_draft_fail(d, DRAFT_REFUSED, code, "%.*s",
			      (int)strcspn(said.data, "\n"), said.data);
}

static int read_config(struct job_draft *d, struct buf *b)
{
	char path[4096];
	auto_fclose FILE *f = NULL;
	size_t n = 1;

	snprintf(path, sizeof(path), "%s/" CONFIG, d->c->value[RUN_PROJECT]);
	f = fopen(path, "re");
	while (f && n && buf_reserve(b, 65536) == 0) {
		n = fread(b->data + b->len, 1, 65536, f);
		b->len += n;
	}
	if (!f || ferror(f) || b->failed)
		return job_draft_fail(d, DRAFT_FAILED, 2, "%s: %s", path,
				      strerror(errno));
	return 0;
}

int draft_make_config(struct job_draft *d, struct buf *ret)
{
	auto_buf struct buf file = { 0 }, options = { 0 };
	bool has_file = project_has_config(d->c);
	int r;

	d->stdin_open = d->streams_stdin && !has_file && !has_stdin(d->c);
	r = client_config(d, &options);
	if (r == 0 && has_file)
		r = read_config(d, &file);
	if (r)
		return r;
	if (config_merge(file.data, file.len, options.data, options.len, ret) < 0)
		return job_draft_fail(d, DRAFT_FAILED, 1, "out of memory");
	return 0;
}
