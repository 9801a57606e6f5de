/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live output: what a program prints is written out soon, though its standard
 * output is a pipe, whether it then computes, sleeps or waits.
 *
 * A thread of its own, which Python's list of threads does not know, flushes
 * sys.stdout and sys.stderr each LIVE_MS, and only while a program runs. It waits in
 * the template already, and a timer wakes it when a program has run so long: a short
 * program pays for setting the timer. It needs the interpreter's lock for a flush,
 * which one that computes gives up within 5 ms.
 *
 * It flushes only what Python itself has made for a descriptor, and never while
 * another thread writes there: that one could come first with what was printed later.
 * So live_watch() puts a function before the write() of the innermost stream.
 *
 * Python warns a program that forks and has several threads, and a child would find
 * the streams' locks as they were; so a fork ends the thread before and begins it
 * after, in the child as well. Before a fork, and before a program is started, what
 * was printed is flushed: a child's output comes behind it, and it comes once.
 */
#ifndef RUNNERS_LIVE_H
#define RUNNERS_LIVE_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* stay(): starts the thread, once; it flushes nothing yet. */
PyObject *live_stay(PyObject *self, PyObject *arg);
/* watch(raw): raw, an io.FileIO, may be flushed. */
PyObject *live_watch(PyObject *self, PyObject *raw);
/* begin(), rest(): a program begins, and has ended. */
PyObject *live_begin(PyObject *self, PyObject *arg);
PyObject *live_rest(PyObject *self, PyObject *arg);

#endif
