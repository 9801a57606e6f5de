/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fsd mcp`: the same messages, one a line, on standard input and output;
 * standard output has no other text. A thread reads the lines, since epoll does
 * not accept a regular file; the loop does everything else. After the end of
 * input all messages read are still answered. When standard output has no
 * reader any more, all runs end. The thread uses struct stdio, so mcp_stdio()
 * ends it before it returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "mcp.h"

#define END_MS 6000u /* time for runs to end after the reader's end */
/* most messages in work; then the thread reads no further */
#define MESSAGES_MAX 256u

struct stdio {
	struct gateway *gateway;
	struct list messages; /* list of struct line: messages in work */
	struct reactor_timer patience;
	struct reactor_post ended;
	struct reactor_source output;
	bool end;    /* the end of input was reached */
	bool unread; /* standard output has no reader */
	bool over;
	pthread_t reader;
	struct mcp_lines lines; /* used by the reader */
	sem_t places; /* free slots for messages */
	atomic_bool stops; /* the reader must end */
	int stop; /* owned: eventfd, readable then; or -1 */
};

/* A message. */
struct line {
	struct list node;
	struct stdio *io;
	struct reactor_post post;
	struct crew_work work;
	struct mcp mcp;
	struct buf text;
	enum mcp_state state;
	/* the worker has returned; on_reply() was called */
	bool returned, replied;
	bool cancelled; /* the client wants no reply */
	bool too_long; /* the reply was too long, and was dropped */
};

static void look_over(struct stdio *io)
{
	io->over |= (io->end || io->unread) && list_empty(&io->messages);
}

static void free_line(struct line *l)
{
	list_del(&l->node);
	mcp_done(&l->mcp);
	buf_done(&l->text);
	look_over(l->io);
	sem_post(&l->io->places);
	free(l);
}

static void put(json_t *message)
{
	auto_buf struct buf line = { .cap = 64u << 20 };
	size_t at = 0;

	text_json(&line, message);
	buf_str(&line, "\n");
	json_decref(message);
	while (at < line.len) {
		ssize_t n = write(STDOUT_FILENO, line.data + at, line.len - at);

		if (n > 0)
			at += (size_t)n;
		else if (errno != EINTR)
			return; /* the reader of our output is gone: see on_unread() */
	}
}

/* --- messages, on the loop --------------------------------------------------------- */

static void on_tell(void *arg, json_t *message)
{
	struct line *l = arg;

	if (l->cancelled)
		json_decref(message);
	else
		put(message);
}

static void on_reply(void *arg, json_t *reply)
{
	struct line *l = arg;

	if (l->cancelled)
		json_decref(reply);
	else
		put(reply);
	l->replied = true;
	if (l->returned)
		free_line(l);
}

static const struct mcp_sink sink = { on_tell, on_reply };

static void run(struct crew_work *work)
{
	struct line *l = container_of(work, struct line, work);

	if (l->too_long) {
		l->mcp.answer = mcp_error(&l->mcp, MCP_INVALID, "a message may "
					  "have 10485760 bytes, and this one "
					  "has more");
		l->state = MCP_REPLIED;
		return;
	}
	l->state = mcp_begin(&l->mcp, l->text.data ? l->text.data : "",
			     l->text.len, NULL);
}

static bool same_id(const json_t *a, const json_t *b)
{
	return a && b && json_equal((json_t *)(uintptr_t)a,
				    (json_t *)(uintptr_t)b);
}

/* Interrupts the job of a message. The message stays in the list until the job has ended,
 * so that this process does not end before. */
static void cancel(struct line *l)
{
	l->cancelled = true;
	mcp_interrupt(&l->mcp);
}

static void on_notification(struct line *l)
{
	const json_t *id = json_object_get(l->mcp.params, "requestId");

	if (!l->mcp.method ||
	    strcmp(l->mcp.method, "notifications/cancelled") != 0)
		return;
	list_for_each(pos, tmp, &l->io->messages) {
		struct line *other = list_entry(pos, struct line, node);

		if (other != l && other->returned && same_id(other->mcp.id, id))
			cancel(other);
	}
}

static void done(struct crew_work *work)
{
	struct line *l = container_of(work, struct line, work);

	l->returned = true;
	if (l->state == MCP_SILENT)
		on_notification(l);
	else if (l->state == MCP_REPLIED)
		put(take_ptr(l->mcp.answer));
	if (l->state == MCP_RUNS && !l->replied) {
		if (l->io->unread)
			cancel(l);
		return;
	}
	free_line(l);
}

static void on_line(struct reactor_post *post)
{
	struct line *l = container_of(post, struct line, post);

	list_add_tail(&l->io->messages, &l->node);
	l->work.run = run;
	l->work.done = done;
	crew_put(&l->io->gateway->crew, &l->work);
}

static void on_impatient(struct reactor_timer *timer)
{
	container_of(timer, struct stdio, patience)->over = true;
}

static void on_end(struct reactor_post *post)
{
	struct stdio *io = container_of(post, struct stdio, ended);

	io->end = true;
	look_over(io);
}

static void on_unread(struct reactor_source *source, uint32_t events)
{
	struct stdio *io = container_of(source, struct stdio, output);

	(void)events;
	reactor_remove(&io->gateway->reactor, STDOUT_FILENO);
	io->unread = true;
	look_over(io);
	list_for_each(pos, tmp, &io->messages) {
		struct line *l = list_entry(pos, struct line, node);

		if (l->returned)
			cancel(l);
	}
	io->patience.fn = on_impatient;
	reactor_timer_set(&io->gateway->reactor, &io->patience, END_MS);
}

/* --- the reader's thread
 * -------------------------------------------------------------- */

/* Passes a line to a worker. Takes text; NULL: it was too long, and is answered
 * without an id. */
static void send_line(void *arg, struct buf *text)
{
	struct stdio *io = arg;
	struct line *l = NULL;

	while (sem_wait(&io->places) < 0)
		;
	if (!io->stops)
		l = calloc(1, sizeof(*l));
	if (!l) {
		if (!io->stops)
			log_error("no memory for a message");
		sem_post(&io->places);
		if (text)
			buf_clear(text);
		return;
	}
	list_init(&l->node);
	l->io = io;
	l->too_long = !text;
	if (text) {
		l->text = *text;
		*text = (struct buf){ .cap = text->cap };
	}
	l->mcp = (struct mcp){ .gateway = io->gateway, .sink = &sink, .arg = l };
	l->post.fn = on_line;
	reactor_post(&io->gateway->reactor, &l->post);
}

/* Like read(2); also 0 when the reader must end. */
static ssize_t read_some(const struct stdio *io, char *room, size_t size)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = io->stop, .events = POLLIN } };

	if (poll(p, 2, -1) < 0)
		return -1;
	return io->stops ? 0 : read(STDIN_FILENO, room, size);
}

static void *read_lines(void *arg)
{
	struct stdio *io = arg;
	char room[65536];
	ssize_t n;

	while ((n = read_some(io, room, sizeof(room))) != 0) {
		if (n > 0)
			mcp_lines_add(&io->lines, room, (size_t)n);
		else if (errno != EINTR)
			break;
	}
	mcp_lines_end(&io->lines);
	io->ended.fn = on_end;
	reactor_post(&io->gateway->reactor, &io->ended);
	return NULL;
}

/*
 * Ends the reader. Another process may have read the bytes that poll()
 * reported: then the reader blocks in read() for ever, and this process exits
 * at once.
 */
static void end_reader(struct stdio *io)
{
	struct timespec until;

	io->stops = true;
	eventfd_write(io->stop, 1);
	sem_post(&io->places);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_timedjoin_np(io->reader, NULL, &until))
		_exit(0);
}

int mcp_stdio(struct gateway *g)
{
	struct stdio io = { .gateway = g, .stop = eventfd(0, EFD_CLOEXEC) };
	int r = io.stop < 0 ? errno : 0;

	list_init(&io.messages);
	sem_init(&io.places, 0, MESSAGES_MAX);
	io.lines = (struct mcp_lines){ .text = { .cap = MCP_LINE_MAX },
				       .fn = send_line, .arg = &io };
	if (!r)
		r = pthread_create(&io.reader, NULL, read_lines, &io);
	if (r) {
		fd_close(&io.stop);
		log_error("no thread: %s", strerror(r));
		return 1;
	}
	/* a regular file has no reader */
	io.output.fn = on_unread;
	reactor_add(&g->reactor, STDOUT_FILENO, 0, &io.output);
	while (!io.over && !g->stopping)
		reactor_turn(&g->reactor, -1);
	end_reader(&io);
	sem_destroy(&io.places);
	fd_close(&io.stop);
	return 0;
}
