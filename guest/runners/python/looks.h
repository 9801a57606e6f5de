/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a function of Python by one in C that looks like the original. */
#ifndef RUNNERS_LOOKS_H
#define RUNNERS_LOOKS_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* Returns a function's signature and description as one text, as PyMethodDef.ml_doc has
 * them; NULL: the function has none, or there is no memory. The text is never freed. */
char *describe_function(PyObject *function, const char *name);

/* Puts `function` in the place of module.name, and of os.name if module is posix. Fills
 * in *method, which must live as long as the process. *plain: the function that was
 * there. Return: 0, or -1 with an exception. */
int stand_in(PyObject *module, const char *name, PyMethodDef *method,
	     PyCFunction function, PyObject **plain);

#endif
