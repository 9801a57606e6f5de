/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shorter end of an interpreter. Py_FinalizeEx() first does what a program
 * can see: exit functions, flushing, collections, the end of every module. Then
 * it takes the interpreter itself apart, all its types and all its own code,
 * which under emulation is a third of a short program's time, and then the
 * process ends.
 *
 * leave() puts an object into the interpreter's own copy of builtins, which
 * goes when all modules and what they held have gone. Its end makes
 * Py_FinalizeEx() return at once, as if all was done, to whoever called it: the
 * exit code, an unhandled KeyboardInterrupt and the end of the C library remain
 * as they are.
 *
 * How: the frames from here up to Py_FinalizeEx()'s caller are found by the
 * tables that describe every function for exceptions, and the registers that
 * the caller has kept are put back. If its frame is not found, as when a
 * compiler has put it into its caller, nothing happens: the end is longer.
 */
#include "rehash.h"

#include <unwind.h>

/* What a caller may rely on across a call, by DWARF's numbers. */
enum { RBX = 3, RBP = 6, R12 = 12, R13, R14, R15 };

struct caller {
	bool below; /* the frame before was Py_FinalizeEx()'s */
	bool found;
	_Unwind_Word rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *c, void *arg)
{
	struct caller *k = arg;
	void *ip = (void *)(_Unwind_GetIP(c) - 1);

	if (!k->below) {
		k->below = _Unwind_FindEnclosingFunction(ip) ==
			   (void *)Py_FinalizeEx;
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

static void last(PyObject *Py_UNUSED(capsule))
{
	struct caller k = {.found = false};

	if (!_Py_IsFinalizing())
		return;
	_Unwind_Backtrace(look, &k);
	if (k.found)
		go_back(&k);
}

PyObject *rehash_leave(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	static char nothing;
	PyObject *copy = PyInterpreterState_Get()->builtins_copy;
	PyObject *capsule = PyCapsule_New(&nothing, NULL, last);
	int r;

	if (!capsule)
		return NULL;
	r = PyDict_SetItemString(copy, "fsd leaves", capsule);
	Py_DECREF(capsule);
	return r ? NULL : Py_NewRef(Py_None);
}
