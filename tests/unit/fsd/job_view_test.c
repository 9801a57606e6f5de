/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands show of a job: its words are those of whoever made it. */
#include "fsd/client/job_view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static int dir;

static void put(const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

/* ESC, DEL, the C1 controls CSI and NEL, half a character; the rest stays. */
#define RAW "a\x1b[2J\x7f\xc2\x9b" "2J\xc2\x85\xc3\xa9\xe6\x97\xa5 \xc3"
#define SHOWN "a?[2J???2J??\xc3\xa9\xe6\x97\xa5 ?"
#define JSON "a\\u001b[2J\\u007f\\u009b2J\\u0085\xc3\xa9\xe6\x97\xa5 ?"

static void test_words(void)
{
	struct job_view v;

	put("state", "refused\n");
	put("error", RAW "\nmore\n");
	put("log", "2030-01-01T00:00:00.000Z waits\n");
	put("config.json", "{\"language\": \"" "\\u009b2J\xc3\xa9" "\"}");
	is_int(job_view_read(dir, &v), 0, "a job is read");
	is_str(v.error, SHOWN, "its error moves no terminal's cursor");
	is_str(v.language, "??2J\xc3\xa9", "nor does what its config says");

	put("state", "queued\n");
	put("log", "2030-01-01T00:00:00.000Z waits for " RAW "\n");
	job_view_read(dir, &v);
	is_str(v.waits, "waits for " SHOWN, "nor its log");

	put("state", "done\n");
	put("result.json", "{\"message\": \"" JSON "\", \"status\": \"\\u009bx\"}");
	put("exit_code", "1\n");
	job_view_read(dir, &v);
	is_str(v.message, SHOWN, "nor its result");
	is_str(v.status, "??x", "in none of its words");
}

int main(void)
{
	static const char *const names[] = {
		"state", "error", "log", "config.json", "result.json", "exit_code",
	};
	char path[] = "/tmp/job-view.XXXXXX";

	if (!mkdtemp(path))
		abort();
	dir = open(path, O_RDONLY | O_DIRECTORY);
	test_words();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(dir, names[i], 0);
	close(dir);
	rmdir(path);
	return done_testing();
}
