/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces functions of Python that tell used processor time, and subtracts the time
 * that was used before the program. The table `clocks` has a row per function; a macro
 * makes a C function per row, since Python passes no index.
 *
 * clocks_stay() runs when the interpreter starts (in the template, as a rule), and
 * clocks_begin() just before the program. The rest runs in the program. All of them have
 * the interpreter's lock.
 */
#include "clocks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "looks.h"

/* The kind of time that a call returns: given by its argument or by the function. */
enum asked { PROCESS, THREAD, CHILDREN, OTHER };

struct question {
	int number;
	enum asked asked;
};

#define QUESTIONS_MAX 3
#define TIME_QUESTIONS {{CLOCK_PROCESS_CPUTIME_ID, PROCESS}, \
			{CLOCK_THREAD_CPUTIME_ID, THREAD}}

/* A function of Python that we replace. kept: mask of items of its result that
 * are not times; they are not changed. */
static struct clock {
	const char *module, *name;
	enum asked asked;
	int questions; /* 0: the function has no argument */
	struct question question[QUESTIONS_MAX];
	uint32_t kept;
	PyObject *plain;
	/* the function's result when the program began */
	PyObject *before[OTHER];
} clocks[] = {
	{.module = "time", .name = "process_time", .asked = PROCESS},
	{.module = "time", .name = "process_time_ns", .asked = PROCESS},
	{.module = "time", .name = "thread_time", .asked = THREAD},
	{.module = "time", .name = "thread_time_ns", .asked = THREAD},
	{.module = "time", .name = "clock_gettime", .questions = 2,
	 .question = TIME_QUESTIONS},
	{.module = "time", .name = "clock_gettime_ns", .questions = 2,
	 .question = TIME_QUESTIONS},
	/* the last item is the time of day */
	{.module = "posix", .name = "times", .asked = PROCESS, .kept = 1u << 4},
	/* maximum memory, and three items that are always 0 */
	{.module = "resource", .name = "getrusage", .questions = 3,
	 .question = {{RUSAGE_SELF, PROCESS}, {RUSAGE_THREAD, THREAD},
		      {RUSAGE_CHILDREN, CHILDREN}},
	 .kept = 0xfu << 2},
};

#define CLOCKS (sizeof(clocks) / sizeof(*clocks))

static pid_t process; /* process in which the program began */

static enum asked find_asked(const struct clock *c, PyObject *args)
{
	PyObject *number = c->questions ? PyTuple_GetItem(args, 0) : NULL;
	long n = number ? PyLong_AsLong(number) : 0;

	if (!c->questions)
		return c->asked;
	if (PyErr_Occurred())
		PyErr_Clear(); /* Python's own function accepted the argument */
	else
		for (int i = 0; i < c->questions; i++)
			if (c->question[i].number == n)
				return c->question[i].asked;
	return OTHER;
}

/* Returns a result like told, with the items of before subtracted. */
static PyObject *less_items(PyObject *told, PyObject *before, uint32_t kept)
{
	Py_ssize_t size = PyTuple_Size(told);
	PyObject *items = PyTuple_New(size), *r;

	for (Py_ssize_t i = 0; items && i < size; i++) {
		PyObject *now = PyTuple_GetItem(told, i);

		now = kept >> i & 1
			      ? Py_NewRef(now)
			      : PyNumber_Subtract(now, PyTuple_GetItem(before, i));
		if (!now || PyTuple_SetItem(items, i, now)) {
			Py_DecRef(items);
			items = NULL;
		}
	}
	if (!items)
		return NULL;
	r = PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(told), items, NULL);
	Py_DecRef(items);
	return r;
}

static PyObject *ask(const struct clock *c, PyObject *args, PyObject *named)
{
	PyObject *told = PyObject_Call(c->plain, args, named), *before, *r;
	enum asked asked = told ? find_asked(c, args) : OTHER;

	if (asked == OTHER || getpid() != process ||
	    (asked == THREAD && gettid() != process))
		return told;
	before = c->before[asked];
	if (!before)
		return told;
	r = PyTuple_Check(told) ? less_items(told, before, c->kept)
				: PyNumber_Subtract(told, before);
	Py_DecRef(told);
	return r;
}

#define CLOCK(at)                                                              \
	static PyObject *ask_##at(PyObject *Py_UNUSED(module), PyObject *args, \
				  PyObject *named)                             \
	{                                                                      \
		return ask(&clocks[at], args, named);                          \
	}
CLOCK(0)
CLOCK(1)
CLOCK(2)
CLOCK(3)
CLOCK(4)
CLOCK(5)
CLOCK(6)
CLOCK(7)

static const PyCFunctionWithKeywords asks[CLOCKS] = {
	ask_0, ask_1, ask_2, ask_3, ask_4, ask_5, ask_6, ask_7,
};
static PyMethodDef methods[CLOCKS];

PyObject *clocks_stay(PyObject *Py_UNUSED(self), PyObject *modules)
{
	for (size_t at = 0; at < CLOCKS; at++) {
		PyObject *name = PyUnicode_FromString(clocks[at].module), *module;
		int r = name ? PySequence_Contains(modules, name) : -1;

		module = r > 0 ? PyImport_Import(name) : NULL;
		if (r > 0)
			r = module ? stand_in(module, clocks[at].name, &methods[at],
					      (PyCFunction)(void (*)(void))asks[at],
					      &clocks[at].plain) : -1;
		Py_DecRef(module);
		Py_DecRef(name);
		if (r < 0)
			return NULL;
	}
	return Py_NewRef(Py_None);
}

/* Calls the function and stores its result as the value before the program.
 * Return: 0 or -1. */
static int note(struct clock *c, const struct question *q)
{
	PyObject *args = c->questions ? Py_BuildValue("(i)", q->number)
				      : PyTuple_New(0);
	PyObject *told = args ? PyObject_Call(c->plain, args, NULL) : NULL;

	Py_DecRef(args);
	if (!told)
		return -1;
	if (PyTuple_Check(told))
		/* the program must not find it through gc */
		PyObject_GC_UnTrack(told);
	Py_DecRef(c->before[q->asked]);
	c->before[q->asked] = told;
	return 0;
}

PyObject *clocks_begin(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	for (size_t at = 0; at < CLOCKS; at++) {
		struct clock *c = &clocks[at];
		const struct question only = {0, c->asked};

		if (!c->plain)
			continue;
		if (!c->questions && note(c, &only))
			return NULL;
		for (int i = 0; i < c->questions; i++)
			if (note(c, &c->question[i]))
				return NULL;
	}
	process = getpid();
	return Py_NewRef(Py_None);
}
