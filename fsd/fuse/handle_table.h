/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of open files, as the kernel knows them: the index of the record
 * in the shared table handle_records + 1, and above that a count that makes
 * the number unique. So numbers stay valid in the next server, and a release
 * that the previous server has done but not answered cannot hit another file.
 * All functions run on the loop.
 */
#ifndef FSD_HANDLE_TABLE_H
#define FSD_HANDLE_TABLE_H

#include <stdint.h>

#include "fsd/handover/handover.h"

struct open_files;

enum open_kind { OPEN_FILE = 1, OPEN_LISTING, OPEN_GUEST_LISTING };

/* An open file or directory, for the next server. */
struct handle_record {
	uint32_t live;
	uint16_t kind;   /* enum open_kind */
	uint16_t what;   /* enum handle_kind */
	uint64_t ino;
	uint64_t end;    /* this, and run to failed: see `kept` in ops_handle.h */
	uint64_t poll;   /* the kernel's number of a poll, 0: none */
	uint32_t flags;  /* O_ACCMODE | O_APPEND that it was opened with */
	uint32_t uid;    /* the user who opened it */
	uint32_t run;
	int32_t opener, seen;
	int32_t closer;
	uint8_t writer, changed, failed;
	uint8_t how;     /* OPEN_DIRECT ...: the flags in the answer to its open */
	uint32_t number; /* number that no other handle in this slot has had */
};

extern const struct handover_table handle_records;

#define OPEN_DIRECT 1u
#define OPEN_NOFLUSH 2u

#define OPEN_FILES_ROOM (1u << 20) /* bytes of open_files_room() */

/* handover is borrowed. */
int open_files_new(struct handover *handover, struct open_files **ret);
/* o may be NULL. */
void open_files_free(struct open_files *o);
/* Returns a buffer of OPEN_FILES_ROOM bytes, for a reply that is sent before
 * the fiber waits. */
char *open_files_room(struct open_files *o);
/* Return the lists of all open files: struct handle (ops_handle.h), and struct
 * guest_listing (ops_guest_data.c). Each removes its own node. */
struct list *open_files_handles(struct open_files *o);
struct list *open_files_listings(struct open_files *o);

/* Gives object a number. The next server sees the record once handover_publish()
 * was called. NULL: the table is full. */
struct handle_record *open_files_add(struct open_files *o,
				      enum open_kind kind,
				      uint64_t ino, void *object,
				      uint64_t *ret_fh);
/* Sets the object of an inherited record. */
int open_files_adopt(struct open_files *o, struct handle_record *k,
		     void *object);
uint64_t open_files_fh(const struct open_files *o,
		       const struct handle_record *k);
/* Returns the object of a number; NULL: no open object of this kind has it. */
void *open_files_at(const struct open_files *o, uint64_t fh,
		    enum open_kind kind);
void open_files_del(struct open_files *o, struct handle_record *k);
/* Frees the number, whether it has an object or not. */
void open_files_drop(struct open_files *o, uint64_t fh);

#endif
