/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a waiting interpreter can do once so that each clone need not do it in
 * its job: have the pages there that a program's way goes through. A fault is
 * dear under emulation, and those of a heated child are not its parent's.
 */
#include "rehash.h"

#include <stdio.h>
#include <sys/mman.h>

#include "../hold.h"

#define STACK_DEPTH (128u << 10) /* of an import in an import, and some */

/* Programs and libraries: what is only read. */
static void populate_files(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char mode[5];

		/* It saves time or does nothing. */
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
		    mode[0] == 'r' && mode[1] == '-' && strstr(line, " /"))
			madvise((void *)from, to - from, MADV_POPULATE_READ);
	}
	if (maps)
		fclose(maps);
}

static void populate_stack(void)
{
	volatile char page[STACK_DEPTH];

	for (size_t at = 0; at < sizeof(page); at += 4096)
		page[at] = 0;
}

PyObject *rehash_stay(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	populate_files();
	populate_stack();
	hold_memory();
	return Py_NewRef(Py_None);
}
