/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer: a reply that is whole, or one that streams. A stream whose buffer is
 * empty suspends its connection; what is added resumes it.
 */
#include "http_int.h"

#include <errno.h>
#include <string.h>

#include "layout/base/log.h"

void answer_resume(struct request *r)
{
	if (r->suspended && r->connection) {
		r->suspended = false;
		MHD_resume_connection(r->connection);
	}
}

/* --- streams ----------------------------------------------------------------------- */

static void on_quiet(struct reactor_timer *timer)
{
	struct request *r = container_of(timer, struct request, timer);

	reactor_timer_set(&r->gateway->reactor, &r->timer, r->ops->quiet_ms);
	if (r->ops->quiet)
		r->ops->quiet(r);
}

void answer_mind_quiet(struct request *r)
{
	r->timer.fn = on_quiet;
	if (r->ops && r->ops->quiet_ms)
		reactor_timer_set(&r->gateway->reactor, &r->timer,
				  r->ops->quiet_ms);
}

/* The end of what the handler began, by its own word or by the client's. */
static void forget_ops(struct request *r)
{
	r->ops = NULL;
	reactor_timer_stop(&r->timer);
}

void answer_gone(struct request *r)
{
	const struct stream_ops *ops = r->ops;

	r->gone = true;
	r->ended = r->cut = true;
	forget_ops(r);
	if (ops && ops->gone)
		ops->gone(r);
	if (!r->answered && !r->handed) { /* it had no reply yet */
		reply_error(r, 503, "the request was given up");
		r->answered = true;
	}
	answer_resume(r);
}

void stream_add(struct request *r, const void *data, size_t len)
{
	if (r->gone || r->ended)
		return;
	if (buf_add(&r->out, data, len) < 0) {
		stream_cut(r);
		return;
	}
	if (r->ops && r->ops->quiet_ms && r->timer.node.next)
		reactor_timer_set(&r->gateway->reactor, &r->timer,
				  r->ops->quiet_ms);
	if (r->answered)
		answer_resume(r);
}

size_t stream_waiting(const struct request *r)
{
	return r->out.len;
}

void stream_end(struct request *r)
{
	r->ended = true;
	forget_ops(r);
	if (r->answered)
		answer_resume(r);
}

void stream_cut(struct request *r)
{
	r->cut = true;
	stream_end(r);
}

static ssize_t read_stream(void *arg, uint64_t at, char *data, size_t max)
{
	struct request *r = arg;
	size_t n = MIN(r->out.len, max);

	(void)at;
	if (r->cut)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n) {
		memcpy(data, r->out.data, n);
		buf_eat(&r->out, n);
		r->sent += n;
		if (r->ops && r->ops->taken)
			r->ops->taken(r, r->out.len);
		return (ssize_t)n;
	}
	if (r->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	MHD_suspend_connection(r->connection);
	r->suspended = true;
	return 0;
}

static void stream_over(void *arg)
{
	request_unref(arg);
}

/* --- queueing ------------------------------------------------------------------------ */

static struct MHD_Response *late_response(void)
{
	static const char text[] =
		"{\"code\":503,\"message\":\"the mount has not answered for "
		"30 seconds; .fsd/health may tell why\"}";

	return MHD_create_response_from_buffer(sizeof(text) - 1, (void *)(uintptr_t)text,
					       MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *make_response(struct request *r)
{
	struct MHD_Response *response;

	if (r->handed) /* a worker has its reply */
		return late_response();
	if (!r->reply.streams)
		return MHD_create_response_from_buffer(
			r->reply.body.len, r->reply.body.data,
			MHD_RESPMEM_MUST_COPY);
	response = MHD_create_response_from_callback(
		r->reply.size == SIZE_UNKNOWN ? MHD_SIZE_UNKNOWN : r->reply.size,
		64u << 10, read_stream, r, stream_over);
	if (response)
		request_ref(r);
	return response;
}

static void add_headers(struct request *r, struct MHD_Response *response)
{
	if (r->reply.type)
		MHD_add_response_header(response, "Content-Type", r->reply.type);
	/* a proxy passes a stream on as it comes, and keeps nothing of it */
	if (r->reply.streams) {
		MHD_add_response_header(response, "X-Accel-Buffering", "no");
		MHD_add_response_header(response, "Cache-Control", "no-store");
	}
	for (unsigned i = 0; i < r->reply.headers; i++)
		MHD_add_response_header(response, r->reply.header[i].name,
					r->reply.header[i].value);
}

enum MHD_Result answer_queue(struct request *r)
{
	struct MHD_Response *response = make_response(r);
	unsigned status = r->handed ? 503 : r->reply.status;
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (!r->handed)
		add_headers(r, response);
	else
		MHD_add_response_header(response, "Content-Type",
					"application/json");
	if (!r->reply.streams)
		r->sent = r->reply.body.len;
	result = MHD_queue_response(r->connection, status, response);
	MHD_destroy_response(response);
	return result;
}
