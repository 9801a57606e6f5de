/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the job of a claim as a draft, of a directory, a program file or an archive's
 * tree; and copies its results into the claim, exit_code last. A copy of results that
 * fails is removed, which also frees its space, and is made again later.
 *
 * A user may still change what lies in a claimed directory, by a descriptor that was
 * opened before. So files are copied by descriptors, no link is followed, and config.json
 * is read once: the text that was checked is the text that the job gets.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/job_drop.h"
#include "fsd/client/job_view.h"
#include "fsd/client/results_copy.h"
#include "fsd/local/tree_copy.h"
#include "spool_int.h"

#define CONFIG "config.json"

/* --- names ---------------------------------------------------------------- */

static const char *const prefixes[JOB_KINDS] = {
	[JOB_OF_CLAIM] = "spool-", [JOB_DRAFT_OF_CLAIM] = ".spool-",
	[JOB_UNPACKS] = "unpack-", [JOB_DRAFT_UNPACKS] = ".unpack-",
};

void claim_job_name(const char *id, enum job_kind kind, char ret[JOB_NAME])
{
	snprintf(ret, JOB_NAME, "%s%s", prefixes[kind], id);
}

const char *claim_id_of_job(const char *name)
{
	for (int i = 0; i < JOB_KINDS; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return NULL;
}

int claim_job_open(const struct spool *s, const struct claim *c, enum job_kind kind)
{
	char name[JOB_NAME];
	int fd;

	claim_job_name(c->id, kind, name);
	fd = openat(s->mount.root, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void claim_job_remove(const struct spool *s, const char *name, bool waits)
{
	auto_close int dir = openat(s->mount.root, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	job_drop(dir);
	if (waits)
		job_dropped(s->mount.root, name, dir);
}

int claim_job_await(struct claim *c, int dir, struct trouble *t)
{
	fd_close(&c->wait);
	c->ended = false;
	c->wait = openat(dir, "wait", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return c->wait < 0 ? trouble_mount(t, -errno, -1) : 0;
}

void put_base(const struct spool *s, const struct claim *c, char ret[NAME_MAX + 1])
{
	size_t len = s->o->program ? 0 : archive_base(c->name);

	snprintf(ret, NAME_MAX + 1, "%.*s", (int)(len ? len : strlen(c->name)), c->name);
}

/* --- files ---------------------------------------------------------------- */

int put_begin(struct spool *s, struct claim *c, enum job_kind kind, struct trouble *t)
{
	char name[JOB_NAME];
	int fd;

	claim_job_name(c->id, kind, name);
	if (mkdirat(s->mount.root, name, 0700) < 0) {
		if (errno != EEXIST)
			return trouble_mount(t, -errno, -1);
		claim_job_remove(s, name, true); /* the draft may remain from an earlier
						  * attempt */
		if (mkdirat(s->mount.root, name, 0700) < 0)
			return trouble_mount(t, -errno, -1);
	}
	fd = claim_job_open(s, c, kind);
	return fd < 0 ? trouble_mount(t, fd, -1) : fd;
}

static int may_go_on(void *arg)
{
	return spool_is_ending(arg) ? 1 : 0;
}

/* Turns the outcome of a tree copy into a trouble. r: what the copy returned; draft: the
 * directory that it wrote to. */
static int copy_result(const struct tree_copy *copy, int r, int draft, struct trouble *t)
{
	if (r == 0)
		return 0;
	if (r > 0)
		return trouble(t, TROUBLE_SIGNAL, "a signal came");
	if (copy->writing)
		return trouble_mount(t, r, draft);
	t->error = r;
	return trouble(t, r == -EINVAL ? TROUBLE_ENTRY : TROUBLE_UNREADABLE, "%s: %s",
		       copy->path, copy->why);
}

int put_copy(struct spool *s, int from, const char *name, int draft, const char *as,
	       struct trouble *t)
{
	struct tree_copy copy = { .may = may_go_on, .arg = s };

	return copy_result(&copy, tree_copy(&copy, from, name, false, draft, as), draft, t);
}

int put_text(int draft, const char *name, const char *data, size_t len,
		struct trouble *t)
{
	int fd = openat(draft, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = 0;
	int r = 0;

	if (fd < 0)
		return trouble_mount(t, -errno, draft);
	for (size_t done = 0; done < len && n >= 0; done += (size_t)n)
		n = write(fd, data + done, len - done);
	if (n < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r < 0 ? trouble_mount(t, r, draft) : 0;
}

/* --- config.json ---------------------------------------------------------- */

/* Reads config.json once. A missing one counts as {}. */
static int read_config(int from, struct buf *ret, struct trouble *t)
{
	auto_close int fd = -1;
	struct err err = { 0 };
	bool is_dir = false;
	ssize_t n = 1;

	if (faccessat(from, CONFIG, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	fd = entry_open(from, CONFIG, &is_dir, &err);
	if (fd < 0)
		return trouble(t, fd == -EINVAL ? TROUBLE_ENTRY : TROUBLE_UNREADABLE, "%s",
			       err.text);
	if (is_dir)
		return trouble(t, TROUBLE_ENTRY, CONFIG " is a directory; it must be a "
			       "file");
	while (n > 0 && ret->len <= LIMIT_CONFIG_BYTES && buf_reserve(ret, 65536) == 0) {
		n = read(fd, ret->data + ret->len, 65536);
		ret->len += (size_t)MAX(n, 0);
	}
	if (n < 0)
		return trouble(t, TROUBLE_UNREADABLE, CONFIG ": %s", strerror(errno));
	if (ret->failed)
		return trouble(t, TROUBLE_MOUNT, "out of memory");
	return 0;
}

/* Keys of config.json that a spool refuses: the job would wait for a user, end in another
 * way, or disappear before its results are copied. */
static const char *refused_key(const struct job_config *config)
{
	const struct {
		const char *key;
		bool is_set;
	} rows[] = {
		{ "session", config->session },
		{ "sandbox", config->sandbox },
		{ "retain", config->retain_s },
		{ "start", config->manual },
		{ "inputs", config->inputs.count },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_set)
			return rows[i].key;
	return NULL;
}

/* Checks config.json; an empty text becomes {}. *needs_code: the job needs a file code.*;
 * *retries: its "retry". */
static int check_config(struct buf *text, bool *needs_code, unsigned *retries,
			struct trouble *t)
{
	/* limits of fsd; the mount checks those of its operator */
	const struct config_limits limits = { 31536000000u, MIB(1), 4096 };
	struct job_config config;
	struct err err = { 0 };
	const char *key;

	if (!text->len || config_is_empty(text->data, text->len)) {
		buf_clear(text);
		buf_str(text, "{}\n");
	}
	if (config_parse(text->data, text->len, &limits, &config, &err) < 0)
		return trouble(t, TROUBLE_ENTRY, "%s", err.text);
	key = refused_key(&config);
	*needs_code = !config.main && !config.code && !config.command.count;
	*retries = (unsigned)config.retry;
	config_done(&config);
	return key ? trouble(t, TROUBLE_ENTRY, CONFIG ": \"%s\" is not allowed in a spool; "
			     "remove it", key) : 0;
}

/* --- a directory ---------------------------------------------------------- */

struct tree {
	struct spool *s;
	bool copies_job; /* a copy of a job's directory: its virtual files stay behind */
};

static bool is_left_out(void *arg, const char *name)
{
	const struct tree *tree = arg;

	return !strcmp(name, CONFIG) || (tree->copies_job && job_vfile_by_name(name));
}

static int tree_may_go_on(void *arg)
{
	const struct tree *tree = arg;

	return may_go_on(tree->s);
}

static bool has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_names(int from, struct tree *tree, struct trouble *t)
{
	tree->copies_job = has(from, "state") && has(from, "ctl") && has(from, "log");
	for (int row = 1; row < JOB_VFILE_MAX && !tree->copies_job; row++)
		if (has(from, job_vfiles[row].name))
			return trouble(t, TROUBLE_ENTRY, "the name %s is taken by the job "
				       "itself; rename it", job_vfiles[row].name);
	return 0;
}

static int check_program(int from, struct trouble *t)
{
	char near[NAME_MAX + 1] = "";
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned best = NEAR_NOT, score, count = 0;
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return trouble(t, TROUBLE_UNREADABLE, "%s", strerror(errno));
	}
	while ((e = readdir(dir))) {
		count += code_kind(e->d_name) == CODE_KNOWN ||
			 code_kind(e->d_name) == CODE_BARE;
		score = near_to_program(e->d_name);
		if (score > best) {
			best = score;
			snprintf(near, sizeof(near), "%s", e->d_name);
		}
	}
	closedir(dir);
	if (count == 1)
		return 0;
	return trouble(t, TROUBLE_ENTRY, "it has %s program (code.py, code.js, ...)%s%s",
		       count ? "more than one" : "no", !count && near[0] ? "; there is " : "",
		       count ? "" : near);
}

int put_tree(struct spool *s, struct claim *c, int from, struct trouble *t)
{
	struct tree tree = { .s = s };
	struct tree_copy copy = { .may = tree_may_go_on, .skip = is_left_out,
				  .arg = &tree };
	auto_buf struct buf config = { 0 };
	auto_close int draft = -1;
	bool needs_code = true;
	int r = read_config(from, &config, t);

	if (r == 0)
		r = check_config(&config, &needs_code, &c->retries, t);
	if (r == 0)
		r = check_names(from, &tree, t);
	if (r == 0 && needs_code)
		r = check_program(from, t);
	if (r)
		return r;
	draft = put_begin(s, c, JOB_DRAFT_OF_CLAIM, t);
	if (draft < 0)
		return -1;
	r = copy_result(&copy, tree_copy_all(&copy, from, draft), draft, t);
	return r ? r : put_text(draft, CONFIG, config.data, config.len, t);
}

static int put_directory(struct spool *s, struct claim *c, struct trouble *t)
{
	auto_close int from = openat(c->dir, CLAIM_INPUT,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0)
		return trouble(t, TROUBLE_UNREADABLE, "%s: %s", c->name, strerror(errno));
	return put_tree(s, c, from, t);
}

/* --- a program file ------------------------------------------------------- */

static bool begins_with_interpreter(const struct claim *c)
{
	auto_close int fd = entry_open(c->dir, CLAIM_INPUT, NULL, NULL);
	char text[2];

	return fd >= 0 && read(fd, text, 2) == 2 && !memcmp(text, "#!", 2);
}

/* Finds the program's name in the job: "code.py" for "main.py", "code" for a file that
 * begins with #!. Return: false: it is no program. */
static bool find_code_name(const struct claim *c, char ret[CODE_NAME])
{
	return code_name(c->name, ret) || begins_with_interpreter(c);
}

static int put_file(struct spool *s, struct claim *c, struct trouble *t)
{
	auto_close int draft = -1;
	char name[CODE_NAME];
	int r;

	if (!find_code_name(c, name))
		return trouble(t, TROUBLE_ENTRY, "%s is neither a directory, nor a program "
			       "(%s, or a file that begins with #!), nor an archive (.tar, "
			       ".tar.gz, .tgz, .tar.bz2, .tar.xz, .zip)", c->name,
			       lang_extensions_text());
	c->retries = 0;
	draft = put_begin(s, c, JOB_DRAFT_OF_CLAIM, t);
	if (draft < 0)
		return -1;
	r = put_copy(s, c->dir, CLAIM_INPUT, draft, name, t);
	return r ? r : put_text(draft, CONFIG, "{}\n", 3, t);
}

/* --- all of it ------------------------------------------------------------ */

int put_draft(struct spool *s, struct claim *c, struct trouble *t)
{
	struct stat st;

	if (fstatat(c->dir, CLAIM_INPUT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return trouble_disk(t, -errno);
	if (s->o->program)
		return program_put(s, c, t);
	if (S_ISDIR(st.st_mode))
		return put_directory(s, c, t);
	return archive_base(c->name) ? archive_put(s, c, t) : put_file(s, c, t);
}

/* --- results -------------------------------------------------------------- */

static const char *const result_files[] = { "stdout", "stderr", "output", "result.json",
					    "log", NULL };

static int take_files(struct spool *s, struct claim *c, int dir, struct trouble *t)
{
	struct results_copy copy = {
		.names = result_files, .job = dir, .to = c->dir, .mask = s->place.mask,
		.copy = { .may = may_go_on, .arg = s },
	};
	int r = results_copy(&copy);

	if (r > 0)
		return trouble(t, TROUBLE_SIGNAL, "a signal came");
	if (r < 0)
		return copy.copy.writing ? trouble_disk(t, r) : trouble_mount(t, r, -1);
	return 0;
}

/* Copies the job's `error`; most jobs have an empty one, which is left out. */
static int take_error(struct claim *c, int dir, struct trouble *t)
{
	char text[16384];
	ssize_t n = job_view_text(dir, "error", text, sizeof(text));
	int r = n > 0 ? claim_write(c, "error", text, (size_t)n) : 0;

	return r < 0 ? trouble_disk(t, r) : 0;
}

static int take_exit_code(struct claim *c, int dir, struct trouble *t)
{
	char text[16];
	ssize_t n = job_view_text(dir, "exit_code", text, sizeof(text));
	int r;

	if (n == -ENOENT)
		return trouble(t, TROUBLE_NO_JOB, "the job has no exit code");
	if (n < 0)
		return trouble_mount(t, (int)n, -1);
	r = claim_write_exit_code(c, text);
	return r < 0 ? trouble_disk(t, r) : 0;
}

int claim_take_results(struct spool *s, struct claim *c, struct trouble *t)
{
	auto_close int dir = claim_job_open(s, c, JOB_OF_CLAIM);
	int r;

	if (dir == -ENOENT)
		return trouble(t, TROUBLE_NO_JOB, "the job is not in the mount");
	if (dir < 0)
		return trouble_mount(t, dir, -1);
	r = take_files(s, c, dir, t);
	if (r == 0)
		r = take_error(c, dir, t);
	if (r == 0)
		r = take_exit_code(c, dir, t);
	if (r < 0)
		claim_clear_results(c);
	return r;
}
