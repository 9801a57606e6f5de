/* SPDX-License-Identifier: Apache-2.0 */
/* A function that stands in the place of Python's own looks like it. */
#ifndef RUNNERS_LOOKS_H
#define RUNNERS_LOOKS_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* Return: the text of a function's signature and description, as C has them in one;
 * NULL if it has none, or there is no memory. It is never freed. */
char *describe_function(PyObject *function, const char *name);

/* Puts function in the place of module.name, and of os.name if module is posix. method
 * stays. It sets *plain to the function that was there. Return: 0, or -1 with an
 * exception. */
int stand_in(PyObject *module, const char *name, PyMethodDef *method,
	     PyCFunction function, PyObject **plain);

#endif
