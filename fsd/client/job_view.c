/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a job's state, error, log, config.json and result.json and tells them
 * in a line or as JSON. Messages may quote a program, so bytes that a terminal
 * obeys are replaced.
 */
#include "job_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "layout/json.h"
#include "layout/layout.h"

#define LOG_TAIL 32768

/* --- files ------------------------------------------------------------------ */

ssize_t job_view_text(int dir, const char *name, char *ret, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (n < 0) {
		ret[0] = '\0';
		return -errno;
	}
	ret[n] = '\0';
	return n;
}

/* Copies the first line of text, without control characters, which a terminal would
 * obey. */
static void take_line(char *ret, size_t size, const char *text)
{
	size_t n = MIN(strcspn(text, "\n"), size - 1);

	memcpy(ret, text, n);
	ret[n] = '\0';
	utf8_make_plain(ret);
}

static int read_json(int dir, const char *name, json_t **ret)
{
	struct json_raw raw = { .key = "value" }; /* may have any numbers; is not used */
	auto_buf struct buf text = { 0 };
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0 && buf_reserve(&text, 16384) == 0) {
		n = read(fd, text.data + text.len, 16384);
		text.len += (size_t)MAX(n, 0);
	}
	if (n < 0)
		return -errno;
	return text.failed ? text.failed :
			     json_read(text.data ? text.data : "", text.len,
				       LIMIT_VALUE_DEPTH + 8, &raw, ret, NULL);
}

static void take_string(const json_t *from, const char *key, char *ret,
			size_t size)
{
	const char *text = json_string_value(json_object_get(from, key));

	take_line(ret, size, text ? text : "");
}

static void read_result(int dir, struct job_view *v)
{
	auto_json json_t *result = NULL;
	const json_t *usage;
	int64_t user;

	if (read_json(dir, "result.json", &result) < 0)
		return;
	take_string(result, "status", v->status, sizeof(v->status));
	take_string(result, "message", v->message, sizeof(v->message));
	take_string(result, "language", v->language, sizeof(v->language));
	usage = json_object_get(result, "usage");
	v->wall_ms = json_number(usage, "wall_ms", -1);
	v->peak_bytes = json_number(usage, "peak_memory_bytes", -1);
	user = json_number(usage, "user_ms", -1);
	if (user >= 0)
		v->cpu_ms = user + json_number(usage, "system_ms", 0);
}

static void read_config(int dir, struct job_view *v)
{
	auto_json json_t *config = NULL;

	if (read_json(dir, "config.json", &config) < 0)
		return;
	v->memory_mb = json_number(config, "memory_mb", v->memory_mb);
	v->priority = json_number(config, "priority", v->priority);
	if (!v->language[0])
		take_string(config, "language", v->language,
			    sizeof(v->language));
}

/* --- the timeline ------------------------------------------------------------ */

/* Parses "2026-01-01T00:00:00.000Z". Return: milliseconds since 1970; 0: it is no
 * time. */
static int64_t time_of(const char *text)
{
	struct tm tm = { 0 };
	int ms = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &tm.tm_year,
		   &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
		   &ms) != 7)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

/* Reads a line of the log: a time, a blank, a sentence. A sentence that reports a new
 * state begins with the state's word. */
static void take_event(struct job_view *v, const char *line)
{
	const char *said = strchr(line, ' ');
	int64_t at = time_of(line);
	char sentence[sizeof(v->waits)];
	int state;

	if (!said || !at)
		return;
	take_line(sentence, sizeof(sentence), said + 1);
	state = state_parse(sentence);
	if (!strncmp(sentence, "refused: ", 9))
		state = JOB_REFUSED;
	if (state < 0) {
		if (strncmp(sentence, "renamed to ", 11) != 0)
			snprintf(v->waits, sizeof(v->waits), "%s", sentence);
		return;
	}
	/* A job may ask for a machine in the moment in which it is queued. */
	if (state != JOB_QUEUED ||
	    strncmp(v->waits, "waits for the template", 22) != 0)
		v->waits[0] = '\0';
	v->since_ms = at;
	if (state == JOB_QUEUED)
		v->queued_ms = at;
	if (state == JOB_RUNNING)
		v->started_ms = at;
}

static void read_log(int dir, struct job_view *v)
{
	auto_close int fd = openat(dir, "log", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[LOG_TAIL + 1], *line = text, *end;
	off_t from = fd < 0 ? 0 : lseek(fd, 0, SEEK_END) - LOG_TAIL;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, LOG_TAIL, MAX(from, 0));

	text[MAX(n, 0)] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		take_event(v, line);
		line = end + 1;
	}
	if (v->state != JOB_DRAFT && v->state != JOB_QUEUED)
		v->waits[0] = '\0';
}

int job_view_read(int dir, struct job_view *v)
{
	char text[600];
	struct stat st;
	ssize_t n;

	*v = (struct job_view){ .state = -1, .exit_code = -1, .wall_ms = -1,
				.cpu_ms = -1, .peak_bytes = -1,
				.memory_mb = 256 };
	n = job_view_text(dir, "state", text, sizeof(text));
	if (n < 0 || fstat(dir, &st) < 0)
		return n < 0 ? n == -ESTALE ? -ENOENT : (int)n : -errno;
	text[strcspn(text, "\n")] = '\0';
	v->state = state_parse(text);
	if (v->state < 0)
		return -EPROTO;
	v->uid = st.st_uid;
	v->since_ms = (int64_t)st.st_mtime * 1000;
	if (job_view_text(dir, "error", text, sizeof(text)) > 0)
		take_line(v->error, sizeof(v->error), text);
	read_log(dir, v);
	read_config(dir, v);
	if (v->state != JOB_DONE)
		return 0;
	read_result(dir, v);
	if (job_view_text(dir, "exit_code", text, sizeof(text)) > 0)
		v->exit_code = (int)strtol(text, NULL, 10);
	return 0;
}

/* --- telling it -------------------------------------------------------------- */

bool job_view_is_good(const struct job_view *v)
{
	return v->state == JOB_DONE && v->exit_code == 0;
}

const char *job_view_reason(const struct job_view *v)
{
	if (v->state == JOB_DRAFT || v->state == JOB_QUEUED)
		return v->waits;
	return v->error[0] ? v->error : v->message;
}

void job_view_age(int64_t ms, char ret[32])
{
	static const struct {
		int64_t below, unit;
		const char *name;
	} units[] = {
		{ 120 * 1000, 1000, "s" },
		{ 120 * 60000, 60000, "min" },
		{ 48 * 3600000ll, 3600000, "h" },
		{ INT64_MAX, 24 * 3600000ll, "d" },
	};
	size_t i = 0;

	ms = MAX(ms, 0);
	while (ms >= units[i].below)
		i++;
	if (ms < 1000)
		snprintf(ret, 32, "%d ms", (int)ms);
	else if (ms < 10000)
		snprintf(ret, 32, "%.1f s", (double)ms / 1000);
	else
		snprintf(ret, 32, "%" PRId64 " %s", ms / units[i].unit,
			 units[i].name);
}

int64_t job_view_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void job_view_line(const char *name, const struct job_view *v, struct buf *out)
{
	const char *reason = job_view_reason(v);
	char age[32];

	if (v->state < 0) {
		buf_fmt(out, "%s: was removed", name);
		return;
	}
	buf_fmt(out, "%s: %s", name, state_name((enum job_state)v->state));
	if (v->state == JOB_DONE) {
		buf_fmt(out, ", exit code %d", v->exit_code);
		if (v->status[0])
			buf_fmt(out, " (%s)", v->status);
		if (v->wall_ms >= 0) {
			job_view_age(v->wall_ms, age);
			buf_fmt(out, ", ran %s", age);
		}
	} else if (v->state == JOB_QUEUED || v->state == JOB_RUNNING) {
		job_view_age(job_view_now_ms() - v->since_ms, age);
		buf_fmt(out, " for %s", age);
	}
	if (reason[0])
		buf_fmt(out, ": %s", reason);
}

static void text_member(struct buf *out, const char *key, const char *text)
{
	buf_fmt(out, ", \"%s\": ", key);
	if (text[0])
		json_quote(out, text, strlen(text));
	else
		buf_str(out, "null");
}

static void number_member(struct buf *out, const char *key, int64_t number,
			  int64_t absent)
{
	if (number == absent)
		buf_fmt(out, ", \"%s\": null", key);
	else
		buf_fmt(out, ", \"%s\": %" PRId64, key, number);
}

void job_view_json(const char *path, const char *name, const struct job_view *v,
		   struct buf *out)
{
	buf_str(out, "{\"job\": ");
	json_quote(out, name, strlen(name));
	text_member(out, "path", path);
	text_member(out, "state",
		    v->state < 0 ? "" : state_name((enum job_state)v->state));
	number_member(out, "exit_code", v->exit_code, -1);
	text_member(out, "status", v->status);
	text_member(out, "message", v->message);
	text_member(out, "error", v->error);
	text_member(out, "waits", v->waits);
	text_member(out, "language", v->language);
	number_member(out, "wall_ms", v->wall_ms, -1);
	number_member(out, "cpu_ms", v->cpu_ms, -1);
	number_member(out, "peak_memory_bytes", v->peak_bytes, -1);
	number_member(out, "memory_mb", v->memory_mb, -1);
	number_member(out, "priority", v->priority, INT64_MIN);
	number_member(out, "uid", v->uid, -1);
	number_member(out, "queued_unix_ms", v->queued_ms, 0);
	number_member(out, "started_unix_ms", v->started_ms, 0);
	buf_str(out, "}");
}
