/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client half of fsd submit. A job starts when its config.json and program
 * are complete, and a copy comes to them in an order of its own. So the copy has
 * a name with a dot, which never starts, and the rename submits all of it.
 */
#include "submit.h"
#include "tree_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_view.h"
#include "tree_copy.h"

#define CONFIG "config.json"
#define NUMBERS_MOST 100000u /* that a name may have to be another one */

static volatile sig_atomic_t signalled;

struct submitting {
	const struct submit *s;
	char mnt[PATH_MAX];
	char name[NAME_MAX + 1];  /* that is asked for */
	char path[PATH_MAX + 256]; /* of the draft, then of the job */
	int from, to;             /* directories; from -1: one file */
	bool is_job;              /* the source is a job itself */
};

/* "fsd submit: sentence" on standard error; returns code. */
__attribute__((format(printf, 2, 3)))
static int say(int code, const char *fmt, ...)
{
	va_list ap;

	fputs("fsd submit: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}

/* --- what it is ------------------------------------------------------------------ */

static void on_signal(int number)
{
	signalled = number;
}

/* A signal that is ignored stays so, as nohup(1) wants. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction now, mine = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN)
			sigaction(numbers[i], &mine, NULL);
}

/* The last name of the source, without the ending of a program's. */
static int find_name(struct submitting *k, const char *path, bool is_file)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *dot;
	int r;

	if (!k->s->name)
		base += strspn(base, ".");
	snprintf(k->name, sizeof(k->name), "%s", k->s->name ? k->s->name : base);
	dot = strrchr(k->name, '.');
	if (!k->s->name && is_file && dot && dot != k->name)
		*dot = '\0';
	r = job_name_check(k->name);
	if (r < 0)
		return say(2, "\"%s\" cannot be a job's name: it "
				"has 1 to 200 bytes of UTF-8 without control "
				"characters; give another NAME", k->name);
	if (job_name_is_draft(k->name))
		return say(2, "the name %s begins with a dot: "
				"such a job never starts", k->name);
	return 0;
}

static bool has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A project without a program would be a draft for ever. */
static int check_program(const struct submitting *k)
{
	char near[NAME_MAX + 1] = "";
	unsigned best = NEAR_NOT;
	bool found = k->s->main != NULL;
	DIR *dir = opendir(k->s->source);
	struct dirent *e;

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
	/* "command" needs no program: config.json decides then. */
	if (found || has(k->from, "config.json"))
		return 0;
	if (near[0])
		return say(1, "%s has no program (code.py, "
				"code.js, ...); there is %s: --main %s makes it "
				"the program", k->s->source, near, near);
	return say(1, "%s has no program (code.py, code.js, "
			"...); --main FILE makes a file of it the program",
			k->s->source);
}

static int examine(struct submitting *k)
{
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(k->s->source, real) || stat(real, &st) < 0)
		return say(2, "%s: %s", k->s->source,
				strerror(errno));
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return say(2, "%s is no file and no directory",
				k->s->source);
	if (S_ISREG(st.st_mode) && k->s->main)
		return say(2, "--main is for a directory; %s is "
				"the program itself", k->s->source);
	if (find_name(k, real, S_ISREG(st.st_mode)))
		return 2;
	if (S_ISREG(st.st_mode))
		return 0;
	k->from = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->from < 0)
		return say(1, "%s: %s", k->s->source,
				strerror(errno));
	k->is_job = has(k->from, "state") && has(k->from, "ctl") &&
		    has(k->from, "log");
	return check_program(k);
}

/* --- the draft ------------------------------------------------------------------- */

/* A name of its own, even if another `fsd submit` prepares the same. */
static int make_draft(struct submitting *k)
{
	int n = snprintf(k->path, sizeof(k->path), "%s/.%.180s", k->mnt,
			 k->name);
	int r = mkdir(k->path, 0777);

	if (r < 0 && errno == EEXIST) {
		snprintf(k->path + n, sizeof(k->path) - (size_t)n, ".%d",
			 (int)getpid());
		r = mkdir(k->path, 0777);
	}
	if (r < 0) {
		r = say(1, "%s: %s", k->path, strerror(errno));
		k->path[0] = '\0'; /* nothing of it is ours */
		return r;
	}
	k->to = open(k->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return k->to < 0 ? say(1, "%s: %s", k->path,
				    strerror(errno)) : 0;
}

/* The job's own files cannot be written. A copy of a job leaves those of the
 * first one behind; a project's are named. */
static bool is_own(void *arg, const char *name)
{
	const struct submitting *k = arg;

	if (!strcmp(name, CONFIG)) /* it comes last, see fill() */
		return true;
	if (!job_row_by_name(name))
		return false;
	if (!k->is_job)
		fprintf(stderr, "fsd submit: %s/%s is left out: each job has a "
			"%s of its own\n", k->s->source, name, name);
	return true;
}

/* "code.py" of "dir/main.py"; "code" if no language has its ending. */
static void code_name(const char *file, char ret[32])
{
	const char *dot = strrchr(file, '.');

	snprintf(ret, 32, "code%.20s", dot && !strchr(dot, '/') ? dot : "");
	if (code_kind(ret) != CODE_KNOWN)
		snprintf(ret, 32, "code");
}

static int stops(void *arg)
{
	(void)arg;
	return signalled ? -EINTR : 0;
}

/* What a copy has met. r: of tree_copy(). */
static int copy_failed(const struct submitting *k, const struct tree_copy *t,
		       int r, struct err *err)
{
	const char *dir = k->from < 0 ? "" : k->s->source;

	if (r == 0 || r == -EINTR)
		return r;
	return err_set(err, r, "%s%s%s: %s%s", dir, *dir ? "/" : "", t->path,
		       t->why, t->link ? "; -L copies what it leads to" : "");
}

/* One that was named, so a link is followed. */
static int copy_one(struct submitting *k, const char *file, const char *as,
		    struct err *err)
{
	struct tree_copy t = { .may = stops };

	return copy_failed(k, &t, tree_copy(&t, k->from < 0 ? AT_FDCWD : k->from,
					    file, true, k->to, as), err);
}

static int copy_code(struct submitting *k, const char *file, struct err *err)
{
	char name[32];

	code_name(file, name);
	return copy_one(k, file, name, err);
}

/* A directory's own, or an empty one. */
static int put_config(struct submitting *k, struct err *err)
{
	auto_close int fd = -1;

	if (k->from >= 0 && has(k->from, CONFIG))
		return copy_one(k, CONFIG, CONFIG, err);
	fd = openat(k->to, CONFIG, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, "{}\n", 3) != 3)
		return err_sys(err, -errno, CONFIG);
	return 0;
}

/* The mount's own sentence on what it does not take is better than an errno. */
static int not_taken(const struct submitting *k, const struct err *err)
{
	char text[600];

	if (job_view_text(k->to, "error", text, sizeof(text)) <= 0)
		return say(1, "%s", err->text);
	text[strcspn(text, "\n")] = '\0';
	return say(1, "%s", text);
}

/* config.json is the last: when it is refused, all the rest is there, for --keep. */
static int fill(struct submitting *k)
{
	struct tree_copy t = { .may = stops, .skip = is_own, .arg = k,
			       .follow = k->s->follow };
	struct err err = { 0 };
	int r = 0;

	if (k->from >= 0)
		r = copy_failed(k, &t, tree_copy_all(&t, k->from, k->to), &err);
	if (r == 0 && (k->from < 0 || k->s->main))
		r = copy_code(k, k->from < 0 ? k->s->source : k->s->main,
			      &err);
	if (r == 0)
		r = put_config(k, &err);
	if (signalled)
		return 128 + signalled;
	return r < 0 ? not_taken(k, &err) : 0;
}

/* --- its start -------------------------------------------------------------------- */

/* What the mount has said last to this user, if it is about this draft. */
static void tell_last_error(const struct submitting *k)
{
	char path[PATH_MAX + 32], text[900];
	const char *name = strrchr(k->path, '/') + 1;
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" FSD_DIR_NAME "/last_error", k->mnt);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[MAX(n, 0)] = '\0';
	if (strstr(text, name) || strstr(text, name + 1))
		fprintf(stderr, "fsd submit: %s", text);
}

/* Return: 0, -EEXIST, or negative errno. */
static int rename_to(struct submitting *k, const char *name)
{
	char to[sizeof(k->path)];

	if (snprintf(to, sizeof(to), "%s/%s", k->mnt, name) >= (int)sizeof(to))
		return -ENAMETOOLONG;
	if (renameat2(AT_FDCWD, k->path, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
		return -errno;
	memcpy(k->path, to, sizeof(to));
	return 0;
}

static int taken(const struct submitting *k, int r)
{
	if (r == -EACCES)
		return say(1, "the name %s is not to be had in "
				"%s; give another NAME", k->name, k->mnt);
	return say(1, "there is a job %s in %s already; give "
			"another NAME, or remove it first", k->name, k->mnt);
}

static int start(struct submitting *k)
{
	char name[NAME_MAX + 16];
	int r = rename_to(k, k->name);

	/* EACCES: another user has the name. */
	for (unsigned i = 2; !k->s->name && i < NUMBERS_MOST && !signalled &&
			     (r == -EEXIST || r == -EACCES); i++) {
		snprintf(name, sizeof(name), "%.190s-%u", k->name, i);
		r = rename_to(k, name);
	}
	if (signalled && r < 0)
		return 128 + signalled;
	if (r == -EEXIST || r == -EACCES)
		return taken(k, r);
	if (r < 0) {
		tell_last_error(k);
		return say(1, "%s is not taken: %s", k->name,
				strerror(-r));
	}
	return 0;
}

/* Whether it was refused, and what else is to be known. */
static int told(struct submitting *k)
{
	struct job_view v;
	int r = job_view_read(k->to, &v);

	if (r < 0 && r != -ENOENT) /* gone: it ran and removed itself */
		return say(1, "%s: %s", k->path, strerror(-r));
	if (r == 0 && v.state == JOB_REFUSED)
		return say(1, "%s", v.error);
	if (r == 0 && v.state == JOB_DRAFT)
		fprintf(stderr, "fsd submit: it is a draft, and does not start "
			"yet: `fsd status %s` says for what it waits\n",
			k->path);
	puts(k->path);
	return 0;
}

int submit_client(const struct submit *s)
{
	struct submitting k = { .s = s, .from = -1, .to = -1 };
	struct err err = { 0 };
	int r = examine(&k);

	if (r == 0 && where_mount(s->mount, k.mnt, &err) < 0)
		r = say(1, "%s", err.text);
	catch_signals();
	if (r == 0)
		r = make_draft(&k);
	if (r == 0)
		r = fill(&k);
	if (r == 0)
		r = start(&k);
	if (r == 0)
		r = told(&k);
	fd_close(&k.to);
	fd_close(&k.from);
	if (r && k.path[0] && s->keep && r < 128)
		fprintf(stderr, "fsd submit: %s is kept, to be mended%s\n",
			k.path, strrchr(k.path, '/')[1] == '.' ?
			" and renamed" : "");
	else if (r && k.path[0])
		tree_remove(AT_FDCWD, k.path);
	return r;
}
