/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads requests and writes answers in place of libfuse, which parses them. A
 * request is in shared memory from before its operation begins until its answer
 * is written. A fiber serves each request; request_journal.c has the part for
 * the next server. All functions run on the loop.
 */
#include "requests_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/jobs/job.h"
#include "fsd/users/last_error.h"
#include "library.h"

/* Bounds the time that one write takes by its size. */
#define WRITE_MAX (256u << 10)

static HANDOVER_TABLE(mount_records, "mount", 1, struct mount_record, 1);

static struct look *look_now(const struct fsd *d)
{
	struct fiber *f = fiber_self();

	return f ? *fiber_own(f) : d->requests->plain;
}

/* --- libfuse's side --------------------------------------------------------------- */

static void answered(struct fsd *d, uint64_t unique)
{
	struct requests *q = d->requests;
	struct pending *p = request_find(q, unique);

	list_for_each(pos, tmp, &q->looks) {
		struct look *l = list_entry(pos, struct look, node);

		if (l->unique != unique)
			continue;
		l->answered = true;
		if (l->message)
			message_clear(l->message);
	}
	if (p)
		request_forget(d, p);
}

static ssize_t on_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fsd *d = userdata;
	struct requests *q = d->requests;
	const struct fuse_out_header *out = iov[0].iov_base;
	ssize_t n;

	if (q->first_answer_lost) {
		q->first_answer_lost = false;
		return out->len;
	}
	n = writev(fd, iov, count);
	/* Even if the kernel refuses it, no other answer will follow. ENOENT:
	 * it has got one from the previous server. */
	if (out->unique)
		answered(d, out->unique);
	return n;
}

static ssize_t on_read(int fd, void *data, size_t size, void *userdata)
{
	(void)userdata;
	return read(fd, data, size);
}

static const struct fuse_custom_io custom_io = {
	.writev = on_writev, .read = on_read,
};

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	/* No splice: replies are short or come from a buffer, so a copy is
	 * cheaper than a pipe. */
	conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
	conn->max_write = MIN(conn->max_write, WRITE_MAX);
	conn->time_gran = 1;
	/*
	 * The kernel sends a RELEASE as a background request. It holds back
	 * more than max_background of those (default 12), and later requests
	 * pass them: then a user who had closed a file and wrote `start` got
	 * the error that the file is open. Without root the kernel allows some
	 * 300 for each GiB of the host's memory.
	 */
	conn->max_background = UINT16_MAX;
}

static int make_session(struct fsd *d, const struct fuse_lowlevel_ops *given)
{
	char *argv[] = { (char[]){ "fsd" }, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_lowlevel_ops ops = *given;

	ops.init = on_init;
	d->requests->session = fuse_session_new(&args, &ops, sizeof(ops), d);
	fuse_opt_free_args(&args);
	return d->requests->session ? 0 : -ENOMEM;
}

static void give(struct fsd *d, const uint8_t *data, uint32_t len)
{
	struct fuse_buf buf = {
		.size = len, .mem = (void *)(uintptr_t)data,
	};

	fuse_session_process_buf(d->requests->session, &buf);
}

/* Repeats to libfuse what the kernel and the first server have negotiated. If
 * that server died before it answered INIT, the message is replayed. */
static void repeat_init(struct fsd *d)
{
	struct mount_record *shared = d->requests->shared;
	/* INIT, the first of all messages, is in the first slot. */
	struct request_message *first = &shared->message[0];
	bool unanswered = header_of(first->data)->len &&
			  header_of(first->data)->opcode == FUSE_INIT;

	if (!shared->init_len || shared->init_len > sizeof(shared->init) ||
	    header_of(shared->init)->len != shared->init_len ||
	    header_of(shared->init)->opcode != FUSE_INIT)
		return;
	d->requests->first_answer_lost = !unanswered;
	give(d, shared->init, shared->init_len);
	d->requests->first_answer_lost = false;
	if (unanswered)
		message_clear(first);
}

int requests_open(struct fsd *d, const struct fuse_lowlevel_ops *ops, int fd)
{
	struct requests *q = calloc(1, sizeof(*q));
	int r = q ? 0 : -ENOMEM;

	d->requests = q;
	if (q) {
		q->fd = fd;
		list_init(&q->looks);
		q->shared = handover_fact(d->handover, &mount_records);
		handover_publish(&q->shared->live);
	}
	if (r == 0)
		r = make_session(d, ops);
	if (r == 0)
		r = fuse_session_custom_io(q->session, &custom_io, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	repeat_init(d);
	return 0;
}

void look_free(struct look *l)
{
	list_del(&l->node);
	free(l->copy);
	free(l);
}

/* Logs a request without an answer. The kernel returns an error to its caller,
 * but each operation should answer itself. */
static void tell_unanswered(const void *data)
{
	log_error("request %" PRIu64 " (operation %" PRIu32
		  ") was never answered",
		  header_of(data)->unique, header_of(data)->opcode);
}

bool requests_ended(const struct fsd *d)
{
	return fuse_session_exited(d->requests->session);
}

void requests_close(struct fsd *d)
{
	struct requests *q = take_ptr(d->requests);
	struct hash_node *h;
	size_t from = 0;

	if (!q)
		return;
	if (q->session)
		/* this also closes the descriptor */
		fuse_session_destroy(q->session);
	while ((h = hash_any(&q->by_unique, &from))) {
		struct pending *p = container_of(h, struct pending, node);

		tell_unanswered(p->kept->data);
		hash_del(&q->by_unique, h);
		free(p);
	}
	hash_done(&q->by_unique);
	list_for_each(pos, tmp, &q->looks) {
		struct look *l = list_entry(pos, struct look, node);

		if (!l->answered && !l->copy)
			tell_unanswered(l->data);
		look_free(l);
	}
	free(q);
}

int requests_fd(const struct fsd *d)
{
	return d->requests->fd;
}

void request_tell(struct fsd *d, uint64_t unique, int32_t error,
		 const void *data, size_t size)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + size), .error = error,
		.unique = unique,
	};
	struct iovec iov[] = {
		{ &out, sizeof(out) },
		{ (void *)(uintptr_t)data, size },
	};

	if (writev(d->requests->fd, iov, size ? 2 : 1) < 0 && errno != ENOENT)
		log_warn("the kernel does not take an answer: %s",
			 strerror(errno));
}

/* --- handling one request ----------------------------------------------- */

/* Ends the handling of a request. */
static void look_end(struct look *l)
{
	struct requests *q = l->d->requests;

	if (!l->answered && !request_find(q, l->unique)) {
		l->progress->tries = 0;
		request_keep(l->d, l->data, l->len,
		     l->message ? l->message->seq
				: ++q->shared->last_seq,
		     l->progress);
	}
	if (l->message) {
		message_clear(l->message);
		q->taken[l->place] = false;
	}
	look_free(l);
}

/* Operations that are refused when the store is read-only. open is not one of them,
 * because ctl may be written. */
#define CHANGES_NAMES                                                        \
	(1ull << FUSE_MKDIR | 1ull << FUSE_MKNOD | 1ull << FUSE_SYMLINK |    \
	 1ull << FUSE_UNLINK | 1ull << FUSE_RMDIR | 1ull << FUSE_RENAME |    \
	 1ull << FUSE_RENAME2 | 1ull << FUSE_LINK | 1ull << FUSE_CREATE |    \
	 1ull << FUSE_SETATTR)

/* Refuses an operation of CHANGES_NAMES while the store is read-only. Return: true if it
 * was refused. */
static bool refuse(const struct look *l)
{
	const struct fuse_in_header *in = header_of(l->data);
	const char *why = store_read_only(l->d->store);

	if (!why || in->opcode > 63 || !(CHANGES_NAMES >> in->opcode & 1))
		return false;
	last_error_set(l->d->users, in->uid, FSD_DIR_NAME, why);
	request_tell(l->d, in->unique, -EROFS, NULL, 0);
	answered(l->d, in->unique);
	return true;
}

static void on_look(void *arg)
{
	struct look *l = arg;
	struct fiber *f = fiber_self();
	struct requests *q = l->d->requests;
	struct look *outer = q->plain;
	uint64_t *number = fiber_number(), outer_number = *number;

	*number = l->unique;
	if (f)
		*fiber_own(f) = l;
	else
		q->plain = l;
	if (!refuse(l))
		give(l->d, l->data, l->len);
	jobs_let_go();
	if (!f)
		q->plain = outer;
	*number = outer_number;
	look_end(l);
}

struct look *look_new(struct fsd *d, const uint8_t *data, uint32_t len,
			     struct request_progress *progress)
{
	struct look *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->d = d;
	l->data = data;
	l->len = len;
	l->unique = header_of(data)->unique;
	l->answered = !has_answer(header_of(data)->opcode);
	l->progress = progress;
	list_add_tail(&d->requests->looks, &l->node);
	return l;
}

/* Handles a request; consumes l. Until it has waited or ended once, it counts
 * as the possible cause of this server's death. */
void look_at(struct look *l)
{
	struct request_progress *progress = l->progress;
	struct mount_record *shared = l->d->requests->shared;

	if (header_of(l->data)->opcode == FUSE_INIT &&
	    l->len <= sizeof(shared->init)) {
		memcpy(shared->init, l->data, l->len);
		shared->init_len = l->len;
	}
	progress->tries++;
	if (fiber_start(on_look, l) < 0)
		on_look(l);
	progress->tries = 0;
}

/* The last slot is for a request that finds all others taken. */
#define SPILL (MESSAGES - 1)

static unsigned free_message(const struct requests *q)
{
	unsigned i = 0;

	while (i < SPILL && q->taken[i])
		i++;
	return i;
}

/* Copies a request out of the last slot, which must be free for the next one at
 * once. */
static struct look *spill(struct fsd *d, struct request_message *m,
			  uint32_t len)
{
	uint8_t *copy = malloc(len);
	struct request_record *k = NULL;
	struct look *l = NULL;

	if (copy) {
		memcpy(copy, m->data, len);
		if (has_answer(header_of(copy)->opcode))
			k = request_keep(d, copy, len, m->seq, &m->progress);
		l = look_new(d, copy, len, k ? &k->progress : &m->progress);
	}
	if (!l) {
		free(copy);
		return NULL;
	}
	l->copy = copy;
	message_clear(m);
	return l;
}

int requests_next(struct fsd *d)
{
	struct requests *q = d->requests;
	unsigned place = free_message(q);
	struct request_message *m = &q->shared->message[place];
	const struct fuse_in_header *in = header_of(m->data);
	struct look *l;
	ssize_t n;

	m->progress = (struct request_progress){ 0 };
	m->seq = ++q->shared->last_seq;
	n = read(q->fd, m->data, sizeof(m->data));
	if (n < 0)
		return errno == EAGAIN	? 0
		       /* the request was cancelled */
		       : errno == EINTR || errno == ENOENT ? 1
							   : -errno;
	if ((size_t)n < sizeof(*in) || in->len != n) {
		message_clear(m);
		return n == 0 ? -ENODEV : -EIO;
	}
	l = place == SPILL ? spill(d, m, (uint32_t)n)
			   : look_new(d, m->data, (uint32_t)n, &m->progress);
	if (!l) {
		request_tell(d, in->unique, -ENOMEM, NULL, 0);
		message_clear(m);
		return 1;
	}
	if (!l->copy) {
		l->message = m;
		l->place = place;
		q->taken[place] = true;
	}
	look_at(l);
	return 1;
}

uint64_t requests_poll(const struct fsd *d)
{
	const struct look *l = look_now(d);
	struct fuse_poll_in in;

	if (!l || header_of(l->data)->opcode != FUSE_POLL ||
	    l->len < sizeof(struct fuse_in_header) + sizeof(in))
		return 0;
	memcpy(&in, l->data + sizeof(struct fuse_in_header), sizeof(in));
	return in.flags & FUSE_POLL_SCHEDULE_NOTIFY ? in.kh : 0;
}

void requests_wake(struct fsd *d, uint64_t poll)
{
	struct fuse_notify_poll_wakeup_out out = { .kh = poll };

	request_tell(d, 0, FUSE_NOTIFY_POLL, &out, sizeof(out));
}

void requests_begin(struct fsd *d, uint64_t before)
{
	struct look *l = look_now(d);

	if (!l)
		return;
	l->progress->before = before;
	handover_publish(&l->progress->begun);
}

bool requests_again(const struct fsd *d, uint64_t *ret_before)
{
	const struct look *l = look_now(d);

	if (!l || !l->progress->begun)
		return false;
	*ret_before = l->progress->before;
	return true;
}

