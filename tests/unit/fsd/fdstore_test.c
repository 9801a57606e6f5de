/* SPDX-License-Identifier: Apache-2.0 */
/* Files without a name, and the supervisor that keeps them for the next server. */
#include "fsd/handover/fdstore.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/tap.h"
#include "vm/os/fdpass.h"
#include "vm/os/loop.h"

#define KIND FDSTORE_NODE

/* A file with a letter in it. */
static int file(char letter)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	return pwrite(fd, &letter, 1, 0) == 1 ? fd : -1;
}

static char letter_of(int fd)
{
	char letter = '-';

	if (fd >= 0 && pread(fd, &letter, 1, 0) != 1)
		letter = '?';
	return letter;
}

static struct fdstore_entry entry(uint32_t kind, uint64_t id)
{
	return (struct fdstore_entry){ .kind = kind, .id = id, .uid = 7 };
}

/* --- the supervisor's table --------------------------------------------------- */

static void told(struct fdstore_table *t, uint64_t what, uint32_t kind,
		 uint64_t id, int fd)
{
	struct fdstore_message m = { what, entry(kind, id) };
	int unused;

	fdstore_table_hear(t, &m, fd, &unused);
}

/* What is fetched: the file's letter, '-' without one, '0': nothing. */
static char fetched(struct fdstore_table *t, uint32_t kind, uint64_t id)
{
	struct fdstore_message m = { FDSTORE_FETCH, entry(kind, id) };
	int fd = -1;
	const struct fdstore_entry *e = fdstore_table_hear(t, &m, -1, &fd);

	return e->kind ? letter_of(fd) : '0';
}

static void the_table_keeps_and_drops(void)
{
	struct fdstore_table *t;

	ok(fdstore_table_new(3, &t) == 0, "a table");
	told(t, FDSTORE_KEEP, KIND, 1, file('a'));
	told(t, FDSTORE_KEEP, FDSTORE_VFILE, 1, file('b'));
	told(t, FDSTORE_KEEP, FDSTORE_VFILE, 2, -1);
	told(t, FDSTORE_KEEP, KIND, 3, file('d'));
	ok(fetched(t, KIND, 1) == 'a' && fetched(t, FDSTORE_VFILE, 1) == 'b',
	   "kinds have numbers of their own");
	ok(fetched(t, FDSTORE_VFILE, 2) == '-', "an entry may have no file");
	ok(fetched(t, KIND, 3) == '0', "there are no more than it may have");
	told(t, FDSTORE_KEEP, KIND, 1, file('A'));
	ok(fetched(t, KIND, 1) == 'A', "what is kept again takes its place");
	told(t, FDSTORE_DROP, KIND, 1, -1);
	told(t, FDSTORE_DROP, KIND, 9, -1);
	ok(fetched(t, KIND, 1) == '0', "what is dropped is gone");
	told(t, FDSTORE_SWEEP, 0, 0, -1);
	ok(fetched(t, FDSTORE_VFILE, 1) == 'b', "its own it keeps");
	fdstore_table_next(t);
	ok(fetched(t, FDSTORE_VFILE, 1) == 'b', "so does the next, if it asks");
	told(t, FDSTORE_SWEEP, 0, 0, -1);
	ok(fetched(t, FDSTORE_VFILE, 1) == 'b' && fetched(t, FDSTORE_VFILE, 2) == '0',
	   "what it has not asked for is gone");
	told(t, 12345, KIND, 1, file('x'));
	ok(fetched(t, KIND, 1) == '0', "no other word means anything");
	fdstore_table_free(t);
}

/* --- a server and a supervisor ------------------------------------------------ */

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
	struct fdstore_entry e;
	int fd;
	char letter = '0';

	if (fdstore_fetch(s, KIND, id, &e, &fd) == 0 && e.uid == 7)
		letter = letter_of(fd);
	fd_close(&fd);
	return letter;
}

static void a_server_gets_what_another_has_kept(void)
{
	struct fdstore_entry a = entry(KIND, 1), b = entry(KIND, 2);
	struct loop *loop;
	struct fdstore *s;
	struct supervisor h;
	int pair[2], dir = open("/", O_PATH | O_CLOEXEC), fd = file('a');

	ok(loop_new(&loop) == 0 &&
		   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ==
			   0 &&
		   fdstore_table_new(10, &h.t) == 0 &&
		   fdstore_new(loop, pair[1], &s) == 0,
	   "a server and a holder");
	h.sock = pair[0];
	pthread_create(&h.thread, NULL, serve, &h);
	ok(fdstore_keep(s, &a, fd) == 0 && fdstore_keep(s, &b, dir) == 0,
	   "the one keeps");
	close(fd);
	close(dir);
	ok(asked(s, 1) == 'a', "what is asked for is there");
	ok(asked(s, 2) == '0', "but for what is no file");
	ok(asked(s, 3) == '0', "or was not kept");
	fdstore_drop(s, KIND, 1);
	ok(asked(s, 1) == '0', "or was dropped");
	fdstore_sweep(s);
	ok(asked(s, 2) == '0', "nobody is asked later");
	fdstore_free(s);
	close(pair[1]);
	pthread_join(h.thread, NULL);
	fdstore_table_free(h.t);
	close(pair[0]);
	loop_free(loop);
}

static void nobody_waits_for_a_supervisor_that_does_not_hear(void)
{
	struct fdstore_entry e = entry(KIND, 0);
	struct loop *loop;
	struct fdstore *s;
	struct supervisor h;
	int pair[2], fd = file('a');
	uint64_t kept = 0, begun;

	ok(loop_new(&loop) == 0 &&
		   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ==
			   0 &&
		   fdstore_table_new(100000, &h.t) == 0 &&
		   fdstore_new(loop, pair[1], &s) == 0,
	   "a holder that stands still");
	while (++e.id < 100000 && fdstore_keep(s, &e, fd) == 0)
		kept++;
	ok(kept && kept < 99999, "there is an end of what it can be told");
	begun = now_ns();
	for (int i = 0; i < 50; i++)
		fdstore_keep(s, &e, fd);
	ok(now_ns() - begun < NS_PER_S, "which nobody waits for again");
	for (uint64_t id = 1; id <= kept; id += 2)
		fdstore_drop(s, KIND, id);
	h.sock = pair[0];
	pthread_create(&h.thread, NULL, serve, &h);
	while (fdstore_keep(s, &e, fd) < 0)
		;
	ok(asked(s, 1) == '0' && asked(s, 3) == '0', "what was dropped is gone");
	ok(asked(s, 2) == 'a' && asked(s, kept & ~1ull) == 'a',
	   "and nothing else");
	ok(asked(s, e.id) == 'a', "later it is told as before");
	fdstore_free(s);
	close(pair[1]);
	pthread_join(h.thread, NULL);
	fdstore_table_free(h.t);
	close(pair[0]);
	close(fd);
	loop_free(loop);
}

int main(void)
{
	the_table_keeps_and_drops();
	a_server_gets_what_another_has_kept();
	nobody_waits_for_a_supervisor_that_does_not_hear();
	return done_testing();
}
