/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of .fsd: their names, modes and texts. Directories of environments and of
 * sandboxes have files of their own, control_environment.c and control_sandbox.c. Each text is
 * made when it is read.
 */
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control_environment.h"
#include "control_place.h"
#include "control_sandbox.h"
#include "fsd/files/remote.h"
#include "fsd/handover/inherit.h"
#include "fsd/jobs/job.h"
#include "fsd/submit/drain.h"
#include "fsd/users/last_error.h"
#include "fsd/users/people.h"
#include "fsd/living/homes.h"
#include "fsd/run/room.h"
#include "fsd/sched/sched.h"
#include "security.h"
#include "fsd/living/sandboxes.h"
#include "stats.h"
#include "fsd/jobs/lifecycle.h"

const char fsd_version[] = FSD_VERSION;

/* --- places ------------------------------------------------------------------ */

uint64_t control_files(uint64_t place)
{
	bool sandbox = PLACE_ROW(place) == FSD_ROW_SANDBOXES &&
		       PLACE_LANG(place) == OF_SANDBOX;

	if (sandbox && PLACE_FIELD(place) == FIELD_ROOT)
		return PLACE_SESSION(place) | REMOTE_ROOT;
	return (sandbox || PLACE_ROW(place) == FSD_ROW_SESSIONS) &&
			       PLACE_FIELD(place) == FIELD_FILES
		       ? PLACE_SESSION(place)
		       : 0;
}

static const char *const field_names[] = {
	"extensions", "interpreter", "modes",
};

/* In sessions/ or below it. */
static int find_session(struct fsd *d, uid_t uid, uint64_t dir,
			const char *name, uint64_t *ret_place)
{
	struct sandbox *s;
	const char *field;

	if (PLACE_FIELD(dir))
		return -ENOENT;
	if (!PLACE_SESSION(dir)) {
		s = sandboxes_find(d, uid, name, true);
		if (s)
			*ret_place = dir | sandbox_no(s) << 24;
		return s ? 0 : -ENOENT;
	}
	if (!strcmp(name, CONTROL_FILES)) {
		*ret_place = dir | PLACE(0, 0, FIELD_FILES);
		return 0;
	}
	for (unsigned i = 0; (field = seat_field_name(i, true)); i++) {
		if (!strcmp(field, name)) {
			*ret_place = dir | PLACE(0, 0, i + 1);
			return 0;
		}
	}
	return -ENOENT;
}

/* Below templates/: the directory of an environment, or what is in it. */
static uint64_t environment_of(uint64_t place)
{
	return PLACE_ROW(place) == FSD_ROW_TEMPLATES ? PLACE_SESSION(place) : 0;
}

static int find_environment(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
			    uint64_t *ret_place)
{
	const char *field;
	uint64_t key;

	if (!environment_of(dir)) {
		key = control_environment(d, uid, name);
		*ret_place = dir | key << 24;
		return key ? 0 : -ENOENT;
	}
	for (unsigned i = 0; (field = control_environment_field(i)); i++) {
		if (!strcmp(field, name)) {
			*ret_place = dir | PLACE(0, 0, i + 1);
			return 0;
		}
	}
	return -ENOENT;
}

/* An entry of lost+found, which is the operator's alone. */
static bool is_lost(uint64_t place)
{
	return PLACE_ROW(place) == FSD_ROW_LOST && PLACE_SESSION(place);
}

struct lost_name {
	const char *name;
	uint64_t no; /* 0: not found */
};

static void on_lost(void *arg, uint64_t no, const char *name)
{
	struct lost_name *wanted = arg;

	if (!strcmp(name, wanted->name))
		wanted->no = no;
}

static int find_lost(struct fsd *d, uid_t uid, const char *name,
		     uint64_t *ret_place)
{
	struct lost_name wanted = { .name = name };

	if (is_operator(uid))
		depot_lost_each(d->depot, on_lost, &wanted);
	*ret_place = FSD_ROW_LOST | wanted.no << 24;
	return wanted.no ? 0 : -ENOENT;
}

int control_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
	      uint64_t *ret_place)
{
	if (dir == FSD_ROW_LOST)
		return find_lost(d, uid, name, ret_place);
	if (!dir) {
		*ret_place = fsd_row_by_name(name);
		return *ret_place ? 0 : -ENOENT;
	}
	if (PLACE_ROW(dir) == FSD_ROW_SANDBOXES)
		return control_sandbox_find(d, uid, dir, name, ret_place);
	if (PLACE_ROW(dir) == FSD_ROW_SESSIONS)
		return find_session(d, uid, dir, name, ret_place);
	if (PLACE_ROW(dir) != FSD_ROW_TEMPLATES || PLACE_FIELD(dir))
		return -ENOENT;
	if (!PLACE_LANG(dir)) {
		const struct lang *lang = lang_by_name(name);

		if (!lang || environment_of(dir))
			return find_environment(d, uid, dir, name, ret_place);
		*ret_place = PLACE(FSD_ROW_TEMPLATES, lang->id + 1, 0);
		return 0;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(field_names); i++) {
		if (!strcmp(field_names[i], name)) {
			*ret_place = dir | PLACE(0, 0, i + 1);
			return 0;
		}
	}
	return -ENOENT;
}

int control_check(struct fsd *d, uid_t uid, uint64_t place)
{
	const struct sandbox *s;

	if (is_lost(place))
		return is_operator(uid) ? 0 : -EACCES;
	if (PLACE_ROW(place) == FSD_ROW_SANDBOXES)
		return control_sandbox_check(d, uid, place);
	if (environment_of(place))
		return control_environment_check(d, uid, environment_of(place));
	if (PLACE_ROW(place) != FSD_ROW_SESSIONS || !PLACE_SESSION(place))
		return 0;
	s = sandboxes_by_no(d, PLACE_SESSION(place));
	return !s ? -ESTALE : sandbox_is_for(s, uid) ? 0 : -EACCES;
}

bool control_is_dir(uint64_t place)
{
	if (!place || control_files(place))
		return true;
	if (PLACE_ROW(place) == FSD_ROW_SANDBOXES)
		return control_sandbox_is_dir(place);
	return fsd_rows[PLACE_ROW(place)].kind == ROW_DIR &&
	       !PLACE_FIELD(place) && !is_lost(place);
}

bool control_is_fixed(uint64_t place)
{
	switch (PLACE_ROW(place)) {
	case FSD_ROW_HEALTH:
	case FSD_ROW_SECURITY:
	case FSD_ROW_STATS:
	case FSD_ROW_LAST_ERROR:
	case FSD_ROW_SANDBOXES:
		return false;
	case FSD_ROW_TEMPLATES:
		return PLACE_LANG(place); /* environments come and go */
	default:
		return true;
	}
}

mode_t control_mode(uint64_t place)
{
	if (PLACE_ROW(place) == FSD_ROW_SANDBOXES)
		return control_sandbox_mode(place);
	if (control_is_dir(place))
		return S_IFDIR | 0555;
	if (is_lost(place))
		return S_IFREG | 0400;
	if (PLACE_FIELD(place))
		return S_IFREG | 0444;
	return fsd_rows[PLACE_ROW(place)].mode;
}

struct lister {
	void (*fn)(void *arg, const char *name, uint64_t place);
	void *arg;
};

static void list_lost(void *arg, uint64_t no, const char *name)
{
	struct lister *l = arg;

	l->fn(l->arg, name, FSD_ROW_LOST | no << 24);
}

static void list_session(void *arg, const char *name, uint64_t no)
{
	struct lister *l = arg;

	l->fn(l->arg, name, FSD_ROW_SESSIONS | no << 24);
}

static void list_environment(void *arg, const char *name, uint64_t key)
{
	struct lister *l = arg;

	l->fn(l->arg, name, FSD_ROW_TEMPLATES | key << 24);
}

static void list_templates(struct fsd *d, uid_t uid, uint64_t dir,
			   struct lister *l)
{
	const char *field;

	for (unsigned i = 0; environment_of(dir) &&
			     (field = control_environment_field(i)); i++)
		l->fn(l->arg, field, dir | PLACE(0, 0, i + 1));
	if (environment_of(dir))
		return;
	for (unsigned i = 0; dir == FSD_ROW_TEMPLATES && i < LANG_MAX; i++)
		l->fn(l->arg, langs[i].name, PLACE(dir, i + 1, 0));
	if (dir == FSD_ROW_TEMPLATES)
		control_environments(d, uid, list_environment, l);
	else
		for (unsigned i = 0; i < ARRAY_SIZE(field_names); i++)
			l->fn(l->arg, field_names[i], dir | PLACE(0, 0, i + 1));
}

static void list_sessions(struct fsd *d, uid_t uid, uint64_t dir,
			  struct lister *l)
{
	const char *field;

	if (!PLACE_SESSION(dir))
		sandboxes_list(d, uid, true, list_session, l);
	for (unsigned i = 0; PLACE_SESSION(dir) &&
			     (field = seat_field_name(i, true)); i++)
		l->fn(l->arg, field, dir | PLACE(0, 0, i + 1));
	if (PLACE_SESSION(dir))
		l->fn(l->arg, CONTROL_FILES, dir | PLACE(0, 0, FIELD_FILES));
}

struct sandbox *control_session(struct fsd *d, uint64_t place)
{
	if (PLACE_ROW(place) != FSD_ROW_SESSIONS || PLACE_FIELD(place))
		return NULL;
	return sandboxes_by_no(d, PLACE_SESSION(place));
}

void control_list(struct fsd *d, uid_t uid, uint64_t dir,
	       void (*fn)(void *arg, const char *name, uint64_t place),
	       void *arg)
{
	if (PLACE_ROW(dir) == FSD_ROW_SANDBOXES) {
		control_sandbox_list(d, uid, dir, fn, arg);
	} else if (PLACE_ROW(dir) == FSD_ROW_SESSIONS) {
		list_sessions(d, uid, dir, &(struct lister){ fn, arg });
	} else if (dir == FSD_ROW_LOST && is_operator(uid)) {
		depot_lost_each(d->depot, list_lost,
				&(struct lister){ fn, arg });
	} else if (!dir) {
		for (unsigned i = 1; i < FSD_ROW_MAX; i++)
			fn(arg, fsd_rows[i].name, i);
	} else if (PLACE_ROW(dir) == FSD_ROW_TEMPLATES) {
		list_templates(d, uid, dir, &(struct lister){ fn, arg });
	}
}

/* --- texts ----------------------------------------------------------------------- */

static const char readme[] =
	"fsd runs programs that you write as files, each in a virtual machine "
	"of its own.\n"
	"\n"
	"    mkdir hello                        # a job; its name is yours\n"
	"    cp program.py hello/code.py        # exactly one code.* file\n"
	"    echo '{}' > hello/config.json      # this starts it\n"
	"    cat hello/wait                     # blocks; prints the exit code\n"
	"    cat hello/stdout hello/stderr      # grow while it runs\n"
	"    ls hello/output                    # files that it made or changed\n"
	"    cat hello/result.json              # everything about the run\n"
	"    rm -r hello                        # kills it if it still runs\n"
	"\n"
	"Programs: code.py code.js code.mjs code.cjs code.ts code.mts code.sh, "
	"or code\nwith a #! line.\n"
	"Other files in the job's directory are copied into the program's "
	"working\ndirectory; the file stdin is its standard input.\n"
	"config.json: {} or keys such as\n"
	"    \"args\": [\"a\"], \"env\": {\"K\": \"v\"}, \"timeout\": 30, "
	"\"memory_mb\": 256,\n"
	"    \"inputs\": [\"data.csv\"] (wait for these files), \"start\": "
	"\"manual\",\n"
	"    \"mode\": \"call\", \"call\": \"main\", \"input\": {...} (what it "
	"returns is the\n"
	"    value in result.json), \"mode\": \"cell\" (its last value is), "
	"\"session\": \"s\"\n"
	"    (the next job with it finds what this one has left).\n"
	"A name that begins with \".\" is being prepared and never starts; "
	"rename it\nto submit everything at once.\n"
	"state is draft, queued, running, done or refused; error says why it "
	"was refused.\n"
	"exit_code appears last: when it exists, everything is final. 124 is a "
	"timeout,\n"
	"137 killed (memory or by you), 125 a fault of this appliance.\n"
	"ctl takes start, interrupt (Ctrl-C), kill, signal NAME.\n"
	"To run again: write config.json again.\n"
	"stdout.follow, stderr.follow, events (JSON lines: all that happens) "
	"and wait\nblock until there is more; they are not listed, so grep -r "
	"never hangs.\n"
	".fsd/health says whether jobs can run, .fsd/last_error why your last "
	"write\nfailed, .fsd/templates what can be run, .fsd/sessions which "
	"sessions live\n(rmdir ends one), .fsd/sandboxes machines that jobs "
	"share (mkdir makes\none). More: man jobtree.\n";

/* Sandboxes and sessions keep all of something. "busy" is told to whom a machine of
 * another user comes when it is idle, "full" to whom none does. */
static bool text_kept(struct fsd *d, uid_t uid, struct buf *out)
{
	struct sched_kept kept;

	sched_kept(d->sched, uid, &kept);
	if (!kept.all)
		return false;
	buf_fmt(out, "%s: sandboxes and sessions keep all %s: %u machines, of "
		"which %u are yours and %u in use; ", kept.turn ? "busy" : "full",
		kept.all, kept.machines, kept.own, kept_in_use(d));
	buf_str(out, kept.turn
		? "a new job waits until one that is idle gives way to it\n"
		: "a new job waits until one ends (rmdir .fsd/sandboxes/NAME "
		  "ends one)\n");
	return true;
}

static void text_health(struct fsd *d, uid_t uid, struct buf *out)
{
	const char *room = room_problem(d);
	struct err err = { 0 };
	bool well = vm_health(d->vm, &err) == 0;

	if (lifecycle_is_draining(d->lifecycle))
		buf_str(out, "draining: no new job starts; write resume to "
			     ".fsd/ctl\n");
	else if (room)
		buf_fmt(out, "%s\n", room);
	else if (!well || !text_kept(d, uid, out))
		buf_fmt(out, "%s\n", err.text);
}

static void text_last_error(struct fsd *d, uid_t uid, struct buf *out)
{
	const char *text = last_error_text(d->users, uid);

	if (text)
		buf_fmt(out, "%s\n", text);
}

static void text_field(uint64_t place, struct buf *out)
{
	const struct lang *lang = &langs[PLACE_LANG(place) - 1];

	switch (PLACE_FIELD(place)) {
	case 1: /* without the blanks around it */
		buf_fmt(out, "%.*s\n", (int)strlen(lang->extensions) - 2,
			lang->extensions + 1);
		break;
	case 2:
		buf_fmt(out, "%s\n", lang->interpreter);
		break;
	default:
		buf_fmt(out, "script%s cell\n", lang->callable ? " call" : "");
	}
}

int control_text(struct fsd *d, uint64_t place, uid_t uid, struct buf *out)
{
	if (PLACE_ROW(place) == FSD_ROW_SANDBOXES)
		return control_sandbox_text(d, place, out);
	if (PLACE_ROW(place) == FSD_ROW_SESSIONS) {
		const struct sandbox *s =
			sandboxes_by_no(d, PLACE_SESSION(place));
		const struct seat *t = s ? sandbox_seat(s) : NULL;

		return t ? seat_field(t, PLACE_FIELD(place) - 1, out) : -ESTALE;
	}
	if (is_lost(place))
		return depot_lost_text(d->depot, PLACE_SESSION(place), out);
	if (environment_of(place))
		return control_environment_text(d, environment_of(place),
					     PLACE_FIELD(place) - 1, out);
	if (PLACE_FIELD(place)) {
		text_field(place, out);
		return out->failed;
	}
	switch (PLACE_ROW(place)) {
	case FSD_ROW_README:
		buf_str(out, readme);
		break;
	case FSD_ROW_VERSION:
		buf_fmt(out, "%s\n", fsd_version);
		break;
	case FSD_ROW_HEALTH:
		text_health(d, uid, out);
		break;
	case FSD_ROW_SECURITY:
		security_text(d, out);
		break;
	case FSD_ROW_STATS:
		stats_text(d, uid, is_operator(uid), out);
		break;
	case FSD_ROW_LAST_ERROR:
		text_last_error(d, uid, out);
		break;
	default: /* ctl reads as empty; directories are not read */
		break;
	}
	return out->failed;
}

int control_ctl(struct fsd *d, const char *data, size_t len, struct err *err)
{
	struct ctl_command cmd;
	int r = ctl_parse(data, len, true, &cmd, err);

	if (r < 0)
		return r;
	if (cmd.verb == CTL_DRAIN)
		drain_begin(d);
	else
		drain_end(d);
	inherit_head(d->inherit)->health_ns = users_health_changed(d->users);
	return 0;
}
