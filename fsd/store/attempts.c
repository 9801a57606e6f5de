/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/jobs/ID/attempts: a line "RUN STATUS STARTED ENDED MESSAGE" for each run that
 * failed because of fsd, its machine or the host, and that a retry followed. The line is
 * written before meta counts the next attempt. Readers select lines by the run's number,
 * so a line that a crash left or doubled does no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

#define ATTEMPTS_MAX 65536 /* bytes; eleven lines take less */
#define MESSAGE_MAX 1024

static void attempts_path(uint64_t no, char *ret_path)
{
	store_job_path(no, "attempts", ret_path);
}

int store_attempt_add(struct store *s, uint64_t no, unsigned run,
		      const struct result_attempt *a)
{
	auto_buf struct buf line = { .cap = MESSAGE_MAX + 256 };
	char path[STORE_PATH_MAX], message[MESSAGE_MAX];
	auto_close int fd = -1;

	snprintf(message, sizeof(message), "%s", a->message ? a->message : "");
	for (char *p = message; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	/* The first newline ends a line that a crash may have torn. */
	buf_fmt(&line, "\n%u %s %llu %llu %s\n", run, status_name(a->status),
		(unsigned long long)a->started_ns,
		(unsigned long long)a->ended_ns, message);
	if (line.failed)
		return line.failed;
	attempts_path(no, path);
	fd = openat(store_jobs_fd(s), path,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	return write(fd, line.data, line.len) == (ssize_t)line.len ? 0 : -ENOSPC;
}

/* Cuts the first word off. Return: the word, or NULL if no space follows it. */
static char *word(char **rest)
{
	char *start = *rest, *end = strchr(start, ' ');

	if (!end || end == start)
		return NULL;
	*end = '\0';
	*rest = end + 1;
	return start;
}

static int status_parse(const char *name)
{
	for (int i = 0; i < JOB_STATUS_MAX; i++)
		if (!strcmp(status_name((enum job_status)i), name))
			return i;
	return -EINVAL;
}

int store_attempt_parse(char *line, unsigned *ret_run,
			struct result_attempt *ret)
{
	const char *run = word(&line), *status = run ? word(&line) : NULL;
	const char *started = status ? word(&line) : NULL;
	const char *ended = started ? word(&line) : NULL;
	uint64_t n;
	int found = status ? status_parse(status) : -EINVAL;

	if (!ended || found < 0 ||
	    parse_u64(run, 1, UINT32_MAX - 1, &n) < 0 ||
	    parse_u64(started, 0, INT64_MAX, &ret->started_ns) < 0 ||
	    parse_u64(ended, 0, INT64_MAX, &ret->ended_ns) < 0)
		return -EINVAL;
	*ret_run = (unsigned)n;
	ret->status = (enum job_status)found;
	ret->message = *line ? line : NULL;
	ret->known = true;
	return 0;
}

static char *read_text(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX], *text = malloc(ATTEMPTS_MAX);
	auto_close int fd = -1;
	ssize_t n;

	attempts_path(no, path);
	fd = openat(store_jobs_fd(s), path,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	n = fd < 0 || !text ? -1 : read(fd, text, ATTEMPTS_MAX - 1);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

void store_attempts_read(struct store *s, uint64_t no, unsigned run,
			 struct result_attempt *ret, unsigned count,
			 char **ret_text)
{
	char *text = count ? read_text(s, no) : NULL, *save = NULL;

	for (unsigned i = 0; i < count; i++)
		ret[i] = (struct result_attempt){ .known = false };
	*ret_text = text;
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct result_attempt a;
		unsigned of;

		if (store_attempt_parse(line, &of, &a) == 0 && of < run &&
		    of + count >= run && !ret[of + count - run].known)
			ret[of + count - run] = a;
	}
}

void store_attempts_drop(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX];

	attempts_path(no, path);
	store_trash(s, path);
}
