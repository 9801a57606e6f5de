/* SPDX-License-Identifier: Apache-2.0 */
/* A ring's bytes, and what its next owner finds when the last one was killed. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "vm/channel/mux.h"
#include "tests/unit/tap.h"

#define KILLS 300

static struct vm_mux *mux; /* in memory that processes share */

static void pair(int fds[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       fds) < 0)
		exit(1);
}

static void test_wrap(void)
{
	struct ring_room room = mux_in(mux);
	uint8_t data[100], back[100];
	const uint8_t *piece;

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	ring_set(room, VM_MUX_IN - 30, data, sizeof(data));
	ring_get(room, VM_MUX_IN - 30, back, sizeof(back));
	ok(!memcmp(data, back, sizeof(data)), "bytes go around the end");
	is_int(ring_piece(room, VM_MUX_IN - 30, 100, &piece), 30,
	       "the first piece ends there");
	ok(!memcmp(piece, data, 30), "and is in place");
}

/* The next byte of a stream that both sides know. */
static uint8_t byte_at(uint64_t n)
{
	return (uint8_t)(n * 7 + n / 251);
}

/* Takes what is in the ring, and checks it. Return: is it what was sent? */
static bool take_all(uint64_t *count)
{
	uint8_t data[4096];
	bool right = true;

	while (ring_len(&mux->in)) {
		size_t n = MIN(ring_len(&mux->in), sizeof(data));

		ring_get(mux_in(mux), mux->in.at, data, n);
		for (size_t i = 0; i < n; i++)
			right &= data[i] == byte_at((*count)++);
		mux->in.at += n;
	}
	return right;
}

/* Receives until it is killed. */
_Noreturn static void receive(int sock)
{
	for (;;)
		if (VM_MUX_IN - ring_len(&mux->in) < 65536 ||
		    ring_receive(&mux->in, mux_in(mux), sock, 65536) < 0)
			sched_yield();
}

static void write_some(int sock, uint64_t *sent)
{
	uint8_t data[3001];
	ssize_t n;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = byte_at(*sent + i);
	n = send(sock, data, sizeof(data), MSG_NOSIGNAL);
	*sent += n > 0 ? (uint64_t)n : 0;
}

static void test_killed_receiver(void)
{
	uint64_t sent = 0, got = 0;
	bool right = true;
	int fds[2];

	mux_begin(mux);
	pair(fds);
	for (int i = 0; i < KILLS && right; i++) {
		pid_t pid = fork();

		if (pid == 0)
			receive(fds[0]);
		for (int j = 0; j < 1 + i % 20; j++)
			write_some(fds[1], &sent);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		right &= ring_recover_received(&mux->in, mux_in(mux)) == 0 &&
			 take_all(&got);
	}
	while (ring_receive(&mux->in, mux_in(mux), fds[0], 65536) > 0)
		right &= take_all(&got);
	ok(right && got == sent, "%d killed receivers lose none of %llu bytes",
	   KILLS, (unsigned long long)sent);
	close(fds[0]);
	close(fds[1]);
}

_Noreturn static void send_on(int sock)
{
	for (;;)
		if (ring_send(&mux->out, mux_out(mux), sock) < 0)
			sched_yield();
}

static bool read_some(int sock, uint64_t *got)
{
	uint8_t data[5000];
	ssize_t n = recv(sock, data, sizeof(data), MSG_DONTWAIT);
	bool right = true;

	for (ssize_t i = 0; i < n; i++)
		right &= data[i] == byte_at((*got)++);
	return right;
}

static void put_some(uint64_t *put)
{
	uint8_t data[3001];

	if (VM_MUX_OUT - ring_len(&mux->out) < sizeof(data))
		return;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = byte_at((*put)++);
	ring_set(mux_out(mux), mux->out.end, data, sizeof(data));
	mux->out.end += sizeof(data);
}

static void test_killed_sender(void)
{
	uint64_t put = 0, got = 0;
	bool right = true;
	int fds[2];

	mux_begin(mux);
	pair(fds);
	for (int i = 0; i < KILLS && right; i++) {
		pid_t pid;

		for (int j = 0; j < 20; j++)
			put_some(&put);
		pid = fork();
		if (pid == 0)
			send_on(fds[0]);
		for (int j = 0; j < 1 + i % 9; j++)
			right &= read_some(fds[1], &got);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		right &= ring_recover_sent(&mux->out, mux_out(mux)) == 0;
	}
	while (right && got < put) {
		ring_send(&mux->out, mux_out(mux), fds[0]);
		right &= read_some(fds[1], &got);
	}
	ok(right, "%d killed senders send each of %llu bytes once", KILLS,
	   (unsigned long long)put);
	close(fds[0]);
	close(fds[1]);
}

static void test_untrue(void)
{
	static const struct {
		uint64_t at, end, from;
		unsigned moved;
		const char *name;
	} bad[] = {
		{ 5, 4, 0, 0, "an end before the beginning" },
		{ 0, VM_MUX_IN + 1, 0, 0, "more than the room" },
		{ 0, 0, 0, VM_MUX_IN + 1, "a call that moved more" },
		{ 0, 0, UINT64_MAX, 1, "a position behind the last" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ring r = { .at = bad[i].at, .end = bad[i].end,
				  .from = bad[i].from };

		r.call.msg_len = bad[i].moved;
		is_int(ring_recover_received(&r, mux_in(mux)), -EPROTO, "%s",
		       bad[i].name);
	}
}

/* --- a lane's state goes with its frame -------------------------------------------- */

static void put_frame(uint8_t lane, enum wire_type type, enum mux_lane state)
{
	uint8_t head[WIRE_HEADER_SIZE];

	wire_header_put(head, 0, (uint8_t)type, 0);
	wire_lane_put(head, lane);
	mux_put(mux, head, NULL, 0, lane, state, NULL);
}

static void test_notes(void)
{
	mux_begin(mux);
	mux->shared = 1;
	put_frame(3, WIRE_JOB, MUX_BUSY);
	mux->lane[3] = MUX_FREE; /* killed before it came to that */
	ok(mux_recover(mux) == 0 && mux->lane[3] == MUX_BUSY,
	   "a lane is busy once its JOB is there");
	mux->out.end -= WIRE_HEADER_SIZE; /* killed before the frame counted */
	mux->lane[3] = MUX_FREE;
	ok(mux_recover(mux) == 0 && mux->lane[3] == MUX_FREE,
	   "and not before");
	mux->out.end += WIRE_HEADER_SIZE;
	mux->lane[3] = MUX_BUSY;
	mux_set(mux, 3, MUX_IDLE);
	ok(mux_recover(mux) == 0 && mux->lane[3] == MUX_IDLE,
	   "what came later holds");
	put_frame(3, WIRE_CLOSE, MUX_CLOSING);
	mux->in.end += WIRE_HEADER_SIZE;
	mux_eat(mux, WIRE_HEADER_SIZE, 3, MUX_FREE);
	put_frame(3, WIRE_JOB, MUX_BUSY);
	ok(mux_recover(mux) == 0 && mux->lane[3] == MUX_BUSY,
	   "also of a lane that was closed and is used again");
	is_int(mux->epoch, 4, "each owner has an epoch of its own");
	mux->lane[7] = MUX_LANE_MAX;
	is_int(mux_recover(mux), -EPROTO, "a state that there is not");
	mux->lane[7] = 0;
	mux->shared = 0;
	is_int(mux_recover(mux), -EPROTO, "a machine that was not shared yet");
}

static void test_full(void)
{
	static uint8_t payload[WIRE_PAYLOAD_MAX];
	uint8_t head[WIRE_HEADER_SIZE];
	unsigned n = 0;

	mux_begin(mux);
	wire_header_put(head, sizeof(payload), WIRE_FILE_DATA, 0);
	while (mux_put(mux, head, payload, sizeof(payload), 1, MUX_LANE_MAX,
		       NULL) == 0)
		n++;
	ok(n * (sizeof(payload) + WIRE_HEADER_SIZE) == ring_len(&mux->out) &&
		   ring_len(&mux->out) <= VM_MUX_OUT,
	   "a frame is put whole or not at all: %u", n);
}

int main(void)
{
	mux = mmap(NULL, sizeof(*mux), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mux == MAP_FAILED)
		return 1;
	test_wrap();
	test_killed_receiver();
	test_killed_sender();
	test_untrue();
	test_notes();
	test_full();
	return done_testing();
}
