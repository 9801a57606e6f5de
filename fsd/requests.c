/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fiber.h"
#include "hash.h"
#include "inherit.h"
#include "job.h"
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

/* A request on its way through an operation, perhaps in a fiber that waits. */
struct look {
	struct list node; /* in requests->looks */
	struct fsd *d;
	const uint8_t *data; /* the message's, or the copy */
	uint32_t len;
	uint64_t unique;
	bool answered;
	struct inherit_progress *progress;
	struct inherit_message *message; /* taken, or NULL */
	uint8_t *copy;                   /* owned, or NULL */
};

struct requests {
	int fd;                 /* the session's */
	struct hash by_unique;  /* of struct pending */
	struct list looks;      /* of struct look */
	struct look *plain;     /* the one that runs in no fiber, or NULL */
	bool taken[INHERIT_MESSAGES];
	bool first_answer_lost; /* the kernel has had it: of INIT */
};

static struct look *look_now(const struct fsd *d)
{
	struct fiber *f = fiber_self();

	return f ? *fiber_own(f) : d->requests->plain;
}

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

/* NULL: there is no room. */
static struct inherit_request *keep_record(struct fsd *d, const uint8_t *data,
					   uint32_t len, uint64_t seq,
					   const struct inherit_progress *p)
{
	uint32_t place;
	struct inherit_request *k = inherit_add(d->inherit, INHERIT_REQUESTS,
						&place);

	if (k && keep_data(d->inherit, k, data, len) == 0) {
		k->progress = *p;
		k->seq = seq;
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

/* Its answer comes when nobody looks at it any more, or its message is needed
 * for others. */
static struct inherit_request *keep(struct fsd *d, const uint8_t *data,
				    uint32_t len, uint64_t seq,
				    const struct inherit_progress *p)
{
	struct inherit_request *k = keep_record(d, data, len, seq, p);

	if (k && !link_kept(d->requests, k, header_of(data)->unique)) {
		inherit_del(d->inherit, INHERIT_REQUESTS, k);
		k = NULL;
	}
	return k;
}

/* --- libfuse's side --------------------------------------------------------------- */

static void answered(struct fsd *d, uint64_t unique)
{
	struct requests *q = d->requests;
	struct pending *p = find(q, unique);

	list_for_each(pos, tmp, &q->looks) {
		struct look *l = list_entry(pos, struct look, node);

		if (l->unique != unique)
			continue;
		l->answered = true;
		if (l->message) /* it will not be looked at again */
			((struct fuse_in_header *)(void *)l->message->data)
				->len = 0;
	}
	if (p)
		forget(d, p);
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
	/* Refused or not, there will be no other answer: ENOENT is one that
	 * the kernel has had from the server before. */
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
	/* The first of all messages is in the first place. */
	struct fuse_in_header *in =
		(void *)inherit_message(d->inherit, 0)->data;
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
	if (q) {
		q->fd = fd;
		list_init(&q->looks);
	}
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

static void free_look(struct look *l)
{
	list_del(&l->node);
	free(l->copy);
	free(l);
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
	list_for_each(pos, tmp, &q->looks)
		free_look(list_entry(pos, struct look, node));
	free(q);
}

int requests_fd(const struct fsd *d)
{
	return d->requests->fd;
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

/* --- looking at one ---------------------------------------------------------------- */

static bool has_answer(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
	       opcode != FUSE_INTERRUPT;
}

/* Nobody looks at it any more. */
static void look_end(struct look *l)
{
	struct requests *q = l->d->requests;

	if (!l->answered && !find(q, l->unique)) {
		l->progress->tries = 0;
		keep(l->d, l->data, l->len,
		     l->message ? l->message->seq
				: ++inherit_head(l->d->inherit)->last_seq,
		     l->progress);
	}
	if (l->message) {
		((struct fuse_in_header *)(void *)l->message->data)->len = 0;
		for (unsigned i = 0; i < INHERIT_MESSAGES; i++)
			if (l->message == inherit_message(l->d->inherit, i))
				q->taken[i] = false;
	}
	free_look(l);
}

static void on_look(void *arg)
{
	struct look *l = arg;
	struct fiber *f = fiber_self();
	struct requests *q = l->d->requests;
	struct look *outer = q->plain;

	if (f)
		*fiber_own(f) = l;
	else
		q->plain = l;
	give(l->d, l->data, l->len);
	jobs_let_go();
	if (!f)
		q->plain = outer;
	look_end(l);
}

static struct look *look_new(struct fsd *d, const uint8_t *data, uint32_t len,
			     struct inherit_progress *progress)
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

/* Consumes it. Until it has waited or ended once, it may be what kills us. */
static void look_at(struct look *l)
{
	struct inherit_progress *progress = l->progress;
	struct inherit_head *head = inherit_head(l->d->inherit);

	if (header_of(l->data)->opcode == FUSE_INIT &&
	    l->len <= sizeof(head->init)) {
		memcpy(head->init, l->data, l->len);
		head->init_len = l->len;
	}
	progress->tries++;
	if (fiber_start(on_look, l) < 0)
		on_look(l);
	progress->tries = 0;
}

/* The last one is for those who find all others taken. */
#define SPILL (INHERIT_MESSAGES - 1)

static unsigned free_message(const struct requests *q)
{
	unsigned i = 0;

	while (i < SPILL && q->taken[i])
		i++;
	return i;
}

/* Its message must be free for the next one at once. */
static struct look *spill(struct fsd *d, struct inherit_message *m,
			  uint32_t len)
{
	uint8_t *copy = malloc(len);
	struct inherit_request *k = NULL;
	struct look *l = NULL;

	if (copy) {
		memcpy(copy, m->data, len);
		if (has_answer(header_of(copy)->opcode))
			k = keep(d, copy, len, m->seq, &m->progress);
		l = look_new(d, copy, len, k ? &k->progress : &m->progress);
	}
	if (!l) {
		free(copy);
		return NULL;
	}
	l->copy = copy;
	((struct fuse_in_header *)(void *)m->data)->len = 0;
	return l;
}

int requests_next(struct fsd *d)
{
	struct requests *q = d->requests;
	unsigned place = free_message(q);
	struct inherit_message *m = inherit_message(d->inherit, place);
	struct fuse_in_header *in = (void *)m->data;
	struct look *l;
	ssize_t n;

	m->progress = (struct inherit_progress){ 0 };
	m->seq = ++inherit_head(d->inherit)->last_seq;
	n = read(q->fd, m->data, sizeof(m->data));
	if (n < 0)
		return errno == EAGAIN	? 0
		       : errno == EINTR || errno == ENOENT ? 1 /* it is gone */
							   : -errno;
	if ((size_t)n < sizeof(*in) || in->len != n) {
		in->len = 0;
		return n == 0 ? -ENODEV : -EIO;
	}
	l = place == SPILL ? spill(d, m, (uint32_t)n)
			   : look_new(d, m->data, (uint32_t)n, &m->progress);
	if (!l) {
		tell(d, in->unique, -ENOMEM, NULL, 0);
		in->len = 0;
		return 1;
	}
	if (!l->copy) {
		l->message = m;
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

	tell(d, 0, FUSE_NOTIFY_POLL, &out, sizeof(out));
}

void requests_begin(struct fsd *d, uint64_t before)
{
	struct look *l = look_now(d);

	if (!l)
		return;
	l->progress->before = before;
	inherit_publish(&l->progress->begun);
}

bool requests_again(const struct fsd *d, uint64_t *ret_before)
{
	const struct look *l = look_now(d);

	if (!l || !l->progress->begun)
		return false;
	*ret_before = l->progress->before;
	return true;
}

/* --- from the server before -------------------------------------------------------- */

/* The messages that it was looking at become requests like the others. */
static void keep_messages(struct fsd *d)
{
	for (unsigned i = 0; i < INHERIT_MESSAGES; i++) {
		struct inherit_message *m = inherit_message(d->inherit, i);
		struct fuse_in_header *in = (void *)m->data;

		if (in->len >= sizeof(*in) && in->len <= sizeof(m->data))
			keep_record(d, m->data, in->len, m->seq, &m->progress);
		in->len = 0;
	}
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

static void look_again(struct fsd *d, struct inherit_request *k)
{
	uint8_t *copy = malloc(MAX(k->len, (uint32_t)INHERIT_SHORT));
	struct look *l = NULL;
	uint64_t unique;

	if (copy && copy_kept(d, k, copy))
		l = look_new(d, copy, k->len, &k->progress);
	if (!l) {
		free(copy);
		return;
	}
	l->copy = copy;
	unique = l->unique;
	if (k->progress.tries < TRIES_MAX) {
		bool answers = !l->answered;

		look_at(l);
		if (!answers)
			forget(d, find(d->requests, unique));
		return;
	}
	log_error("a request (operation %u) ended %u servers; it is refused",
		  header_of(copy)->opcode, TRIES_MAX);
	free_look(l);
	tell(d, unique, -EIO, NULL, 0);
	forget(d, find(d->requests, unique));
}

void requests_take_over(struct fsd *d)
{
	struct inherit *in = d->inherit;
	uint8_t *room = malloc(INHERIT_MESSAGE_MAX);
	struct inherit_request **list;
	uint32_t count;

	keep_messages(d);
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
		look_again(d, list[i]);
	free(list);
	free(room);
}
