/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does for the Python runner what Python cannot:
 *
 *   stay()   loads the pages of files and of the stack, starts the holder
 *            (see populate.h and hold.h) and makes the C library's end shorter.
 *   start(started)  notes the modules that exist before the program; started: a
 *            list of (name, module), never freed.
 *   leave()  makes the interpreter's end shorter; see below.
 *
 *   live_*() write a program's output soon; see live.h.
 *   clocks_*() make the processor's clocks begin with the program; see clocks.h.
 *   imports_*() check modules that were imported in the template; see imports.h.
 *
 * Only the stable interface of CPython is used, so one file serves every
 * version that the guest may have, and can be compiled with any version's
 * headers.
 *
 * The shorter end: Py_FinalizeEx() first does what a program can see: exit
 * functions, flushing, collections, the end of every module. Then it frees the
 * interpreter itself, all its types and all its own code, which under emulation
 * is a third of a short program's time; after that the process ends anyway.
 *
 * leave() puts an object into the module sys, as its last member. When sys is
 * emptied, all modules and their members are gone; only the names of builtins
 * follow. The object's destructor makes Py_FinalizeEx() return at once, as if
 * it were complete, to its caller: the exit code, an unhandled
 * KeyboardInterrupt and the end of the C library remain as they are.
 *
 * How: the destructor finds the frames up to Py_FinalizeEx()'s caller by the
 * tables that describe every function for exceptions, and restores the caller's
 * registers. If it does not find that frame, as when a compiler has inlined
 * Py_FinalizeEx(), it does nothing: the end takes longer.
 */
#include "clocks.h"
#include "imports.h"
#include "live.h"

#include <stdbool.h>
#include <stddef.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "../hold.h"
#include "../populate.h"

#define STACK_DEPTH (128u << 10) /* enough for an import in an import */

static void populate_stack(void)
{
	volatile char page[STACK_DEPTH];

	for (size_t at = 0; at < sizeof(page); at += 4096)
		page[at] = 0;
}

/*
 * Counts the libraries that were ever loaded: the first object has the number.
 */
static int count_loaded(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(unsigned long long *)ret = info->dlpi_adds;
	return 1;
}

/* value of count_loaded() before the program */
static unsigned long long loaded;

/*
 * The C library calls this after the exit functions of libraries that the
 * program has loaded, and before those of all earlier libraries, which only
 * free their memory one after the other. If the program has loaded a library,
 * that one may have more to do; then the normal exit continues.
 */
static void end_at_once(int status, void *unused)
{
	unsigned long long now = 0;

	(void)unused;
	dl_iterate_phdr(count_loaded, &now);
	if (now != loaded)
		return;
	fflush(NULL);
	_exit(status);
}

static PyObject *stay(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	populate_files(0);
	populate_stack();
	hold_memory(CLONE_PARENT);
	dl_iterate_phdr(count_loaded, &loaded);
	on_exit(end_at_once, NULL);
	return Py_NewRef(Py_None);
}

/* Registers that a call preserves, by DWARF's numbers. */
enum { RBX = 3, RBP = 6, R12 = 12, R13, R14, R15 };

struct caller {
	bool below; /* the frame before was that of Py_FinalizeEx() */
	bool found;
	_Unwind_Word rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

/* Returns the real address of Py_FinalizeEx(): a compiler may have reduced it
 * to a jump to the function that does the work (endbr64, jmp rel32). */
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

/* Makes Py_FinalizeEx() return 0. */
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

/* The destructor of leave()'s object. If the program has removed that from sys,
 * it runs before the interpreter's end and finds no frame of Py_FinalizeEx(). */
static void last(PyObject *Py_UNUSED(capsule))
{
	struct caller k;

	if (!find_caller(&k))
		return;
	/*
	 * Collect as Py_FinalizeEx() would, whatever the program has set:
	 * objects that only sys referenced may have been in a cycle with the
	 * program's names.
	 */
	PyGC_Enable();
	PyGC_Collect();
	go_back(&k);
}

/* The modules that were there before the program, in the order of sys.modules. */
static struct known {
	/* borrowed from the list, which is never freed */
	PyObject *name, *module, *dict;
	Py_ssize_t size; /* number of names in `dict` */
} *known;
static Py_ssize_t known_count;
static PyObject *known_at; /* maps a name to its index in `known` */

static PyObject *start(PyObject *Py_UNUSED(self), PyObject *started)
{
	known_count = PyList_Size(started);
	known = PyMem_Calloc((size_t)known_count + 1, sizeof(*known));
	known_at = PyDict_New();
	if (!known || !known_at)
		return PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < known_count; i++) {
		PyObject *entry = PyList_GetItem(started, i);
		struct known *k = &known[i];
		PyObject *at = PyLong_FromSsize_t(i);
		int r;

		k->name = PyTuple_GetItem(entry, 0);
		k->module = PyTuple_GetItem(entry, 1);
		k->dict = PyModule_GetDict(k->module);
		/* another object has this name: it is no module */
		PyErr_Clear();
		k->size = k->dict ? PyDict_Size(k->dict) : 0;
		r = at ? PyDict_SetItem(known_at, k->name, at) : -1;
		Py_DecRef(at);
		if (r)
			return NULL;
	}
	return Py_NewRef(Py_None);
}

/* Finds the known module of that name. *at: its expected index. */
static const struct known *find_known(PyObject *name, Py_ssize_t *at)
{
	PyObject *place;

	if (*at < known_count && known[*at].name == name)
		return &known[(*at)++];
	place = PyDict_GetItemWithError(known_at, name);
	if (!place)
		return NULL;
	*at = PyLong_AsSsize_t(place);
	return &known[(*at)++];
}

/* Returns whether the program has not changed a module. Compares only the size
 * of its dict, not the module. */
static bool is_untouched(const struct known *k, PyObject *module)
{
	return k && k->module == module && k->dict &&
	       PyDict_Size(k->dict) == k->size;
}

/* Removes the modules in `own` from `modules`. Return: 0 or -1. */
static int take_out(PyObject *modules, PyObject *own)
{
	PyObject *name, *module;
	Py_ssize_t pos = 0;

	while (PyDict_Next(own, &pos, &name, &module))
		if (PyDict_DelItem(modules, name))
			return -1;
	return 0;
}

/* Moves modules that the program has loaded or changed to a new dict. Return:
 * the dict or NULL. */
static PyObject *pick_own(PyObject *modules)
{
	PyObject *own = PyDict_New(), *name, *module;
	Py_ssize_t pos = 0, at = 0;

	while (own && PyDict_Next(modules, &pos, &name, &module)) {
		if (is_untouched(find_known(name, &at), module))
			continue;
		if (PyErr_Occurred() || PyDict_SetItem(own, name, module)) {
			Py_DecRef(own);
			own = NULL;
		}
	}
	if (own && take_out(modules, own)) {
		Py_DecRef(own);
		own = NULL;
	}
	return own;
}

/*
 * Exchanges the contents of two dicts. Removing the modules one by one would
 * write to each of them, and a clone pays for each write with a page: with 700
 * modules that takes longer than a short program. The other modules are then
 * never freed.
 */
static int exchange(PyObject *a, PyObject *b)
{
	enum { HEAD = sizeof(PyObject), MOST = 128 };
	PyObject *said = PyObject_GetAttrString((PyObject *)&PyDict_Type,
						"__basicsize__");
	Py_ssize_t size = said ? PyLong_AsSsize_t(said) : 0;
	char kept[MOST];

	Py_DecRef(said);
	if (size <= HEAD || size > MOST)
		return -1;
	size -= HEAD;
	memcpy(kept, (char *)a + HEAD, (size_t)size);
	memcpy((char *)a + HEAD, (char *)b + HEAD, (size_t)size);
	memcpy((char *)b + HEAD, kept, (size_t)size);
	return 0;
}

static PyObject *leave(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	static char nothing;
	PyObject *modules = PyImport_GetModuleDict(), *own;
	PyObject *capsule = PyCapsule_New(&nothing, NULL, last);
	struct caller k;
	int r;

	if (!capsule)
		return NULL;
	own = pick_own(modules);
	if (!own)
		return NULL;
	PyObject_GC_UnTrack(own); /* no collection may visit its new contents */
	if (exchange(modules, own))
		return NULL;
	r = PySys_SetObject("fsd leaves", capsule);
	Py_DecRef(capsule);
	return r ? NULL : PyBool_FromLong(find_caller(&k));
}

/* Runs the prepared program; is called as runpy._run_module_as_main(). self:
 * (prepare, globals). */
static PyObject *run_prepared(PyObject *self, PyObject *args)
{
	PyObject *prepare = PyTuple_GetItem(self, 0);
	PyObject *globals = PyTuple_GetItem(self, 1);
	PyObject *type, *value, *trace, *code, *result;

	(void)args;
	code = PyObject_CallObject(prepare, NULL);
	if (code) {
		result = PyEval_EvalCode(code, globals, globals);
		Py_DECREF(code);
		return result;
	}
	/* The program has no frame yet, and a traceback must not show
	 * prepare()'s. */
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (value)
		PyException_SetTraceback(value, Py_None);
	Py_XDECREF(trace);
	PyErr_Restore(type, value, NULL);
	return NULL;
}

static PyMethodDef run_method = {
	"_run_module_as_main", run_prepared, METH_VARARGS, NULL,
};

/* main_program(prepare, globals): returns a function that runs the code that
 * prepare() returns, without a frame of its own. */
static PyObject *main_program(PyObject *module, PyObject *args)
{
	(void)module;
	return PyCFunction_NewEx(&run_method, args, NULL);
}

static PyMethodDef methods[] = {
	{"main_program", main_program, METH_VARARGS, NULL},
	{"live_stay", live_stay, METH_NOARGS, NULL},
	{"live_watch", live_watch, METH_O, NULL},
	{"live_begin", live_begin, METH_NOARGS, NULL},
	{"live_rest", live_rest, METH_NOARGS, NULL},
	{"clocks_stay", clocks_stay, METH_O, NULL},
	{"clocks_begin", clocks_begin, METH_NOARGS, NULL},
	{"imports_stay", imports_stay, METH_VARARGS, NULL},
	{"imports_begin", imports_begin, METH_VARARGS, NULL},
	{"stay", stay, METH_NOARGS,
	 "stay(): make ready what each clone would have to; once"},
	{"start", start, METH_O,
	 "start(started): these modules were there before the program; once"},
	{"leave", leave, METH_NOARGS,
	 "leave() -> bool: is the interpreter's end, which has begun, shorter now?"},
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
