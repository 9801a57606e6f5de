/* SPDX-License-Identifier: Apache-2.0 */
/* A step's end, and what a program that goes on makes of it. */
#include "guest/run/step.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/run/job.h"
#include "tests/unit/tap.h"

static struct port port_new(void)
{
	struct port p = {.fd = -1, .out = malloc(PORT_OUT_SIZE)};

	if (!p.out)
		abort();
	return p;
}

/* As a step's fifo: open for both ways. */
static struct stream stream_new(const char *path)
{
	struct stream s = {.type = WIRE_OUT, .limit = 1000};

	s.fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (s.fd < 0)
		abort();
	return s;
}

static void write_all(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
}

static void test_stream(const char *path)
{
	struct port port = port_new();
	struct stream s = stream_new(path);
	char bytes[8];

	write_all(s.fd, "one");
	is_int(stream_pump(&s, &port), 0, "a stream goes on");
	write_all(s.fd, "two");
	stream_last(&s);
	write_all(s.fd, "late");
	is_int(stream_pump(&s, &port), 1, "until its step is over");
	is_int((long long)s.bytes, 6, "what comes later is not the step's");
	is_int(read(s.fd, bytes, sizeof(bytes)), 4, "nor read");
	stream_last(&s);
	is_int(stream_pump(&s, &port), 1, "it may be empty at the end");
	close(s.fd);

	s = stream_new(path);
	write_all(s.fd, "two");
	stream_last(&s);
	is_int(read(s.fd, bytes, sizeof(bytes)), 3, "somebody else reads");
	is_int(stream_pump(&s, &port), 1, "and that holds up nothing");
	close(s.fd);
	free(port.out);
}

static void test_flood(void)
{
	struct runner runner = {.control = -1};
	struct job job = {.phase = JOB_RUNNING, .runner = &runner};
	int ends[2];
	char byte;

	for (int i = 0; i < STREAM_MAX; i++)
		job.stream[i].fd = -1;
	job.step.input = job.input.fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	runner.control = ends[0];
	for (int i = 0; i < 100; i++)
		write_all(ends[1], "RRRRRRRRRR");
	step_hear(&job);
	is_int(recv(ends[0], &byte, 1, MSG_DONTWAIT), 1,
	       "who says much is not heard to the end at once");
	for (int i = 0; i < 100; i++)
		step_hear(&job);
	write_all(ends[1], "SE");
	write_all(ends[1], "\7");
	step_hear(&job);
	ok(job.step.over && job.step.lives && job.status == 7 << 8,
	   "the end is heard");
	is_int(job.phase, JOB_ENDING, "and ends the step");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	char path[] = "/tmp/guest_step_XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || close(fd) || unlink(path) || mkfifo(path, 0600))
		abort();
	test_stream(path);
	test_flood();
	unlink(path);
	return done_testing();
}
