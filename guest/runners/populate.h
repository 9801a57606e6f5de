/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A waiting interpreter can do this once, so that each clone need not do it in
 * its job: have the pages of programs and libraries there. A fault is dear
 * under emulation, and those of a heated child are not its parent's.
 */
#ifndef RUNNERS_POPULATE_H
#define RUNNERS_POPULATE_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The mapped files that nobody writes; code: only what can be executed. */
static inline void populate_files(int code)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char mode[5];

		/* It saves time or does nothing. */
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
		    mode[0] == 'r' && mode[1] == '-' &&
		    (mode[2] == 'x' || !code) && strstr(line, " /"))
			madvise((void *)from, to - from, MADV_POPULATE_READ);
	}
	if (maps)
		fclose(maps);
}

#endif
