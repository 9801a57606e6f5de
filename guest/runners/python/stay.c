/* SPDX-License-Identifier: Apache-2.0 */
/* A waiting interpreter's last preparations. */
#include "rehash.h"

#include "../hold.h"
#include "../populate.h"

#define STACK_DEPTH (128u << 10) /* of an import in an import, and some */

static void populate_stack(void)
{
	volatile char page[STACK_DEPTH];

	for (size_t at = 0; at < sizeof(page); at += 4096)
		page[at] = 0;
}

PyObject *rehash_stay(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	populate_files(0);
	populate_stack();
	hold_memory(CLONE_PARENT);
	return Py_NewRef(Py_None);
}
