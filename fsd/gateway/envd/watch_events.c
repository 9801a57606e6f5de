/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetWatcherEvents: a worker asks the watching program, and the loop waits for
 * its answer. Owns struct question.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"
#include "layout/base/cleanup.h"
#include "watch.h"

#define ANSWER_MS 10000u /* time for the program to answer */
#define EVENTS_MAX (16u << 20) /* bytes of one answer */
#define HELD_LEAST (64u << 10) /* least memory for an answer */

struct question {
	/* owns a reference; NULL: answered, or the client is gone */
	struct request *request;
	struct gateway *gateway;
	struct watch *watch;
	struct reactor_timer patience;
	struct buf text; /* an incomplete line of the job's events */
	struct buf line; /* an incomplete line of the program's output */
	struct buf events; /* the answer, ",{...},{...}" */
	char nonce[17];
	const char *fault;       /* why there is no answer, or NULL */
	bool asked, begun; /* begun: the handler has returned */
	bool over; /* the answer is complete */
	bool closed; /* the watch has ended */
};

static void free_question(struct question *q)
{
	buf_done(&q->text);
	buf_done(&q->line);
	buf_done(&q->events);
	free(q);
}

static bool add_event(struct question *q, const json_t *event)
{
	json_t *shown = watch_show_event(event);
	bool good = !shown || (buf_str(&q->events, ",") == 0 &&
			       text_json(&q->events, shown) == 0);

	json_decref(shown);
	return good;
}

static void on_answer(void *arg, const json_t *said)
{
	struct question *q = arg;
	json_t *events = json_object_get(said, "events"), *event;
	const char *answer = text_member(said, "answer");
	size_t i;

	if (!q->asked || q->over)
		return; /* these events were for another client */
	json_array_foreach(events, i, event)
		if (!add_event(q, event))
			q->fault = "there are more events than 16 MiB";
	if (answer && !strcmp(answer, q->nonce)) {
		q->over = true;
	} else if (answer) { /* these events were for another question */
		buf_clear(&q->events);
		q->fault = NULL;
	}
}

static void take_event_line(struct question *q, const char *line, size_t len)
{
	auto_json json_t *event = json_loadb(line, len, 0, NULL);
	const char *name = text_member(event, "event");

	if (name && !strcmp(name, "stdout"))
		watch_take_output(&q->line, event, on_answer, q);
}

/* --- on the loop
 * --------------------------------------------------------------------- */

/* Makes the answer. The caller gets the request, and sends the reply. */
static struct request *make_answer(struct question *q)
{
	struct request *r = take_ptr(q->request);
	auto_buf struct buf text = { .cap = q->events.cap + 32 };

	r->state = NULL;
	buf_str(&text, "{\"events\":[");
	if (q->events.len)
		buf_add(&text, q->events.data + 1, q->events.len - 1);
	buf_str(&text, "]}");
	if (q->fault || text.failed)
		reply_connect(r, "unavailable", "%s", q->fault ? q->fault
			      : "no memory for the events");
	else
		reply_text(r, 200, "application/json", text.data, text.len);
	return r;
}

/* Stops following the job's events, and replies with those that have come. */
static void end_question(struct question *q)
{
	struct request *r;

	q->over = true;
	reactor_timer_stop(&q->patience);
	if (q->watch)
		watch_stop(take_ptr(q->watch));
	if (!q->begun || !q->request)
		return;
	r = make_answer(q);
	request_answer(r);
	request_unref(r);
	if (q->closed)
		free_question(q);
}

static void on_question_line(void *arg, char *line, size_t len)
{
	struct question *q = arg;

	/* the start of the line was read before the question */
	if (q->text.len) {
		buf_add(&q->text, line, len);
		take_event_line(q, q->text.data, q->text.len);
		buf_done(&q->text);
	} else {
		take_event_line(q, line, len);
	}
	if (q->begun && !q->over &&
	    q->events.len > q->request->held.amount - q->request->body_held &&
	    !request_hold(q->request, q->events.len)) {
		q->fault = "the events of this client take as much memory as they may";
		q->over = true;
	}
	if (q->over)
		end_question(q);
}

static void on_question_end(void *arg, int error)
{
	struct question *q = arg;

	(void)error;
	q->fault = "the watcher has ended";
	end_question(q);
}

static void on_question_gone(void *arg)
{
	struct question *q = arg;

	q->closed = true;
	if (!q->request)
		free_question(q);
}

static const struct watch_ops question_watch = { on_question_line, on_question_end,
						 on_question_gone };

static void on_impatient(struct reactor_timer *timer)
{
	struct question *q = container_of(timer, struct question, patience);

	q->fault = "the watcher is too slow";
	end_question(q);
}

static void on_question_begun(struct request *r)
{
	struct question *q = r->state;

	q->begun = true;
	q->patience.fn = on_impatient;
	if (q->over)
		end_question(q);
	else
		reactor_timer_set(&q->gateway->reactor, &q->patience, ANSWER_MS);
}

static void on_question_left(struct request *r)
{
	struct question *q = r->state;

	if (!q)
		return;
	r->state = NULL;
	q->request = NULL;
	end_question(q);
	if (q->closed)
		free_question(q);
	request_unref(r); /* this is not the last reference */
}

static const struct stream_ops question_ops = { .begun = on_question_begun,
						.gone = on_question_left };

/* --- on a worker
 * --------------------------------------------------------------------- */

/* Skips earlier events. Return: 0, or negative errno; -EPIPE: the watcher has
 * ended. */
static int skip_lines(int fd, struct question *q)
{
	for (;;) {
		ssize_t n;
		size_t at = 0;
		char *end;

		if (buf_reserve(&q->text, 65536) < 0)
			return -ENOMEM;
		n = read(fd, q->text.data + q->text.len, 65536);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		q->text.len += (size_t)n;
		while ((end = memchr(q->text.data + at, '\n', q->text.len - at))) {
			size_t len = (size_t)(end - q->text.data) - at;

			take_event_line(q, q->text.data + at, len);
			at += len + 1;
		}
		buf_eat(&q->text, at);
	}
}

/* Asks. Return: a descriptor at the events after the question, or negative
 * errno. */
static int ask(struct request *r, const char *job, struct question *q,
	       struct err *err)
{
	char path[96], line[20];
	auto_close int fd = -1, feed = -1;
	int code;

	snprintf(path, sizeof(path), "%s/events", job);
	fd = mount_file(&r->gateway->mount, path, O_RDONLY | O_NONBLOCK, err);
	if (fd < 0)
		return fd;
	code = skip_lines(fd, q);
	if (code < 0)
		return err_set(err, code, "the watcher has ended");
	q->asked = true;
	snprintf(line, sizeof(line), "%s\n", q->nonce);
	snprintf(path, sizeof(path), "%s/stdin.feed", job);
	feed = mount_file(&r->gateway->mount, path, O_WRONLY | O_NONBLOCK, err);
	if (feed < 0)
		return feed;
	if (write(feed, line, strlen(line)) < 0)
		return err_sys(err, -errno, "the watcher");
	return take_fd(&fd);
}

static int begin_question(struct request *r, struct question *q, int fd,
			  struct err *err)
{
	int code;

	q->request = request_ref(r);
	r->state = q;
	reply_later(r, &question_ops);
	code = watch_new(&r->gateway->watcher, fd, &question_watch, q, &q->watch);
	if (code == 0)
		return 0;
	r->later = false;
	r->ops = NULL;
	r->state = NULL;
	request_unref(r); /* this is not the last reference */
	return err_sys(err, code, "the watcher");
}

void watch_events(struct request *r)
{
	struct question *q;
	struct err err = { 0 };
	char job[64], said[TEXT_SENTENCE];
	int code;

	if (!watch_take_job(r, job))
		return;
	q = calloc(1, sizeof(*q));
	if (!q || !request_hold(r, HELD_LEAST)) {
		free(q);
		reply_failure(r, -EAGAIN, "the events of this client take as much "
			      "memory as they may");
		return;
	}
	q->gateway = r->gateway;
	q->text.cap = 2u << 20;
	q->line.cap = WATCH_SAID_MAX;
	q->events.cap = EVENTS_MAX;
	text_random(q->nonce, sizeof(q->nonce) - 1);
	code = ask(r, job, q, &err);
	if (code >= 0)
		code = begin_question(r, q, code, &err);
	if (code == 0)
		return;
	free_question(q);
	reply_connect(r, "unavailable", "%s", text_outside(err.text, said));
}

