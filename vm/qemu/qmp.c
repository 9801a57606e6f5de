/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends commands to QEMU's monitor and matches answers by id. A struct qmp owns its
 * socket, its buffers and 16 slots of commands in flight.
 *
 * Callbacks may free the qmp: `busy` counts the functions that still use it, and the
 * last one releases the memory. A failed write is reported from a deferred call, never
 * inside qmp_send(). All functions run on the loop.
 */
#include "qmp.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/buf.h"
#include "layout/base/cleanup.h"

#define SLOTS 16
/* most bytes of a line: the guest may control its QEMU */
#define LINE_MAX_BYTES (256u << 10)

struct slot {
	struct qmp *qmp;
	struct loop_timer timer;
	qmp_reply_fn *fn;
	void *arg;
	json_int_t id; /* id of the command; 0: the slot is free */
};

struct qmp {
	struct loop *loop;
	const struct qmp_events *ev;
	void *arg;
	struct loop_fd sock; /* its fd is owned by struct qmp */
	struct loop_call fail; /* reports a failed write later */
	struct buf in, out;
	int fd; /* owned; sent with the byte of `out` at fd_at */
	size_t fd_at;
	struct slot slots[SLOTS];
	json_int_t last_id;
	unsigned busy;
	bool freed; /* qmp_free() was called; frees when busy is 0 */
	bool closed;
	bool cut; /* the first line may lack its beginning */
};

static void leave(struct qmp *q)
{
	if (--q->busy || !q->freed)
		return;
	buf_done(&q->in);
	buf_done(&q->out);
	free(q);
}

void qmp_free(struct qmp *q)
{
	if (!q || q->freed)
		return;
	q->busy++;
	q->freed = q->closed = true;
	for (unsigned i = 0; i < SLOTS; i++)
		loop_timer_del(&q->slots[i].timer);
	loop_fd_del(&q->sock);
	loop_call_del(&q->fail);
	fd_close(&q->sock.fd);
	fd_close(&q->fd);
	leave(q);
}

static void answer(struct slot *s, const struct qmp_reply *reply)
{
	qmp_reply_fn *fn = s->fn;
	void *arg = s->arg;

	loop_timer_del(&s->timer);
	s->id = 0;
	if (fn && !s->qmp->freed)
		fn(arg, reply);
}

/* Closes the connection: all pending commands fail, and `closed` is called. */
static void close_with(struct qmp *q, const char *why)
{
	struct qmp_reply reply = { .code = -EPIPE };

	if (q->closed)
		return;
	q->closed = true;
	loop_fd_del(&q->sock);
	loop_call_del(&q->fail);
	snprintf(reply.text, sizeof(reply.text), "%s", why);
	for (unsigned i = 0; i < SLOTS; i++)
		if (q->slots[i].id)
			answer(&q->slots[i], &reply);
	if (!q->freed)
		q->ev->closed(q->arg, why);
}

static void on_timeout(struct loop_timer *t)
{
	struct slot *s = t->arg;
	struct qmp *q = s->qmp;
	struct qmp_reply reply = {
		.code = -ETIMEDOUT, .text = "QEMU's monitor did not answer",
	};

	q->busy++;
	answer(s, &reply);
	leave(q);
}

/* --- from QEMU ---------------------------------------------------------- */

static void copy_text(char *to, size_t size, json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(to, size, "%s", text ? text : "");
}

static void on_answer(struct qmp *q, json_t *m)
{
	json_int_t id = json_integer_value(json_object_get(m, "id"));
	json_t *error = json_object_get(m, "error");
	struct qmp_reply reply = { .code = error ? -EIO : 0 };

	copy_text(reply.status, sizeof(reply.status),
		  json_object_get(m, "return"), "status");
	copy_text(reply.text, sizeof(reply.text), error, "desc");
	for (unsigned i = 0; i < SLOTS; i++)
		if (id > 0 && q->slots[i].id == id) {
			answer(&q->slots[i], &reply);
			return;
		}
	/*
	 * Otherwise this is a late answer, to a command that has timed out: ignore it.
	 */
}

static void on_line(struct qmp *q, const char *line, size_t len)
{
	json_t *m = json_loadb(line, len, 0, NULL);
	const char *event = json_string_value(json_object_get(m, "event"));
	char status[32];

	if (!json_is_object(m) && !q->cut) {
		close_with(q, "QEMU's monitor sent no JSON object");
	} else if (event) {
		copy_text(status, sizeof(status), json_object_get(m, "data"),
			  "status");
		if (!status[0])
			copy_text(status, sizeof(status),
				  json_object_get(m, "data"), "reason");
		q->ev->event(q->arg, event, status);
	} else if (json_object_get(m, "return") ||
		   json_object_get(m, "error")) {
		on_answer(q, m);
	} /* otherwise the line is the greeting, which needs no answer */
	q->cut = false;
	json_decref(m);
}

static void lines(struct qmp *q)
{
	size_t at = 0;

	while (!q->closed) {
		char *start = q->in.data + at, *end;

		end = memchr(start, '\n', q->in.len - at);
		if (!end)
			break;
		if (end > start && end[-1] == '\r' ? end - 1 > start :
						     end > start)
			on_line(q, start, (size_t)(end - start));
		at += (size_t)(end - start) + 1;
	}
	if (!q->freed)
		buf_eat(&q->in, at);
}

/* Sends bytes of `out`: those before fd_at; or, if fd_at is 0, from there on with the
 * descriptor. Return: as sendmsg(2). */
static ssize_t send_some(struct qmp *q)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .room = { 0 } };
	struct iovec iov = { .iov_base = q->out.data, .iov_len = q->out.len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	bool with_fd = q->fd >= 0 && q->fd_at == 0;
	ssize_t n;

	if (q->fd >= 0 && q->fd_at > 0)
		iov.iov_len = q->fd_at;
	if (with_fd) {
		struct cmsghdr *c;

		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &q->fd, sizeof(int));
	}
	n = sendmsg(q->sock.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0 && with_fd)
		fd_close(&q->fd);
	else if (n > 0 && q->fd >= 0)
		q->fd_at -= (size_t)n;
	return n;
}

static void flush(struct qmp *q)
{
	while (q->out.len) {
		ssize_t n = send_some(q);

		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			loop_defer(q->loop, &q->fail);
			return;
		}
		if (n <= 0)
			break;
		buf_eat(&q->out, (size_t)n);
	}
	loop_fd_mod(&q->sock, EPOLLIN | (q->out.len ? EPOLLOUT : 0));
}

static void on_fail(struct loop_call *c)
{
	struct qmp *q = c->arg;

	q->busy++;
	close_with(q, "QEMU's monitor is gone");
	leave(q);
}

static void on_socket(struct loop_fd *src, uint32_t events)
{
	struct qmp *q = src->arg;
	ssize_t n;

	q->busy++;
	if (events & EPOLLOUT)
		flush(q);
	if (buf_reserve(&q->in, 4096) < 0) {
		close_with(q, "QEMU's monitor sent a line without end");
		leave(q);
		return;
	}
	n = recv(src->fd, q->in.data + q->in.len, 4096, MSG_DONTWAIT);
	if (n > 0) {
		q->in.len += (size_t)n;
		lines(q);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close_with(q, "QEMU's monitor closed");
	}
	leave(q);
}

/* --- to QEMU ------------------------------------------------------------ */

int qmp_send(struct qmp *q, const char *command, const char *arguments,
	     uint64_t timeout_ns, qmp_reply_fn *fn, void *arg)
{
	struct slot *s = NULL;

	if (q->closed)
		return -EPIPE;
	for (unsigned i = 0; i < SLOTS && !s; i++)
		if (!q->slots[i].id)
			s = &q->slots[i];
	if (!s)
		return -ENOBUFS;
	s->fn = fn;
	s->arg = arg;
	s->id = ++q->last_id;
	loop_timer_set(q->loop, &s->timer, timeout_ns);
	buf_fmt(&q->out, "{\"execute\":\"%s\",\"id\":%lld%s%s}\n", command,
		(long long)s->id, arguments ? ",\"arguments\":" : "",
		arguments ? arguments : "");
	flush(q);
	return 0;
}

int qmp_send_fd(struct qmp *q, const char *command, const char *arguments,
		int fd, uint64_t timeout_ns, qmp_reply_fn *fn, void *arg)
{
	int r;

	if (q->fd >= 0)
		return -ENOBUFS;
	q->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (q->fd < 0)
		return -errno;
	q->fd_at = q->out.len;
	r = qmp_send(q, command, arguments, timeout_ns, fn, arg);
	if (r < 0)
		fd_close(&q->fd); /* the next command must not carry it */
	return r;
}

int qmp_new(struct loop *loop, int fd, const struct qmp_events *ev, void *arg,
	    struct qmp **ret)
{
	auto_close int owned = fd;
	struct qmp *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	q->fd = -1;
	q->loop = loop;
	q->ev = ev;
	q->arg = arg;
	q->in.cap = LINE_MAX_BYTES;
	q->fail = (struct loop_call){ .fn = on_fail, .arg = q };
	q->sock = (struct loop_fd){
		.fd = fd, .events = EPOLLIN, .fn = on_socket, .arg = q,
	};
	for (unsigned i = 0; i < SLOTS; i++) {
		q->slots[i].qmp = q;
		q->slots[i].timer = (struct loop_timer){
			.fn = on_timeout, .arg = &q->slots[i],
		};
	}
	r = loop_fd_add(loop, &q->sock);
	if (r < 0) {
		free(q);
		return r;
	}
	take_fd(&owned);
	*ret = q;
	return 0;
}

int qmp_adopt(struct loop *loop, int fd, const struct qmp_events *ev, void *arg,
	      struct qmp **ret)
{
	int r = qmp_new(loop, fd, ev, arg, ret);

	if (r < 0)
		return r;
	(*ret)->cut = true;
	/* Start behind all ids of the dead server: its commands may still be
	 * answered. */
	(*ret)->last_id = (json_int_t)now_ns();
	return 0;
}

int qmp_fd(const struct qmp *q)
{
	return q->sock.fd;
}
