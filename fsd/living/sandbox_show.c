/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in a sandbox's directory: their texts (state, until, error, processes),
 * writes to config.json and until, files that an editor renames to config.json, the
 * directory of sessions. It also counts the open files `hold`. All functions run on the
 * loop or in a fiber; only sandbox_show_processes() waits.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fsd/base/fiber.h"
#include "fsd/jobs/environments.h"
#include "fsd/run/run_network.h"
#include "fsd/users/users.h"
#include "fsd/users/seen_name.h"

/* --- open files `hold` -------------------------------------------------------------- */

void sandbox_hold(struct sandbox *s)
{
	s->held = true;
	sandbox_keep(s);
}

void sandbox_held_more(struct sandbox *s)
{
	s->holders++;
}

void sandbox_held_less(struct sandbox *s)
{
	if (--s->holders || !s->held)
		return;
	log_debug("sandbox %s: nobody holds it any more", s->name);
	sandbox_end(s);
}

/* --- config.json ------------------------------------------------------------------ */

/* a and b may be NULL. */
static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Return: the first key that differs and that cannot change once the machine has begun;
 * or NULL. */
static const char *frozen_key(const struct job_config *a,
			      const struct job_config *b)
{
	if (!same_text(a->environment, b->environment))
		return "environment";
	if (!packages_equal(&a->packages, &b->packages))
		return "packages";
	if (a->memory_mb != b->memory_mb)
		return "memory_mb";
	if (a->cpus != b->cpus)
		return "cpus";
	return a->processes != b->processes ? "processes" : NULL;
}

/* Return: the key ("network" or "ports") that c has and the running machine lacks; such a
 * key cannot be added after the machine has begun. NULL: there is none. */
static const char *added_key(const struct sandbox *s, const struct job_config *c)
{
	const struct job_config *own = &s->config.machine;

	if (s->stage == STAGE_NEW)
		return NULL;
	if (c->network_text && !own->network_text)
		return "network";
	return config_has_ports(&c->ports) && !config_has_ports(&own->ports) ? "ports" : NULL;
}

static int parse(const struct sandbox *s, const char *text, size_t len,
		 struct sandbox_config *ret, struct err *err)
{
	const char *frozen, *added;
	int r = sandbox_config_parse(text, len, &s->d->options->limits, ret,
				     err);

	if (r < 0)
		return r;
	r = environments_check(s->d, s->uid, &ret->machine, err);
	if (r == 0)
		r = run_check_network(s->d, s->uid, &ret->machine, err);
	frozen = r == 0 && s->stage != STAGE_NEW
			 ? frozen_key(&s->config.machine, &ret->machine)
			 : NULL;
	if (frozen)
		r = err_set(err, -EBUSY,
			    "config.json: \"%s\" cannot be changed, since the "
			    "machine has begun; \"env\", \"idle\", \"life\", "
			    "\"at_end\", \"pause_life\", \"network\", \"ports\" and \"meta\" "
			    "can", frozen);
	added = r == 0 ? added_key(s, &ret->machine) : NULL;
	if (added)
		r = err_set(err, -EBUSY,
			    "config.json: \"%s\" cannot be added, since the machine "
			    "has begun without; %s can be widened", added,
			    *added == 'n' ? "\"network\": []" : "a list of one port");
	if (r < 0)
		sandbox_config_done(ret);
	return r;
}

int sandbox_check_config(const struct sandbox *s, const char *text, size_t len,
			 struct err *err)
{
	struct sandbox_config config;
	int r = parse(s, text, len, &config, err);

	if (r == 0)
		sandbox_config_done(&config);
	return r;
}

int sandbox_configure(struct sandbox *s, const char *text, size_t len,
		      struct err *err)
{
	struct sandbox_config config;
	struct buf copy = { 0 };
	int r = parse(s, text, len, &config, err);

	if (r < 0)
		return r;
	if (len && buf_add(&copy, text, len) < 0) {
		sandbox_config_done(&config);
		return err_sys(err, -ENOMEM, "config.json");
	}
	/* A time that a user wrote to `until` stays, unless "life" changes. */
	if (config.life_ms != s->config.life_ms)
		sandbox_end_at(s, config.life_ms ? s->made_ns + config.life_ms *
								NS_PER_MS
						 : 0);
	sandbox_config_done(&s->config);
	buf_done(&s->text);
	s->config = config;
	s->text = copy;
	sandbox_network_changed(s);
	sandbox_keep_text(s);
	sandbox_set_times(s);
	return 0;
}

int sandbox_show_config(const struct sandbox *s, struct buf *out)
{
	return s->text.len ? buf_add(out, s->text.data, s->text.len) : 0;
}

/* --- until -------------------------------------------------------------------------- */

static bool is_digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= '0' && text[n] <= '9')
		n++;
	return n && n == len;
}

/* Returns whether the text begins with digits where the form has a 0, and with the same
 * characters elsewhere; ? stands for any. sscanf() would take signs and spaces. */
static bool has_form(const char *text, const char *form)
{
	for (; *form; form++, text++)
		if (!*text || (*form == '0' ? *text < '0' || *text > '9'
					    : *form != '?' && *text != *form))
			return false;
	return true;
}

/* Reads the offset of an RFC 3339 time. Return: the text behind it, or NULL. */
static const char *read_offset(const char *at, int64_t *ret_s)
{
	int hours, minutes, n = 0;

	*ret_s = 0;
	if (*at == 'Z' || *at == 'z')
		return at + 1;
	if ((*at != '+' && *at != '-') || !has_form(at + 1, "00:00") ||
	    sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &n) < 2 || hours > 23 ||
	    minutes > 59)
		return NULL;
	*ret_s = (hours * 60 + minutes) * (*at == '-' ? -60 : 60);
	return at + 1 + n;
}

static int read_time(const char *text, uint64_t *ret_ns)
{
	uint64_t ns = 0, digit = NS_PER_S / 10;
	struct tm tm = { 0 };
	char sep;
	int64_t offset, s;
	int n = 0;

	if (!has_form(text, "0000-00-00?00:00:00") ||
	    sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &sep, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
		   &n) < 7 || n != 19 || !strchr("Tt ", sep))
		return -EINVAL;
	text += n;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++) {
			ns += (uint64_t)(*text - '0') * digit;
			digit /= 10;
		}
	text = read_offset(text, &offset);
	if (!text || *text || tm.tm_mon < 1 || tm.tm_mon > 12 ||
	    tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60 || tm.tm_year < 1970 ||
	    tm.tm_year > 2261)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	s = timegm(&tm) - offset;
	*ret_ns = MAX(s, 0) * NS_PER_S + ns;
	return 0;
}

#define SECONDS_MAX (LIMIT_SANDBOX_MS / 1000)

static int read_until(const char *text, uint64_t *ret_ns)
{
	uint64_t seconds = 0;

	if (!*text) {
		*ret_ns = 0;
		return 0;
	}
	if (!is_digits(text, strlen(text)))
		return read_time(text, ret_ns);
	if (strlen(text) > 10)
		return -EINVAL;
	for (; *text; text++)
		seconds = seconds * 10 + (uint64_t)(*text - '0');
	*ret_ns = realtime_ns() + seconds * NS_PER_S;
	return seconds > SECONDS_MAX ? -EINVAL : 0;
}

int sandbox_set_until(struct sandbox *s, const char *text, size_t len,
		      struct err *err)
{
	char line[64];
	uint64_t ns;

	while (len && strchr(" \t\r\n", text[len - 1]) && text[len - 1])
		len--;
	snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1),
		 text);
	if (len >= sizeof(line) || strlen(line) != len ||
	    read_until(line, &ns) < 0) {
		utf8_make_plain(line);
		return err_set(err, -EINVAL,
			       "until: \"%s\" is no time; it must be one such as "
			       "2030-01-31T12:00:00Z, a number of seconds from "
			       "now, up to %u, or empty: for ever", line,
			       (unsigned)SECONDS_MAX);
	}
	sandbox_end_at(s, ns);
	sandbox_set_times(s);
	return 0;
}

int sandbox_show_until(const struct sandbox *s, struct buf *out)
{
	char when[32];

	if (!s->until_ns)
		return 0;
	time_render(s->until_ns + (s->paused_ns ? realtime_ns() - s->paused_ns
						: 0), when);
	return buf_fmt(out, "%s\n", when);
}

/* --- state ---------------------------------------------------------------- */

static const char *const words[] = { "new", "idle", "busy", "lost", "paused" };

unsigned sandbox_state_no(const struct sandbox *s)
{
	if (s->stage == STAGE_LOST)
		return 3;
	if (s->paused_ns)
		return 4;
	if (!list_empty(&s->runs))
		return 2;
	return s->stage == STAGE_NEW ? 0 : 1;
}

int sandbox_show_state(const struct sandbox *s, struct buf *out)
{
	return buf_fmt(out, "%s\n", words[sandbox_state_no(s)]);
}

const char *sandbox_why(const struct sandbox *s)
{
	return s->why;
}

int sandbox_show_error(const struct sandbox *s, struct buf *out)
{
	return s->why[0] ? buf_fmt(out, "%s\n", s->why) : 0;
}

/* --- processes ------------------------------------------------------------ */

/* A request for processes, on the stack of the fiber that waits. */
struct asked {
	struct fiber *fiber;
	struct buf text;
	int result;
	bool done;
};

static void on_processes(void *arg, int r, const uint8_t *data, size_t size)
{
	struct asked *a = arg;

	a->result = r;
	if (r == 0 && size)
		a->result = buf_add(&a->text, data, size);
	a->done = true;
	if (a->fiber)
		fiber_wake(a->fiber);
}

static const char *job_in(const struct sandbox *s, unsigned lane)
{
	list_for_each(pos, tmp, &((struct sandbox *)(uintptr_t)s)->seats) {
		struct seat *t = list_entry(pos, struct seat, node);

		if (lane && t->lease && vm_lane(t->lease) == lane)
			return t->current && t->current->job
				       ? t->current->job->meta.name : "-";
	}
	return "-";
}

/* Appends the guest's line "PID LANE COMMAND" as "PID JOB COMMAND". */
static void put_process(const struct sandbox *s, char *line, struct buf *out)
{
	unsigned pid, lane;
	int n = 0;

	if (sscanf(line, "%u %u %n", &pid, &lane, &n) < 2 || !n)
		return;
	utf8_make_plain(line + n);
	buf_fmt(out, "%u %s %s\n", pid, job_in(s, lane), line + n);
}

int sandbox_show_processes(struct sandbox *s, struct buf *out)
{
	struct asked a = { .fiber = fiber_self() };
	struct wire_fs fs = { .op = WIRE_FS_PROCESSES, .path = (char[]){ "" } };
	uint64_t no = s->no;
	struct fsd *d = s->d;
	char *save = NULL;
	int r = a.fiber ? 0 : -EIO;

	if (s->stage != STAGE_LIVES)
		return 0; /* without a machine there are no processes */
	if (s->paused_ns)
		return -EAGAIN;
	if (r == 0)
		r = vm_fs(s->lease, &fs, on_processes, &a);
	if (r < 0)
		return r;
	a.fiber = a.done ? NULL : a.fiber;
	if (!a.done)
		fiber_pause();
	s = sandboxes_by_no(d, no); /* the sandbox may have ended while the fiber
				     * waited */
	r = s ? a.result : -ESTALE;
	if (r == 0 && a.text.len)
		for (char *line = strtok_r(a.text.data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			put_process(s, line, out);
	buf_done(&a.text);
	return r < 0 ? r : out->failed;
}

/* --- files beside config.json --------------------------------------------- */

int sandbox_file_make(struct sandbox *s, const char *name,
		      struct sandbox_file **ret, struct err *err)
{
	struct sandbox_file *f;
	unsigned count = 0;

	list_for_each(pos, tmp, &s->files)
		count++;
	if (count >= LIMIT_SANDBOX_FILES)
		return err_set(err, -EDQUOT,
			       "a sandbox has at most %u files beside its own: "
			       "they are for being renamed to config.json",
			       LIMIT_SANDBOX_FILES);
	f = calloc(1, sizeof(*f));
	if (f) {
		f->no = sandboxes_next_no(s->d);
		f->name = strdup(name);
	}
	if (!f || !f->name || hash_add(&s->d->sandboxes->files_by_no, &f->by_no,
				       hash_u64(f->no)) < 0) {
		if (f)
			free(f->name);
		free(f);
		return err_sys(err, -ENOMEM, "%s", name);
	}
	f->sandbox = s;
	f->text.cap = LIMIT_CONFIG_BYTES + 1;
	list_add_tail(&s->files, &f->node);
	*ret = f;
	return 0;
}

struct sandbox_file *sandbox_file_find(struct sandbox *s, const char *name)
{
	list_for_each(pos, tmp, &s->files) {
		struct sandbox_file *f =
			list_entry(pos, struct sandbox_file, node);

		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

struct sandbox_file *sandbox_file_by_no(struct fsd *d, uint64_t no)
{
	struct hash_node *h = hash_first(&d->sandboxes->files_by_no,
					 hash_u64(no));

	for (; h; h = hash_next(h)) {
		struct sandbox_file *f =
			container_of(h, struct sandbox_file, by_no);

		if (f->no == no)
			return f;
	}
	return NULL;
}

void sandbox_file_del(struct sandbox_file *f)
{
	list_del(&f->node);
	hash_del(&f->sandbox->d->sandboxes->files_by_no, &f->by_no);
	buf_done(&f->text);
	user_unweigh(&f->weight);
	free(f->name);
	free(f);
}

void sandbox_files_list(struct sandbox *s,
			void (*fn)(void *arg, const char *name, uint64_t no),
			void *arg)
{
	list_for_each(pos, tmp, &s->files) {
		struct sandbox_file *f =
			list_entry(pos, struct sandbox_file, node);

		fn(arg, f->name, f->no);
	}
}

/* --- the files of a session --------------------------------------------------------- */

static int field_state(const struct seat *t, struct buf *out)
{
	bool busy = t->current || !list_empty(&t->waiting);

	return buf_fmt(out, "%s\n", busy ? "busy" : t->lease ? "idle" : "lost");
}

static int field_idle(const struct seat *t, struct buf *out)
{
	const struct sandbox *s = t->sandbox;
	uint64_t ns = sandbox_is_in_use(s) ? 0 : now_ns() - s->used_ns;

	return buf_fmt(out, "%llu\n", (unsigned long long)(ns / NS_PER_S));
}

static int field_language(const struct seat *t, struct buf *out)
{
	return buf_fmt(out, "%s\n", t->lang->name);
}

static int field_steps(const struct seat *t, struct buf *out)
{
	return buf_fmt(out, "%" PRIu64 "\n", t->steps);
}

static const struct {
	const char *name;
	int (*show)(const struct seat *t, struct buf *out);
} fields[] = {
	{ "state", field_state },
	{ "language", field_language },
	{ "steps", field_steps },
	{ "idle", field_idle }, /* only for a session without a sandbox */
};

const char *seat_field_name(unsigned field, bool single)
{
	return field < ARRAY_SIZE(fields) - !single ? fields[field].name : NULL;
}

int seat_field(const struct seat *t, unsigned field, struct buf *out)
{
	return field < ARRAY_SIZE(fields) ? fields[field].show(t, out)
					  : -ENOENT;
}
