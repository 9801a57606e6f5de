/* SPDX-License-Identifier: Apache-2.0 */
/* A program's standard input: what is acknowledged is what the program has read. */
#include "guest/run/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tap.h"

struct side {
	struct port port;
	struct input_stream in;
	int program; /* its end of the pipe, or -1 */
	unsigned at; /* in port.out */
	char data[WIRE_STDIN_WINDOW];
};

static void begin(struct side *s)
{
	int ends[2];

	*s = (struct side){.port = {.fd = -1, .out = malloc(PORT_OUT_SIZE)}};
	if (!s->port.out || pipe2(ends, O_NONBLOCK) || input_open(&s->in, ends[1]))
		abort();
	s->program = ends[0];
}

static void end(struct side *s)
{
	close(s->program);
	input_reset(&s->in);
	free(s->in.bytes);
	free(s->port.out);
}

/* The host sends so many bytes. */
static void come(struct side *s, size_t size)
{
	is_int(input_add(&s->in, s->data, size), 0, "%zu bytes come", size);
	input_pump(&s->in, &s->port);
}

/* The program reads so many bytes. Return: those that it got. */
static long long program_reads(struct side *s, size_t size)
{
	ssize_t n = read(s->program, s->data, size);

	return n < 0 ? 0 : n;
}

/* The acknowledgement that comes next. Return: its figure, negative with arg 1; 0: none. */
static long long acknowledged(struct side *s)
{
	const uint8_t *p = s->port.out + s->at;
	struct wire_header h;
	struct wire_cursor c;
	long long n;

	if (s->at == s->port.out_end)
		return 0;
	if (wire_header_get(p, &h) < 0 || h.type != WIRE_STDIN_ACK)
		abort();
	wire_begin(&c, p + WIRE_HEADER_SIZE, h.length);
	n = wire_get_u32(&c);
	s->at += WIRE_HEADER_SIZE + h.length;
	return h.arg ? -n : n;
}

static void test_read(void)
{
	struct side s;

	begin(&s);
	come(&s, 10);
	is_int(acknowledged(&s), 0, "what the pipe has is not read yet");
	ok(input_is_awaited(&s.in), "it is waited for");
	is_int(program_reads(&s, 4), 4, "the program reads a part");
	input_pump(&s.in, &s.port);
	is_int(acknowledged(&s), 4, "which is acknowledged");
	is_int(program_reads(&s, 100), 6, "it reads the rest");
	input_pump(&s.in, &s.port);
	is_int(acknowledged(&s), 6, "which is as well");
	ok(!input_is_awaited(&s.in), "and there is nothing to wait for");
	come(&s, 9000);
	is_int(program_reads(&s, 9000), 4096, "a page is in the pipe");
	input_pump(&s.in, &s.port);
	is_int(acknowledged(&s), 4096, "and the next one once that is read");
	is_int(program_reads(&s, 100), 100, "a part of it is read");
	input_report(&s.in, &s.port);
	is_int(acknowledged(&s), 100, "at the end that counts, too");
	end(&s);
}

static void test_window(void)
{
	struct side s;
	long long sum = 0;

	begin(&s);
	come(&s, WIRE_STDIN_WINDOW);
	is_int(input_add(&s.in, s.data, 8192), -EPROTO, "no more than the window");
	for (int i = 0; i < 100 && sum < WIRE_STDIN_WINDOW; i++) {
		program_reads(&s, sizeof(s.data));
		input_pump(&s.in, &s.port);
		sum += acknowledged(&s);
	}
	is_int(sum, WIRE_STDIN_WINDOW, "all of a window is read");
	come(&s, WIRE_STDIN_WINDOW);
	is_int(program_reads(&s, WIRE_STDIN_WINDOW), WIRE_STDIN_WINDOW / 2,
	       "then the pipe has more at once");
	input_pump(&s.in, &s.port);
	is_int(acknowledged(&s), WIRE_STDIN_WINDOW / 2, "which is acknowledged");
	ok(!input_is_awaited(&s.in), "and the rest of it is not waited for");
	end(&s);
}

static void test_widened(void)
{
	struct side s;

	begin(&s);
	come(&s, 10);
	if (fcntl(s.program, F_SETPIPE_SZ, 65536) < 0)
		abort();
	input_pump(&s.in, &s.port);
	ok(!input_is_awaited(&s.in), "a pipe that the program has widened always has room");
	end(&s);
}

static void test_closed(void)
{
	struct side s;

	begin(&s);
	come(&s, 5000);
	is_int(program_reads(&s, 7), 7, "some of it is read");
	close(s.program);
	s.program = -1;
	ok(input_is_awaited(&s.in), "the close is waited for");
	input_pump(&s.in, &s.port);
	is_int(acknowledged(&s), 7, "what was read comes first");
	is_int(acknowledged(&s), -4993, "then what is dropped");
	come(&s, 3);
	is_int(acknowledged(&s), -3, "as is what was on its way");
	end(&s);

	begin(&s);
	come(&s, 5);
	close(s.program);
	s.program = -1;
	input_pump(&s.in, &s.port);
	is_int(acknowledged(&s), -5, "a close is told though nothing more is written");
	end(&s);
}

static void test_end(void)
{
	struct side s;

	begin(&s);
	come(&s, 50);
	input_end(&s.in);
	is_int(program_reads(&s, 20), 20, "behind the end the program reads on");
	input_report(&s.in, &s.port);
	is_int(acknowledged(&s), 20, "and what it has read is known");
	is_int(program_reads(&s, 100), 30, "it reads the rest");
	is_int(read(s.program, s.data, 1), 0, "and comes to the end");
	input_report(&s.in, &s.port);
	is_int(acknowledged(&s), 30, "which is known, too");
	end(&s);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_read();
	test_window();
	test_widened();
	test_closed();
	test_end();
	return done_testing();
}
