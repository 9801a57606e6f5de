/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on a lane, as far as they differ from those of job.c: own files under
 * other names, a runner that starts with the job, large results in place of an
 * output tree. Runs in the lane's agent, except lane_mount() and lane_kind(),
 * which run in PID 1.
 */
#include "lane.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/files/beneath.h"
#include "guest/files/collect.h"
#include "guest/os/environment.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "guest/os/share.h"
#include "guest/os/sys.h"
#include "runner_kind.h"

#define DEPTH_MAX 64
#define READY_MS 60000
#define CELL_RESULTS "shelf"
#define PROGRAM "code" /* name of the program's file, before its extension */
#define CALL_INPUT "input.json"

int lane_mount(struct err *err)
{
	if (mkdir(LANE_ROOT, 0755) ||
	    mount("tmpfs", LANE_ROOT, "tmpfs",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=0755,size=75%,nr_inodes=16k"))
		return err_sys(err, -errno, "cannot mount %s", LANE_ROOT);
	return 0;
}

static int remove_entry(void *arg, int dir, const char *name)
{
	unsigned depth = *(unsigned *)arg + 1;
	int fd;

	if (!unlinkat(dir, name, 0) || (errno != EISDIR && errno != EPERM))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && depth < DEPTH_MAX)
		beneath_each(fd, remove_entry, &depth);
	else
		fd_close(&fd);
	unlinkat(dir, name, AT_REMOVEDIR);
	return 0;
}

static void remove_tree(const char *path)
{
	unsigned depth = 0;

	remove_entry(&depth, AT_FDCWD, path);
}

void lane_remove(const struct job *job)
{
	remove_tree(job->dir);
}

int lane_open(struct job *job, unsigned lane, unsigned serial,
	      enum wire_runner kind, struct err *err)
{
	job->lane = lane;
	job->kind = kind;
	job->serial = serial;
	snprintf(job->dir, sizeof(job->dir), LANE_ROOT "/%u", lane);
	snprintf(job->files.given_at, sizeof(job->files.given_at), "%s/stdin",
		 job->dir);
	remove_tree(job->dir); /* an earlier agent that died may have left it */
	if (mkdir(job->dir, 0755))
		return err_sys(err, -errno, "cannot make %s", job->dir);
	job->files.replace = true;
	return 0;
}

static bool is_step(const struct wire_job *spec)
{
	return wire_mode_is_step(spec->mode);
}

enum wire_runner lane_kind(const struct wire_job *spec, const bool *waits)
{
	enum wire_runner kind;

	/* without a waiting runner, EXEC starts an interpreter sooner */
	if (is_step(spec)) {
		kind = step_kind(spec);
		return waits[kind] ? kind : WIRE_RUN_EXEC;
	}
	return runner_kinds[spec->runner].own_home ? WIRE_RUN_EXEC : spec->runner;
}

/* If text is the path of code.EXT in the home, returns the extension, ".EXT" or "";
 * else NULL. */
static const char *program_ending(const char *text)
{
	static const char path[] = HOME "/" PROGRAM;
	const char *ending = text + strlen(path);

	if (strncmp(text, path, strlen(path)) != 0 || strchr(ending, '/') ||
	    (ending[0] && ending[0] != '.') ||
	    strlen(ending) >= sizeof(((struct files_own *)0)->alias) / 2)
		return NULL;
	return ending;
}

static void own_file(struct files_own *own, const char *name, const char *alias)
{
	snprintf(own->name, sizeof(own->name), "%s", name);
	snprintf(own->alias, sizeof(own->alias), "%s", alias);
}

/* Puts a step's program into the job's directory, under its own name. */
static int own_step(struct job *job, const char *ending)
{
	struct files *f = &job->files;
	char name[sizeof(f->own[0].name)];

	snprintf(name, sizeof(name), PROGRAM "%s", ending);
	own_file(&f->own[0], name, name);
	fd_close(&f->own_dir);
	f->own_dir = open(job->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->own_dir < 0 ? -errno : 0;
}

static int replace_text(const char **text, const char *by)
{
	char *copy = strdup(by);

	if (!copy)
		return -ENOMEM;
	free((void *)(uintptr_t)*text);
	*text = copy;
	return 0;
}

static int own_program(struct job *job, const char *ending)
{
	struct files_own *own = job->files.own;
	struct wire_strings *argv = &job->spec.argv;
	char name[sizeof(own->name)], alias[sizeof(own->alias)];
	char path[sizeof(HOME) + sizeof(alias)];
	int r = 0;

	snprintf(name, sizeof(name), PROGRAM "%s", ending);
	snprintf(alias, sizeof(alias), "." PROGRAM "-%u%s", job->lane, ending);
	own_file(&own[0], name, alias);
	snprintf(path, sizeof(path), HOME "/%s", alias);
	for (uint32_t i = 0; !r && i < argv->count; i++)
		if (program_ending(argv->item[i]))
			r = replace_text(&argv->item[i], path);
	if (job->spec.mode == WIRE_MODE_CALL) {
		snprintf(alias, sizeof(alias), ".input-%u.json", job->lane);
		own_file(&own[1], CALL_INPUT, alias);
	}
	return r;
}

static int own_files(struct job *job)
{
	const struct wire_strings *argv = &job->spec.argv;
	const char *ending = NULL;

	memset(job->files.own, 0, sizeof(job->files.own));
	for (uint32_t i = 0; !ending && i < argv->count; i++)
		ending = program_ending(argv->item[i]);
	if (!ending)
		return 0;
	return job->step.on ? own_step(job, ending) : own_program(job, ending);
}

static int copy_strings(struct wire_strings *to, uint32_t count,
			const char *const *from)
{
	struct wire_strings s = {0, calloc((size_t)count + 1, sizeof(*s.item))};

	for (uint32_t i = 0; s.item && i < count; i++) {
		s.item[i] = strdup(from[i]);
		if (!s.item[i])
			break;
		s.count++;
	}
	if (!s.item || s.count < count) {
		wire_strings_done(&s);
		return -ENOMEM;
	}
	wire_strings_done(to);
	*to = s;
	return 0;
}

/* Changes spec so that the EXEC runner starts the interpreter as its waiting runner is
 * started: with the first two words of that command (the interpreter, its file) and the
 * base variables. */
static int begin_like(struct wire_job *spec, const struct runner_kind *kind)
{
	const struct environment_vars *base = environment_vars();
	int r = copy_strings(&spec->argv, 2, kind->argv);

	spec->runner = WIRE_RUN_EXEC;
	return r ? r : copy_strings(&spec->envp, base->count, base->item);
}

/* Makes the directory of large results, which belong to the job, not to the
 * home. */
static int make_cell_results(const struct job *job)
{
	char path[sizeof(job->dir) + sizeof(CELL_RESULTS) + 1];

	snprintf(path, sizeof(path), "%s/" CELL_RESULTS, job->dir);
	remove_tree(path);
	return mkdir(path, 0755) || chown(path, USER_ID, USER_ID) ? -errno : 0;
}

static int start_runner(struct job *job, struct runner *runner,
			enum wire_runner kind, struct err *err)
{
	auto_buf struct buf cold = {.cap = WIRE_COLD_MAX};
	char group[SHARE_GROUP_ROOM];
	int r;

	if (runner->living || runner->pid || job->again ||
	    runner->control >= 0)
		return 0;
	share_group(job->serial, group);
	runner->fresh = runner_kinds[kind].spare ? &job->spec.envp : NULL;
	r = runner_start(runner, kind, group, err);
	return r || runner->fresh
		       ? r
		 : runner_await(runner,
				sys_now() + READY_MS * 1000000ull, &cold, err);
}

int lane_begin(struct job *job, struct runner *runners, struct err *err)
{
	struct wire_job *spec = &job->spec;
	enum wire_runner kind = job->kind;
	int r = 0;

	if (!job->step.on && runner_kinds[spec->runner].own_home)
		r = begin_like(spec, &runner_kinds[spec->runner]);
	if (!r)
		r = own_files(job);
	if (!r && spec->mode == WIRE_MODE_CELL)
		r = make_cell_results(job);
	if (r)
		return err_sys(err, r, "cannot prepare the job");
	return start_runner(job, &runners[kind], kind, err);
}

int lane_check_cwd(const struct job *job, struct err *err)
{
	const char *cwd = job->spec.cwd;
	auto_close int fd = -1, in = -1;
	int r = 0;

	if (!cwd || !cwd[0])
		return 0;
	setfsgid(USER_ID);
	setfsuid(USER_ID);
	fd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		/* checks the right to search it */
		in = openat(fd, ".", O_PATH | O_CLOEXEC);
	if (in < 0)
		r = -errno;
	setfsuid(0);
	setfsgid(0);
	return r ? err_sys(err, r, "cannot start in the directory %s", cwd) : 0;
}

void lane_clean(struct job *job)
{
	struct files *f = &job->files;
	int at = f->own_dir >= 0 ? f->own_dir : f->home;

	for (size_t i = 0; i < ARRAY_SIZE(f->own); i++)
		if (f->own[i].alias[0])
			unlinkat(at, f->own[i].alias, 0);
	memset(f->own, 0, sizeof(f->own));
	fd_close(&f->own_dir);
}

static int send_cell_results(struct job *job, struct port *port)
{
	struct files shelf = {.home = -1, .fd = -1, .own_dir = -1};
	char path[sizeof(job->dir) + sizeof(CELL_RESULTS) + 1];
	uint8_t none[8] = {0};
	int r;

	snprintf(path, sizeof(path), "%s/" CELL_RESULTS, job->dir);
	if (job->spec.mode == WIRE_MODE_CELL)
		shelf.home = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						O_CLOEXEC);
	if (shelf.home < 0) {
		port_send(port, WIRE_OUTPUT_END, 0, none, sizeof(none));
		return 0;
	}
	r = collect_send(port, &shelf, &job->spec);
	fd_close(&shelf.home);
	remove_tree(path);
	return r;
}

int lane_end(struct job *job, struct port *port)
{
	lane_clean(job);
	return job->spec.output_limit ? send_cell_results(job, port) : 0;
}
