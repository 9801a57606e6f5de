/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of .fsd: names, modes and texts. The directories of environments
 * and of sandboxes have files of their own, control_environment.c and
 * control_sandbox.c. Each text is made when it is read. Owns no state. All
 * functions run on the loop.
 */
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control_environment.h"
#include "control_entry.h"
#include "control_ports.h"
#include "control_sandbox.h"
#include "fsd/files/guest_inode.h"
#include "fsd/handover/handover.h"
#include "fsd/jobs/job.h"
#include "fsd/network/network.h"
#include "fsd/submit/drain.h"
#include "fsd/users/last_error.h"
#include "fsd/users/users.h"
#include "fsd/living/machine_files.h"
#include "fsd/run/disk_space.h"
#include "fsd/sched/sched.h"
#include "security.h"
#include "fsd/living/sandboxes.h"
#include "stats.h"
#include "fsd/jobs/lifecycle.h"

const char fsd_version[] = FSD_VERSION;

/* --- entries ------------------------------------------------------------ */

uint64_t control_files(uint64_t entry)
{
	bool sandbox = ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES &&
		       ENTRY_LANG(entry) == OF_SANDBOX;

	if (sandbox && ENTRY_FIELD(entry) == FIELD_ROOT)
		return ENTRY_SESSION(entry) | GUEST_ROOT;
	return (sandbox || ENTRY_VFILE(entry) == FSD_VFILE_SESSIONS) &&
			       ENTRY_FIELD(entry) == FIELD_FILES
		       ? ENTRY_SESSION(entry)
		       : 0;
}

static const char *const field_names[] = {
	"extensions", "interpreter", "modes",
};

/* Finds a name in sessions/ or below it. */
static int find_session(struct fsd *d, uid_t uid, uint64_t dir,
			const char *name, uint64_t *ret_place)
{
	struct sandbox *s;
	const char *field;

	if (ENTRY_FIELD(dir))
		return -ENOENT;
	if (!ENTRY_SESSION(dir)) {
		s = sandboxes_find(d, uid, name, true);
		if (s)
			*ret_place = dir | sandbox_no(s) << 24;
		return s ? 0 : -ENOENT;
	}
	if (!strcmp(name, CONTROL_FILES)) {
		*ret_place = dir | ENTRY(0, 0, FIELD_FILES);
		return 0;
	}
	if (!strcmp(name, CONTROL_PORTS))
		return control_ports_dir(d, PORT_OF_SANDBOX, ENTRY_SESSION(dir),
					 ret_place);
	for (unsigned i = 0; (field = seat_field_name(i, true)); i++) {
		if (!strcmp(field, name)) {
			*ret_place = dir | ENTRY(0, 0, i + 1);
			return 0;
		}
	}
	return -ENOENT;
}

/* Returns the key of the environment that a directory or file below templates/
 * belongs to. */
static uint64_t environment_of(uint64_t entry)
{
	return ENTRY_VFILE(entry) == FSD_VFILE_TEMPLATES ? ENTRY_SESSION(entry) : 0;
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
			*ret_place = dir | ENTRY(0, 0, i + 1);
			return 0;
		}
	}
	return -ENOENT;
}

/* Returns whether the entry is in lost+found, which only the operator may use. */
static bool is_lost(uint64_t entry)
{
	return ENTRY_VFILE(entry) == FSD_VFILE_LOST && ENTRY_SESSION(entry);
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
		store_lost_each(d->store, on_lost, &wanted);
	*ret_place = FSD_VFILE_LOST | wanted.no << 24;
	return wanted.no ? 0 : -ENOENT;
}

int control_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
	      uint64_t *ret_place)
{
	if (dir == FSD_VFILE_LOST)
		return find_lost(d, uid, name, ret_place);
	if (!dir) {
		*ret_place = fsd_vfile_by_name(name);
		return *ret_place ? 0 : -ENOENT;
	}
	if (ENTRY_VFILE(dir) == FSD_VFILE_SANDBOXES)
		return control_sandbox_find(d, uid, dir, name, ret_place);
	if (ENTRY_VFILE(dir) == FSD_VFILE_PORTS)
		return control_ports_find(d, dir, name, ret_place);
	if (ENTRY_VFILE(dir) == FSD_VFILE_SESSIONS)
		return find_session(d, uid, dir, name, ret_place);
	if (ENTRY_VFILE(dir) != FSD_VFILE_TEMPLATES || ENTRY_FIELD(dir))
		return -ENOENT;
	if (!ENTRY_LANG(dir)) {
		const struct lang *lang = lang_by_name(name);

		if (!lang || environment_of(dir))
			return find_environment(d, uid, dir, name, ret_place);
		*ret_place = ENTRY(FSD_VFILE_TEMPLATES, lang->id + 1, 0);
		return 0;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(field_names); i++) {
		if (!strcmp(field_names[i], name)) {
			*ret_place = dir | ENTRY(0, 0, i + 1);
			return 0;
		}
	}
	return -ENOENT;
}

int control_check(struct fsd *d, uid_t uid, uint64_t entry)
{
	const struct sandbox *s;

	if (is_lost(entry))
		return is_operator(uid) ? 0 : -EACCES;
	if (ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES)
		return control_sandbox_check(d, uid, entry);
	if (ENTRY_VFILE(entry) == FSD_VFILE_PORTS)
		return control_ports_check(d, uid, entry);
	if (environment_of(entry))
		return control_environment_check(d, uid, environment_of(entry));
	if (ENTRY_VFILE(entry) != FSD_VFILE_SESSIONS || !ENTRY_SESSION(entry))
		return 0;
	s = sandboxes_by_no(d, ENTRY_SESSION(entry));
	return !s ? -ESTALE : sandbox_is_for(s, uid) ? 0 : -EACCES;
}

bool control_is_dir(uint64_t entry)
{
	if (!entry || control_files(entry))
		return true;
	if (ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES)
		return control_sandbox_is_dir(entry);
	if (ENTRY_VFILE(entry) == FSD_VFILE_PORTS)
		return control_ports_is_dir(entry);
	return fsd_vfiles[ENTRY_VFILE(entry)].kind == VFILE_DIR &&
	       !ENTRY_FIELD(entry) && !is_lost(entry);
}

bool control_is_fixed(uint64_t entry)
{
	switch (ENTRY_VFILE(entry)) {
	case FSD_VFILE_HEALTH:
	case FSD_VFILE_SECURITY:
	case FSD_VFILE_STATS:
	case FSD_VFILE_NETWORK:
	case FSD_VFILE_LAST_ERROR:
	case FSD_VFILE_SANDBOXES:
	case FSD_VFILE_PORTS:
		return false;
	case FSD_VFILE_TEMPLATES:
		/* environments can be added and removed */
		return ENTRY_LANG(entry);
	default:
		return true;
	}
}

mode_t control_mode(uint64_t entry)
{
	if (ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES)
		return control_sandbox_mode(entry);
	if (ENTRY_VFILE(entry) == FSD_VFILE_PORTS)
		return control_ports_mode(entry);
	if (control_is_dir(entry))
		return S_IFDIR | 0555;
	if (is_lost(entry))
		return S_IFREG | 0400;
	if (ENTRY_FIELD(entry))
		return S_IFREG | 0444;
	return fsd_vfiles[ENTRY_VFILE(entry)].mode;
}

struct lister {
	void (*fn)(void *arg, const char *name, uint64_t entry);
	void *arg;
};

static void list_lost(void *arg, uint64_t no, const char *name)
{
	struct lister *l = arg;

	l->fn(l->arg, name, FSD_VFILE_LOST | no << 24);
}

static void list_session(void *arg, const char *name, uint64_t no)
{
	struct lister *l = arg;

	l->fn(l->arg, name, FSD_VFILE_SESSIONS | no << 24);
}

static void list_environment(void *arg, const char *name, uint64_t key)
{
	struct lister *l = arg;

	l->fn(l->arg, name, FSD_VFILE_TEMPLATES | key << 24);
}

static void list_templates(struct fsd *d, uid_t uid, uint64_t dir,
			   struct lister *l)
{
	const char *field;

	for (unsigned i = 0; environment_of(dir) &&
			     (field = control_environment_field(i)); i++)
		l->fn(l->arg, field, dir | ENTRY(0, 0, i + 1));
	if (environment_of(dir))
		return;
	for (unsigned i = 0; dir == FSD_VFILE_TEMPLATES && i < LANG_MAX; i++)
		l->fn(l->arg, langs[i].name, ENTRY(dir, i + 1, 0));
	if (dir == FSD_VFILE_TEMPLATES)
		control_environments(d, uid, list_environment, l);
	else
		for (unsigned i = 0; i < ARRAY_SIZE(field_names); i++)
			l->fn(l->arg, field_names[i], dir | ENTRY(0, 0, i + 1));
}

static void list_sessions(struct fsd *d, uid_t uid, uint64_t dir,
			  struct lister *l)
{
	const char *field;

	if (!ENTRY_SESSION(dir))
		sandboxes_list(d, uid, true, list_session, l);
	for (unsigned i = 0; ENTRY_SESSION(dir) &&
			     (field = seat_field_name(i, true)); i++)
		l->fn(l->arg, field, dir | ENTRY(0, 0, i + 1));
	if (ENTRY_SESSION(dir))
		l->fn(l->arg, CONTROL_FILES, dir | ENTRY(0, 0, FIELD_FILES));
}

struct sandbox *control_session(struct fsd *d, uint64_t entry)
{
	if (ENTRY_VFILE(entry) != FSD_VFILE_SESSIONS || ENTRY_FIELD(entry))
		return NULL;
	return sandboxes_by_no(d, ENTRY_SESSION(entry));
}

void control_list(struct fsd *d, uid_t uid, uint64_t dir,
	       void (*fn)(void *arg, const char *name, uint64_t entry),
	       void *arg)
{
	if (ENTRY_VFILE(dir) == FSD_VFILE_SANDBOXES) {
		control_sandbox_list(d, uid, dir, fn, arg);
	} else if (ENTRY_VFILE(dir) == FSD_VFILE_PORTS) {
		control_ports_list(d, dir, fn, arg);
	} else if (ENTRY_VFILE(dir) == FSD_VFILE_SESSIONS) {
		list_sessions(d, uid, dir, &(struct lister){ fn, arg });
	} else if (dir == FSD_VFILE_LOST && is_operator(uid)) {
		store_lost_each(d->store, list_lost,
				&(struct lister){ fn, arg });
	} else if (!dir) {
		for (unsigned i = 1; i < FSD_VFILE_MAX; i++)
			if (fsd_vfiles[i].listed)
				fn(arg, fsd_vfiles[i].name, i);
	} else if (ENTRY_VFILE(dir) == FSD_VFILE_TEMPLATES) {
		list_templates(d, uid, dir, &(struct lister){ fn, arg });
	}
}

/* --- texts ----------------------------------------------------------------------- */

static const char readme_start[] =
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
	"Programs:";

static const char readme_rest[] =
	", or code\nwith a #! line.\n"
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

static void text_readme(struct buf *out)
{
	buf_str(out, readme_start);
	for (size_t i = 0; lang_endings[i]; i++)
		buf_fmt(out, " code%s", lang_endings[i]);
	buf_str(out, readme_rest);
}

/* Appends that sandboxes and sessions keep all machines or processors. "busy": an idle
 * machine of another user can be ended for uid; "full": none can. Return: whether they
 * do. */
static bool text_kept(struct fsd *d, uid_t uid, struct buf *out)
{
	struct sched_kept kept;

	sched_kept(d->sched, uid, &kept);
	if (!kept.all)
		return false;
	buf_fmt(out, "%s: sandboxes and sessions keep all %s: %u machines, of "
		"which %u are yours and %u in use; ", kept.turn ? "busy" : "full",
		kept.all, kept.machines, kept.own, kept_machines_in_use(d));
	buf_str(out, kept.turn
		? "a new job waits until one that is idle gives way to it\n"
		: "a new job waits until one ends (rmdir .fsd/sandboxes/NAME "
		  "ends one)\n");
	return true;
}

static void text_health(struct fsd *d, uid_t uid, struct buf *out)
{
	const char *room = disk_space_problem(d);
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

/* Adds to the figures a number that says whether jobs can run: an alert cannot read the
 * sentence of .fsd/health. */
static void text_stats(struct fsd *d, uid_t uid, struct buf *out)
{
	auto_buf struct buf health = { 0 };

	text_health(d, uid, &health);
	stats_text(d, uid, is_operator(uid), !health.failed && health_is_ok(health.data),
		   out);
}

static void text_last_error(struct fsd *d, uid_t uid, struct buf *out)
{
	const char *text = last_error_text(d->users, uid);

	if (text)
		buf_fmt(out, "%s\n", text);
}

static void text_field(uint64_t entry, struct buf *out)
{
	const struct lang *lang = &langs[ENTRY_LANG(entry) - 1];

	switch (ENTRY_FIELD(entry)) {
	case 1: /* without the leading and trailing blank */
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

int control_text(struct fsd *d, uint64_t entry, uid_t uid, struct buf *out)
{
	if (ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES)
		return control_sandbox_text(d, entry, out);
	if (ENTRY_VFILE(entry) == FSD_VFILE_PORTS)
		return 0;
	if (ENTRY_VFILE(entry) == FSD_VFILE_SESSIONS) {
		const struct sandbox *s =
			sandboxes_by_no(d, ENTRY_SESSION(entry));
		const struct seat *t = s ? sandbox_seat(s) : NULL;

		return t ? seat_field(t, ENTRY_FIELD(entry) - 1, out) : -ESTALE;
	}
	if (is_lost(entry))
		return store_lost_text(d->store, ENTRY_SESSION(entry), out);
	if (environment_of(entry))
		return control_environment_text(d, environment_of(entry),
					     ENTRY_FIELD(entry) - 1, out);
	if (ENTRY_FIELD(entry)) {
		text_field(entry, out);
		return out->failed;
	}
	switch (ENTRY_VFILE(entry)) {
	case FSD_VFILE_README:
		text_readme(out);
		break;
	case FSD_VFILE_VERSION:
		buf_fmt(out, "%s\n", fsd_version);
		break;
	case FSD_VFILE_HEALTH:
		text_health(d, uid, out);
		break;
	case FSD_VFILE_SECURITY:
		security_text(d, out);
		break;
	case FSD_VFILE_STATS:
		text_stats(d, uid, out);
		break;
	case FSD_VFILE_NETWORK:
		network_show(d->network, uid, out);
		break;
	case FSD_VFILE_LAST_ERROR:
		text_last_error(d, uid, out);
		break;
	default: /* ctl reads as empty; a directory has no text */
		break;
	}
	return out->failed;
}

struct times_record {
	uint32_t live;
	uint64_t started_ns, health_ns; /* times of the mount, CLOCK_REALTIME */
};

static HANDOVER_TABLE(times_records, "times", 1, struct times_record, 1);

static struct times_record *times_of(const struct fsd *d)
{
	return handover_fact(d->handover, &times_records);
}

void control_take_over(struct fsd *d)
{
	struct times_record *k = times_of(d);

	if (k->live)
		users_began(d->users, k->started_ns, k->health_ns);
	k->started_ns = users_started_ns(d->users);
	handover_publish(&k->live);
}

int control_ctl(struct fsd *d, const char *data, size_t len, struct err *err)
{
	struct ctl_command cmd;
	int r = ctl_parse(data, len, true, &cmd, err);

	if (r < 0)
		return r;
	if (cmd.verb == CTL_RELOAD_NETWORK)
		return network_reload(d->network, err);
	if (cmd.verb == CTL_DRAIN)
		drain_begin(d);
	else
		drain_end(d);
	times_of(d)->health_ns = users_health_changed(d->users);
	return 0;
}
