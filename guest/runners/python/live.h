/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live output: writes soon what a program prints, though its standard output is
 * a pipe, and whether the program computes, sleeps or waits.
 *
 * A separate thread, which is not in Python's list of threads, flushes
 * sys.stdout and sys.stderr every LIVE_MS, only while a program runs. It waits
 * already in the template; a timer wakes it when a program has run for LIVE_MS,
 * so a short program pays only for setting the timer. The thread needs the
 * interpreter's lock for a flush; a program that computes releases that within
 * 5 ms.
 *
 * The thread flushes only streams that Python itself has made for a descriptor,
 * and never while another thread writes to that: later output could then come
 * first. So live_watch() replaces write() of the innermost stream.
 *
 * Python warns a program that forks while it has several threads, and a child
 * would find the streams' locks locked. So the thread ends before a fork and
 * starts again after it, in the child as well. Before a fork, and before a
 * program is started, the output is flushed: a child's output comes after it,
 * and none comes twice.
 */
#ifndef RUNNERS_LIVE_H
#define RUNNERS_LIVE_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* stay(): starts the thread; call it once. The thread does not flush yet. */
PyObject *live_stay(PyObject *self, PyObject *arg);
/* watch(raw): the thread may flush raw, an io.FileIO. */
PyObject *live_watch(PyObject *self, PyObject *raw);
/* live_begin(): a program begins; live_rest(): it has ended. */
PyObject *live_begin(PyObject *self, PyObject *arg);
PyObject *live_rest(PyObject *self, PyObject *arg);

#endif
