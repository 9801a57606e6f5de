/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the demand on the disk, beside the templates, so that a server's first
 * idle machines are of the classes that the last one's jobs asked for. A file
 * that is missing or damaged costs nothing but that.
 */
#ifndef VM_POOL_KEPT_H
#define VM_POOL_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/os/worker.h"

struct vm;

struct pool_kept {
	struct worker worker;
	const char *cache_dir; /* borrowed */
	char *text;            /* owned; what the worker writes */
	uint64_t due_ns;       /* no earlier than that is it written again */
};

/* Reads it; classes get their demand, and those with a share their template. */
void pool_kept_open(struct vm *vm);
/* A lease has come: writes it on a worker thread, once a minute at most. */
void pool_kept_note(struct vm *vm);
/* Writes it; waits for the disk. */
void pool_kept_close(struct vm *vm);

#endif
