/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd submit. A job starts when its config.json and program are complete, and a copy
 * comes to them in an order of its own. So the copy has a name with a dot, which never
 * starts, and the rename submits all of it.
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
#include "job_drop.h"
#include "job_view.h"
#include "run_int.h"
#include "where.h"

#define NUMBERS_MOST 100000u /* that a name may have to be another one */

struct submitting {
	struct client k;
	char mnt[PATH_MAX];
	char name[NAME_MAX + 1]; /* that is asked for */
	int from;                /* owned: the directory, or -1 */
};

/* --- what it is ------------------------------------------------------------------ */

/* The last name of the source, without the ending of a program's, unless --name says
 * one. */
static int find_name(struct submitting *s, const char *path)
{
	const char *given = s->k.c->value[SUBMIT_NAME];
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

/* Looks for a program at the top of the directory. near: what is nearest to one, or "". */
static bool find_program(const struct submitting *s, char near[NAME_MAX + 1])
{
	unsigned best = NEAR_NOT;
	bool found = false;
	DIR *dir = opendir(s->k.c->value[RUN_PROJECT]);
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

/* A project without a program would be a draft for ever. */
static int check_program(const struct submitting *s)
{
	const char *dir = s->k.c->value[RUN_PROJECT];
	char near[NAME_MAX + 1];

	/* "command" needs no program: config.json decides then. */
	if (is_set(s->k.c, RUN_MAIN) || find_program(s, near) ||
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
	const char *dir = s->k.c->value[RUN_PROJECT];
	char real[PATH_MAX];

	if (!realpath(dir, real))
		return client_complain(2, "%s: %s", dir, strerror(errno));
	s->from = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->from < 0)
		return client_complain(errno == ENOTDIR ? 2 : 1, "%s: %s", dir,
				strerror(errno));
	s->k.copies_job = has(s->from, "state") && has(s->from, "ctl") &&
			  has(s->from, "log");
	if (find_name(s, real))
		return 2;
	return check_program(s);
}

static int examine(struct submitting *s)
{
	const struct run_client *c = s->k.c;
	char real[PATH_MAX];
	int r = inputs_check(c);

	if (r)
		return r;
	if (is_set(c, RUN_PROJECT))
		return examine_project(s);
	r = program_find(c, &s->k.program);
	if (r)
		return r;
	if (!c->file || is_program_on_stdin(c))
		return find_name(s, "code");
	return find_name(s, realpath(c->file, real) ? real : c->file);
}

/* --- the draft ------------------------------------------------------------------- */

static int get_mount(struct submitting *s)
{
	struct client *k = &s->k;
	struct err err = { 0 };

	if (where_mount(k->c->value[RUN_MOUNT], s->mnt, &err) < 0)
		return client_complain(1, "%s", err.text);
	k->mnt = s->mnt;
	k->root = open(k->mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return k->root < 0 ? client_complain(1, "%s: %s", k->mnt, strerror(errno)) : 0;
}

/* A name of its own, even if another `fsd submit` prepares the same. */
static int make_draft(struct submitting *s)
{
	struct client *k = &s->k;
	char name[sizeof(k->job)];
	int n = snprintf(name, sizeof(name), ".%.180s", s->name);
	int r = mkdirat(k->root, name, 0777);

	if (r < 0 && errno == EEXIST) {
		snprintf(name + n, sizeof(name) - (size_t)n, ".%d", (int)getpid());
		r = mkdirat(k->root, name, 0777);
	}
	if (r < 0)
		return client_complain(1, "%s/%s: %s", k->mnt, name, strerror(errno));
	memcpy(k->job, name, sizeof(name));
	k->dir = openat(k->root, k->job, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return k->dir < 0 ? client_complain(1, "%s/%s: %s", k->mnt, k->job,
					    strerror(errno)) : 0;
}

/* "code.py" of "dir/main.py"; "code" if no language has its ending. */
static void code_name(const char *file, char ret[32])
{
	const char *dot = strrchr(file, '.');

	snprintf(ret, 32, "code%.20s", dot && !strchr(dot, '/') ? dot : "");
	if (code_kind(ret) != CODE_KNOWN)
		snprintf(ret, 32, "code");
}

/* --main was named, so a link is followed. */
static int put_main(struct submitting *s)
{
	const char *file = s->k.c->value[RUN_MAIN];
	struct tree_copy t = { 0 };
	char name[32];

	if (!file)
		return 0;
	code_name(file, name);
	if (tree_copy(&t, s->from, file, true, s->k.dir, name) == 0)
		return 0;
	return client_complain(1, "%s/%s: %s", s->k.c->value[RUN_PROJECT], t.path,
			t.why);
}

/* config.json is the last: when it is refused, all the rest is there, for --keep. */
static int fill(struct submitting *s)
{
	auto_buf struct buf config = { 0 };
	struct client *k = &s->k;
	int r = client_make_config(k, &config);

	if (r == 0)
		r = make_draft(s);
	if (r == 0)
		r = client_put_files(k);
	if (r == 0)
		r = put_main(s);
	if (r == 0)
		r = client_put_stdin(k);
	return r ? r : client_put_config(k, &config);
}

/* --- its start -------------------------------------------------------------------- */

/* Return: 0, -EEXIST, or negative errno. */
static int rename_to(struct submitting *s, const char *name)
{
	struct client *k = &s->k;

	if (renameat2(k->root, k->job, k->root, name, RENAME_NOREPLACE) < 0)
		return -errno;
	snprintf(k->job, sizeof(k->job), "%s", name);
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
	for (unsigned i = 2; !is_set(s->k.c, SUBMIT_NAME) && i < NUMBERS_MOST &&
			     !(number = client_signal(&s->k)) &&
			     (r == -EEXIST || r == -EACCES); i++) {
		snprintf(name, sizeof(name), "%.190s-%u", s->name, i);
		r = rename_to(s, name);
	}
	if (number && r < 0)
		return 128 + number;
	if (r == -EEXIST || r == -EACCES)
		return taken(s, r);
	if (r < 0) {
		if (where_last_error(s->k.root, s->k.job + 1, text, sizeof(text)))
			client_complain(0, "%s", text); /* without the dot: either name */
		return client_complain(1, "%s is not taken: %s", s->name, strerror(-r));
	}
	return 0;
}

/* In the words of the command line. */
static int refused(struct client *k, const char *error)
{
	auto_buf struct buf said = { 0 };

	client_errors(k, error, &said);
	return client_complain(1, "%s", said.len ? said.data : error);
}

/* Tells whether the mount refused the job, and adds hints. Return: the exit code. */
static int told(struct submitting *s)
{
	struct client *k = &s->k;
	struct job_view v;
	int r = job_view_read(k->dir, &v);

	if (r < 0 && r != -ENOENT) /* gone: it ran and removed itself */
		return client_complain(1, "%s/%s: %s", k->mnt, k->job, strerror(-r));
	if (r == 0 && v.state == JOB_REFUSED)
		return refused(k, v.error);
	if (r == 0 && v.state == JOB_DRAFT)
		client_complain(0, "it is a draft, and does not start yet: `fsd status "
				"%s/%s` says for what it waits", k->mnt, k->job);
	printf("%s/%s\n", k->mnt, k->job);
	return 0;
}

/* A job that was refused, or whose making has failed. */
static void leave(struct submitting *s, int r)
{
	struct client *k = &s->k;

	if (!k->job[0])
		return;
	if (is_set(k->c, SUBMIT_KEEP) && r < 128) {
		client_complain(0, "%s/%s is kept, to be mended%s", k->mnt, k->job,
				k->job[0] == '.' ? " and renamed" : "");
	} else if (k->dir >= 0) {
		job_drop(k->dir);
		job_dropped(k->root, k->job, k->dir);
	}
}

int submit_client(const struct run_client *c)
{
	struct submitting s = {
		.k = { .c = c, .root = -1, .dir = -1, .hold = -1, .signals = -1,
		       .program = { .fd = -1 },
		       .input = { .state = -1, .feed = -1 } },
		.from = -1,
	};
	struct client *k = &s.k;
	int r;

	r = examine(&s);
	if (r == 0)
		r = get_mount(&s);
	if (r == 0)
		k->signals = client_catch_signals();
	if (r == 0)
		r = fill(&s);
	if (r == 0)
		r = start(&s);
	if (r == 0)
		r = told(&s);
	if (r)
		leave(&s, r);
	fd_close(&k->dir);
	fd_close(&k->program.fd);
	fd_close(&k->signals);
	fd_close(&k->root);
	fd_close(&s.from);
	client_die_of_signal(k, r);
	return r;
}
