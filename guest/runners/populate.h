/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the pages of programs and libraries into a waiting interpreter's
 * memory, once, so that no clone has to do it in its job. A page fault is
 * expensive under emulation, and faults of a heated child do not help its
 * parent.
 */
#ifndef RUNNERS_POPULATE_H
#define RUNNERS_POPULATE_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Loads the pages of mapped files that are not writable. code: only executable
 * ones. */
static inline void populate_files(int code)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char mode[5];

		/* A failure costs only time. */
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
		    mode[0] == 'r' && mode[1] == '-' &&
		    (mode[2] == 'x' || !code) && strstr(line, " /"))
			madvise((void *)from, to - from, MADV_POPULATE_READ);
	}
	if (maps)
		fclose(maps);
}

#endif
