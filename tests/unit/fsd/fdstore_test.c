/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, and the supervisor that keeps them for the next server. */
#include "fsd/handover/fdstore.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/tap.h"
#include "vm/os/fdpass.h"
#include "vm/os/loop.h"

#define KIND FDSTORE_SOCKET

/* A socket with a letter in it. */
static int sock(char letter)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    send(pair[1], &letter, 1, 0) != 1)
		return -1;
	close(pair[1]);
	return pair[0];
}

static char letter_of(int fd)
{
	char letter = '0';

	if (fd >= 0 && recv(fd, &letter, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
		letter = '?';
	return letter;
}

/* --- the supervisor's table ------------------------------------------------ */

static void told(struct fdstore_table *t, uint64_t what, uint64_t kind, uint64_t id, int fd)
{
	struct fdstore_message m = { what, { kind, id } };
	int unused;

	fdstore_table_hear(t, &m, fd, &unused);
}

/* What is fetched: the socket's letter, '0': nothing. */
static char fetched(struct fdstore_table *t, uint64_t kind, uint64_t id)
{
	struct fdstore_message m = { FDSTORE_FETCH, { kind, id } };
	int fd = -1;
	const struct fdstore_entry *e = fdstore_table_hear(t, &m, -1, &fd);

	return e->kind ? letter_of(fd) : '0';
}

static void the_table_keeps_and_drops(void)
{
	struct fdstore_table *t;

	ok(fdstore_table_new(3, &t) == 0, "a table");
	told(t, FDSTORE_KEEP, KIND, 1, sock('a'));
	told(t, FDSTORE_KEEP, FDSTORE_FEED_IN, 1, sock('b'));
	told(t, FDSTORE_KEEP, FDSTORE_FEED_IN, 2, sock('c'));
	told(t, FDSTORE_KEEP, KIND, 3, sock('d'));
	ok(fetched(t, KIND, 1) == 'a' && fetched(t, FDSTORE_FEED_IN, 1) == 'b',
	   "kinds have numbers of their own");
	ok(fetched(t, KIND, 3) == '0', "there are no more than it may have");
	told(t, FDSTORE_KEEP, KIND, 1, sock('A'));
	ok(fetched(t, KIND, 1) == 'A', "what is kept again takes its place");
	told(t, FDSTORE_DROP, KIND, 1, -1);
	told(t, FDSTORE_DROP, KIND, 9, -1);
	ok(fetched(t, KIND, 1) == '0', "what is dropped is gone");
	told(t, FDSTORE_SWEEP, 0, 0, -1);
	ok(fetched(t, FDSTORE_FEED_IN, 1) == 'b', "its own it keeps");
	fdstore_table_next(t);
	ok(fetched(t, FDSTORE_FEED_IN, 1) == 'b', "so does the next, if it asks");
	told(t, FDSTORE_SWEEP, 0, 0, -1);
	ok(fetched(t, FDSTORE_FEED_IN, 1) == 'b' && fetched(t, FDSTORE_FEED_IN, 2) == '0',
	   "what it has not asked for is gone");
	told(t, 12345, KIND, 1, sock('x'));
	ok(fetched(t, KIND, 1) == '0', "no other word means anything");
	fdstore_table_free(t);
}

/* --- a server and a supervisor ---------------------------------------------- */

struct supervisor {
	pthread_t thread;
	int sock;
	struct fdstore_table *t;
};

static void *serve(void *arg)
{
	struct supervisor *h = arg;
	struct fdstore_message m;
	unsigned count;
	int fd, theirs;

	for (;;) {
		const struct fdstore_entry *e;

		fd = -1;
		if (fdpass_receive(h->sock, &m, sizeof(m), &fd, 1, &count, 0) !=
		    (ssize_t)sizeof(m))
			return NULL;
		e = fdstore_table_hear(h->t, &m, fd, &theirs);
		if (e)
			fdpass_send(h->sock, e, sizeof(*e), &theirs,
				    theirs >= 0, 0);
	}
}

/* What a server gets, as fetched(). */
static char asked(struct fdstore *s, uint64_t id)
{
	int fd = fdstore_fetch(s, KIND, id);
	char letter = letter_of(fd);

	fd_close(&fd);
	return letter;
}

static void begin(struct supervisor *h, int pair[2], struct fdstore **ret)
{
	ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 &&
		   fdstore_table_new(100000, &h->t) == 0 &&
		   fdstore_new(pair[1], ret) == 0,
	   "a server and a supervisor");
	h->sock = pair[0];
}

static void end(struct supervisor *h, int pair[2], struct fdstore *s)
{
	fdstore_free(s);
	close(pair[1]);
	pthread_join(h->thread, NULL);
	fdstore_table_free(h->t);
	close(pair[0]);
}

static void a_server_gets_what_another_has_kept(void)
{
	struct fdstore *s;
	struct supervisor h;
	int pair[2], dir = open("/", O_PATH | O_CLOEXEC), fd = sock('a');

	begin(&h, pair, &s);
	pthread_create(&h.thread, NULL, serve, &h);
	fdstore_keep(s, KIND, 1, fd);
	fdstore_keep(s, KIND, 2, dir);
	close(fd);
	close(dir);
	ok(asked(s, 1) == 'a', "what is asked for is there");
	ok(asked(s, 2) == '0', "but for what is no socket");
	ok(asked(s, 3) == '0', "or was not kept");
	fdstore_drop(s, KIND, 1);
	ok(asked(s, 1) == '0', "or was dropped");
	fdstore_sweep(s);
	ok(asked(s, 2) == '0', "the supervisor is not asked later");
	end(&h, pair, s);
}

static void a_supervisor_that_does_not_hear_is_waited_for_once(void)
{
	struct fdstore *s;
	struct supervisor h;
	int pair[2], fd = sock('a');
	uint64_t begun;

	begin(&h, pair, &s);
	begun = now_ns();
	for (uint64_t id = 1; id < 10000; id++)
		fdstore_keep(s, KIND, id, fd);
	ok(now_ns() - begun < 5 * NS_PER_S, "10,000 messages take no long wait");
	pthread_create(&h.thread, NULL, serve, &h);
	while (asked(s, 1) != 'a') /* until there is room for a message */
		;
	fdstore_keep(s, KIND, 10000, fd);
	ok(asked(s, 10000) == 'a', "later it is told as before");
	close(fd);
	end(&h, pair, s);
}

int main(void)
{
	the_table_keeps_and_drops();
	a_server_gets_what_another_has_kept();
	a_supervisor_that_does_not_hear_is_waited_for_once();
	return done_testing();
}
