/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects a program that is out of memory and is not killed. Its data in memory
 * (/tmp, /dev/shm, its own) cannot be dropped, but pages of its code belong to
 * a file: the kernel drops them and reads them again. So the kernel always
 * finds one more page and kills no process, while the program never gets beyond
 * its next instruction.
 *
 * Measured (Python fills /dev/shm with 64 MiB, TCG): 20 to 30 pages of files
 * are left, 3,000 to 12,000 are read again each second, and the program's own
 * running time does not grow by a microsecond in 15 s.
 */
#ifndef GUEST_THRASH_H
#define GUEST_THRASH_H

#include <stdbool.h>
#include <stdint.h>

#define THRASH_LOOK_MS 1000 /* between two samples */

/* A sample of a control group. */
struct strain {
	uint64_t full; /* how often the job was at its memory limit */
	uint64_t limit;       /* bytes */
	uint64_t file_bytes; /* bytes of file pages in the job's memory */
	uint64_t refaults; /* pages of files that were read again */
	uint64_t user_us, system_us;
};

struct thrash {
	uint64_t next; /* sys_now() of the next sample; 0: none */
	bool marked; /* the job was at its limit when `mark` was taken */
	struct strain mark;
};

/* Starts the samples, at the program's start. */
void thrash_begin(struct thrash *t, uint64_t now);
/* Returns milliseconds until the next sample is due; -1: never. */
int thrash_due(const struct thrash *t, uint64_t now);
/* Returns whether the program must be ended. Any time may pass between two
 * samples. */
bool thrash_judge(struct thrash *t, const struct strain *s);

#endif
