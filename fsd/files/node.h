/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the stored files and directories of a job, in its areas files/ (its user wrote
 * them), output/ (its program left them), sink/ (a user copied them) and removed.N/
 * (removed inputs). Each node has a real file in the state directory. A node lives while
 * it is linked or referenced: by the kernel (lookups), by an open handle, or by a run that
 * has not sent it yet. If it is unlinked while a handle or a run references it, its file
 * keeps a name in STATE/unlinked, where the next server finds it.
 *
 * Context: the loop's thread. Functions that change a node write to the store: in a fiber
 * that holds the job, which waits.
 *
 * Inode numbers, also used as FUSE node ids:
 *   class 0  job number << 8 | virtual file of the job (0: the directory)
 *   class 1  entries of .fsd
 *   class 2  stored files: the inode number in the state directory
 *   class 3  a job's config.json, likewise; the highest, because copying tools
 *            take directory entries in this order and it should come last
 *   class 4  files in machines, by a table (guest_inode.c)
 *   class 5  the root of an area, inside the server: the kernel knows it as class 0
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
	AREA_FILES,  /* files that the user wrote */
	AREA_OUTPUT, /* files that a run wrote */
	AREA_SINK,   /* an output/ that was copied into a draft: no effect */
	AREA_REMOVED, /* inputs that were removed: jobs/removed_files.h */
};

/* The job whose files these are, as this room knows the job. Embedded in struct job;
 * its maker sets nodes, meta and open. */
struct file_owner {
	struct nodes *nodes;         /* borrowed */
	const struct job_meta *meta; /* borrowed: the job's */
	struct quota_share quota;    /* the bytes that count for this job */
	struct list open;            /* open results, of struct quota_open */
};

struct node {
	uint64_t ino;
	struct nodes *nodes;
	struct file_owner *owner; /* borrowed; NULL once unlinked */
	struct node *parent;   /* NULL: the root of its area, or unlinked */
	enum node_area area;
	unsigned run;          /* AREA_OUTPUT: the number of the run */
	bool is_dir;
	bool loaded;           /* it has a node for each entry of the directory */
	bool is_link;          /* symbolic; node_link.c */
	bool again;            /* some children are nodes: reading the directory again
				  must not make them twice */
	void *loading;         /* owned: the DIR while it is loaded in slices; or NULL */
	bool unlinked;
	bool unsynced;         /* unsynced_inputs.h */
	char *name;            /* owned; "" for an area's root */
	struct list children, sibling;
	struct list codes;     /* in files/: its children whose names are those of
			        * programs */
	struct list code;      /* link in the parent's list `codes` */
	uint64_t seq;          /* unique; rises along the siblings */
	unsigned child_count, depth;
	struct hash_node by_ino, by_name;
	uint64_t lookups;      /* the kernel's lookup count */
	unsigned refs;         /* references by handles and runs */
	unsigned writers;      /* handles open for writing */
	uint64_t version;      /* never reused; new for each change of the content. Of a
				  root: for each change below it, of contents and
				  names, and for each writer that begins */
	bool cut;              /* the last write to it failed */
	bool renamed;          /* the file was deleted while open, and has a name in
			        * STATE/unlinked */
	struct quota_file quota; /* the size that counts for the quota */
	struct node_record *kept; /* owned: its record for the next server, while the
				      kernel knows the number */
};

struct store;
struct time_slices;
/* A stored file that the kernel has looked up, for the next server. */
struct node_record {
	uint32_t live;
	uint32_t run;    /* AREA_OUTPUT */
	uint64_t ino, job;
	uint32_t area;   /* enum node_area; another value: the file is gone */
	uint32_t born;   /* when the file was made, to recognize another file with the
			  * same number; 0: unknown */
	uint32_t uid, unused; /* uid: of the job's owner */
	uint64_t lookups; /* lookups that the kernel got answers to and has not
			   * forgotten */
};

struct handover;
/* The parts of the server that nodes use; all borrowed. */
struct nodes_use {
	struct store *store;
	struct time_slices *slices;
	struct handover *handover;
	struct users *users;
};
int nodes_new(const struct nodes_use *use, struct nodes **ret_nodes);
void nodes_free(struct nodes *nodes);
/* Return: the linked or referenced node of this number, or NULL. */
struct node *node_by_ino(struct nodes *nodes, uint64_t ino);

/*
 * Nodes that the kernel knows from the previous server.
 *   nodes_inherited()  where the file of this number was, or NULL
 *   node_adopt()       finds the file below root; -ENOENT: it is not there; another
 *                      errno: that is not known now
 *   nodes_gone()       the file will not come back; no other file gets its number
 *                      until nodes_forget(): the kernel has forgotten the number
 */
const struct node_record *nodes_inherited(struct nodes *nodes, uint64_t ino);
int node_adopt(struct node *root, uint64_t ino, struct node **ret);
/* node_adopt() for a file that has only its name in STATE/unlinked. */
int node_adopt_unlinked(struct nodes *nodes, uint64_t ino, struct node **ret);
/* Return: true if a node needs this name of STATE/unlinked. */
bool nodes_need(struct nodes *nodes, const char *name);
void nodes_gone(struct nodes *nodes, uint64_t ino);
void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count);

/* Makes the node of an area's root, which the store has already. NULL: out of memory. */
struct node *node_root_new(struct file_owner *owner, enum node_area area,
			   unsigned run, bool loaded);
/* Frees a whole tree: every node counts as unlinked at once, and is freed in time slices.
 * The caller deletes the files. NULL is fine. */
void node_root_free(struct node *root);

/* Call it before the tree's files are deleted: files of referenced nodes get names in
 * STATE/unlinked. */
void node_root_keep(struct node *root);

/* Loads dir's entries from the store, unless it is loaded. Return: 0 or negative
 * errno. */
int node_load(struct node *dir);
/* Like node_load(), but stops when now_ns() has reached `until`. Return: also 1: there
 * are more entries. */
int node_load_some(struct node *dir, uint64_t until);
/* Loads all entries; a fiber lets other fibers run in between. If this fails, the next
 * node_load() reports it. */
void node_load_all(struct node *dir);
/* Return: true if dir has entries; it does not load all. */
bool node_has_entries(struct node *dir);
/* Return: the largest seq of all nodes. */
uint64_t node_last_seq(const struct nodes *nodes);
/* Goes through the children of a directory; see list_cursor.h. */
void node_walk(struct list_cursor *w, struct node *dir);
struct node *node_walk_next(struct list_cursor *w); /* NULL at the end */
/* Return: dir's child (borrowed), or NULL. */
struct node *node_find(struct node *dir, const char *name);

/* Makes a file or a directory. The caller has checked the name. Return: 0 or negative
 * errno. */
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
/* Replaces dir/name, if it exists. Return: 0 or negative errno. */
int node_rename(struct node *node, struct node *dir, const char *name);

int node_stat(const struct node *node, struct stat *ret_stat);
/* O_NOFOLLOW | O_CLOEXEC are added. Return: fd or negative errno. */
int node_open(const struct node *node, int flags);
void node_close(const struct node *node, int fd); /* calls store_close_file() */
/* Reads a file from fd's position, at most limit + 1 bytes; blocks, on any thread. */
int node_read(int fd, uint64_t limit, struct buf *ret);
void node_changed(struct node *node); /* call it after each change of the content */
/* Gives the root of node's area a new version. node_changed(), node_writer_begin() and
 * each creation, removal and rename call it. */
void node_tree_changed(struct node *node);
/* Call them when a handle is opened for writing, and when it is closed. */
void node_writer_begin(struct node *node);
void node_writer_end(struct node *node);
int node_chmod(const struct node *node, mode_t mode);
int node_utimens(const struct node *node, const struct timespec times[2]);

void node_ref(struct node *node);
void node_unref(struct node *node); /* may free it */
void node_lookup_add(struct node *node);
void node_forget(struct node *node, uint64_t count); /* may free it */

/* Writes the path below its area, "a/b/c". Return: length, or -ENAMETOOLONG. */
int node_rel_path(const struct node *node, char *room, size_t size);

#endif
