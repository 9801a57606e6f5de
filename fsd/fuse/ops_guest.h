/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on .fsd/sessions/NAME/files, .fsd/sandboxes/NAME/files and root.
 * Each is sent to the machine and answered when the machine has answered; the
 * loop never waits, and the kernel caches nothing. Each op_*() first calls its
 * guest_*(): false means that the inode number is not in a machine; else the
 * request was answered, or will be.
 *
 * Shared by ops_guest.c (names and attributes), ops_guest_data.c and
 * ops_guest_xattr.c. All functions run on the loop.
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
/* For flush, fsync and release: answers at once, as no data is cached here. */
bool guest_sync(fuse_req_t, fuse_ino_t);
bool guest_opendir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
bool guest_readdir(fuse_req_t, fuse_ino_t, size_t, off_t,
		   struct fuse_file_info *);
bool guest_releasedir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
/* Returns the path of ino below .fsd, for a sentence. False: it does not exist
 * any more, or is another user's. */
bool guest_where(fuse_req_t req, fuse_ino_t ino, char *room, size_t size);
/* Restores a listing of the previous server; a read in the middle of it fails
 * with ESTALE. */
struct handle_record;
void guest_listing_restore(struct fsd *d, struct handle_record *kept);
/* Frees listings that are still open, at the server's end. */
void guest_listings_free(struct fsd *d);

/* --- shared by the two files -------------------------------------------- */

/* A request that waits for its machine. */
struct ask {
	struct fsd *d;
	fuse_req_t req;
	fuse_ino_t ino; /* inode of the file, or of the directory that has `name` */
	uint64_t session;
	uint64_t until_ns; /* no further question is sent after this time */
	struct wire_fs fs; /* the present question; its path and to are owned */
	/* Called in place of the first ask_send(); may be NULL. */
	void (*begin)(struct ask *a);
	/* Answers the request and consumes a, or sends the next question. */
	void (*answered)(struct ask *a, const uint8_t *data, size_t size);
	/* Called on an error. Return: true: it has handled the error. May be NULL. */
	bool (*failed)(struct ask *a, int r);
	struct fuse_file_info fi;
	/* setattr: the attributes of the bits in to_set that are left */
	struct stat attr;
	int to_set;
	fuse_ino_t to_ino; /* rename: inode of the other directory */
	/* rename: the name there; borrowed until begin() has returned */
	const char *to_name;
	struct buf data; /* bytes read, or to write */
	size_t want, at;
	off_t off;
	struct guest_listing *listing;
	bool again; /* the previous server may have carried out this request */
};

/*
 * Sends a question about ino, or about name in it. what: copied; number and
 * name fill in the rest. Return: false if the number is not in a machine; else
 * the request was answered, or will be.
 */
bool ask(fuse_req_t req, fuse_ino_t ino, const char *name,
	 const struct ask *what);
/* Returns the errno that the operation gets if it was done before; 0: doing it
 * twice is harmless. */
int ask_done_error(enum wire_fs_op op);
/* Checks and notes, also for the next server, whether a killed server had begun
 * the operation. */
void ask_may_be_again(struct ask *a);
/* Answers a request that the previous server has done; consumes a. */
void ask_was_done(struct ask *a);
/* Sends the present question, or fails the request with r. Both free a in the end. */
void ask_send(struct ask *a);
void ask_fail(struct ask *a, int r);
void ask_free(struct ask *a);
/* Sends the next question about the same file, by its present path. */
void ask_again(struct ask *a);
/* Decodes the stat of a's file. Return: false: the request has failed. */
bool ask_stat(struct ask *a, const uint8_t *data, size_t size,
	      struct stat *ret);
/* Decodes a stat and counts a lookup. Return: false: the request has failed. */
bool ask_entry(struct ask *a, const uint8_t *data, size_t size,
	       struct fuse_entry_param *ret);

/* Returns the key of the home or root whose top directory has this number, or
 * 0. */
uint64_t guest_root_key(fuse_ino_t ino);
/* Returns true if the number is a directory files/ or something below one. */
bool guest_is(fuse_ino_t ino);

#endif
