/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries below .fsd/sandboxes: finds the sandbox, session or file of a
 * number, and makes its text. Owns no state. All functions run on the loop.
 */
#include "control_sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "control.h"
#include "control_entry.h"
#include "control_ports.h"
#include "fsd/living/sandboxes.h"

static const struct {
	const char *name;
	unsigned field;
	mode_t mode;
	int (*show)(const struct sandbox *s, struct buf *out);
} rows[] = {
	{ "config.json", FIELD_CONFIG, S_IFREG | 0600, sandbox_show_config },
	{ "state", FIELD_STATE, S_IFREG | 0400, sandbox_show_state },
	{ "error", FIELD_ERROR, S_IFREG | 0400, sandbox_show_error },
	{ "ctl", FIELD_CTL, S_IFREG | 0200, NULL },
	{ "until", FIELD_UNTIL, S_IFREG | 0600, sandbox_show_until },
	{ "processes", FIELD_PROCESSES, S_IFREG | 0400, NULL },
	{ "network", FIELD_NETWORK, S_IFREG | 0400, sandbox_show_network },
	{ "hold", FIELD_HOLD, S_IFREG | 0600, NULL },
	{ "sessions", FIELD_SESSIONS, S_IFDIR | 0700, NULL },
	{ CONTROL_FILES, FIELD_FILES, S_IFDIR | 0700, NULL },
	{ CONTROL_ROOT, FIELD_ROOT, S_IFDIR | 0700, NULL },
};

static uint64_t entry_of(unsigned what, unsigned field, uint64_t no)
{
	return ENTRY(FSD_VFILE_SANDBOXES, what, field) | no << 24;
}

static bool is_top(uint64_t entry)
{
	return !ENTRY_SESSION(entry);
}

/* --- from numbers to things --------------------------------------------- */

struct seat *control_sandbox_session(struct fsd *d, uint64_t entry)
{
	return ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES &&
			       ENTRY_LANG(entry) == OF_SESSION
		       ? sandbox_session_by_no(d, ENTRY_SESSION(entry)) : NULL;
}

struct sandbox_file *control_sandbox_file(struct fsd *d, uint64_t entry)
{
	return ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES &&
			       ENTRY_LANG(entry) == OF_FILE
		       ? sandbox_file_by_no(d, ENTRY_SESSION(entry)) : NULL;
}

struct sandbox *control_sandbox(struct fsd *d, uint64_t entry)
{
	const struct seat *t = control_sandbox_session(d, entry);
	const struct sandbox_file *f = control_sandbox_file(d, entry);

	if (ENTRY_VFILE(entry) != FSD_VFILE_SANDBOXES)
		return NULL;
	if (ENTRY_LANG(entry) == OF_SANDBOX)
		return sandboxes_by_no(d, ENTRY_SESSION(entry));
	return t ? seat_sandbox(t) : f ? f->sandbox : NULL;
}

struct sandbox *control_sandbox_at(struct fsd *d, uint64_t entry)
{
	return ENTRY_LANG(entry) == OF_SANDBOX && !ENTRY_FIELD(entry)
		       ? control_sandbox(d, entry) : NULL;
}

struct sandbox *control_sandbox_held(struct fsd *d, uint64_t entry)
{
	return ENTRY_VFILE(entry) == FSD_VFILE_SANDBOXES &&
			       ENTRY_LANG(entry) == OF_SANDBOX &&
			       ENTRY_FIELD(entry) == FIELD_HOLD
		       ? control_sandbox(d, entry) : NULL;
}

uint64_t control_sandbox_entry(const struct sandbox *s)
{
	return entry_of(OF_SANDBOX, 0, sandbox_no(s));
}

uint64_t control_sandbox_file_entry(const struct sandbox_file *f)
{
	return entry_of(OF_FILE, 0, f->no);
}

int control_sandbox_check(struct fsd *d, uid_t uid, uint64_t entry)
{
	const struct sandbox *s = control_sandbox(d, entry);

	if (is_top(entry))
		return 0;
	return !s ? -ESTALE : sandbox_is_for(s, uid) ? 0 : -EACCES;
}

bool control_sandbox_is_dir(uint64_t entry)
{
	return S_ISDIR(control_sandbox_mode(entry));
}

mode_t control_sandbox_mode(uint64_t entry)
{
	if (is_top(entry))
		return fsd_vfiles[FSD_VFILE_SANDBOXES].mode;
	if (ENTRY_LANG(entry) == OF_FILE)
		return S_IFREG | 0600;
	if (ENTRY_LANG(entry) == OF_SESSION)
		return ENTRY_FIELD(entry) ? S_IFREG | 0400 : S_IFDIR | 0700;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].field == ENTRY_FIELD(entry))
			return rows[i].mode;
	return S_IFDIR | 0700;
}

/* --- finding --------------------------------------------------------------------- */

static int find_in_sandbox(const struct fsd *d, struct sandbox *s, const char *name,
			   uint64_t *ret)
{
	const struct sandbox_file *f = sandbox_file_find(s, name);

	if (!strcmp(name, CONTROL_PORTS) &&
	    control_ports_dir(d, PORT_OF_SANDBOX, sandbox_no(s), ret) == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		*ret = entry_of(OF_SANDBOX, rows[i].field, sandbox_no(s));
		return 0;
	}
	if (f)
		*ret = control_sandbox_file_entry(f);
	return f ? 0 : -ENOENT;
}

/* Finds the number of the session with that name. */
struct wanted {
	const char *name;
	uint64_t no;
};

static void on_session(void *arg, const char *name, uint64_t no)
{
	struct wanted *w = arg;

	if (!strcmp(name, w->name))
		w->no = no;
}

static int find_session(struct sandbox *s, const char *name, uint64_t *ret)
{
	struct wanted w = { .name = name };

	sandbox_sessions_list(s, on_session, &w);
	*ret = entry_of(OF_SESSION, 0, w.no);
	return w.no ? 0 : -ENOENT;
}

static int find_in_session(uint64_t dir, const char *name, uint64_t *ret)
{
	const char *field;

	for (unsigned i = 0; (field = seat_field_name(i, false)); i++) {
		if (strcmp(field, name) != 0)
			continue;
		*ret = dir | ENTRY(0, 0, i + 1);
		return 0;
	}
	return -ENOENT;
}

int control_sandbox_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
		      uint64_t *ret_place)
{
	struct sandbox *s = is_top(dir) ? sandboxes_find(d, uid, name, false)
					: control_sandbox(d, dir);

	if (!s)
		return is_top(dir) ? -ENOENT : -ESTALE;
	if (is_top(dir)) {
		*ret_place = control_sandbox_entry(s);
		return 0;
	}
	if (ENTRY_LANG(dir) == OF_SESSION && !ENTRY_FIELD(dir))
		return find_in_session(dir, name, ret_place);
	if (ENTRY_LANG(dir) != OF_SANDBOX)
		return -ENOENT;
	if (ENTRY_FIELD(dir) == FIELD_SESSIONS)
		return find_session(s, name, ret_place);
	return ENTRY_FIELD(dir) ? -ENOENT : find_in_sandbox(d, s, name, ret_place);
}

/* --- listing ---------------------------------------------------------------------- */

struct lister {
	void (*fn)(void *arg, const char *name, uint64_t entry);
	void *arg;
	unsigned what;
};

static void list_no(void *arg, const char *name, uint64_t no)
{
	struct lister *l = arg;

	l->fn(l->arg, name, entry_of(l->what, 0, no));
}

static void list_sandbox(struct sandbox *s, struct lister *l)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].field != FIELD_HOLD)
			l->fn(l->arg, rows[i].name,
			      entry_of(OF_SANDBOX, rows[i].field,
				       sandbox_no(s)));
	l->what = OF_FILE;
	sandbox_files_list(s, list_no, l);
}

static void list_session(uint64_t dir, struct lister *l)
{
	const char *field;

	for (unsigned i = 0; (field = seat_field_name(i, false)); i++)
		l->fn(l->arg, field, dir | ENTRY(0, 0, i + 1));
}

void control_sandbox_list(struct fsd *d, uid_t uid, uint64_t dir,
		       void (*fn)(void *arg, const char *name, uint64_t entry),
		       void *arg)
{
	struct lister l = { fn, arg, OF_SANDBOX };
	struct sandbox *s = control_sandbox(d, dir);

	if (is_top(dir)) {
		sandboxes_list(d, uid, false, list_no, &l);
	} else if (s && ENTRY_LANG(dir) == OF_SESSION) {
		list_session(dir, &l);
	} else if (s && ENTRY_FIELD(dir) == FIELD_SESSIONS) {
		l.what = OF_SESSION;
		sandbox_sessions_list(s, list_no, &l);
	} else if (s && !ENTRY_FIELD(dir)) {
		list_sandbox(s, &l);
	}
}

/* --- texts -------------------------------------------------------------------------- */

int control_sandbox_text(struct fsd *d, uint64_t entry, struct buf *out)
{
	const struct sandbox *s = control_sandbox(d, entry);
	const struct sandbox_file *f = control_sandbox_file(d, entry);
	const struct seat *t = control_sandbox_session(d, entry);

	if (!s)
		return -ESTALE;
	if (t)
		return seat_field(t, ENTRY_FIELD(entry) - 1, out);
	if (f)
		return f->text.len ? buf_add(out, f->text.data, f->text.len)
				   : 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].field == ENTRY_FIELD(entry) && rows[i].show)
			return rows[i].show(s, out);
	/* processes: the text comes from the machine, which is not asked for a
	 * size */
	return 0;
}
