/* SPDX-License-Identifier: Apache-2.0 */
/* Heads and chunks as they come in pieces; shares of a bounded thing; workers whose time
 * is over. */
#include "fsd/gateway/base/crew.h"
#include "fsd/gateway/base/head.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tap.h"

/* --- heads -------------------------------------------------------------------------- */

static long parse(const char *text, size_t len, struct head *h)
{
	static char room[HEAD_ALL + 64];

	memcpy(room, text, len);
	return head_parse(room, len, h);
}

static void test_whole(void)
{
	static const char text[] = "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n"
				   "X-Y: \t a b \t\r\nExpect: 100-Continue\r\n\r\nrest";
	struct head h;
	long n = 0;

	for (size_t len = 0; len < sizeof(text) - 5; len++)
		n |= parse(text, len, &h);
	is_int(n, 0, "a head that has not ended is waited for");
	is_int(parse(text, sizeof(text) - 1, &h), (long)sizeof(text) - 5,
	       "it ends with its empty line");
	is_str(h.method, "POST", "its method");
	is_str(h.target, "/a?b", "its target");
	is_int((long long)h.length, 12, "its length");
	is_str(h.field[2].value, "a b", "blanks around a value are none of it");
	ok(h.continues && h.keep && !h.old && !h.chunked, "what it says of the body");
}

static void refused(const char *text, unsigned status)
{
	struct head h;
	long n = parse(text, strlen(text), &h);

	if (!ok(n < 0 && h.status == status, "%u: %.60s", status, text))
		printf("# %ld, status %u\n", n, h.status);
}

#define WITH(lines) "GET / HTTP/1.1\r\nHost: x\r\n" lines "\r\n"

static void test_refused(void)
{
	struct head h;

	refused("GET / HTTP/1.1\r\n\r\n", 400);
	refused("GET / HTTP/1.1\n", 400);
	refused("GET / HTTP/3.0\r\n\r\n", 505);
	refused(WITH("Content-Length: 1\r\nContent-Length: 1\r\n"), 400);
	refused(WITH("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400);
	refused(WITH("Content-Length: 9223372036854775808\r\n"), 413);
	refused(WITH("Transfer-Encoding: gzip, chunked\r\n"), 400);
	refused(WITH("Content-Length : 1\r\n"), 400);
	refused(WITH("X: a\r\n b\r\n"), 400);
	refused(WITH("X: a\x7f\r\n"), 400);
	ok(parse("GET /\0 ", 7, &h) < 0 && h.status == 400, "a NUL is no waiting");
	ok(parse("GET / HTTP/1.0\r\n\r\n", 18, &h) == 18 && h.old && !h.keep,
	   "a head of HTTP/1.0 needs no Host, and its connection ends");
	ok(parse(WITH("Content-Length: 9223372036854775807\r\n"),
		 strlen(WITH("Content-Length: 9223372036854775807\r\n")), &h) > 0,
	   "the longest length");
}

static void test_long(void)
{
	static char text[HEAD_ALL];
	struct head h;

	memset(text, 'x', sizeof(text));
	ok(head_parse(text, HEAD_BYTES + 1, &h) < 0 && h.status == 414,
	   "a first line that does not end is too long");
	memcpy(text, "GET / HTTP/1.1\r\n", 16);
	ok(head_parse(text, HEAD_BYTES + 64, &h) < 0 && h.status == 431,
	   "headers that do not end are too long");
}

/* --- chunks --------------------------------------------------------------------------- */

/* The body of text, which comes in pieces of that length. */
static long take(const char *text, size_t piece, char *body, size_t *size)
{
	struct chunks c = { 0 };
	size_t from = 0, to = 0, len = strlen(text);
	long n = 0;

	for (*size = 0; n >= 0 && c.at != CHUNK_OVER && (to < len || n > 0);) {
		const char *part;
		size_t got;

		if (n == 0)
			to = to + piece < len ? to + piece : len;
		n = chunks_take(&c, text + from, to - from, &part, &got);
		if (n > 0)
			from += (size_t)n;
		memcpy(body + *size, part, n < 0 ? 0 : got);
		*size += n < 0 ? 0 : got;
	}
	return n < 0 ? n : c.at == CHUNK_OVER ? (long)from : 0;
}

static void chunked(const char *text, const char *body)
{
	char room[256];
	size_t size;

	for (size_t piece = 1; piece <= strlen(text); piece++) {
		long n = take(text, piece, room, &size);

		if (body ? n != (long)strlen(text) || size != strlen(body) ||
			   memcmp(room, body, size) != 0
			 : n >= 0) {
			ok(false, "%s by %zu: %ld", text, piece, n);
			return;
		}
	}
	ok(true, "%s in pieces of each length", text);
}

static void test_chunks(void)
{
	chunked("3\r\nabc\r\n1A;x=\"y\"\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
		"abcabcdefghijklmnopqrstuvwxyz");
	chunked("0\r\nA: b\r\nC: d\r\n\r\n", "");
	chunked("000\r\n\r\n", "");
	chunked("\r\n", NULL);
	chunked("0x1\r\na\r\n0\r\n\r\n", NULL);
	chunked(" 1\r\na\r\n0\r\n\r\n", NULL);
	chunked("1\r\nab\r\n", NULL);
	chunked("1\na\r\n0\r\n\r\n", NULL);
	chunked("1000000000000000\r\n", NULL);
	chunked("0\r\nno colon\r\n\r\n", NULL);
}

/* --- shares ---------------------------------------------------------------------------- */

static unsigned take_all(struct shares *s, const char *owner)
{
	unsigned n = 0;

	while (shares_take(s, owner, 1))
		n++;
	return n;
}

static void test_shares(void)
{
	struct shares s;
	struct holding h = { &s, "h", 0 };

	shares_init(&s, 16);
	is_int(take_all(&s, "a"), 8, "one owner gets half");
	is_int(take_all(&s, "b"), 4, "the next gets half of what is left");
	ok(!shares_take(&s, "a", 1), "the first gets no more");
	shares_give(&s, "a", 8);
	ok(shares_take(&s, "b", 2), "what is given back can be had by others");
	shares_give(&s, "b", 6);
	ok(holding_set(&h, 8) && !holding_set(&h, 9) && h.amount == 8,
	   "a holder keeps what it has when it gets no more");
	ok(holding_set(&h, 0) && s.used == 0 && list_empty(&s.owners),
	   "it is all there at the end");
	ok(!shares_take(&s, "a", SIZE_MAX), "more than there is");
	shares_done(&s);
}

/* --- workers ------------------------------------------------------------------------------ */

struct piped {
	struct crew_work work;
	int fd, result;
	bool done;
};

/* As a call on the mount that is not answered: it waits until it is interrupted. */
static void wait_for_byte(struct crew_work *work)
{
	struct piped *p = container_of(work, struct piped, work);
	char byte;

	do {
		p->result = read(p->fd, &byte, 1) < 0 ? -errno : 0;
	} while (p->result == -EINTR && !crew_is_late());
}

static void waited(struct crew_work *work)
{
	container_of(work, struct piped, work)->done = true;
}

static void put(struct crew *c, struct piped *p, int fd, const char *owner)
{
	*p = (struct piped){ .fd = fd,
			     .work = { .run = wait_for_byte, .done = waited } };
	snprintf(p->work.owner, sizeof(p->work.owner), "%s", owner);
	crew_put(c, &p->work);
}

/* Turns the loop until it is so, at most ten seconds. */
static bool until(struct reactor *r, const bool *so)
{
	for (unsigned n = 0; n < 1000 && !*so; n++)
		reactor_turn(r, 10);
	return *so;
}

static void test_crew(void)
{
	struct reactor r = { 0 };
	static struct crew c;
	struct piped held[5], other;
	int fd[2], ready[2];

	if (reactor_open(&r) < 0 || crew_open(&c, &r, 4) < 0 || pipe(fd) < 0 ||
	    pipe(ready) < 0 || write(ready[1], "x", 1) != 1)
		abort();
	/* three workers may wait: one owner has at most two of them */
	for (unsigned i = 0; i < 5; i++)
		put(&c, &held[i], fd[0], "a");
	put(&c, &other, ready[0], "b");
	ok(until(&r, &other.done), "works that wait do not hold up another owner's");
	ok(!held[0].done, "they still wait");
	ok(crew_take_back(&c, &held[4].work), "one that has not begun is taken back");
	ok(!crew_take_back(&c, &held[0].work), "one that has begun is not");
	crew_close(&c);
	ok(held[0].result == -EINTR && held[0].work.late,
	   "the end of the workers interrupts them");
}

/* Opens workers that are late after 20 ms, and a pipe to wait for. */
static void open_impatient(struct reactor *r, struct crew *c, int fd[2])
{
	if (reactor_open(r) < 0 || crew_open(c, r, 1) < 0 || pipe(fd) < 0)
		abort();
	c->bound_ms = 20;
}

static void test_late(void)
{
	struct reactor r = { 0 };
	static struct crew c;
	struct piped late;
	int fd[2];

	open_impatient(&r, &c, fd);
	put(&c, &late, fd[0], "a");
	ok(until(&r, &late.done), "a work whose time is over ends");
	is_int(late.result, -EINTR, "its call was interrupted");
	ok(late.work.late, "and it is told so");
	crew_close(&c);
}

/* A work that is late removes what it has made, by a call that waits longer than the clock
 * does between two interrupts. */
static void clear_up(struct crew_work *work)
{
	struct piped *p = container_of(work, struct piped, work);
	struct pollfd none = { .fd = p->fd, .events = POLLIN };
	char byte;

	while (read(p->fd, &byte, 1) < 0 && !crew_is_late())
		;
	crew_clears_up();
	p->result = crew_is_late() ? -ETIME
		    : poll(&none, 1, 4 * CREW_AGAIN_MS) < 0 ? -errno : 0;
}

static void test_clears_up(void)
{
	struct reactor r = { 0 };
	static struct crew c;
	struct piped late;
	int fd[2];

	open_impatient(&r, &c, fd);
	late = (struct piped){ .fd = fd[0],
			       .work = { .run = clear_up, .done = waited } };
	crew_put(&c, &late.work);
	ok(until(&r, &late.done), "a late work that clears up ends");
	is_int(late.result, 0, "what it clears up by is not interrupted");
	ok(late.work.late, "it is late all the same");
	/* the patience was that work's own */
	put(&c, &late, fd[0], "a");
	ok(until(&r, &late.done), "the next one of its worker is interrupted again");
	crew_close(&c);
	crew_clears_up(); /* of no worker: nothing */
}

int main(void)
{
	test_whole();
	test_refused();
	test_long();
	test_chunks();
	test_shares();
	test_crew();
	test_late();
	test_clears_up();
	return done_testing();
}
