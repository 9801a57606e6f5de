/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found right, for the next mount: a text beside the templates. It holds
 * while the host runs; a line of it, while the file's inode, size and times are what
 * they were.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "store.h"
#include "verified.h"

#define NAME "verified"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_SIZE 40
#define TEXT_MAX (VM_VERIFIED_MAX * 256u)
#define LINE                                                                   \
	"%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 ".%ld %" PRId64         \
	".%ld %s\n"
#define READ_LINE                                                              \
	"%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 ".%ld %" SCNd64         \
	".%ld %64[0-9a-f]"

/* A line, with its end. */
static bool get_boot(char ret[BOOT_SIZE])
{
	auto_close int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, BOOT_SIZE - 1);

	ret[MAX(n, 0)] = '\0';
	return n > 1 && ret[n - 1] == '\n';
}

static bool parse(const char *line, struct vm_verified *ret)
{
	struct vm_verified v = { .valid = 1 };
	int64_t mtime, ctime;

	if (sscanf(line, READ_LINE, &v.dev, &v.ino, &v.size, &mtime,
		   &v.mtime.tv_nsec, &ctime, &v.ctime.tv_nsec, v.sum) != 8 ||
	    strlen(v.sum) != SHA_HEX - 1)
		return false;
	v.mtime.tv_sec = (time_t)mtime;
	v.ctime.tv_sec = (time_t)ctime;
	*ret = v;
	return true;
}

void verified_recall(struct vm_known *known, const char *cache_dir)
{
	char boot[BOOT_SIZE], text[TEXT_MAX], *line, *save = NULL;
	size_t n = 0;

	if (known->recalled)
		return;
	known->recalled = 1;
	if (!get_boot(boot) ||
	    store_text_get(cache_dir, NAME, text, sizeof(text)) < 0 ||
	    strncmp(text, boot, strlen(boot)) != 0)
		return;
	line = strtok_r(text + strlen(boot), "\n", &save);
	for (; line && n < VM_VERIFIED_MAX; line = strtok_r(NULL, "\n", &save))
		n += parse(line, &known->verified[n]);
}

void verified_record(struct vm_known *known, const char *cache_dir)
{
	char text[TEXT_MAX];
	size_t len;

	if (!known->unrecorded || !get_boot(text))
		return;
	known->unrecorded = 0;
	len = strlen(text);
	for (size_t i = 0; i < VM_VERIFIED_MAX && len < sizeof(text); i++) {
		const struct vm_verified *v = &known->verified[i];

		if (v->valid)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, LINE, v->dev,
				v->ino, v->size, (int64_t)v->mtime.tv_sec,
				v->mtime.tv_nsec, (int64_t)v->ctime.tv_sec,
				v->ctime.tv_nsec, v->sum);
	}
	if (len < sizeof(text)) /* else, and if that fails, it is compared again */
		store_text_put(cache_dir, NAME, text);
}
