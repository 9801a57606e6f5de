/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames to bytes and back. Everything that is read may come from a hostile
 * peer: lengths are compared with what is left before they are used, counts
 * with what that many elements would need at least.
 */
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_COMPONENTS_MAX 64u
#define COMPONENT_MAX 255u
#define CALL_MAX 1024u
#define LANE_BYTE 3 /* byte of the lane in a header: a length has three */

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static void store32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static const char *const type_names[WIRE_TYPE_MAX] = {
	[WIRE_HEAT] = "HEAT",
	[WIRE_PING] = "PING",
	[WIRE_OWN] = "OWN",
	[WIRE_JOB] = "JOB",
	[WIRE_RUN] = "RUN",
	[WIRE_STDIN] = "STDIN",
	[WIRE_STDIN_END] = "STDIN_END",
	[WIRE_KILL] = "KILL",
	[WIRE_FS] = "FS",
	[WIRE_SHARE] = "SHARE",
	[WIRE_CLOSE] = "CLOSE", [WIRE_ABORT] = "ABORT",
	[WIRE_NETWORK] = "NET",
	[WIRE_FILE] = "FILE",
	[WIRE_FILE_DATA] = "FILE_DATA",
	[WIRE_FILE_END] = "FILE_END",
	[WIRE_HELLO] = "HELLO",
	[WIRE_READY] = "READY",
	[WIRE_HEATED] = "HEATED",
	[WIRE_PONG] = "PONG",
	[WIRE_STARTED] = "STARTED",
	[WIRE_STDIN_ACK] = "STDIN_ACK",
	[WIRE_OUT] = "OUT",
	[WIRE_ERR] = "ERR",
	[WIRE_RESULT] = "RESULT",
	[WIRE_EXIT] = "EXIT",
	[WIRE_OUTPUT_END] = "OUTPUT_END",
	[WIRE_FAILED] = "FAILED",
	[WIRE_FS_REPLY] = "FS_REPLY",
	[WIRE_CLOSED] = "CLOSED",
	[WIRE_NETWORK_ENDED] = "NET_ENDED",
};

const char *wire_type_name(unsigned type)
{
	if (type >= WIRE_TYPE_MAX || !type_names[type])
		return "?";
	return type_names[type];
}

int wire_header_get(const uint8_t *p, struct wire_header *ret_header)
{
	uint32_t length = load32(p);
	unsigned magic = (unsigned)p[4] | (unsigned)p[5] << 8;
	unsigned type = p[6];
	uint32_t max = type == WIRE_JOB ? WIRE_JOB_MAX : WIRE_PAYLOAD_MAX;

	if (magic != WIRE_MAGIC || type >= WIRE_TYPE_MAX || !type_names[type])
		return -EPROTO;
	if (length > max)
		return -EPROTO;
	ret_header->length = length;
	ret_header->type = (uint8_t)type;
	ret_header->arg = p[7];
	return 0;
}

void wire_header_put(uint8_t *p, uint32_t length, uint8_t type, uint8_t arg)
{
	store32(p, length);
	p[4] = (uint8_t)(WIRE_MAGIC & 0xff);
	p[5] = (uint8_t)(WIRE_MAGIC >> 8);
	p[6] = type;
	p[7] = arg;
}

uint8_t wire_lane_take(uint8_t *p)
{
	uint8_t lane = p[LANE_BYTE];

	p[LANE_BYTE] = 0;
	return lane;
}

void wire_lane_put(uint8_t *p, uint8_t lane)
{
	p[LANE_BYTE] = lane;
}

void wire_begin(struct wire_cursor *c, const void *payload, size_t length)
{
	c->p = payload;
	c->end = c->p + length;
	c->failed = false;
}

/* Returns the next length bytes, or NULL: the cursor has failed. */
static const uint8_t *take(struct wire_cursor *c, size_t length)
{
	const uint8_t *p = c->p;

	if (c->failed || length > (size_t)(c->end - c->p)) {
		c->failed = true;
		return NULL;
	}
	c->p += length;
	return p;
}

uint32_t wire_get_u32(struct wire_cursor *c)
{
	const uint8_t *p = take(c, 4);

	return p ? load32(p) : 0;
}

uint64_t wire_get_u64(struct wire_cursor *c)
{
	const uint8_t *p = take(c, 8);

	return p ? (uint64_t)load32(p) | (uint64_t)load32(p + 4) << 32 : 0;
}

struct wire_time wire_time_of(const struct timespec *ts)
{
	return (struct wire_time){ts->tv_sec, (uint32_t)ts->tv_nsec, true};
}

struct timespec wire_time_to_set(struct wire_time t)
{
	if (!t.known)
		return (struct timespec){.tv_nsec = UTIME_OMIT};
	return (struct timespec){.tv_sec = (time_t)t.s, .tv_nsec = (long)t.ns};
}

struct wire_time wire_get_time(struct wire_cursor *c)
{
	uint64_t seconds = wire_get_u64(c);
	uint32_t ns = wire_get_u32(c);

	if (ns == UINT32_MAX ? seconds != 0 : ns >= 1000000000u)
		c->failed = true;
	if (c->failed || ns == UINT32_MAX)
		return (struct wire_time){0};
	return (struct wire_time){(int64_t)seconds, ns, true};
}

char *wire_get_str(struct wire_cursor *c, size_t max)
{
	uint32_t length = wire_get_u32(c);
	const uint8_t *p;
	char *text;

	if (length > max)
		c->failed = true;
	p = take(c, length);
	if (!p)
		return NULL;
	text = memchr(p, '\0', length) ? NULL : malloc((size_t)length + 1);
	if (!text) {
		c->failed = true;
		return NULL;
	}
	memcpy(text, p, length);
	text[length] = '\0';
	return text;
}

int wire_end(const struct wire_cursor *c)
{
	return c->failed || c->p != c->end ? -EPROTO : 0;
}

void wire_put_bytes(struct wire_writer *w, const void *data, size_t length)
{
	if (length && w->used <= w->size && length <= w->size - w->used)
		memcpy(w->p + w->used, data, length);
	w->used += length;
}

void wire_put_u32(struct wire_writer *w, uint32_t v)
{
	uint8_t bytes[4];

	store32(bytes, v);
	wire_put_bytes(w, bytes, sizeof(bytes));
}

void wire_put_u64(struct wire_writer *w, uint64_t v)
{
	wire_put_u32(w, (uint32_t)v);
	wire_put_u32(w, (uint32_t)(v >> 32));
}

void wire_put_time(struct wire_writer *w, struct wire_time t)
{
	wire_put_u64(w, t.known ? (uint64_t)t.s : 0);
	wire_put_u32(w, t.known ? t.ns : UINT32_MAX);
}

void wire_put_str(struct wire_writer *w, const char *text)
{
	size_t length = strlen(text);

	wire_put_u32(w, (uint32_t)length);
	wire_put_bytes(w, text, length);
}

static void put_strings(struct wire_writer *w, const struct wire_strings *s)
{
	wire_put_u32(w, s->count);
	for (uint32_t i = 0; i < s->count; i++)
		wire_put_str(w, s->item[i]);
}

void wire_job_put(struct wire_writer *w, const struct wire_job *job)
{
	wire_put_u32(w, job->runner);
	wire_put_u32(w, job->mode);
	wire_put_u32(w, job->cpus);
	wire_put_u32(w, job->processes);
	wire_put_u64(w, job->memory_bytes);
	wire_put_u64(w, job->stdout_limit);
	wire_put_u64(w, job->stderr_limit);
	wire_put_u64(w, job->output_limit);
	wire_put_u32(w, job->output_files);
	wire_put_u32(w, job->linger_ms);
	wire_put_u32(w, job->fresh);
	wire_put_u64(w, job->realtime_ns);
	wire_put_str(w, job->call);
	wire_put_str(w, job->cwd ? job->cwd : "");
	put_strings(w, &job->argv);
	put_strings(w, &job->envp);
}

/* Reads strings as heap copies. After a failure those read before stay in *s,
 * for wire_job_done(). */
static int get_strings(struct wire_cursor *c, struct wire_strings *s)
{
	uint32_t count = wire_get_u32(c);

	/* Every string needs four bytes at least, so this bounds the
	 * allocation. */
	if (count > WIRE_STRINGS_MAX || count > (size_t)(c->end - c->p) / 4)
		c->failed = true;
	if (c->failed)
		return -EPROTO;
	s->item = calloc((size_t)count + 1, sizeof(*s->item));
	if (!s->item)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		s->item[i] = wire_get_str(c, WIRE_JOB_MAX);
		if (!s->item[i])
			return -EPROTO;
		s->count = i + 1;
	}
	return 0;
}

static void get_numbers(struct wire_cursor *c, struct wire_job *job)
{
	job->runner = wire_get_u32(c);
	job->mode = wire_get_u32(c);
	job->cpus = wire_get_u32(c);
	job->processes = wire_get_u32(c);
	job->memory_bytes = wire_get_u64(c);
	job->stdout_limit = wire_get_u64(c);
	job->stderr_limit = wire_get_u64(c);
	job->output_limit = wire_get_u64(c);
	job->output_files = wire_get_u32(c);
	job->linger_ms = wire_get_u32(c);
	job->fresh = wire_get_u32(c);
	job->realtime_ns = wire_get_u64(c);
}

static bool job_in_range(const struct wire_job *job)
{
	return job->runner < WIRE_RUN_MAX && job->mode < WIRE_MODE_MAX &&
	       job->cpus >= 1 && job->processes >= 1 &&
	       job->memory_bytes >= 1 && job->argv.count >= 1 &&
	       job->fresh <= 1 && (!job->cwd[0] || job->cwd[0] == '/') &&
	       (job->mode != WIRE_MODE_CALL || job->call[0]);
}

int wire_job_get(const void *payload, size_t length, struct wire_job *ret_job)
{
	struct wire_job job = {0};
	struct wire_cursor c;
	int r;

	wire_begin(&c, payload, length);
	get_numbers(&c, &job);
	job.call = wire_get_str(&c, CALL_MAX);
	job.cwd = wire_get_str(&c, WIRE_PATH_MAX);
	r = job.call && job.cwd ? get_strings(&c, &job.argv) : -EPROTO;
	if (!r)
		r = get_strings(&c, &job.envp);
	if (!r)
		r = wire_end(&c);
	if (!r && !job_in_range(&job))
		r = -EPROTO;
	if (r) {
		wire_job_done(&job);
		return r;
	}
	*ret_job = job;
	return 0;
}

/* Frees a heap copy that this file made; it is const only for callers. */
static void free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

void wire_strings_done(struct wire_strings *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free_text(s->item[i]);
	free(s->item);
}

void wire_job_done(struct wire_job *job)
{
	free_text(job->call);
	free_text(job->cwd);
	wire_strings_done(&job->argv);
	wire_strings_done(&job->envp);
	memset(job, 0, sizeof(*job));
}

void wire_share_put(struct wire_writer *w, const struct wire_share *share)
{
	wire_put_u64(w, share->memory_bytes);
	wire_put_u32(w, share->processes);
	wire_put_u32(w, share->cpus);
	wire_put_u64(w, share->realtime_ns);
}

int wire_share_get(const void *payload, size_t length, struct wire_share *ret)
{
	struct wire_share share;
	struct wire_cursor c;

	wire_begin(&c, payload, length);
	share.memory_bytes = wire_get_u64(&c);
	share.processes = wire_get_u32(&c);
	share.cpus = wire_get_u32(&c);
	share.realtime_ns = wire_get_u64(&c);
	if (wire_end(&c) || !share.memory_bytes || !share.processes ||
	    !share.cpus)
		return -EPROTO;
	*ret = share;
	return 0;
}

int wire_pid_get(const void *payload, size_t length, uint32_t *ret_pid)
{
	struct wire_cursor c;

	wire_begin(&c, payload, length);
	*ret_pid = length ? wire_get_u32(&c) : 0;
	return wire_end(&c);
}

void wire_exit_put(struct wire_writer *w, const struct wire_exit *e)
{
	wire_put_u32(w, e->kind);
	wire_put_u32(w, e->value);
	wire_put_u32(w, e->lives);
	wire_put_u32(w, e->unasked);
	wire_put_u32(w, e->left);
	wire_put_u32(w, e->begun);
	wire_put_u64(w, e->wall_ns);
	wire_put_u64(w, e->user_us);
	wire_put_u64(w, e->system_us);
	wire_put_u64(w, e->peak_memory_bytes);
	wire_put_u64(w, e->peak_processes);
	wire_put_u64(w, e->oom_kills);
	wire_put_u64(w, e->stdout_bytes);
	wire_put_u64(w, e->stdout_dropped);
	wire_put_u64(w, e->stderr_bytes);
	wire_put_u64(w, e->stderr_dropped);
	wire_put_u64(w, e->result_dropped);
	wire_put_str(w, e->begun_by);
}

bool wire_text_ok(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

bool wire_cold_ok(const char *text)
{
	char last = '\n';

	for (; *text; last = *text++)
		if (*text == '\n' ? last == '\n' : *text < ' ' || *text > '~')
			return false;
	return last == '\n';
}

/* Reads begun_by, the last field. Return: true if begun allows it. */
static bool get_begun_by(struct wire_cursor *c, struct wire_exit *e)
{
	bool named = e->begun == WIRE_BEGUN_ENV || e->begun == WIRE_BEGUN_FILE;
	char *text = wire_get_str(c, WIRE_BEGUN_BY_MAX);
	bool ok = text && e->begun < WIRE_BEGUN_MAX && wire_text_ok(text) &&
		  named == !!text[0];

	if (ok)
		strcpy(e->begun_by, text); /* text has at most WIRE_BEGUN_BY_MAX bytes */
	free(text);
	return ok;
}

int wire_exit_get(const void *payload, size_t length, struct wire_exit *ret)
{
	struct wire_exit e = {0};
	struct wire_cursor c;

	wire_begin(&c, payload, length);
	e.kind = wire_get_u32(&c);
	e.value = wire_get_u32(&c);
	e.lives = wire_get_u32(&c);
	e.unasked = wire_get_u32(&c);
	e.left = wire_get_u32(&c);
	e.begun = wire_get_u32(&c);
	e.wall_ns = wire_get_u64(&c);
	e.user_us = wire_get_u64(&c);
	e.system_us = wire_get_u64(&c);
	e.peak_memory_bytes = wire_get_u64(&c);
	e.peak_processes = wire_get_u64(&c);
	e.oom_kills = wire_get_u64(&c);
	e.stdout_bytes = wire_get_u64(&c);
	e.stdout_dropped = wire_get_u64(&c);
	e.stderr_bytes = wire_get_u64(&c);
	e.stderr_dropped = wire_get_u64(&c);
	e.result_dropped = wire_get_u64(&c);
	if (!get_begun_by(&c, &e) || wire_end(&c) || e.kind >= WIRE_EXIT_KIND_MAX)
		return -EPROTO;
	if (e.kind == WIRE_EXIT_CODE && e.value > 255)
		return -EPROTO;
	if (e.kind == WIRE_EXIT_SIGNAL && (e.value < 1 || e.value > 64))
		return -EPROTO;
	if (e.lives > (e.kind == WIRE_EXIT_CODE) || e.unasked > 1)
		return -EPROTO;
	*ret = e;
	return 0;
}

static bool component_ok(const char *name, size_t length)
{
	if (length < 1 || length > COMPONENT_MAX)
		return false;
	return !(length == 1 && name[0] == '.') &&
	       !(length == 2 && name[0] == '.' && name[1] == '.');
}

bool wire_path_ok(const char *path)
{
	unsigned components = 0;

	if (strnlen(path, (size_t)WIRE_PATH_MAX + 1) > WIRE_PATH_MAX)
		return false;
	for (;;) {
		size_t length = strcspn(path, "/");

		if (!component_ok(path, length) ||
		    ++components > PATH_COMPONENTS_MAX)
			return false;
		if (!path[length])
			return true;
		path += length + 1;
	}
}

unsigned wire_path_depth(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

bool wire_link_ok(unsigned depth, const char *target)
{
	size_t size = strnlen(target, (size_t)WIRE_PATH_MAX + 1);

	if (!size || size > WIRE_PATH_MAX || target[0] == '/')
		return false;
	for (const char *at = target; *at; at += strspn(at, "/")) {
		size_t length = strcspn(at, "/");

		if (length > COMPONENT_MAX)
			return false;
		if (length == 2 && !memcmp(at, "..", 2)) {
			if (!depth--)
				return false;
		} else if (length != 1 || at[0] != '.') {
			depth++;
		}
		at += length;
	}
	return true;
}
