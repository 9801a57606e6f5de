/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the demand on the disk, beside the templates. The next server then
 * starts idle machines of the classes that jobs asked for. If the file is
 * missing or damaged, that server begins without such figures.
 */
#ifndef VM_POOL_SAVED_H
#define VM_POOL_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/os/worker.h"

struct machines;

struct pool_saved {
	struct worker worker;
	const char *cache_dir; /* borrowed: directory of the file */
	char *text; /* owned; the text that the worker thread writes */
	uint64_t due_ns; /* do not write it again before this time (now_ns()) */
};

/* Reads the file: classes get their demand. The template of a class whose share of the
 * pool is one machine or more is made before a lease asks for it. Waits for the disk. */
void pool_saved_open(struct machines *vm);
/* Writes the file on a worker thread, once a minute at most. Call it at each
 * lease. */
void pool_saved_note(struct machines *vm);
/* Writes the file now; waits for the disk. */
void pool_saved_close(struct machines *vm);

#endif
