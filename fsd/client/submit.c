/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd submit. A job starts when its config.json and program are complete, but a copy may
 * write these files in any order. So the copy is made under a name with a dot, which
 * never starts, and one rename submits it.
 */
#include "submit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/tree_copy.h"
#include "job_view.h"
#include "run_int.h"
#include "where.h"

#define NUMBERS_MOST 100000u /* numbers that are tried as an end of a name that is
			      * taken */

struct submitting {
	const struct run_client *c;
	struct client_mount mount;
	struct client_signals signals;
	struct program program;
	struct job_draft draft;  /* later the job */
	char mnt[PATH_MAX];
	char name[NAME_MAX + 1]; /* the requested name */
	int from;                /* owned: the directory, or -1 */
};

/* --- what it is ------------------------------------------------------------------ */

/* Finds the job's name: --name, or else the last name of the source without the ending of
 * a program's name. */
static int find_name(struct submitting *s, const char *path)
{
	const char *given = s->c->value[SUBMIT_NAME];
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *dot;

	if (!given)
		base += strspn(base, ".");
	snprintf(s->name, sizeof(s->name), "%s", given ? given : base);
	dot = strrchr(s->name, '.');
	if (!given && s->from < 0 && dot && dot != s->name)
		*dot = '\0';
	if (job_name_check(s->name) < 0)
		return client_complain(2, "\"%s\" cannot be a job's name: it has 1 to "
				"200 bytes of UTF-8 without control characters; give "
				"another NAME", s->name);
	if (job_name_is_draft(s->name))
		return client_complain(2, "the name %s begins with a dot: such a job "
				"never starts", s->name);
	return 0;
}

static bool has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Searches for a program at the top of the directory. near: the name nearest to that of a
 * program, or "". */
static bool find_program(const struct submitting *s, char near[NAME_MAX + 1])
{
	unsigned best = NEAR_NOT;
	bool found = false;
	DIR *dir = opendir(s->c->value[RUN_PROJECT]);
	struct dirent *e;

	near[0] = '\0';
	while (dir && !found && (e = readdir(dir))) {
		unsigned score = near_to_program(e->d_name);

		found = code_kind(e->d_name) == CODE_KNOWN ||
			code_kind(e->d_name) == CODE_BARE;
		if (score > best) {
			best = score;
			memcpy(near, e->d_name, strlen(e->d_name) + 1);
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Refuses a project without a program: it would be a draft for ever. */
static int check_program(const struct submitting *s)
{
	const char *dir = s->c->value[RUN_PROJECT];
	char near[NAME_MAX + 1];

	/* With "command" in config.json no program is needed. */
	if (is_set(s->c, RUN_MAIN) || find_program(s, near) ||
	    has(s->from, "config.json"))
		return 0;
	if (near[0])
		return client_complain(1, "%s has no program (code.py, code.js, ...); "
				"there is %s: --main %s makes it the program", dir,
				near, near);
	return client_complain(1, "%s has no program (code.py, code.js, ...); --main "
			"FILE makes a file of it the program", dir);
}

static int examine_project(struct submitting *s)
{
	const char *dir = s->c->value[RUN_PROJECT];
	char real[PATH_MAX];

	if (!realpath(dir, real))
		return client_complain(2, "%s: %s", dir, strerror(errno));
	s->from = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->from < 0)
		return client_complain(errno == ENOTDIR ? 2 : 1, "%s: %s", dir,
				strerror(errno));
	s->draft.copies_job = has(s->from, "state") && has(s->from, "ctl") &&
			  has(s->from, "log");
	if (find_name(s, real))
		return 2;
	return check_program(s);
}

static int examine(struct submitting *s)
{
	const struct run_client *c = s->c;
	char real[PATH_MAX];
	int r = inputs_check(c);

	if (r)
		return r;
	if (is_set(c, RUN_PROJECT))
		return examine_project(s);
	r = program_find(c, &s->program);
	if (r)
		return r;
	if (!c->file || is_program_on_stdin(c))
		return find_name(s, "code");
	return find_name(s, realpath(c->file, real) ? real : c->file);
}

/* --- the draft ------------------------------------------------------------------- */

static int get_mount(struct submitting *s)
{
	struct err err = { 0 };

	if (where_mount(s->c->value[RUN_MOUNT], s->mnt, &err) < 0)
		return client_complain(1, "%s", err.text);
	return client_mount_at(&s->mount, s->mnt);
}

/* Makes the draft under a name that no other `fsd submit` uses. */
static int make_draft(struct submitting *s)
{
	struct job_draft *d = &s->draft;
	int root = s->mount.root;
	char name[sizeof(d->name)];
	int n = snprintf(name, sizeof(name), ".%.180s", s->name);
	int r = mkdirat(root, name, 0777);

	if (r < 0 && errno == EEXIST) {
		snprintf(name + n, sizeof(name) - (size_t)n, ".%d", (int)getpid());
		r = mkdirat(root, name, 0777);
	}
	if (r < 0)
		return client_complain(1, "%s/%s: %s", s->mnt, name, strerror(errno));
	memcpy(d->name, name, sizeof(name));
	d->dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return d->dir < 0 ? client_complain(1, "%s/%s: %s", s->mnt, name,
					    strerror(errno)) : 0;
}

/* Copies the program of --main. A link is followed, because the user has named it. */
static int put_main(struct submitting *s)
{
	const char *file = s->c->value[RUN_MAIN];
	struct tree_copy t = { 0 };
	char name[CODE_NAME];

	if (!file)
		return 0;
	code_name(file, name);
	if (tree_copy(&t, s->from, file, true, s->draft.dir, name) == 0)
		return 0;
	return client_complain(1, "%s/%s: %s", s->c->value[RUN_PROJECT], t.path,
			t.why);
}

/* Says why the draft could not be filled, if that was not said. */
static int said(const struct job_draft *d, int r)
{
	return r == 0 || !d->fault || d->fault == DRAFT_SIGNAL ?
		       r : client_complain(r, "%s", d->said);
}

/* Fills the draft. config.json is the last file: when it is refused, all the rest is
 * there, for --keep. */
static int fill(struct submitting *s)
{
	auto_buf struct buf config = { 0 };
	struct job_draft *d = &s->draft;
	int r = draft_make_config(d, &config);

	if (r == 0)
		r = make_draft(s);
	if (r == 0)
		r = draft_put_files(d);
	if (r == 0)
		r = put_main(s);
	if (r == 0)
		r = draft_put_config(d, &config);
	return said(d, r);
}

/* --- its start -------------------------------------------------------------------- */

/* Renames the draft to name, which must be free. Return: 0, -EEXIST, or another negative
 * errno. */
static int rename_to(struct submitting *s, const char *name)
{
	struct job_draft *d = &s->draft;
	int root = s->mount.root;

	if (renameat2(root, d->name, root, name, RENAME_NOREPLACE) < 0)
		return -errno;
	snprintf(d->name, sizeof(d->name), "%s", name);
	return 0;
}

static int taken(const struct submitting *s, int r)
{
	if (r == -EACCES)
		return client_complain(1, "the name %s is not to be had in %s; give "
				"another NAME", s->name, s->mnt);
	return client_complain(1, "there is a job %s in %s already; give another NAME, "
			"or remove it first", s->name, s->mnt);
}

static int start(struct submitting *s)
{
	char name[sizeof(s->name)], text[900];
	int r = rename_to(s, s->name), number = 0;

	/* EACCES: another user has the name. */
	for (unsigned i = 2; !is_set(s->c, SUBMIT_NAME) && i < NUMBERS_MOST &&
			     !(number = client_signal(&s->signals)) &&
			     (r == -EEXIST || r == -EACCES); i++) {
		snprintf(name, sizeof(name), "%.190s-%u", s->name, i);
		r = rename_to(s, name);
	}
	if (number && r < 0)
		return 128 + number;
	if (r == -EEXIST || r == -EACCES)
		return taken(s, r);
	if (r < 0) {
		if (where_last_error(s->mount.root, s->draft.name + 1, text,
				     sizeof(text)))
			client_complain(0, "%s", text); /* without the dot: either name */
		return client_complain(1, "%s is not taken: %s", s->name, strerror(-r));
	}
	return 0;
}

/* Prints the mount's error, in the words of the command line. */
static int refused(const struct job_draft *d, const char *error)
{
	auto_buf struct buf text = { 0 };

	job_draft_errors(d, error, &text);
	return client_complain(1, "%s", text.len ? text.data : error);
}

/* Tells whether the mount refused the job, and adds hints. Return: the exit code. */
static int told(struct submitting *s)
{
	const struct job_draft *d = &s->draft;
	struct job_view v;
	int r = job_view_read(d->dir, &v);

	if (r < 0 && r != -ENOENT) /* gone: it ran and removed itself */
		return client_complain(1, "%s/%s: %s", s->mnt, d->name, strerror(-r));
	if (r == 0 && v.state == JOB_REFUSED)
		return refused(d, v.error);
	if (r == 0 && v.state == JOB_DRAFT)
		client_complain(0, "it is a draft, and does not start yet: `fsd status "
				"%s/%s` says for what it waits", s->mnt, d->name);
	printf("%s/%s\n", s->mnt, d->name);
	return 0;
}

/* Removes a refused or unfinished job, unless --keep is given. */
static void leave(struct submitting *s, int r)
{
	struct job_draft *d = &s->draft;
	bool failed = r && d->name[0];
	bool kept = failed && is_set(s->c, SUBMIT_KEEP) && r < 128;

	if (kept)
		client_complain(0, "%s/%s is kept, to be mended%s", s->mnt, d->name,
				d->name[0] == '.' ? " and renamed" : "");
	if (!failed || kept)
		fd_close(&d->dir);
	job_draft_done(d, false);
}

int submit_client(const struct run_client *c)
{
	struct submitting s = {
		.c = c, .mount = CLIENT_MOUNT_NONE, .signals = CLIENT_SIGNALS_NONE,
		.program = { .fd = -1 },
		.draft = JOB_DRAFT(c, &s.program, &s.mount, &s.signals),
		.from = -1,
	};
	int r;

	r = examine(&s);
	if (r == 0)
		r = get_mount(&s);
	if (r == 0)
		client_signals_catch(&s.signals);
	if (r == 0)
		r = fill(&s);
	if (r == 0)
		r = start(&s);
	if (r == 0)
		r = told(&s);
	leave(&s, r);
	program_done(&s.program);
	fd_close(&s.signals.fd);
	client_mount_close(&s.mount);
	fd_close(&s.from);
	client_die_of(r > 128 && r < 128 + 64 &&
				      s.signals.got & (1ull << (r - 128)) ? r - 128 : 0);
	return r;
}
