/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files and listings in a session's machine. Owns the listings. All
 * functions run on the loop.
 */
#include "handle_table.h"
#include "fsd/mount/requests.h"
#include "fsd/living/machine_files.h"
#include "fsd/living/sandboxes.h"
#include "fsd/users/users.h"
#include "ops_refusal.h"
#include "ops_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define READ_MAX (1u << 20)
#define LIST_MAX (64u << 20) /* most bytes of the names of one listing */
/* least bytes of an answer that is not the last */
#define LIST_ENOUGH (WIRE_FS_CHUNK / 2)
#define ANSWER_MAX (256u << 10)

/* --- operations that the previous server may have done ------------------ */

int ask_done_error(enum wire_fs_op op)
{
	switch (op) {
	case WIRE_FS_MKDIR:
	case WIRE_FS_CREATE:
		return EEXIST;
	case WIRE_FS_UNLINK:
	case WIRE_FS_RMDIR:
	case WIRE_FS_RENAME:
		return ENOENT;
	default:
		return 0;
	}
}

void ask_may_be_again(struct ask *a)
{
	uint64_t before;

	a->again = requests_again(a->d, &before);
	requests_begin(a->d, 0);
}

void ask_was_done(struct ask *a)
{
	a->again = false;
	if (ask_done_error(a->fs.op) == ENOENT) {
		a->answered(a, NULL, 0);
		return;
	}
	/* the answer has the attributes of the new entry */
	a->fs.op = WIRE_FS_STAT;
	ask_send(a);
}

/* --- opening ------------------------------------------------------------------ */

/* Checks the mode with the owner's bits, once, at open: an open file needs no
 * right later, whatever its mode becomes. */
static bool may_open(const struct ask *a, mode_t mode)
{
	int how = a->fi.flags & O_ACCMODE;

	if (fuse_req_ctx(a->req)->uid == 0)
		return true;
	return (how == O_WRONLY || mode & S_IRUSR) &&
	       (how == O_RDONLY || mode & S_IWUSR);
}

static void open_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct stat st;

	if (!ask_stat(a, data, size, &st))
		return;
	if (S_ISDIR(st.st_mode) || !may_open(a, st.st_mode)) {
		ask_fail(a, S_ISDIR(st.st_mode) ? -EISDIR : -EACCES);
		return;
	}
	a->fi.direct_io = 1;
	fuse_reply_open(a->req, &a->fi);
	ask_free(a);
}

bool guest_open(fuse_req_t req, fuse_ino_t ino,
		const struct fuse_file_info *fi)
{
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = fi->flags & O_TRUNC ? WIRE_FS_TRUNCATE : WIRE_FS_STAT,
		.fi = *fi, .answered = open_answered });
}

static void create_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct fuse_entry_param e;

	if (!ask_entry(a, data, size, &e))
		return;
	a->fi.direct_io = 1;
	fuse_reply_create(a->req, &e, &a->fi);
	ask_free(a);
}

bool guest_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		  mode_t mode, const struct fuse_file_info *fi)
{
	return ask(req, parent, name, &(struct ask){
		.fs = { .op = WIRE_FS_CREATE, .mode = mode & 0777,
			.flags = (fi->flags & O_EXCL ? WIRE_FS_EXCLUSIVE : 0) |
				 (fi->flags & O_TRUNC ? WIRE_FS_EMPTY : 0) },
		.fi = *fi, .answered = create_answered });
}

/* --- bytes ---------------------------------------------------------------------- */

static void reply_read(struct ask *a)
{
	fuse_reply_buf(a->req, a->data.data, a->data.len);
	ask_free(a);
}

static void read_next(struct ask *a)
{
	a->fs.offset = (uint64_t)a->off + a->data.len;
	a->fs.length = (uint32_t)MIN(a->want - a->data.len,
				     (size_t)WIRE_FS_CHUNK);
	ask_again(a);
}

static void read_answered(struct ask *a, const uint8_t *data, size_t size)
{
	if (buf_add(&a->data, data, size) < 0)
		ask_fail(a, -ENOMEM);
	else if (size < a->fs.length || a->data.len == a->want)
		reply_read(a);
	else
		read_next(a);
}

/* Replies with the bytes before the error; the next read gets the error. */
static bool read_failed(struct ask *a, int r)
{
	(void)r;
	if (!a->data.len)
		return false;
	reply_read(a);
	return true;
}

bool guest_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = WIRE_FS_READ, .want = MIN(size, (size_t)READ_MAX),
		.off = off, .begin = read_next,
		.answered = read_answered, .failed = read_failed });
}

static void write_next(struct ask *a)
{
	a->fs.offset = (uint64_t)a->off + a->at;
	a->fs.data = a->data.data + a->at;
	a->fs.size = MIN(a->data.len - a->at, (size_t)WIRE_FS_CHUNK);
	ask_again(a);
}

static void reply_write(struct ask *a)
{
	fuse_reply_write(a->req, a->at);
	ask_free(a);
}

static void write_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct wire_cursor c;
	size_t asked = a->fs.size;
	uint32_t n;

	wire_begin(&c, data, size);
	n = wire_get_u32(&c);
	a->at += MIN((size_t)n, asked);
	if (n < asked || a->at == a->data.len)
		reply_write(a);
	else
		write_next(a);
}

static bool write_failed(struct ask *a, int r)
{
	(void)r;
	if (!a->at)
		return false;
	reply_write(a);
	return true;
}

static void write_begin(struct ask *a)
{
	if (!a->fs.size)
		reply_write(a);
	else if (buf_add(&a->data, a->fs.data, a->fs.size) < 0)
		ask_fail(a, -ENOMEM);
	else
		write_next(a);
}

bool guest_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size,
		 off_t off, const struct fuse_file_info *fi)
{
	/* The kernel may not know where the file ends; the machine does. */
	return ask(req, ino, NULL, &(struct ask){
		.fs = { .op = WIRE_FS_WRITE, .data = data, .size = size,
			.flags = fi->flags & O_APPEND ? WIRE_FS_APPEND : 0 },
		.off = off, .begin = write_begin,
		.answered = write_answered, .failed = write_failed });
}

bool guest_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_pollhandle *ph)
{
	if (!guest_is(ino))
		return false;
	if (ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM);
	return true;
}

bool guest_sync(fuse_req_t req, fuse_ino_t ino)
{
	if (!guest_is(ino))
		return false;
	ops_done(req);
	return true;
}

/* --- listings -------------------------------------------------------------------- */

/*
 * A listing holds all names from its beginning, so removals during reading do
 * not disturb it: for each name a byte of its kind, its text and a NUL. The offset of an
 * entry is the position of the next name there, plus OFF_DOTS for "." and "..".
 */
#define OFF_DOTS 2

struct guest_listing {
	struct list node; /* link in open_files_listings() */
	struct fsd *d;    /* borrowed */
	struct handle_record *kept; /* owned: only reserves its number */
	struct buf names;
	struct user_weight weight; /* the user's share for `names` */
	bool unread; /* names must be read from the beginning */
};

/* Returns the listing; NULL: it is the previous server's, and its machine is
 * gone. */
static struct guest_listing *listing_of(fuse_req_t req,
					const struct fuse_file_info *fi)
{
	return open_files_at(ops_fsd(req)->open_files, fi->fh, OPEN_GUEST_LISTING);
}

static void listing_free(struct guest_listing *l)
{
	list_del(&l->node);
	open_files_del(l->d->open_files, l->kept);
	buf_done(&l->names);
	user_unweigh(&l->weight);
	free(l);
}

void guest_listings_free(struct fsd *d)
{
	if (!d->open_files)
		return; /* the server never started */
	list_for_each(pos, tmp, open_files_listings(d->open_files))
		listing_free(list_entry(pos, struct guest_listing, node));
}

void guest_listing_restore(struct fsd *d, struct handle_record *kept)
{
	struct guest_listing *l = calloc(1, sizeof(*l));

	if (!l || open_files_adopt(d->open_files, kept, l) < 0) {
		free(l);
		return;
	}
	l->d = d;
	l->kept = kept;
	l->names.cap = LIST_MAX;
	l->unread = true;
	list_add_tail(open_files_listings(d->open_files), &l->node);
}

/* Opens a listing; the machine is not asked yet. */
static void opendir_begin(struct ask *a)
{
	struct guest_listing *l = calloc(1, sizeof(*l));

	if (l)
		l->kept = open_files_add(a->d->open_files, OPEN_GUEST_LISTING,
					 a->ino, l, &a->fi.fh);
	if (!l || !l->kept) {
		free(l);
		ask_fail(a, -ENOMEM);
		return;
	}
	l->d = a->d;
	l->names.cap = LIST_MAX;
	list_add_tail(open_files_listings(a->d->open_files), &l->node);
	handover_publish(&l->kept->live);
	fuse_reply_open(a->req, &a->fi);
	ask_free(a);
}

bool guest_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = WIRE_FS_LIST, .fi = *fi, .begin = opendir_begin });
}

/* Adds an entry to the reply. Return: false when it does not fit. */
static bool put(struct ask *a, char *room, const char *name, mode_t kind,
		fuse_ino_t ino, off_t off)
{
	struct stat st = { .st_ino = ino, .st_mode = kind };
	size_t n = fuse_add_direntry(a->req, room + a->at, a->want - a->at,
				     name, &st, off);

	if (n > a->want - a->at)
		return false;
	a->at += n;
	return true;
}

static void reply_listing(struct ask *a)
{
	char *room = open_files_room(a->d->open_files);
	const struct buf *names = &a->listing->names;
	size_t from = a->off > OFF_DOTS ? (size_t)(a->off - OFF_DOTS) : 0;

	a->want = MIN(a->want, (size_t)ANSWER_MAX);
	if (a->off < 1)
		put(a, room, ".", S_IFDIR, a->ino, 1);
	if (a->off < OFF_DOTS)
		put(a, room, "..", S_IFDIR, FUSE_ROOT_ID, OFF_DOTS);
	while (from < names->len) {
		const char *name = names->data + from + 1;
		size_t next = from + 2 + strlen(name);

		/* the inode number is known only after a lookup */
		if (!put(a, room, name,
			 names->data[from] == WIRE_FILE_DIR ? S_IFDIR : S_IFREG,
			 UINT32_MAX, (off_t)next + OFF_DOTS))
			break;
		from = next;
	}
	fuse_reply_buf(a->req, room, a->at);
	ask_free(a);
}

static void drop_names(struct guest_listing *l)
{
	buf_done(&l->names);
	user_unweigh(&l->weight);
}

/* Counts the names for the reader. Return: false: the request has failed. */
static bool weigh(struct ask *a)
{
	struct guest_listing *l = a->listing;
	struct err err = { 0 };
	int r = user_weigh(a->d->users, fuse_req_ctx(a->req)->uid, &l->weight,
			   l->names.len, &err);

	if (r == 0)
		return true;
	drop_names(l);
	ops_answer(a->req, ops_refuse_at(a->req, a->ino, NULL, r, err.text));
	ask_free(a);
	return false;
}

/* Adds the names of one answer. Leaves out names that are not valid here.
 * Return: 0 or -EFBIG, -ENOMEM. */
static int add_names(struct buf *names, struct wire_cursor *c)
{
	while (!c->failed && c->p < c->end) {
		char kind = (char)wire_get_u32(c);
		auto_free char *name = wire_get_str(c, WIRE_NAME_MAX);

		if (!name || file_name_check(name) < 0)
			continue;
		buf_add(names, &kind, 1);
		buf_add(names, name, strlen(name) + 1);
	}
	return names->failed;
}

static void list_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct buf *names = &a->listing->names;
	struct wire_cursor c;
	int r;

	wire_begin(&c, data, size);
	a->fs.offset = wire_get_u64(&c);
	/* refused, since a machine could send small answers for ever */
	r = a->fs.offset && size < LIST_ENOUGH ? -EIO
					       : add_names(names, &c);
	if (r < 0) {
		drop_names(a->listing);
		ask_fail(a, r);
		return;
	}
	if (!weigh(a))
		return;
	if (a->fs.offset)
		ask_again(a);
	else
		reply_listing(a);
}

/* Handles a failed listing: without a machine files/ of a session is empty. Return:
 * false: the error stays. */
static bool list_failed(struct ask *a, int r)
{
	struct machine_files h;

	if (r != -ESTALE || a->fs.path[0] ||
	    (machine_files_find(a->d, a->session, &h) && !sandbox_is_single(h.sandbox)))
		return false;
	drop_names(a->listing);
	reply_listing(a);
	return true;
}

static void readdir_begin(struct ask *a)
{
	if (a->off && a->listing->unread) {
		ask_fail(a, -ESTALE);
		return;
	}
	if (a->off) {
		reply_listing(a);
		return;
	}
	a->listing->unread = false;
	drop_names(a->listing);
	ask_send(a);
}

bool guest_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	if (guest_is(ino) && !listing_of(req, fi)) {
		ops_answer(req, -ESTALE);
		return true;
	}
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = WIRE_FS_LIST, .listing = listing_of(req, fi),
		.want = size,
		.off = off, .begin = readdir_begin,
		.answered = list_answered, .failed = list_failed });
}

bool guest_releasedir(fuse_req_t req, fuse_ino_t ino,
		      struct fuse_file_info *fi)
{
	if (!guest_is(ino))
		return false;
	if (listing_of(req, fi))
		listing_free(listing_of(req, fi));
	else
		open_files_drop(ops_fsd(req)->open_files, fi->fh);
	ops_done(req);
	return true;
}
