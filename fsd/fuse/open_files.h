/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers by which the kernel knows what is open: the place of the record
 * in d->inherit + 1, and above that what tells it from all others that were
 * there. They stay true when another server takes over, and a release that the
 * server before has done but not answered is nobody else's.
 */
#ifndef FSD_OPEN_FILES_H
#define FSD_OPEN_FILES_H

#include "fsd/fsd.h"
#include "fsd/handover/inherit.h"

struct open_files;

int open_files_new(struct open_files **ret);
void open_files_free(struct open_files *o); /* NULL is fine */

/* Gives object a number. The record is live when open_files_publish() was
 * called. NULL: there is no room. */
struct inherit_handle *open_files_add(struct fsd *d,
				      enum inherit_handle_kind kind,
				      uint64_t ino, void *object,
				      uint64_t *ret_fh);
/* For a record that was inherited: its object, and its number. */
int open_files_adopt(struct fsd *d, struct inherit_handle *k, void *object);
uint64_t open_files_fh(const struct fsd *d, const struct inherit_handle *k);
/* NULL: it is none of this kind. */
void *open_files_at(const struct fsd *d, uint64_t fh,
		    enum inherit_handle_kind kind);
void open_files_del(struct fsd *d, struct inherit_handle *k);
/* The number is given up, whether it has an object or not. */
void open_files_drop(struct fsd *d, uint64_t fh);

#endif
