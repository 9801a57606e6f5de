/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's log: moved at its limit by any of those who write it, and no
 * line of it lost or torn. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fsd/base/daemon_log.h"
#include "layout/layout.h"
#include "tests/unit/tap.h"

#define WRITERS 4u
#define LINES 500u
#define LINE_LEN 46u /* of each below */

static char dir[] = "/tmp/fsd-log-test.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[100];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* Runs fn with standard error gone to the log, in a process of its own. */
static pid_t child(void (*fn)(unsigned), unsigned arg, uint64_t limit)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct daemon_log *l = daemon_log_open(dir, limit);

		if (!l)
			_exit(9);
		daemon_log_begin(l);
		fn(arg);
		daemon_log_close(l);
		_exit(0);
	}
	return pid;
}

static int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static void clear(void)
{
	static const char *const names[] = {
		"fsd.log", "fsd.log.1", "fsd.log.2", "fsd.log.3", "fsd.log.4",
		"moved",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
}

/* How often each line is in the file; -1: it has something else, too. */
static long count_lines(const char *name, unsigned char seen[WRITERS][LINES])
{
	FILE *f = fopen(path_of(name), "r");
	char text[2000];
	long count = 0;

	if (!f)
		return 0;
	while (count >= 0 && fgets(text, sizeof(text), f)) {
		unsigned writer, line;
		char end;

		if (sscanf(text, "%*s info writer %u line %u en%c", &writer,
			   &line, &end) == 3 && end == 'd' &&
		    writer < WRITERS && line < LINES) {
			seen[writer][line]++;
			count++;
		} else {
			count = -1;
		}
	}
	fclose(f);
	return count;
}

static void write_some(unsigned writer)
{
	for (unsigned i = 0; i < LINES; i++)
		log_info("writer %u line %03u end", writer, i);
}

static void *thread_main(void *arg)
{
	write_some(*(unsigned *)arg);
	return NULL;
}

static void write_in_threads(unsigned first)
{
	unsigned args[2] = { first, first + 1 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread_main, &args[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void test_many_writers(void)
{
	static unsigned char seen[WRITERS][LINES];
	/* four files hold it all */
	const uint64_t limit = WRITERS * LINES * LINE_LEN / 3;
	pid_t a = child(write_in_threads, 0, limit);
	pid_t b = child(write_in_threads, 2, limit);
	bool once = true, whole = true;
	char name[32] = "fsd.log";
	struct stat st;

	ok(end_of(a) == 0 && end_of(b) == 0, "two processes write the log");
	for (unsigned i = 0; i <= DAEMON_LOG_KEPT; i++) {
		if (i)
			snprintf(name, sizeof(name), "fsd.log.%u", i);
		whole &= count_lines(name, seen) >= 0;
	}
	for (unsigned w = 0; w < WRITERS; w++)
		for (unsigned i = 0; i < LINES; i++)
			once &= seen[w][i] == 1;
	ok(whole, "no line of it is torn");
	ok(once, "and each is in it once, in whichever file");
	ok(stat(path_of("fsd.log.1"), &st) == 0, "it was moved on the way");
	clear();
}

static void test_bound(void)
{
	struct stat st;
	uint64_t sum = 0;
	char name[32] = "fsd.log";

	is_int(end_of(child(write_some, 1, 1000)), 0, "much is logged");
	for (unsigned i = 0; i <= DAEMON_LOG_KEPT; i++) {
		if (i)
			snprintf(name, sizeof(name), "fsd.log.%u", i);
		if (stat(path_of(name), &st) == 0)
			sum += (uint64_t)st.st_size;
	}
	ok(sum <= 4 * (1000 + 1024) && sum > 2000, "what stays is bounded");
	ok(stat(path_of("fsd.log.4"), &st) < 0, "in no more files than said");
	clear();
}

static void move_away(unsigned how)
{
	char moved[100];

	log_info("writer 0 line 000 end");
	snprintf(moved, sizeof(moved), "%s", path_of("moved"));
	if (how == 0)
		rename(path_of("fsd.log"), moved);
	else
		unlink(path_of("fsd.log"));
	log_info("writer 0 line 001 end");
}

static void test_moved(void)
{
	static unsigned char seen[WRITERS][LINES];

	is_int(end_of(child(move_away, 0, 1 << 20)), 0, "somebody moves it");
	is_int(count_lines("moved", seen), 1, "what was there is there");
	is_int(count_lines("fsd.log", seen), 1, "what comes next is in a new one");
	clear();
	is_int(end_of(child(move_away, 1, 1 << 20)), 0, "somebody removes it");
	is_int(count_lines("fsd.log", seen), 1, "and there is another one");
	clear();
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_many_writers();
	test_bound();
	test_moved();
	ok(daemon_log_open("/proc/nonexistent/state", 1) == NULL,
	   "where no directory can be made there is none");
	rmdir(dir);
	return done_testing();
}
