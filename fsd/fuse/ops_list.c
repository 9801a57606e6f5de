/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists directories. Each reply is made when it is asked for, from where the
 * last one ended, so its cost follows its size. An entry's offset is its
 * position in an order that removals do not disturb. Entries that were added
 * after the beginning was read are not listed, so a reader that renames files
 * comes to an end.
 *
 * Owns the listings. All functions run on the loop, in a fiber that may give
 * way to others.
 */
#include "ops_handle.h"

#include <errno.h>
#include <string.h>

#include "fsd/control/control.h"
#include "handle_table.h"
#include "fsd/mount/requests.h"
#include "fsd/jobs/unloaded_jobs.h"
#include "ops_refusal.h"
#include "ops_guest.h"

/*
 * Offsets: 0 the beginning; then the position behind each of
 *    1 "."   2 ".."   3... virtual files   FIRST_SEQ + seq   OFF_CONFIG
 */
#define OFF_DOTS 2
#define FIRST_SEQ 4096
#define OFF_CONFIG ((off_t)1 << 62)

#define LIST_MAX (256u << 10) /* most bytes of one answer */

struct listing {
	struct target t; /* the directory as it was when the listing began */
	bool begun; /* `t` and `cursor` are valid */
	struct job *job; /* reference to the opened job, or NULL */
	/* reference to the opened node, or NULL: a removed directory can still
	 * be read */
	struct node *node;
	/* reference to the directory that is listed; NULL: the jobs */
	struct node *dir;
	/* position in the jobs or in dir's children */
	struct list_cursor cursor;
	uint64_t last_seq; /* largest sequence number to list */
	uint64_t passed; /* offset of the last entry listed */
	off_t told; /* the last offset that was returned */
	struct handle_record *kept; /* owned */
};

/* The reply to a request for entries, while it is made. */
struct answer {
	fuse_req_t req;
	char *room;
	size_t len, size;
	off_t from; /* leave out entries up to this offset */
	off_t entry; /* offset of the next virtual file */
	off_t last; /* offset of the last entry in the reply */
	bool full;
	uint64_t until; /* now_ns() at which other fibers get a turn */
	unsigned steps;
};

static void put(struct answer *a, off_t off, const char *name, uint64_t ino,
		mode_t mode)
{
	struct stat st = { .st_ino = ino, .st_mode = mode };
	size_t len;

	if (a->full || off <= a->from)
		return;
	len = fuse_add_direntry(a->req, a->room + a->len, a->size - a->len,
				name, &st, off);
	if (len > a->size - a->len) {
		a->full = true;
		return;
	}
	a->len += len;
	a->last = off;
}

static void put_place(void *arg, const char *name, uint64_t entry)
{
	struct answer *a = arg;

	put(a, ++a->entry, name, INO_MAKE(INO_FSD, entry), control_mode(entry));
}

static void put_rows(struct answer *a, const struct job *job)
{
	for (unsigned i = 1; i < JOB_VFILE_MAX; i++)
		if (job_vfiles[i].listed && job_has_vfile(job, i))
			put(a, OFF_DOTS + (off_t)i, job_vfiles[i].name,
			    INO_MAKE(INO_JOB, job->meta.no << 8 | i),
			    job_vfiles[i].mode);
}

/* --- stored files and jobs ---------------------------------------------- */

static uint64_t seq_of(const struct listing *l, struct list *at)
{
	return l->dir ? list_entry(at, struct node, sibling)->seq
		      : list_entry(at, struct job, all)->seq;
}

#define STEPS 256 /* entries between two checks of the clock */
#define SLICE_NS (2 * NS_PER_MS)

static bool took_long(struct answer *a)
{
	return ++a->steps % STEPS == 0 && now_ns() >= a->until;
}

static void breathe(struct answer *a)
{
	if (fiber_self())
		fiber_breathe();
	a->until = now_ns() + SLICE_NS;
}

/*
 * Counts a step. There may be many entries that this user may not see. After a
 * time slice: if the reply has entries it is complete; else other fibers get a
 * turn.
 */
static void step(struct answer *a)
{
	if (!took_long(a))
		return;
	if (a->len)
		a->full = true;
	else
		breathe(a);
}

/* Moves to the first entry behind seq. */
static void walk_to(struct listing *l, uint64_t seq, struct answer *a)
{
	struct list_cursor *w = &l->cursor;
	struct list *at;

	while ((at = list_cursor_back(w)) && seq_of(l, at) > seq)
		if (took_long(a))
			breathe(a);
	while (w->next != w->head && seq_of(l, w->next) <= seq) {
		list_cursor_next(w);
		if (took_long(a))
			breathe(a);
	}
	l->passed = seq;
}

/* Returns whether all were listed. At the end of the loaded jobs, loads more
 * jobs, which come behind all others. */
static bool is_at_end(struct listing *l, struct answer *a)
{
	struct fsd *d = ops_fsd(a->req);

	if (l->cursor.next != l->cursor.head)
		return seq_of(l, l->cursor.next) > l->last_seq;
	if (l->dir || l->last_seq != UINT64_MAX)
		return true;
	a->full = a->len > 0;
	if (unloaded_is_empty(d))
		l->last_seq = jobs_last_seq(d);
	else if (!a->full)
		unloaded_help(d);
	if (!a->full)
		walk_to(l, l->passed, a);
	return false;
}

/* config.json is listed last: tools that copy in this order then start the
 * copied job with it. */
static bool is_config(const struct node *n)
{
	return INO_CLASS(n->ino) == INO_CONFIG && !strcmp(n->name, "config.json");
}

static void put_job(struct answer *a, const struct job *job)
{
	if (ops_check_owner(a->req, job) == 0)
		put(a, FIRST_SEQ + (off_t)job->seq, job->meta.name,
		    INO_MAKE(INO_JOB, job->meta.no << 8), S_IFDIR);
}

static void put_node(struct answer *a, const struct node *n)
{
	if (!is_config(n))
		put(a, FIRST_SEQ + (off_t)n->seq, n->name, n->ino,
		    n->is_dir ? S_IFDIR : n->is_link ? S_IFLNK : S_IFREG);
}

static void put_many(struct answer *a, struct listing *l)
{
	struct list_cursor *w = &l->cursor;
	struct node *config;

	/* usually the cursor is there already */
	if (a->from != l->told)
		walk_to(l, a->from > FIRST_SEQ
				   ? (uint64_t)(a->from - FIRST_SEQ) : 0, a);
	for (; !a->full && !is_at_end(l, a); step(a)) {
		if (w->next == w->head)
			continue;
		if (l->dir)
			put_node(a, list_entry(w->next, struct node, sibling));
		else
			put_job(a, list_entry(w->next, struct job, all));
		if (a->full)
			return;
		l->passed = seq_of(l, w->next);
		list_cursor_next(w);
	}
	if (a->full)
		return;
	config = l->dir ? node_find(l->dir, "config.json") : NULL;
	if (config && is_config(config))
		put(a, OFF_CONFIG, config->name, config->ino, S_IFREG);
}

/* --- the operations -------------------------------------------------------- */

static void listing_end(struct listing *l)
{
	list_cursor_end(&l->cursor);
	if (l->dir)
		node_unref(take_ptr(l->dir));
}

static void listing_free(struct listing *l)
{
	listing_end(l);
	if (l->job)
		job_unref(l->job);
	if (l->node)
		node_unref(l->node);
	free(l);
}

/*
 * Starts the listing, also after rewinddir(): takes the directory as it is now.
 */
static int listing_begin(struct listing *l, fuse_req_t req, fuse_ino_t ino)
{
	struct fsd *d = ops_fsd(req);
	int r = ops_target(req, ino, &l->t);
	struct node *dir;

	listing_end(l);
	if (r < 0)
		return r;
	l->begun = true;
	l->passed = 0;
	l->told = 0;
	dir = l->t.job && l->t.job->removed ? NULL : ops_dir_node(&l->t);
	r = dir ? node_load(dir) : 0;
	if (r < 0)
		return r;
	if (dir) {
		node_ref(dir);
		l->dir = dir;
		l->last_seq = node_last_seq(d->nodes);
		node_walk(&l->cursor, dir);
	} else if (l->t.kind == T_ROOT) {
		l->last_seq = unloaded_is_empty(d) ? jobs_last_seq(d) : UINT64_MAX;
		jobs_walk(&l->cursor, d);
	}
	return 0;
}

static void put_all(struct answer *a, struct listing *l, fuse_ino_t ino)
{
	struct target t;

	put(a, 1, ".", ino, S_IFDIR);
	put(a, OFF_DOTS, "..", FUSE_ROOT_ID, S_IFDIR);
	a->entry = OFF_DOTS;
	if (l->t.kind == T_ROOT)
		put(a, OFF_DOTS + 1, FSD_DIR_NAME, INO_MAKE(INO_FSD, 0),
		    S_IFDIR);
	if (l->t.kind == T_FSD)
		control_list(ops_fsd(a->req), fuse_req_ctx(a->req)->uid,
			  l->t.entry, put_place, a);
	if (l->t.kind == T_JOB && ops_target(a->req, ino, &t) == 0 &&
	    !t.job->removed)
		put_rows(a, t.job);
	if (l->cursor.head && !a->full)
		put_many(a, l);
}

static struct listing *listing_of(fuse_req_t req,
				  const struct fuse_file_info *fi)
{
	return open_files_at(ops_fsd(req)->open_files, fi->fh, OPEN_LISTING);
}

/* Takes references to what t was opened on. */
static void refer(struct listing *l, const struct target *t)
{
	/* the job itself, or a virtual file: found by its job */
	if (t->kind != T_NODE) {
		l->job = t->job ? job_ref(t->job) : NULL;
		return;
	}
	l->node = t->node;
	node_ref(l->node);
}

/* Restores a listing at its last offset. Sequence numbers start again in a new
 * server, so some entries may be listed twice, but none is left out. */
void ops_listing_restore(struct fsd *d, struct handle_record *kept)
{
	struct listing *l = calloc(1, sizeof(*l));
	struct target t;
	int r = l ? ops_resolve(d, kept->ino, &t) : -ENOMEM;

	if (r == 0 && t.job && t.job->removed)
		r = -ESTALE;
	if (r == -ESTALE)
		kept->ino = 0; /* ops_restore.c does the same for a file */
	if (r < 0 || open_files_adopt(d->open_files, kept, l) < 0) {
		free(l);
		return;
	}
	l->kept = kept;
	refer(l, &t);
}

static void publish(fuse_req_t req, struct listing *l,
		    struct fuse_file_info *fi)
{
	/* call it before the reply, as ops_open.c does for a file */
	requests_begin(ops_fsd(req), fi->fh);
	handover_publish(&l->kept->live);
	fuse_reply_open(req, fi);
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l;
	struct target t;
	int r;

	if (guest_opendir(req, ino, fi))
		return;
	if (requests_again(ops_fsd(req), &fi->fh) && listing_of(req, fi)) {
		fuse_reply_open(req, fi);
		return;
	}
	ops_load(req, ino);
	r = ops_target(req, ino, &t);
	if (r == -ESTALE) /* removed since its lookup */
		r = -ENOENT;
	l = r == 0 ? calloc(1, sizeof(*l)) : NULL;
	if (l)
		l->kept = open_files_add(ops_fsd(req)->open_files,
					 OPEN_LISTING, ino, l, &fi->fh);
	if (!l || !l->kept) {
		free(l);
		ops_fail(req, ino, NULL, r < 0 ? r : -ENOMEM);
		return;
	}
	refer(l, &t);
	publish(req, l, fi);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	auto_free char *room = NULL;
	struct answer a = {
		.req = req, .size = MIN(size, LIST_MAX), .from = off,
		.until = now_ns() + SLICE_NS,
	};
	struct listing *l = listing_of(req, fi);
	int r;

	if (guest_readdir(req, ino, size, off, fi))
		return;
	if (!l) {
		ops_answer(req, -ESTALE);
		return;
	}
	room = a.room = malloc(a.size);
	r = !room ? -ENOMEM : off && l->begun ? 0 : listing_begin(l, req, ino);
	if (r < 0) {
		ops_fail(req, ino, NULL, r);
		return;
	}
	put_all(&a, l, ino);
	if (a.len)
		l->told = a.last;
	fuse_reply_buf(req, a.room, a.len);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l = listing_of(req, fi);

	if (guest_releasedir(req, ino, fi))
		return;
	if (!l) {
		open_files_drop(ops_fsd(req)->open_files, fi->fh);
		ops_done(req);
		return;
	}
	open_files_del(ops_fsd(req)->open_files, l->kept);
	listing_free(l);
	ops_done(req);
}

/*
 * Frees the listings at the server's end; they stay open for the next server.
 */
void ops_listings_free(struct fsd *d)
{
	struct open_files *o = d->open_files;
	const struct handle_record *k;

	/* without o the server never started */
	for (uint32_t i = 0; o && (k = handover_next(d->handover, &handle_records, &i)); ) {
		struct listing *l = open_files_at(o, open_files_fh(o, k), OPEN_LISTING);

		if (l)
			listing_free(l);
	}
}

/*
 * Loads a directory of a previous server when a request uses it, a large one a
 * little at a time. The two requests by which the kernel enters a directory
 * wait for that, so all others find it loaded.
 */
void ops_load(fuse_req_t req, fuse_ino_t ino)
{
	struct target t;
	struct node *dir = ops_target(req, ino, &t) == 0 ? ops_dir_node(&t)
							 : NULL;

	if (!dir || dir->loaded)
		return;
	node_ref(dir);
	while (!dir->unlinked && node_load_some(dir, now_ns() + NS_PER_MS) > 0 &&
	       fiber_self())
		fiber_breathe();
	node_unref(dir);
}
