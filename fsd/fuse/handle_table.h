/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers by which the kernel knows what is open: the place of the record
 * in the table INHERIT_HANDLES + 1, and above that what tells it from all others
 * that were there. They stay true when another server takes over, and a release that the
 * server before has done but not answered is nobody else's.
 */
#ifndef FSD_HANDLE_TABLE_H
#define FSD_HANDLE_TABLE_H

#include <stdint.h>

#include "fsd/handover/inherit.h"

struct open_files;

#define OPEN_FILES_ROOM (1u << 20) /* bytes */

/* inherit is borrowed. */
int open_files_new(struct inherit *inherit, struct open_files **ret);
void open_files_free(struct open_files *o); /* NULL is fine */
/* OPEN_FILES_ROOM bytes, for the data of one reply that is sent at once. */
char *open_files_room(struct open_files *o);
/* All that is open: of struct handle (ops_handle.h), and of struct guest_listing
 * (ops_guest_data.c). Each takes itself out. */
struct list *open_files_handles(struct open_files *o);
struct list *open_files_listings(struct open_files *o);

/* Gives object a number. The record is live when open_files_publish() was
 * called. NULL: there is no room. */
struct inherit_handle *open_files_add(struct open_files *o,
				      enum inherit_handle_kind kind,
				      uint64_t ino, void *object,
				      uint64_t *ret_fh);
/* For a record that was inherited: its object, and its number. */
int open_files_adopt(struct open_files *o, struct inherit_handle *k,
		     void *object);
uint64_t open_files_fh(const struct open_files *o,
		       const struct inherit_handle *k);
/* NULL: it is none of this kind. */
void *open_files_at(const struct open_files *o, uint64_t fh,
		    enum inherit_handle_kind kind);
void open_files_del(struct open_files *o, struct inherit_handle *k);
/* The number is given up, whether it has an object or not. */
void open_files_drop(struct open_files *o, uint64_t fh);

#endif
