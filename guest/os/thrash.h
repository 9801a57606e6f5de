/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that has no memory left and does not end of it. Its data in memory
 * (/tmp, /dev/shm, its own) stays, but the pages of its own code, which
 * are a file's, can be taken away and read again. So the kernel always finds
 * one more page, for ever, and kills nobody, while the program does not get
 * beyond its next instruction.
 *
 * Measured (Python fills /dev/shm with 64 MiB, TCG): 20 to 30 pages of files
 * are left, 3,000 to 12,000 are read again each second, and the time that the
 * program itself runs does not grow by a microsecond in 15 s.
 */
#ifndef GUEST_THRASH_H
#define GUEST_THRASH_H

#include <stdbool.h>
#include <stdint.h>

#define THRASH_LOOK_MS 1000 /* between two looks */

/* A control group as it is now. */
struct strain {
	uint64_t full;        /* how often it was at its limit */
	uint64_t limit;       /* bytes */
	uint64_t file_bytes;  /* that it has of files, and could give back */
	uint64_t refaults;    /* pages of files that were read again */
	uint64_t user_us, system_us;
};

struct thrash {
	uint64_t next;        /* the time of the next look; 0: none */
	bool marked;          /* it was at its limit, and since then: */
	struct strain mark;
};

/* Looks are due from the program's start on. */
void thrash_begin(struct thrash *t, uint64_t now);
/* Milliseconds until the next; -1: there is none. */
int thrash_due(const struct thrash *t, uint64_t now);
/* Is it to be ended? Looks follow each other with any time between them. */
bool thrash_judge(struct thrash *t, const struct strain *s);

#endif
