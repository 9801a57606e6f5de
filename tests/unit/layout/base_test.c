/* SPDX-License-Identifier: Apache-2.0 */
/* The ground floor: errors, buffers, lists, guards, numbers, the log. */
#include "layout/layout.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/tap.h"

static void test_err(void)
{
	struct err e = { .code = 0 };
	char big[1000];

	errno = ENOTTY;
	is_int(err_set(&e, -EINVAL, "a is %d", 3), -EINVAL, "the code");
	is_str(e.text, "a is 3", "the sentence");
	is_int(err_set(NULL, -EPERM, "x"), -EPERM, "nobody has to listen");
	is_int(err_sys(&e, -ENOENT, "open %s", "f"), -ENOENT, "a system error");
	is_str(e.text, "open f: No such file or directory", "says its name");
	is_int(err_wrap(&e, "job %s", "j"), -ENOENT, "wrapping keeps the code");
	is_str(e.text, "job j: open f: No such file or directory",
	       "and puts the context before");
	is_int(errno, ENOTTY, "errno is kept by all of them");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(&e, -EINVAL, "%s", big);
	is_int((long long)strlen(e.text), sizeof(e.text) - 1,
	       "a long sentence is cut");
	err_sys(&e, -EINVAL, "%s", big);
	err_wrap(&e, "%s", big);
	is_int((long long)strlen(e.text), sizeof(e.text) - 1,
	       "however it grew");
}

/* b has 100000 bytes, each its own number. */
static void test_eat(struct buf *b)
{
	const char *second = b->data + 1;
	bool same = true;

	buf_eat(b, 1);
	ok(b->data == second, "bytes behind those that are eaten stay where they are");
	for (unsigned i = 1; i < 300000; i++) {
		same &= b->data[0] == (char)i;
		buf_eat(b, 1);
		buf_add(b, &(char){ (char)(i + 99999) }, 1);
	}
	ok(same, "a queue gives what it was given");
	is_int((long long)b->len, 99999, "and is as long as it was");
	ok(b->size + b->eaten < 500000, "it takes no more room than twice that");
	buf_eat(b, b->len);
	is_int((long long)b->eaten, 0, "an empty one has all of its room again");
}

static void test_buf(void)
{
	struct buf b = { .cap = 10 };

	is_int(buf_str(&b, "hello"), 0, "text");
	is_int(buf_fmt(&b, "%03d", 7), 0, "formatted text");
	is_int(buf_add(&b, "", 0), 0, "nothing");
	is_str(b.data, "hello007", "are appended");
	is_int(buf_add(&b, "abc", 3), -EFBIG, "past the cap it refuses");
	is_str(b.data, "hello007", "and keeps what it has");
	is_int(buf_add(&b, "a", 1), -EFBIG, "and goes on refusing");
	buf_clear(&b);
	is_int((long long)b.len, 0, "until it is cleared");
	is_int(buf_str(&b, "0123456789"), 0, "exactly the cap fits");
	is_int(buf_reserve(&b, 1), -EFBIG, "and not a byte more");
	buf_clear(&b);
	buf_str(&b, "abcdef");
	buf_eat(&b, 2);
	is_str(b.data, "cdef", "the front can be eaten");
	buf_eat(&b, 100);
	is_int((long long)b.len, 0, "all of it at most");
	is_int(buf_reserve(&b, SIZE_MAX), -EFBIG, "no length overflows");
	buf_done(&b);
	buf_done(&b);
	is_int((long long)b.cap, 10, "released, it keeps its cap");
	b = (struct buf){ .cap = 0 };
	buf_eat(&b, 1);
	buf_clear(&b);
	buf_done(&b);
	ok(!b.data, "an empty one bears everything");
	for (unsigned i = 0; i < 100000; i++)
		buf_add(&b, &(char){ (char)i }, 1);
	is_int((long long)b.len, 100000, "bytes add up");
	ok(b.data[99999] == (char)99999, "in order");
	test_eat(&b);
	buf_done(&b);
}

struct node {
	int n;
	struct list link;
};

static void test_list(void)
{
	struct node nodes[3] = { { .n = 0 }, { .n = 1 }, { .n = 2 } };
	struct list head;
	struct node *first;
	int seen = 0;

	list_init(&head);
	first = list_first(&head, struct node, link);
	ok(list_empty(&head), "a new ring is empty");
	ok(!first, "and has no first");
	list_add_tail(&head, &nodes[1].link);
	list_add_tail(&head, &nodes[2].link);
	list_add(&head, &nodes[0].link);
	list_for_each(pos, tmp, &head) {
		struct node *node = list_entry(pos, struct node, link);

		is_int(node->n, seen++, "node %d is in its place", node->n);
		list_del(pos);
	}
	ok(list_empty(&head), "nodes can go while one walks");
	list_del(&nodes[0].link);
	list_del(&(struct list){ NULL, NULL });
	ok(list_empty(&nodes[0].link), "taking one out twice is nothing");
}

static void test_num(void)
{
	uint64_t v = 7, sum = UINT64_MAX - 1;

	is_int(parse_u64("42", 0, 100, &v), 0, "a number");
	is_int((long long)v, 42, "is read");
	is_int(parse_u64("18446744073709551615", 0, UINT64_MAX, &v), 0,
	       "the biggest one");
	is_int(parse_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE,
	       "not the one behind it");
	is_int(parse_u64("101", 0, 100, &v), -ERANGE, "over the maximum");
	is_int(parse_u64("4", 5, 100, &v), -ERANGE, "under the minimum");
	for (const char *const *p = (const char *const[]){ "", "-1", "+1",
	     " 1", "1 ", "0x1", "1k", "x", NULL }; *p; p++)
		is_int(parse_u64(*p, 0, 100, &v), -EINVAL, "\"%s\" is none",
		       *p);
	ok(add_checked(&sum, 1) && sum == UINT64_MAX, "a sum that fits");
	ok(!add_checked(&sum, 1) && sum == UINT64_MAX,
	   "one that does not leaves the sum alone");
}

static void test_guards(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), taken, number;

	number = fd;
	{
		auto_close int guarded = fd;

		errno = ENOTTY;
		taken = take_fd(&guarded);
	}
	ok(taken == number && fcntl(number, F_GETFD) >= 0,
	   "a taken descriptor outlives its guard");
	{
		auto_close int guarded = taken;

		(void)guarded;
		errno = ENOTTY;
	}
	is_int(errno, ENOTTY, "a guard keeps errno");
	ok(fcntl(number, F_GETFD) < 0, "and closes");
	fd = -1;
	fd_close(&fd);
	is_int(fd, -1, "closing none is nothing");
	{
		auto_free char *text = strdup("x");
		auto_free char *other = take_ptr(text);

		ok(!text && other, "a taken pointer leaves NULL behind");
	}
}

/* Says that this is the stream which systemd has connected to the journal. */
static void set_journal(int fd)
{
	char stream[64];
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
}

/* What log_info() writes, through a pipe, which may be the journal's. */
static void logged_by(bool journal, const char *text, char *room, size_t size)
{
	int pipe_fd[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	room[0] = '\0';
	if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0 || saved < 0)
		abort();
	dup2(pipe_fd[1], STDERR_FILENO);
	if (journal)
		set_journal(pipe_fd[1]);
	errno = ENOTTY;
	log_info("%s", text);
	if (errno != ENOTTY)
		abort();
	dup2(saved, STDERR_FILENO);
	n = read(pipe_fd[0], room, size - 1);
	room[n > 0 ? n : 0] = '\0';
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	close(saved);
}

static void logged(const char *text, char *room, size_t size)
{
	logged_by(false, text, room, size);
}

static void test_journal(void)
{
	char line[4096];

	logged_by(true, "two\nlines", line, sizeof(line));
	is_str(line, "<6>info two lines\n",
	       "the journal gets a priority, and no time: it has its own");
	logged("elsewhere", line, sizeof(line));
	ok(strstr(line, "Z info elsewhere"),
	   "standard error that is not the journal's gets the time: %s", line);
	setenv("JOURNAL_STREAM", "8:", 1);
	is_str(log_priority(LOG_ERROR), "", "half a $JOURNAL_STREAM names none");
	unsetenv("JOURNAL_STREAM");
}

static void test_log(void)
{
	char line[4096], big[3000];

	is_int(log_level_parse("debug"), LOG_DEBUG, "a level has a name");
	is_int(log_level_parse("DEBUG"), -EINVAL, "with one spelling");
	logged("two\nlines", line, sizeof(line));
	ok(strlen(line) == 24 + 6 + 9 + 1 &&
	   !strcmp(line + 24, " info two lines\n"),
	   "an event is one line: %s", line);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	logged(big, line, sizeof(line));
	ok(strlen(line) < 1100 && line[strlen(line) - 1] == '\n',
	   "a long one is cut and ends its line");
	log_set_level(LOG_WARN);
	logged("quiet", line, sizeof(line));
	is_str(line, "", "a level below the threshold is dropped");
	log_set_level(LOG_INFO);
	test_journal();
}

int main(void)
{
	test_err();
	test_buf();
	test_list();
	test_num();
	test_guards();
	test_log();
	return done_testing();
}
