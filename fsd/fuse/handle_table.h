/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of open files, as the kernel knows them: the index of the record
 * in the shared table INHERIT_HANDLES + 1, and above that a count that makes
 * the number unique. So numbers stay valid in the next server, and a release
 * that the previous server has done but not answered cannot hit another file.
 * All functions run on the loop.
 */
#ifndef FSD_HANDLE_TABLE_H
#define FSD_HANDLE_TABLE_H

#include <stdint.h>

#include "fsd/handover/inherit.h"

struct open_files;

#define OPEN_FILES_ROOM (1u << 20) /* bytes of open_files_room() */

/* inherit is borrowed. */
int open_files_new(struct inherit *inherit, struct open_files **ret);
/* o may be NULL. */
void open_files_free(struct open_files *o);
/* Returns a buffer of OPEN_FILES_ROOM bytes, for a reply that is sent before
 * the fiber waits. */
char *open_files_room(struct open_files *o);
/* Return the lists of all open files: struct handle (ops_handle.h), and struct
 * guest_listing (ops_guest_data.c). Each removes its own node. */
struct list *open_files_handles(struct open_files *o);
struct list *open_files_listings(struct open_files *o);

/* Gives object a number. The next server sees the record once inherit_publish()
 * was called. NULL: the table is full. */
struct inherit_handle *open_files_add(struct open_files *o,
				      enum inherit_handle_kind kind,
				      uint64_t ino, void *object,
				      uint64_t *ret_fh);
/* Sets the object of an inherited record. */
int open_files_adopt(struct open_files *o, struct inherit_handle *k,
		     void *object);
uint64_t open_files_fh(const struct open_files *o,
		       const struct inherit_handle *k);
/* Returns the object of a number; NULL: it is none of this kind. */
void *open_files_at(const struct open_files *o, uint64_t fh,
		    enum inherit_handle_kind kind);
void open_files_del(struct open_files *o, struct inherit_handle *k);
/* Frees the number, whether it has an object or not. */
void open_files_drop(struct open_files *o, uint64_t fh);

#endif
