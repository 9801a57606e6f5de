/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does for the Python runner what Python cannot:
 *
 *   stay()   has the pages of files and of the stack there and starts the
 *            holder; see populate.h and hold.h.
 *   leave(started)  makes the interpreter's end shorter; below. started: a list
 *            of (name, module, names in it) that were there before the program.
 *
 *   live_*() what a program prints is seen soon; see live.h.
 *
 * Only the stable interface of CPython is used, so one file serves every
 * version that the guest may have, and any version's headers will do.
 *
 * The shorter end: Py_FinalizeEx() first does what a program can see: exit
 * functions, flushing, collections, the end of every module. Then it takes the
 * interpreter itself apart, all its types and all its own code, which under
 * emulation is a third of a short program's time, and then the process ends.
 *
 * leave() puts an object into the module sys, last. All modules and what they
 * held have gone when sys is emptied; after it come the names of builtins. The
 * object's end makes Py_FinalizeEx() return at once, as if all was done, to
 * whoever called it: the exit code, an unhandled KeyboardInterrupt and the end
 * of the C library remain as they are.
 *
 * How: the frames from here up to Py_FinalizeEx()'s caller are found by the
 * tables that describe every function for exceptions, and the registers that
 * the caller has kept are put back. If its frame is not found, as when a
 * compiler has put it into its caller, nothing happens: the end is longer.
 */
#include "live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

#include "../hold.h"
#include "../populate.h"

#define STACK_DEPTH (128u << 10) /* of an import in an import, and some */

static void populate_stack(void)
{
	volatile char page[STACK_DEPTH];

	for (size_t at = 0; at < sizeof(page); at += 4096)
		page[at] = 0;
}

static PyObject *stay(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	populate_files(0);
	populate_stack();
	hold_memory(CLONE_PARENT);
	return Py_NewRef(Py_None);
}

/* The registers that a call leaves as they were, by DWARF's numbers. */
enum { RBX = 3, RBP = 6, R12 = 12, R13, R14, R15 };

struct caller {
	bool below; /* the frame before was Py_FinalizeEx()'s */
	bool found;
	_Unwind_Word rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

/* Where Py_FinalizeEx() really is: a compiler may have made it a mere jump to
 * the function that does it all (endbr64, jmp rel32). */
static void *finalize(void)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t *at = (uint8_t *)Py_FinalizeEx;
	int32_t distance;

	if (!memcmp(at, landing, sizeof(landing)))
		at += sizeof(landing);
	if (*at != 0xe9)
		return (void *)Py_FinalizeEx;
	memcpy(&distance, at + 1, sizeof(distance));
	return at + 5 + distance;
}

static _Unwind_Reason_Code look(struct _Unwind_Context *c, void *arg)
{
	struct caller *k = arg;
	void *ip = (void *)(_Unwind_GetIP(c) - 1);

	if (!k->below) {
		k->below = _Unwind_FindEnclosingFunction(ip) == finalize();
		return _URC_NO_REASON;
	}
	*k = (struct caller){
		.found = true,
		.rbx = _Unwind_GetGR(c, RBX), .rbp = _Unwind_GetGR(c, RBP),
		.r12 = _Unwind_GetGR(c, R12), .r13 = _Unwind_GetGR(c, R13),
		.r14 = _Unwind_GetGR(c, R14), .r15 = _Unwind_GetGR(c, R15),
		.rsp = _Unwind_GetCFA(c), .rip = _Unwind_GetIP(c),
	};
	return _URC_END_OF_STACK;
}

/* Py_FinalizeEx() returns 0. */
_Noreturn static void go_back(const struct caller *k)
{
	__asm__ volatile("movq %c[rbx](%%rax), %%rbx\n\t"
			 "movq %c[rbp](%%rax), %%rbp\n\t"
			 "movq %c[r12](%%rax), %%r12\n\t"
			 "movq %c[r13](%%rax), %%r13\n\t"
			 "movq %c[r14](%%rax), %%r14\n\t"
			 "movq %c[r15](%%rax), %%r15\n\t"
			 "movq %c[rsp](%%rax), %%rsp\n\t"
			 "movq %c[rip](%%rax), %%rdx\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "jmp *%%rdx"
			 :
			 : "a"(k), [rbx] "i"(offsetof(struct caller, rbx)),
			   [rbp] "i"(offsetof(struct caller, rbp)),
			   [r12] "i"(offsetof(struct caller, r12)),
			   [r13] "i"(offsetof(struct caller, r13)),
			   [r14] "i"(offsetof(struct caller, r14)),
			   [r15] "i"(offsetof(struct caller, r15)),
			   [rsp] "i"(offsetof(struct caller, rsp)),
			   [rip] "i"(offsetof(struct caller, rip))
			 : "memory");
	__builtin_unreachable();
}

static bool find_caller(struct caller *ret)
{
	*ret = (struct caller){.found = false};
	_Unwind_Backtrace(look, ret);
	return ret->found;
}

/* Before the interpreter's end, when the program has taken it out of sys, there
 * is no such frame. */
static void last(PyObject *Py_UNUSED(capsule))
{
	struct caller k;

	if (!find_caller(&k))
		return;
	/* As Py_FinalizeEx() would, whatever the program has set: what only sys
	 * has held may have been in a cycle with the program's names. */
	PyGC_Enable();
	PyGC_Collect();
	go_back(&k);
}

/* Takes a module out of sys.modules if it is as it was. Return: 0 or -1. */
static int take_out(PyObject *modules, PyObject *entry)
{
	PyObject *name = PyTuple_GetItem(entry, 0), *module, *dict;
	long size;

	module = name ? PyTuple_GetItem(entry, 1) : NULL;
	if (!module)
		return -1;
	if (PyDict_GetItemWithError(modules, name) != module)
		return PyErr_Occurred() ? -1 : 0;
	size = PyLong_AsLong(PyTuple_GetItem(entry, 2));
	dict = PyModule_GetDict(module); /* NULL: one put something else there */
	if (!dict)
		PyErr_Clear();
	return dict && PyDict_Size(dict) == size ?
		       PyDict_DelItem(modules, name) : 0;
}

static PyObject *leave(PyObject *Py_UNUSED(self), PyObject *started)
{
	static char nothing;
	PyObject *capsule = PyCapsule_New(&nothing, NULL, last);
	struct caller k;
	int r;

	if (!capsule)
		return NULL;
	for (Py_ssize_t i = 0; i < PyList_Size(started); i++)
		if (take_out(PyImport_GetModuleDict(),
			     PyList_GetItem(started, i)))
			return NULL;
	r = PySys_SetObject("fsd leaves", capsule);
	Py_DecRef(capsule);
	return r ? NULL : PyBool_FromLong(find_caller(&k));
}

static PyMethodDef methods[] = {
	{"live_stay", live_stay, METH_NOARGS, NULL},
	{"live_watch", live_watch, METH_O, NULL},
	{"live_begin", live_begin, METH_NOARGS, NULL},
	{"live_rest", live_rest, METH_NOARGS, NULL},
	{"stay", stay, METH_NOARGS,
	 "stay(): make ready what each clone would have to; once"},
	{"leave", leave, METH_O,
	 "leave(started) -> bool: is the interpreter's end, which has begun, shorter now?"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "native", NULL, 0, methods,
	NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_native(void);
PyMODINIT_FUNC PyInit_native(void)
{
	return PyModule_Create(&definition);
}
