/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hash.h"
#include "inherit.h"
#include "ops.h"

/* A request that so many servers died of, each while it looked at it, is
 * refused. */
#define TRIES_MAX 5u

/* and none may take longer by its size alone. */
#define WRITE_MAX (256u << 10)

#define BLOCK_BYTES (INHERIT_BLOCK - sizeof(uint32_t))

struct pending {
	struct hash_node node; /* in requests->by_unique */
	uint64_t unique;
	struct inherit_request *kept;
};

struct requests {
	int fd;                 /* the session's */
	struct hash by_unique;  /* of struct pending */
	bool first_answer_lost; /* the kernel has had it: of INIT */
	struct {
		const uint8_t *data;  /* NULL: none */
		uint32_t len;
		uint64_t unique;
		bool answered;
		struct inherit_progress *progress;
	} now;
};

static const struct fuse_in_header *header_of(const void *data)
{
	return data;
}

/* --- kept ones ------------------------------------------------------------------ */

static struct pending *find(struct requests *q, uint64_t unique)
{
	struct hash_node *n = hash_first(&q->by_unique, hash_u64(unique));

	for (; n; n = hash_next(n)) {
		struct pending *p = container_of(n, struct pending, node);

		if (p->unique == unique)
			return p;
	}
	return NULL;
}

static void free_blocks(struct inherit *in, struct inherit_request *k)
{
	uint32_t count = k->len <= INHERIT_SHORT
				 ? 0
				 : (uint32_t)((k->len + BLOCK_BYTES - 1) /
					      BLOCK_BYTES);

	for (uint32_t i = 0; i < MIN(count, ARRAY_SIZE(k->block)); i++) {
		void *b = inherit_at(in, INHERIT_BLOCKS, k->block[i]);

		if (b)
			inherit_del(in, INHERIT_BLOCKS, b);
	}
}

static void forget(struct fsd *d, struct pending *p)
{
	struct inherit_request *k = p->kept;
	struct inherit_request blocks = *k;

	hash_del(&d->requests->by_unique, &p->node);
	inherit_del(d->inherit, INHERIT_REQUESTS, k);
	free_blocks(d->inherit, &blocks);
	free(p);
}

static int keep_data(struct inherit *in, struct inherit_request *k,
		     const uint8_t *data, uint32_t len)
{
	if (len <= INHERIT_SHORT) {
		k->len = len;
		memcpy(k->data, data, len);
		return 0;
	}
	for (uint32_t at = 0, i = 0; at < len; at += BLOCK_BYTES, i++) {
		uint32_t n = MIN(len - at, (uint32_t)BLOCK_BYTES);
		struct inherit_block *b =
			i < ARRAY_SIZE(k->block)
				? inherit_add(in, INHERIT_BLOCKS, &k->block[i])
				: NULL;

		if (!b)
			return -ENOSPC;
		memcpy(b->data, data + at, n);
		inherit_publish(&b->live);
		k->len = at + n;
	}
	return 0;
}

static struct pending *link_kept(struct requests *q, struct inherit_request *k,
				 uint64_t unique)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->unique = unique;
	p->kept = k;
	if (hash_add(&q->by_unique, &p->node, hash_u64(unique)) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

/* Of the message that is being looked at. NULL: there is no room. */
static struct inherit_request *keep_record(struct fsd *d)
{
	struct requests *q = d->requests;
	uint32_t place;
	struct inherit_request *k = inherit_add(d->inherit, INHERIT_REQUESTS,
						&place);

	if (k && keep_data(d->inherit, k, q->now.data, q->now.len) == 0) {
		k->progress = *q->now.progress;
		k->seq = ++inherit_head(d->inherit)->last_seq;
		inherit_publish(&k->live);
		return k;
	}
	log_warn("no room to keep a request: it is lost if this process is "
		 "killed now");
	if (k) {
		free_blocks(d->inherit, k);
		inherit_del(d->inherit, INHERIT_REQUESTS, k);
	}
	return NULL;
}

/* Its answer comes later. */
static void keep(struct fsd *d)
{
	struct inherit_request *k = keep_record(d);

	if (!k)
		return;
	k->progress.tries = 0; /* it was survived */
	if (!link_kept(d->requests, k, d->requests->now.unique))
		inherit_del(d->inherit, INHERIT_REQUESTS, k);
}

/* --- libfuse's side --------------------------------------------------------------- */

static ssize_t on_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fsd *d = userdata;
	struct requests *q = d->requests;
	const struct fuse_out_header *out = iov[0].iov_base;
	struct pending *p;
	ssize_t n;

	if (q->first_answer_lost) {
		q->first_answer_lost = false;
		return out->len;
	}
	n = writev(fd, iov, count);
	/* Refused or not, there will be no other answer: ENOENT is one that
	 * the kernel has had from the server before. */
	if (out->unique && q->now.data && out->unique == q->now.unique)
		q->now.answered = true;
	if (out->unique && (p = find(q, out->unique)))
		forget(d, p);
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
	/* Our replies are short or come from a buffer: a copy is cheaper than
	 * a pipe. */
	conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
	conn->max_write = MIN(conn->max_write, WRITE_MAX);
	conn->time_gran = 1;
}

static int make_session(struct fsd *d)
{
	char *argv[] = { (char[]){ "fsd" }, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	static struct fuse_lowlevel_ops ops;

	ops = fsd_ops;
	ops.init = on_init;
	d->session = fuse_session_new(&args, &ops, sizeof(ops), d);
	fuse_opt_free_args(&args);
	return d->session ? 0 : -ENOMEM;
}

static void give(struct fsd *d, const uint8_t *data, uint32_t len)
{
	struct fuse_buf buf = {
		.size = len, .mem = (void *)(uintptr_t)data,
	};

	fuse_session_process_buf(d->session, &buf);
}

/* What the kernel and the first server have agreed on, unless that one died
 * before it could answer. */
static void repeat_init(struct fsd *d)
{
	struct inherit_head *head = inherit_head(d->inherit);
	struct fuse_in_header *in = (void *)inherit_message(d->inherit)->data;
	bool unanswered = in->len && in->opcode == FUSE_INIT;

	if (!head->init_len || head->init_len > sizeof(head->init) ||
	    header_of(head->init)->len != head->init_len ||
	    header_of(head->init)->opcode != FUSE_INIT)
		return;
	d->requests->first_answer_lost = !unanswered;
	give(d, head->init, head->init_len);
	d->requests->first_answer_lost = false;
	if (unanswered)
		in->len = 0;
}

int requests_open(struct fsd *d, int fd)
{
	struct requests *q = calloc(1, sizeof(*q));
	int r = q ? 0 : -ENOMEM;

	d->requests = q;
	if (q)
		q->fd = fd;
	if (r == 0)
		r = make_session(d);
	if (r == 0)
		r = fuse_session_custom_io(d->session, &custom_io, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	repeat_init(d);
	return 0;
}

void requests_close(struct fsd *d)
{
	struct requests *q = take_ptr(d->requests);
	struct hash_node *h;
	size_t from = 0;

	if (d->session)
		fuse_session_destroy(take_ptr(d->session)); /* and its fd */
	if (!q)
		return;
	while ((h = hash_any(&q->by_unique, &from))) {
		hash_del(&q->by_unique, h);
		free(container_of(h, struct pending, node));
	}
	hash_done(&q->by_unique);
	free(q);
}

int requests_fd(const struct fsd *d)
{
	return d->requests->fd;
}

/* --- looking at one ---------------------------------------------------------------- */

static bool has_answer(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
	       opcode != FUSE_INTERRUPT;
}

static void look_at(struct fsd *d, const uint8_t *data, uint32_t len,
		    struct inherit_progress *progress)
{
	struct requests *q = d->requests;
	struct inherit_head *head = inherit_head(d->inherit);
	const struct fuse_in_header *in = header_of(data);

	q->now.data = data;
	q->now.len = len;
	q->now.unique = in->unique;
	q->now.answered = !has_answer(in->opcode);
	q->now.progress = progress;
	if (in->opcode == FUSE_INIT && len <= sizeof(head->init)) {
		memcpy(head->init, data, len);
		head->init_len = len;
	}
	progress->tries++;
	give(d, data, len);
	q->now.data = NULL;
}

int requests_next(struct fsd *d)
{
	struct requests *q = d->requests;
	struct inherit_message *m = inherit_message(d->inherit);
	struct fuse_in_header *in = (void *)m->data;
	ssize_t n;

	m->progress = (struct inherit_progress){ 0 };
	n = read(q->fd, m->data, sizeof(m->data));
	if (n < 0)
		return errno == EAGAIN	? 0
		       : errno == EINTR || errno == ENOENT ? 1 /* it is gone */
							   : -errno;
	if ((size_t)n < sizeof(*in) || in->len != n) {
		in->len = 0;
		return n == 0 ? -ENODEV : -EIO;
	}
	look_at(d, m->data, (uint32_t)n, &m->progress);
	if (!q->now.answered) {
		q->now.data = m->data;
		keep(d);
		q->now.data = NULL;
	}
	in->len = 0;
	return 1;
}

const void *requests_current(const struct fsd *d, size_t *ret_len)
{
	*ret_len = d->requests->now.data ? d->requests->now.len : 0;
	return d->requests->now.data;
}

uint64_t requests_poll(const struct fsd *d)
{
	const uint8_t *data = d->requests->now.data;
	struct fuse_poll_in in;

	if (!data || header_of(data)->opcode != FUSE_POLL ||
	    d->requests->now.len < sizeof(struct fuse_in_header) + sizeof(in))
		return 0;
	memcpy(&in, data + sizeof(struct fuse_in_header), sizeof(in));
	return in.flags & FUSE_POLL_SCHEDULE_NOTIFY ? in.kh : 0;
}

static void tell(struct fsd *d, uint64_t unique, int32_t error,
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

void requests_wake(struct fsd *d, uint64_t poll)
{
	struct fuse_notify_poll_wakeup_out out = { .kh = poll };

	tell(d, 0, FUSE_NOTIFY_POLL, &out, sizeof(out));
}

void requests_begin(struct fsd *d, uint64_t before)
{
	struct inherit_progress *p = d->requests->now.progress;

	if (!d->requests->now.data)
		return;
	p->before = before;
	inherit_publish(&p->begun);
}

bool requests_again(const struct fsd *d, uint64_t *ret_before)
{
	const struct inherit_progress *p = d->requests->now.progress;

	if (!d->requests->now.data || !p->begun)
		return false;
	*ret_before = p->before;
	return true;
}

/* --- from the server before -------------------------------------------------------- */

/* The message that it was looking at becomes the last of the requests. */
static void keep_message(struct fsd *d)
{
	struct requests *q = d->requests;
	struct inherit_message *m = inherit_message(d->inherit);
	struct fuse_in_header *in = (void *)m->data;

	if (in->len >= sizeof(*in) && in->len <= sizeof(m->data)) {
		q->now.data = m->data;
		q->now.len = in->len;
		q->now.progress = &m->progress;
		keep_record(d);
		q->now.data = NULL;
	}
	in->len = 0;
}

/* Blocks of requests that were not whole yet. */
static void drop_blocks(struct inherit *in, struct inherit_request **list,
			uint32_t count)
{
	uint32_t blocks = inherit_count(in, INHERIT_BLOCKS);
	struct inherit_block *b;

	for (uint32_t i = 0; i < blocks; i++)
		if ((b = inherit_at(in, INHERIT_BLOCKS, i)))
			b->live = 2;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0, at = 0; list[i]->len > INHERIT_SHORT &&
					     at < list[i]->len;
		     n++, at += BLOCK_BYTES)
			if ((b = inherit_at(in, INHERIT_BLOCKS,
					    list[i]->block[n])))
				b->live = 1;
	for (uint32_t i = 0; i < blocks; i++)
		if ((b = inherit_at(in, INHERIT_BLOCKS, i)) && b->live == 2)
			b->live = 0;
	inherit_recycle(in, INHERIT_BLOCKS);
}

static bool copy_kept(struct fsd *d, const struct inherit_request *k,
		      uint8_t *room)
{
	if (k->len <= INHERIT_SHORT) {
		memcpy(room, k->data, k->len);
	} else if (k->len > INHERIT_MESSAGE_MAX) {
		return false;
	}
	for (uint32_t at = 0, i = 0; k->len > INHERIT_SHORT && at < k->len;
	     at += BLOCK_BYTES, i++) {
		struct inherit_block *b =
			i < ARRAY_SIZE(k->block)
				? inherit_at(d->inherit, INHERIT_BLOCKS,
					     k->block[i])
				: NULL;

		if (!b)
			return false;
		memcpy(room + at, b->data, MIN(k->len - at,
					       (uint32_t)BLOCK_BYTES));
	}
	return k->len >= sizeof(struct fuse_in_header) &&
	       header_of(room)->len == k->len;
}

static int by_seq(const void *a, const void *b)
{
	const struct inherit_request *const *x = a, *const *y = b;

	return (*x)->seq < (*y)->seq ? -1 : (*x)->seq > (*y)->seq;
}

/* All that are whole, in their order. Return: how many. */
static uint32_t collect(struct fsd *d, struct inherit_request **list,
			uint8_t *room)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < inherit_count(d->inherit, INHERIT_REQUESTS);
	     i++) {
		struct inherit_request *k =
			inherit_at(d->inherit, INHERIT_REQUESTS, i);

		if (!k)
			continue;
		/* Twice: it died while it kept the message. */
		if (copy_kept(d, k, room) &&
		    !find(d->requests, header_of(room)->unique) &&
		    link_kept(d->requests, k, header_of(room)->unique))
			list[count++] = k;
		else
			k->live = 0;
	}
	qsort(list, count, sizeof(struct inherit_request *), by_seq);
	return count;
}

static void look_again(struct fsd *d, struct inherit_request *k, uint8_t *room)
{
	uint64_t unique;

	if (!copy_kept(d, k, room))
		return;
	unique = header_of(room)->unique;
	if (k->progress.tries >= TRIES_MAX) {
		log_error("a request (operation %u) ended %u servers; it is "
			  "refused", header_of(room)->opcode, TRIES_MAX);
		tell(d, unique, -EIO, NULL, 0);
		forget(d, find(d->requests, unique));
		return;
	}
	look_at(d, room, k->len, &k->progress);
	if (!d->requests->now.answered)
		k->progress.tries = 0;
	else if (!has_answer(header_of(room)->opcode))
		forget(d, find(d->requests, unique));
}

void requests_take_over(struct fsd *d)
{
	struct inherit *in = d->inherit;
	uint8_t *room = malloc(INHERIT_MESSAGE_MAX);
	struct inherit_request **list;
	uint32_t count;

	keep_message(d);
	list = calloc(inherit_count(in, INHERIT_REQUESTS) + 1, sizeof(*list));

	if (!list || !room) {
		log_error("no memory to answer the requests of the server "
			  "before");
		free(list);
		free(room);
		return;
	}
	count = collect(d, list, room);
	inherit_recycle(in, INHERIT_REQUESTS);
	drop_blocks(in, list, count);
	for (uint32_t i = 0; i < count; i++)
		look_again(d, list[i], room);
	free(list);
	free(room);
}
