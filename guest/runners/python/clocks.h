/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor's clocks begin with the program: the kernel counts for this process
 * since the template, and the template's start and heating are not the program's.
 *
 * Functions of this file stand in the modules time, os, posix and resource, before
 * Python's own. They take away what was used before begin(). A child of fork() and another thread begin with zero: their figures are not
 * changed.
 */
#ifndef RUNNERS_CLOCKS_H
#define RUNNERS_CLOCKS_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* stay(modules): puts them into these modules, a list of names. */
PyObject *clocks_stay(PyObject *self, PyObject *modules);
/* begin(): a program begins in this process. */
PyObject *clocks_begin(PyObject *self, PyObject *arg);

#endif
