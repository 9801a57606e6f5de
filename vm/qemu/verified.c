/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the checksums of the image and of templates, and owns the record of
 * those that were right: a text beside the templates, replaced by rename(2). If
 * two processes replace it at the same time, one line is lost, and that file is
 * compared once more. All functions run on a worker thread.
 */
#include "verified.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "template_store.h"
#include "vm/os/loop.h"

/* A second write within one tick of the clock may not change the ctime. So a
 * file that was written within this time is compared again. */
#define SETTLED_S 2

#define NAME "verified"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_SIZE 40
#define LINE_MAX 256u
#define TEXT_MAX (VERIFIED_MAX * LINE_MAX + BOOT_SIZE)

/* Reads the id of this start of the kernel, as a line. */
static bool get_boot(char ret[BOOT_SIZE])
{
	auto_close int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, BOOT_SIZE - 1);

	ret[MAX(n, 0)] = '\0';
	return n > 1 && ret[n - 1] == '\n';
}

/*
 * Prints the beginning of a file's line: device and inode. Return: its length.
 */
static size_t put_file(char *line, const struct stat *st)
{
	return (size_t)snprintf(line, LINE_MAX, "%ju %ju ", (uintmax_t)st->st_dev,
				(uintmax_t)st->st_ino);
}

/* Prints the whole line: the file, its state, its checksum. */
static void put_line(char *line, const struct stat *st, const char *sum)
{
	size_t len = put_file(line, st);

	snprintf(line + len, LINE_MAX - len, "%jd %jd.%ld %jd.%ld %s\n",
		 (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec,
		 st->st_ctim.tv_nsec, sum);
}

/* Reads the lines that were written since the kernel started, or "". text:
 * TEXT_MAX bytes. */
static const char *read_lines(const char *cache_dir, const char *boot, char *text)
{
	size_t len = strlen(boot);

	if (template_store_text_get(cache_dir, NAME, text, TEXT_MAX) < 0 ||
	    strncmp(text, boot, len) != 0)
		return "";
	return text + len;
}

static bool was_right(const char *lines, const struct stat *st, const char *sum)
{
	char line[LINE_MAX];
	const char *at = lines;
	size_t len;

	put_line(line, st, sum);
	len = strlen(line);
	while (*at && strncmp(at, line, len) != 0) {
		at += strcspn(at, "\n");
		at += *at == '\n'; /* a record cut short has no last one */
	}
	return *at;
}

/* Puts the file's line first and drops an older line of the same file. When the
 * record is full the last lines are dropped. */
static void record(const char *cache_dir, const char *boot, const char *lines,
		   const struct stat *st, const char *sum)
{
	char text[TEXT_MAX], line[LINE_MAX], own[LINE_MAX];
	size_t own_len = put_file(own, st), len;

	put_line(line, st, sum);
	len = (size_t)snprintf(text, sizeof(text), "%s%s", boot, line);
	while (*lines) {
		size_t n = strcspn(lines, "\n") + 1;

		if (lines[n - 1] != '\n' || len + n >= sizeof(text))
			break;
		if (strncmp(lines, own, own_len) != 0) {
			memcpy(text + len, lines, n);
			len += n;
		}
		lines += n;
	}
	text[len] = '\0';
	/* an error only means that the file is verified again later */
	template_store_text_put(cache_dir, NAME, text);
}

static bool has_settled(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec + SETTLED_S <
	       realtime_ns() / NS_PER_S;
}

int verified_compare(const char *cache_dir, int fd, const char *want,
		     bool sparse, const atomic_bool *cancel)
{
	char sum[SHA_HEX], boot[BOOT_SIZE], text[TEXT_MAX];
	const char *lines = "";
	struct stat st;
	bool settled;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!cache_dir || !get_boot(boot))
		cache_dir = NULL;
	else
		lines = read_lines(cache_dir, boot, text);
	if (was_right(lines, &st, want))
		return 0;
	settled = has_settled(&st);
	r = sparse ? sha_sparse(fd, cancel, sum) : sha_file(fd, cancel, sum);
	if (r < 0)
		return r;
	if (strcmp(sum, want))
		return -EBADMSG;
	if (cache_dir && settled)
		record(cache_dir, boot, lines, &st, sum);
	return 0;
}
