/* SPDX-License-Identifier: Apache-2.0 */
/* A replay buffer through a wrap, a full room, a point, and through the death of its writer
 * at any instruction. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/wire/wire.h"
#include "layout/base/cleanup.h"
#include "vm/channel/replay.h"
#include "tests/unit/tap.h"

#define KILLS 400
#define CHUNK 30000u /* no divisor of the room */

static struct vm_replay *new_replay(void)
{
	struct vm_replay *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		abort();
	return t;
}

static void free_replay(struct vm_replay *t)
{
	munmap(t, sizeof(*t));
}

static void make_pair(int pair[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
}

/* What byte n of every wire here is. */
static uint8_t byte_at(uint64_t n)
{
	return (uint8_t)(n * 131 + n / 251 + n / 65521);
}

static bool is_right(const uint8_t *data, size_t size, uint64_t from)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] != byte_at(from + i))
			return false;
	return true;
}

static void put(int sock, uint64_t from, size_t size)
{
	uint8_t data[CHUNK];

	for (size_t i = 0; i < size; i++)
		data[i] = byte_at(from + i);
	if (send(sock, data, size, MSG_NOSIGNAL) != (ssize_t)size)
		abort();
}

static const struct vm_checkpoint none;

static void test_use(void)
{
	struct vm_replay *t = new_replay();
	uint8_t data[2 * CHUNK];
	uint64_t at = 3, sent = 3;
	bool right = true;
	int pair[2];
	ssize_t n = 0;

	make_pair(pair);
	memcpy(data, (uint8_t[]){ byte_at(0), byte_at(1), byte_at(2) }, 3);
	replay_begin(t, &none, data, 3);
	is_int(replay_take(t, &at, pair[0], data, sizeof(data)), -EAGAIN,
	       "an empty wire has nothing");
	while (n >= 0 && sent < VM_REPLAY_ROOM - CHUNK) {
		put(pair[1], sent, CHUNK);
		sent += CHUNK;
		n = replay_take(t, &at, pair[0], data, CHUNK);
		right &= n == CHUNK && is_right(data, CHUNK, at - CHUNK);
	}
	ok(right, "what is sent is what is taken");
	put(pair[1], sent, CHUNK);
	n = replay_take(t, &at, pair[0], data, CHUNK);
	ok(n > 0 && at == VM_REPLAY_ROOM, "no more is read than there is room");
	is_int(replay_take(t, &at, pair[0], data, CHUNK), -ENOBUFS,
	       "a full tape says so");
	*replay_draft(t) = (struct vm_checkpoint){ .at = at - 1000 };
	is_int(replay_take(t, &at, pair[0], data, CHUNK), -ENOBUFS,
	       "a draft gives no room");
	replay_commit(t);
	n = replay_take(t, &at, pair[0], data, CHUNK);
	ok(n > 0 && is_right(data, (size_t)n, at - (uint64_t)n),
	   "a point does, and the bytes go on behind the end of the room");
	at = replay_checkpoint(t)->at;
	n = replay_take(t, &at, pair[0], data, sizeof(data));
	ok(n >= 1000 && is_right(data, (size_t)n, at - (uint64_t)n),
	   "from the point on all is heard again");
	close(pair[1]);
	while ((n = replay_take(t, &at, pair[0], data, CHUNK)) > 0)
		;
	is_int(n, 0, "the end of the wire is told behind its last byte");
	is_int(replay_recover(t), 0, "it can be taken over");
	t->spoiled = 1;
	is_int(replay_recover(t), -EPROTO, "but not if it was spoiled");
	close(pair[0]);
	free_replay(t);
}

/* Its guest dies, and has not read what it was told. */
static void test_last_words(void)
{
	struct vm_replay *t = new_replay();
	uint8_t data[10];
	uint64_t at = 0;
	int pair[2];

	make_pair(pair);
	replay_begin(t, &none, (const uint8_t *)"", 0);
	put(pair[0], 0, 1);
	put(pair[1], 0, 3);
	close(pair[1]);
	is_int(replay_take(t, &at, pair[0], data, sizeof(data)), 3,
	       "the last words of who died come before the end");
	is_int(replay_take(t, &at, pair[0], data, sizeof(data)), 0,
	       "then the end comes");
	close(pair[0]);
	free_replay(t);
}

static void test_recover(void)
{
	struct vm_replay *t = new_replay();

	replay_begin(t, &none, (const uint8_t *)"abc", 3);
	t->read.msg_len = 5; /* read, and not counted: it was killed there */
	ok(replay_recover(t) == 0 && t->end == 8, "a read that ended counts");
	t->which = 2;
	is_int(replay_recover(t), -EPROTO, "a point that is none is refused");
	t->which = 0;
	t->point[0].at = 9;
	is_int(replay_recover(t), -EPROTO, "and one behind the end");
	t->point[0].at = 0;
	t->end = VM_REPLAY_ROOM + 1;
	is_int(replay_recover(t), -EPROTO, "and one before the room");
	t->end = 3;
	t->read.msg_len = UINT32_MAX;
	is_int(replay_recover(t), -EPROTO, "and a read of more than the room");
	free_replay(t);
}

/* Return: bytes. */
static size_t frame(uint8_t *to, enum wire_type type, uint32_t length)
{
	wire_header_put(to, length, (uint8_t)type, 0);
	memset(to + WIRE_HEADER_SIZE, 0, length);
	return WIRE_HEADER_SIZE + length;
}

static void test_whole(void)
{
	struct vm_replay *t = new_replay();
	uint8_t data[4096];
	size_t n = 0;

	n += frame(data + n, WIRE_STARTED, 0);
	n += frame(data + n, WIRE_OUT, 700);
	n += frame(data + n, WIRE_EXIT, 80);
	replay_begin(t, &none, data, n);
	ok(replay_is_whole(t, true), "with no output tree an EXIT is the end");
	ok(!replay_is_whole(t, false), "else it is not");
	n += frame(data + n, WIRE_FILE, 30);
	n += frame(data + n, WIRE_OUTPUT_END, 8);
	replay_begin(t, &none, data, n - 1);
	ok(!replay_is_whole(t, false), "half an OUTPUT_END is none");
	replay_begin(t, &none, data, n);
	ok(replay_is_whole(t, false), "a whole one is the end");
	data[4] ^= 0xff;
	replay_begin(t, &none, data, n);
	ok(!replay_is_whole(t, true), "what is no frame is no end");
	free_replay(t);
}

/* --- killed ------------------------------------------------------------------ */

/* What the writer of a replay buffer tells who takes over, beside it. */
struct progress {
	uint64_t at; /* all before was right */
	uint64_t wrong;
};

/* Takes, settles now and then, until it is killed or the wire ends. */
static void listen_on(struct vm_replay *t, int sock, struct progress *p)
{
	uint64_t at = replay_checkpoint(t)->at;
	unsigned turns = 0;
	uint8_t data[7000];
	ssize_t n;

	while ((n = replay_take(t, &at, sock, data, sizeof(data))) != 0) {
		if (n == -EAGAIN)
			continue;
		if (n < 0 || !is_right(data, (size_t)n, at - (uint64_t)n))
			p->wrong++;
		p->at = at;
		if (n < 0)
			_exit(1);
		if (++turns % 3)
			continue;
		*replay_draft(t) = (struct vm_checkpoint){ .at = at - 100 };
		replay_commit(t);
	}
	_exit(0);
}

static pid_t begin_sending(int sock)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (uint64_t sent = 0;; sent += CHUNK)
		put(sock, sent, CHUNK);
}

static void test_kills(void)
{
	struct vm_replay *t = new_replay();
	struct progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned lost = 0, odd = 0;
	pid_t sender, pid;
	int pair[2], status;

	make_pair(pair);
	replay_begin(t, &none, (const uint8_t *)"", 0);
	sender = begin_sending(pair[1]);
	for (unsigned i = 0; i < KILLS; i++) {
		uint64_t before = p->at;

		pid = fork();
		if (pid == 0)
			listen_on(t, pair[0], p);
		while (p->at == before && !p->wrong)
			usleep(20);
		usleep((useconds_t)(random() % 1500));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		odd += !WIFSIGNALED(status);
		lost += replay_recover(t) < 0;
	}
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	ok(!lost && !odd, "a tape is of use after each of %d deaths", KILLS);
	is_int((long long)p->wrong, 0, "no byte of %llu is lost, or comes twice",
	       (unsigned long long)p->at);
	munmap(p, sizeof(*p));
	free_replay(t);
}

int main(void)
{
	test_use();
	test_last_words();
	test_recover();
	test_whole();
	test_kills();
	return done_testing();
}
