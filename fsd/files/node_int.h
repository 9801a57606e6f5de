/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by node*.c only. */
#ifndef FSD_NODE_INT_H
#define FSD_NODE_INT_H

#include "node.h"
#include "fsd/base/slot_index.h"

struct nodes {
	struct store *store; /* borrowed */
	int jobs_fd; /* the store's: all paths are relative to it */
	struct hash by_ino, by_name;
	uint64_t versions, seq, roots; /* the last numbers that were given */
	uint64_t ino_key;
	struct list cursors; /* positions of listings in any directory: struct
			      * list_cursor */
	struct time_slices *slices;
	struct handover *handover;
	struct users *users;
	struct slot_index inherited;  /* records that no node has, by ino */
};

/* Writes the path below STATE/jobs. Return: length, -ESTALE or -ENAMETOOLONG. */
int node_path(const struct node *node, char *room, size_t size);
/* Makes the node of a child that is in the store already; NULL without memory. */
struct node *node_add_child(struct node *dir, const char *name,
			    const struct stat *st);
/* node.c: checks whether dir may get a new entry, and writes its path. node_made() is
 * called afterwards; r: whether the store has made it. Return: 0 or negative errno. */
int node_new_path(struct node *dir, const char *name, char *room, size_t size);
int node_made(struct node *dir, const char *name, const char *path, int r,
	      const struct stat *st, struct node **ret_node);
void node_load_end(struct node *dir); /* ends a load that is under way */
/* Call it when the store has entries that dir does not know: loads them at the next
 * use. */
void node_load_again(struct node *dir);
/* Return: NULL: dir has no node of this name, but may have a file if it is not loaded. */
struct node *node_child(const struct node *dir, const char *name);

/* node_inherit.c */
int node_inherit_begin(struct nodes *nodes);
void node_inherit_end(struct nodes *nodes);
/* True if the kernel knows the number from an earlier server, as that of another file
 * than dir/name. */
bool node_is_others(struct nodes *nodes, const struct node *dir,
		    const char *name, uint64_t ino);
/* Writes the path of dir/name below STATE/jobs. Return: 0 or negative errno. */
int node_child_path(const struct node *dir, const char *name, char *room,
		    size_t size);
void node_keep(struct node *node);   /* call it when the kernel knows the node */
void node_unkeep(struct node *node); /* call it when the kernel has forgotten the node */
/* Marks the record: the file is gone, and the kernel still knows its number. */
void node_gone(struct node *node);
/* node.c: node_renumber() gives a node another number. node_new_unlinked() makes a node
 * that is in no tree; NULL without memory. */
void node_renumber(struct node *node, uint64_t ino);
struct node *node_new_unlinked(struct nodes *nodes, uint64_t ino, bool is_dir);

/* inode_number.c: turns an inode number of the store into the number that users see. */
uint64_t node_ino_shuffle(uint64_t ino, uint64_t key);
uint64_t node_ino_key(const struct store *store);

/* node_data.c: node_keep_file() gives a file a name in STATE/unlinked, if a handle or a
 * run needs it; node_unkeep_file() removes that name. */
void node_keep_file(struct node *node);
void node_unkeep_file(struct node *node);
#define NODE_UNLINKED_FMT "%016" PRIx64 /* name in STATE/unlinked, made from the node's
					 * ino */

#endif
