/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's client against a scripted peer on a socketpair. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/qemu/qmp.h"
#include "tests/unit/tap.h"

struct peer {
	struct loop *loop;
	struct qmp *q;
	int fd;
	struct loop_timer stop;
	char event[64], status[64], why[128];
	struct qmp_reply replies[20];
	unsigned reply_count;
	bool free_in_reply, late;
};

static void on_event(void *arg, const char *name, const char *status)
{
	struct peer *p = arg;

	snprintf(p->event, sizeof(p->event), "%s", name);
	snprintf(p->status, sizeof(p->status), "%s", status);
	loop_quit(p->loop);
}

static void on_closed(void *arg, const char *why)
{
	struct peer *p = arg;

	snprintf(p->why, sizeof(p->why), "%s", why);
	loop_quit(p->loop);
}

static const struct qmp_events events = {
	.event = on_event, .closed = on_closed,
};

static void on_reply(void *arg, const struct qmp_reply *reply)
{
	struct peer *p = arg;

	p->replies[p->reply_count++ % 20] = *reply;
	if (p->free_in_reply) {
		qmp_free(p->q);
		p->q = NULL;
	}
	loop_quit(p->loop);
}

static void on_stop(struct loop_timer *t)
{
	struct peer *p = t->arg;

	p->late = true;
	loop_quit(p->loop);
}

typedef int open_fn(struct loop *loop, int fd, const struct qmp_events *ev,
		    void *arg, struct qmp **ret);

static void open_peer_by(struct peer *p, open_fn *open)
{
	int pair[2];

	*p = (struct peer){ .fd = -1 };
	if (loop_new(&p->loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	p->fd = pair[1];
	p->stop = (struct loop_timer){ .fn = on_stop, .arg = p };
	is_int(open(p->loop, pair[0], &events, p, &p->q), 0, "connected");
	loop_timer_set(p->loop, &p->stop, 3 * NS_PER_S);
}

static void open_peer(struct peer *p)
{
	open_peer_by(p, qmp_new);
}

static void close_peer(struct peer *p)
{
	loop_timer_del(&p->stop);
	qmp_free(p->q);
	close(p->fd);
	loop_free(p->loop);
}

static void say(struct peer *p, const char *text)
{
	if (write(p->fd, text, strlen(text)) < 0)
		ok(false, "the peer can write");
}

static void send_one(struct peer *p, uint64_t limit)
{
	is_int(qmp_send(p->q, "stop", NULL, limit, on_reply, p), 0, "sent");
}

static void test_answers(void)
{
	struct peer p;
	char line[200] = "";

	open_peer(&p);
	send_one(&p, NS_PER_S);
	is_int(qmp_send(p.q, "x", "{\"a\":1}", NS_PER_S, on_reply, &p), 0,
	       "and with arguments");
	ok(read(p.fd, line, sizeof(line) - 1) > 0, "the peer reads");
	is_str(line, "{\"execute\":\"stop\",\"id\":1}\n"
		     "{\"execute\":\"x\",\"id\":2,\"arguments\":{\"a\":1}}\n",
	       "two commands");
	say(&p, "{\"QMP\":{}}\r\n{\"error\":{\"class\":\"E\",\"desc\":\"no\"},"
		"\"id\":2}\r\n{\"return\":{\"status\":\"ready\"},\"id\":1}\r\n"
		"{\"return\":{},\"id\":77}\r\n{\"event\":\"MIGRATION\","
		"\"data\":{\"status\":\"completed\"}}\r\n");
	loop_run(p.loop);
	is_int(p.reply_count, 2, "two answers, one of them nobody's");
	is_int(p.replies[0].code, -EIO, "a refusal");
	is_str(p.replies[0].text, "no", "with its sentence");
	is_int(p.replies[1].code, 0, "a success, out of order");
	is_str(p.replies[1].status, "ready", "with its status");
	is_str(p.event, "MIGRATION", "an event");
	is_str(p.status, "completed", "with its status");
	close_peer(&p);
}

static void test_reason(void)
{
	struct peer p;

	open_peer(&p);
	send_one(&p, NS_PER_S);
	send_one(&p, NS_PER_S);
	say(&p, "{\"event\":\"SHUTDOWN\",\"data\":{\"guest\":true,"
		"\"reason\":\"guest-reset\"}}\r\n{\"return\":{},\"id\":1}\r\n"
		"{\"return\":{},\"id\":2}\r\n");
	loop_run(p.loop);
	is_str(p.event, "SHUTDOWN", "the guest has ended");
	is_str(p.status, "guest-reset", "and why, for want of a status");
	close_peer(&p);
}

static void test_ends(void)
{
	struct peer p;

	open_peer(&p);
	send_one(&p, NS_PER_S);
	send_one(&p, NS_PER_S);
	close(p.fd);
	p.fd = -1;
	loop_run(p.loop);
	ok(p.reply_count == 2 && p.replies[1].code == -EPIPE,
	   "all that is pending fails when the peer closes");
	is_str(p.why, "QEMU's monitor closed", "and it is told");
	is_int(qmp_send(p.q, "x", NULL, 1, NULL, NULL), -EPIPE,
	       "nothing is sent any more");
	close_peer(&p);

	open_peer(&p);
	send_one(&p, 10 * NS_PER_MS);
	loop_run(p.loop);
	is_int(p.replies[0].code, -ETIMEDOUT, "a late answer is not awaited");
	close_peer(&p);

	open_peer(&p);
	say(&p, "[1, 2\n");
	loop_run(p.loop);
	ok(p.why[0], "no JSON: %s", p.why);
	close_peer(&p);

	open_peer(&p);
	for (unsigned i = 0; i < 16; i++)
		qmp_send(p.q, "x", NULL, NS_PER_S, on_reply, &p);
	is_int(qmp_send(p.q, "x", NULL, NS_PER_S, on_reply, &p), -ENOBUFS,
	       "a seventeenth pending command is refused");
	p.free_in_reply = true;
	say(&p, "{\"return\":{},\"id\":3}\n{\"return\":{},\"id\":4}\n");
	loop_run(p.loop);
	is_int(p.reply_count, 1, "freed in an answer: no other follows");
	close_peer(&p);
}

static void test_fd(void)
{
	struct peer p;
	char line[200], control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = line, .iov_len = sizeof(line) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	open_peer(&p);
	is_int(qmp_send_fd(p.q, "getfd", NULL, p.fd, NS_PER_S, on_reply, &p),
	       0, "a command with a descriptor");
	ok(recvmsg(p.fd, &msg, 0) > 0, "it arrives");
	c = CMSG_FIRSTHDR(&msg);
	ok(c && c->cmsg_type == SCM_RIGHTS, "with the descriptor");
	if (c) {
		int fd;

		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		ok(fcntl(fd, F_GETFD) >= 0, "that is open");
		close(fd);
	}
	close_peer(&p);
}

/* Somebody else has spoken with it, and died. */
static void test_adopted(void)
{
	static const char *const rests[] = {
		"", "}", "\r", "\"event\": \"STOP\"}\r",
		"{\"status\": \"x\"}, \"event\": \"STOP\"}\r",
		"{\"return\": {}, \"id\": 1}\r",
	};
	char line[100] = "";
	struct peer p;

	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		open_peer_by(&p, qmp_adopt);
		send_one(&p, NS_PER_S);
		say(&p, rests[i]);
		say(&p, "\n{\"event\":\"RESUME\"}\n");
		loop_run(p.loop);
		ok(!p.why[0] && !p.reply_count && !strcmp(p.event, "RESUME"),
		   "what another had left of a line is passed: %s", rests[i]);
		close_peer(&p);
	}
	open_peer_by(&p, qmp_adopt);
	send_one(&p, NS_PER_S);
	ok(read(p.fd, line, sizeof(line) - 1) > 0, "the peer reads");
	line[strcspn(line, "\n")] = '\0';
	say(&p, "{\"return\":{},");
	say(&p, strstr(line, "\"id\""));
	say(&p, "\n");
	loop_run(p.loop);
	ok(p.reply_count == 1 && !p.replies[0].code, "it is answered: %s", line);
	say(&p, "}\n");
	loop_run(p.loop);
	ok(p.why[0], "and from then on speaks right: %s", p.why);
	close_peer(&p);
}

int main(void)
{
	test_answers();
	test_adopted();
	test_reason();
	test_ends();
	test_fd();
	return done_testing();
}
