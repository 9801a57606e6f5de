/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored files and directories below a job: what its user wrote (files/),
 * what its program left (output/), what a copy brought (sink/). Each is a real file in the state directory;
 * a node is its name in the tree and its life. A node lives while it is linked
 * or somebody holds a reference: the kernel (lookups), an open handle, a run
 * that has yet to send it. The file of one that is unlinked while a handle or a run
 * references it has a name in STATE/unlinked, where the next server finds it.
 *
 * Inode numbers, also used as FUSE node ids:
 *   class 0  job number << 8 | row of the job table (row 0: the directory)
 *   class 1  rows of .fsd and what is below it
 *   class 2  stored files: the inode number in the state directory
 *   class 3  a job's config.json, likewise; the highest, because copying tools
 *            take directory entries in this order and it should come last
 *   class 4  what is in a session's machine, by a table (guest_inode.c)
 *   class 5  the root of an area, for us: it is a row of the job table
 */
#ifndef FSD_NODE_H
#define FSD_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "layout/layout.h"
#include "fsd/base/hash.h"
#include "file_quota.h"
#include "fsd/base/list_cursor.h"

#define INO_CLASS(ino) ((unsigned)((ino) >> 60))
#define INO_REST(ino) ((ino) & ((1ull << 60) - 1))
#define INO_MAKE(class, rest) ((uint64_t)(class) << 60 | (rest))
enum { INO_JOB, INO_FSD, INO_NODE, INO_CONFIG, INO_GUEST, INO_ROOT };

struct nodes;
struct job_meta;
struct user;
struct users;

enum node_area {
	AREA_FILES,  /* what the user wrote */
	AREA_OUTPUT, /* what a run left */
	AREA_SINK,   /* an output/ that was copied into a draft: no effect */
	AREA_REMOVED, /* inputs that were removed: jobs/removed_files.h */
};

/* The job whose files these are, as this room knows the job. Embedded in struct job;
 * its maker sets nodes, meta and open. */
struct file_owner {
	struct nodes *nodes;         /* borrowed */
	const struct job_meta *meta; /* borrowed: the job's */
	struct quota_share quota;    /* counted for it */
	struct list open;            /* of struct quota_open */
};

struct node {
	uint64_t ino;
	struct nodes *nodes;
	struct file_owner *owner; /* borrowed; NULL once unlinked */
	struct node *parent;   /* NULL: the root of its area, or unlinked */
	enum node_area area;
	unsigned run;          /* AREA_OUTPUT: of this run */
	bool is_dir, loaded;   /* loaded: children are known */
	bool is_link;          /* symbolic; node_link.c */
	bool again;            /* some are; the store must be read again */
	void *loading;         /* owned: a DIR; some of them are */
	bool unlinked;
	bool unsynced;         /* unsynced_inputs.h */
	char *name;            /* owned; "" for an area's root */
	struct list children, sibling;
	struct list codes;     /* of a job's own directory: the children whose
				  name is a program's, linked by code */
	struct list code;
	uint64_t seq;          /* raised along its siblings, unique */
	unsigned child_count, depth;
	struct hash_node by_ino, by_name;
	uint64_t lookups;      /* the kernel's */
	unsigned refs;         /* handles and runs */
	unsigned writers;      /* handles open for writing */
	uint64_t version;      /* of its content; no other has had it. Of a root:
				  of all that is below, of names, and of
				  openings for writing */
	bool cut;              /* the last write to it failed */
	bool renamed;          /* its file has a name in STATE/unlinked */
	struct quota_file quota; /* its size, as it counts */
	struct inherit_node *kept; /* owned: while the kernel knows it */
};

struct store;
struct time_slices;
struct inherit;
/* All are borrowed. */
struct nodes_use {
	struct store *store;
	struct time_slices *slices;
	struct inherit *inherit;
	struct users *users;
};
int nodes_new(const struct nodes_use *use, struct nodes **ret_nodes);
void nodes_free(struct nodes *nodes);
/* The linked or referenced node of this number, or NULL. */
struct node *node_by_ino(struct nodes *nodes, uint64_t ino);

/*
 * Nodes that the kernel knows from the previous server.
 *   nodes_inherited()  where the file of this number was, or NULL
 *   node_adopt()       finds the file below root; -ENOENT: it is not there; another
 *                      errno: that is not known now
 *   nodes_gone()       the file will not come back; no other file gets its number
 *                      until nodes_forget(): the kernel has forgotten the number
 */
const struct inherit_node *nodes_inherited(struct nodes *nodes, uint64_t ino);
int node_adopt(struct node *root, uint64_t ino, struct node **ret);
/* The same for one whose name is gone. */
int node_adopt_unlinked(struct nodes *nodes, uint64_t ino, struct node **ret);
/* Does a node need this name of STATE/unlinked? */
bool nodes_need(struct nodes *nodes, const char *name);
void nodes_gone(struct nodes *nodes, uint64_t ino);
void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count);

/* The root of an area; exists in the store already. NULL without memory. */
struct node *node_root_new(struct file_owner *owner, enum node_area area,
			   unsigned run, bool loaded);
/* Forgets a whole tree: every node of it counts as unlinked at once, and is
 * given up in turns. Its files are somebody else's to delete. NULL is fine. */
void node_root_free(struct node *root);

/* Before its files go, if they can: those that somebody needs get names in
 * STATE/unlinked. */
void node_root_keep(struct node *root);

/* Loads dir's entries from the store if that was not done. 0 or -errno. */
int node_load(struct node *dir);
/* The same until now_ns() has reached until; 1 if there are more. */
int node_load_some(struct node *dir, uint64_t until);
/* The same of all entries; a fiber lets others run in between. A failure shows at
 * the next node_load(). */
void node_load_all(struct node *dir);
/* True if it has entries, without loading all. */
bool node_has_entries(struct node *dir);
/* Of the newest child in any directory. */
uint64_t node_last_seq(const struct nodes *nodes);
/* Goes through the children of a directory; see list_cursor.h. */
void node_walk(struct list_cursor *w, struct node *dir);
struct node *node_walk_next(struct list_cursor *w); /* NULL at the end */
/* NULL if there is none. */
struct node *node_find(struct node *dir, const char *name);

/* Return: 0 or negative errno; names were checked by the caller. */
int node_make_file(struct node *dir, const char *name, mode_t mode, int flags,
		   struct node **ret_node, int *ret_fd);
int node_make_dir(struct node *dir, const char *name, mode_t mode,
		  struct node **ret_node);
/*
 * node_link.c: a symbolic link. Its target is relative and stays in the tree by
 * its text (wire_link_ok()). node_read_link(): the target, in room of
 * LIMIT_PATH + 1 bytes. Return: its length; -EPERM: it would lead out of the tree
 * from where it is now, or by another link; negative errno.
 */
int node_make_link(struct node *dir, const char *name, const char *target,
		   struct node **ret_node);
int node_read_link(const struct node *node, char *room);
int node_unlink(struct node *node); /* -ENOTEMPTY for a directory with entries */
/* Replaces what dir/name was. */
int node_rename(struct node *node, struct node *dir, const char *name);

int node_stat(const struct node *node, struct stat *ret_stat);
/* O_NOFOLLOW | O_CLOEXEC are added. Return: fd or negative errno. */
int node_open(const struct node *node, int flags);
void node_close(const struct node *node, int fd); /* see store_close_file() */
/* All of an opened file, but no more than limit + 1 bytes; on any thread. */
int node_read(int fd, uint64_t limit, struct buf *ret);
void node_changed(struct node *node); /* its content */
/* Something below the root of node's area changed; node_changed() and every making,
 * removal and rename call this. */
void node_tree_changed(struct node *node);
/* A handle that may write was opened, or closed. */
void node_writer_begin(struct node *node);
void node_writer_end(struct node *node);
int node_chmod(const struct node *node, mode_t mode);
int node_utimens(const struct node *node, const struct timespec times[2]);

void node_ref(struct node *node);
void node_unref(struct node *node); /* may free it */
void node_lookup_add(struct node *node);
void node_forget(struct node *node, uint64_t count); /* may free it */

/* The path below its area, "a/b/c". Return: length, or -ENAMETOOLONG. */
int node_rel_path(const struct node *node, char *room, size_t size);

#endif
