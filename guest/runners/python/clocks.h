/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the processor's clocks begin with the program. The kernel counts the
 * time of this process since the template was made; the template's start and
 * heating are not the program's.
 *
 * Functions of this file replace Python's own in the modules time, os, posix
 * and resource. They subtract the time that was used before begin(). A child of
 * fork() and another thread begin with zero, so their figures are not changed.
 * All functions need the interpreter's lock.
 */
#ifndef RUNNERS_CLOCKS_H
#define RUNNERS_CLOCKS_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* stay(modules): replaces the functions in these modules, a list of names. */
PyObject *clocks_stay(PyObject *self, PyObject *modules);
/* begin(): a program begins in this process. */
PyObject *clocks_begin(PyObject *self, PyObject *arg);

#endif
