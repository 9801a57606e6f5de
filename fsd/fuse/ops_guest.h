/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .fsd/sessions/NAME/files, .fsd/sandboxes/NAME/files and root: each operation is asked of the machine
 * and answered when that has answered; the loop never waits, the kernel keeps
 * nothing. Called at the head of each op_*(): false if the number is another's,
 * else the request is answered, or will be.
 *
 * Shared by ops_guest.c (names and attributes) and ops_guest_data.c.
 */
#ifndef FSD_OPS_GUEST_H
#define FSD_OPS_GUEST_H

#include "ops.h"

bool guest_lookup(fuse_req_t, fuse_ino_t, const char *);
bool guest_forgot(fuse_req_t, fuse_ino_t, uint64_t);
bool guest_getattr(fuse_req_t, fuse_ino_t);
bool guest_setattr(fuse_req_t, fuse_ino_t, const struct stat *, int);
bool guest_getxattr(fuse_req_t, fuse_ino_t, const char *, size_t);
bool guest_listxattr(fuse_req_t, fuse_ino_t, size_t);
bool guest_mkdir(fuse_req_t, fuse_ino_t, const char *, mode_t);
bool guest_unlink(fuse_req_t, fuse_ino_t, const char *);
bool guest_rmdir(fuse_req_t, fuse_ino_t, const char *);
bool guest_rename(fuse_req_t, fuse_ino_t, const char *, fuse_ino_t,
		  const char *, unsigned);
bool guest_create(fuse_req_t, fuse_ino_t, const char *, mode_t,
		  const struct fuse_file_info *);
bool guest_open(fuse_req_t, fuse_ino_t, const struct fuse_file_info *);
bool guest_read(fuse_req_t, fuse_ino_t, size_t, off_t);
bool guest_write(fuse_req_t, fuse_ino_t, const char *, size_t, off_t,
		 const struct fuse_file_info *);
bool guest_access(fuse_req_t, fuse_ino_t, int mask);
bool guest_poll(fuse_req_t, fuse_ino_t, struct fuse_pollhandle *);
/* flush, fsync, release: nothing is kept here. */
bool guest_sync(fuse_req_t, fuse_ino_t);
bool guest_opendir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
bool guest_readdir(fuse_req_t, fuse_ino_t, size_t, off_t,
		   struct fuse_file_info *);
bool guest_releasedir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
/* The path of ino below .fsd, for a sentence. False: it is nowhere any more, or
 * another user's. */
bool guest_where(fuse_req_t req, fuse_ino_t ino, char *room, size_t size);
/* One of a server before; whoever is in the middle of it is told ESTALE. */
struct inherit_handle;
void guest_listing_restore(struct fsd *d, struct inherit_handle *kept);
/* At the very end: listings that nobody closed. */
void guest_listings_free(struct fsd *d);

/* --- the two files' own ---------------------------------------------------- */

/* One request on its way. */
struct ask {
	struct fsd *d;
	fuse_req_t req;
	fuse_ino_t ino;       /* of the file, or of the directory of name */
	uint64_t session;
	uint64_t until_ns;    /* nothing more is asked afterwards */
	struct wire_fs fs;    /* what is asked now; its path and to are owned */
	/* Instead of ask_send(), at first; may be NULL. */
	void (*begin)(struct ask *a);
	/* Answers the request and consumes a, or asks again. */
	void (*answered)(struct ask *a, const uint8_t *data, size_t size);
	/* Instead of an error, if there is one; may be NULL. */
	bool (*failed)(struct ask *a, int r);
	struct fuse_file_info fi;
	struct stat attr;     /* setattr: of these bits that are left */
	int to_set;
	fuse_ino_t to_ino;    /* rename: the other directory, and the name */
	const char *to_name;  /* in it, borrowed until begin() has returned */
	struct buf data;      /* read, or to be written */
	size_t want, at;
	off_t off;
	struct guest_listing *listing;
	bool again;           /* a server before may have done it */
};

/*
 * Asks for what is at ino, or at name in it: a copy of what, with all of it
 * filled in that the number and the name tell. False if the number is another's;
 * else the request is answered, or will be.
 */
bool ask(fuse_req_t req, fuse_ino_t ino, const char *name,
	 const struct ask *what);
/* Return: the errno that the operation meets if it was done already; 0: it may be done
 * twice. */
int ask_done_error(enum wire_fs_op op);
/* Was it begun by a server that was killed? Noted, for this one and the next. */
void ask_may_be_again(struct ask *a);
/* It was, and done; consumes a. */
void ask_was_done(struct ask *a);
/* Both consume a at last. */
void ask_send(struct ask *a);
void ask_fail(struct ask *a, int r);
void ask_free(struct ask *a);
/* The next of several, of the same file: by the path that it has now. */
void ask_again(struct ask *a);
/* a's file as it was told. Return: false, and the request has failed. */
bool ask_stat(struct ask *a, const uint8_t *data, size_t size,
	      struct stat *ret);
/* Counts a lookup. The same. */
bool ask_entry(struct ask *a, const uint8_t *data, size_t size,
	       struct fuse_entry_param *ret);

/* The key of the home or root whose own directory that number is, or 0. */
uint64_t guest_root_key(fuse_ino_t ino);
/* True if the number is a directory files/ or something below one. */
bool guest_is(fuse_ino_t ino);

#endif
