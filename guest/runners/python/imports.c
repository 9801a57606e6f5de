/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces Python's import functions and four functions of posix, and checks
 * the first import of each module that waits. The parts: conditions, the check,
 * the replacements.
 *
 * All state is in the static `imports`, since a process has one interpreter.
 * imports_stay() runs in the template, imports_begin() before the program, and
 * the rest in the program with the interpreter's lock.
 */
#include "imports.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include "looks.h"

#define PLACES_MAX 32

/* A list of sys, and its items in the template. */
struct places {
	const char *name;
	PyObject *was[PLACES_MAX];
	Py_ssize_t count; /* number of items; -1: too many to compare */
};

enum { PATH, FINDERS, HOOKS, LISTS };

static struct {
	PyObject *waiting, *taken, *decide;
	struct places lists[LISTS];
	/* the program's directory, first item of sys.path; or NULL */
	PyObject *home;
	struct timespec since; /* modification time of `home` */
	bool works; /* a program is running */
	bool decides; /* decide() is running; its own imports are not checked */
	/* the program has changed a variable or the working directory */
	bool changed;
} imports = {.lists = {{.name = "path"}, {.name = "meta_path"},
		       {.name = "path_hooks"}}};

/* --- what an import depends on ------------------------------------------ */

static void note(struct places *p)
{
	PyObject *list = PySys_GetObject(p->name);
	Py_ssize_t count = list && PyList_Check(list) ? PyList_Size(list) : -1;

	p->count = count <= PLACES_MAX ? count : -1;
	for (Py_ssize_t i = 0; i < p->count; i++)
		p->was[i] = Py_NewRef(PyList_GetItem(list, i));
}

/*
 * Returns whether the list is as it was, after `more` new items at its front.
 */
static bool is_same(const struct places *p, Py_ssize_t more)
{
	PyObject *list = PySys_GetObject(p->name);

	if (p->count < 0 || !list || !PyList_Check(list) ||
	    PyList_Size(list) != p->count + more)
		return false;
	for (Py_ssize_t i = 0; i < p->count; i++)
		if (PyList_GetItem(list, i + more) != p->was[i])
			return false;
	return true;
}

static bool is_home_first(void)
{
	PyObject *list = PySys_GetObject("path"), *first;

	first = list && PyList_Check(list) ? PyList_GetItem(list, 0) : NULL;
	if (!first)
		PyErr_Clear();
	return first && (first == imports.home ||
			 (PyUnicode_Check(first) &&
			  !PyUnicode_Compare(first, imports.home)));
}

static struct timespec time_of_change(PyObject *directory)
{
	const char *path = PyUnicode_AsUTF8AndSize(directory, NULL);
	struct stat s = {0};

	if (!path)
		PyErr_Clear(); /* the path is not UTF-8: check each import */
	return path && !stat(path, &s) ? s.st_mtim : (struct timespec){.tv_nsec = -1};
}

static bool is_home_unchanged(void)
{
	struct timespec now = time_of_change(imports.home);

	return now.tv_nsec >= 0 && now.tv_sec == imports.since.tv_sec &&
	       now.tv_nsec == imports.since.tv_nsec;
}

static bool is_as_it_was(void)
{
	return !imports.changed && is_same(&imports.lists[PATH], 1) &&
	       is_same(&imports.lists[FINDERS], 0) &&
	       is_same(&imports.lists[HOOKS], 0) && is_home_first() &&
	       is_home_unchanged();
}

/* --- imports ------------------------------------------------------------ */

/* Returns whether the module or its top-level package waits. */
static bool waits(PyObject *name)
{
	Py_ssize_t size = PyUnicode_GetLength(name), dot;
	PyObject *top;
	bool r = PyDict_Contains(imports.waiting, name) > 0;

	if (r)
		return true;
	dot = PyUnicode_FindChar(name, '.', 0, size, 1);
	if (dot <= 0)
		return false;
	top = PyUnicode_Substring(name, 0, dot);
	r = top && PyDict_Contains(imports.waiting, top) > 0;
	Py_DecRef(top);
	return r;
}

/* Returns the key of an import for `taken`: a new reference, or NULL. */
static PyObject *key_of(PyObject *name, PyObject *from)
{
	if (from && PyTuple_Check(from) && PyTuple_Size(from) > 0)
		return PyTuple_Pack(2, name, from);
	return Py_NewRef(name);
}

/* Checks an import. Return: 0: the import may continue; or -1. */
static int ask(PyObject *name, PyObject *from)
{
	PyObject *key = key_of(name, from), *r = Py_None;
	int there = key ? PySet_Contains(imports.taken, key) : -1;

	if (!there && !is_as_it_was()) {
		imports.decides = true;
		r = PyObject_CallFunctionObjArgs(imports.decide, name,
						 from ? from : Py_None, NULL);
		imports.decides = false;
		there = r ? 0 : -1;
		Py_DecRef(r);
	}
	if (!there)
		there = PySet_Add(imports.taken, key);
	Py_DecRef(key);
	return there < 0 ? -1 : 0;
}

static int look(PyObject *name, PyObject *from, PyObject *level)
{
	if (!imports.works || imports.decides || !name || !PyUnicode_Check(name) ||
	    (level && PyObject_IsTrue(level)) || !waits(name))
		return 0;
	if (ask(name, from) && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear(); /* the import itself reports this error */
		return 0;
	}
	return PyErr_Occurred() ? -1 : 0;
}

/* --- replacements of Python's functions --------------------------------- */

enum { IMPORT, OWN_IMPORT, PUTENV, UNSETENV, CHDIR, FCHDIR, PLACES };

static struct {
	const char *module, *name;
	PyObject *plain;
	PyMethodDef method;
} stands[PLACES] = {
	[IMPORT] = {"builtins", "__import__", NULL, {0}},
	[OWN_IMPORT] = {"_frozen_importlib", "_gcd_import", NULL, {0}},
	[PUTENV] = {"posix", "putenv", NULL, {0}},
	[UNSETENV] = {"posix", "unsetenv", NULL, {0}},
	[CHDIR] = {"posix", "chdir", NULL, {0}},
	[FCHDIR] = {"posix", "fchdir", NULL, {0}},
};

static PyObject *argument(PyObject *args, PyObject *named, Py_ssize_t at,
			  const char *name)
{
	PyObject *r;

	if (at < PyTuple_Size(args))
		return PyTuple_GetItem(args, at);
	r = named ? PyDict_GetItemString(named, name) : NULL;
	return r;
}

static PyObject *import(PyObject *Py_UNUSED(module), PyObject *args, PyObject *named)
{
	if (look(argument(args, named, 0, "name"), argument(args, named, 3, "fromlist"),
		 argument(args, named, 4, "level")))
		return NULL;
	return PyObject_Call(stands[IMPORT].plain, args, named);
}

static PyObject *own_import(PyObject *Py_UNUSED(module), PyObject *args,
			    PyObject *named)
{
	if (look(argument(args, named, 0, "name"), NULL,
		 argument(args, named, 2, "level")))
		return NULL;
	return PyObject_Call(stands[OWN_IMPORT].plain, args, named);
}

#define CHANGE(function, at)                                                  \
	static PyObject *function(PyObject *Py_UNUSED(module), PyObject *args, \
				  PyObject *named)                            \
	{                                                                     \
		imports.changed = true;                                       \
		return PyObject_Call(stands[at].plain, args, named);          \
	}
CHANGE(change_putenv, PUTENV)
CHANGE(change_unsetenv, UNSETENV)
CHANGE(change_chdir, CHDIR)
CHANGE(change_fchdir, FCHDIR)

static PyObject *(*const functions[PLACES])(PyObject *, PyObject *, PyObject *) = {
	import, own_import, change_putenv, change_unsetenv, change_chdir, change_fchdir,
};

static int stand(int at)
{
	PyObject *module = PyImport_ImportModule(stands[at].module);
	int r = module ? stand_in(module, stands[at].name, &stands[at].method,
				  (PyCFunction)(void (*)(void))functions[at],
				  &stands[at].plain) : -1;

	Py_DecRef(module);
	return r;
}

PyObject *imports_stay(PyObject *Py_UNUSED(self), PyObject *args)
{
	int r = 0;

	if (!PyArg_ParseTuple(args, "OOO", &imports.waiting, &imports.taken,
			      &imports.decide))
		return NULL;
	Py_IncRef(imports.waiting);
	Py_IncRef(imports.taken);
	Py_IncRef(imports.decide);
	for (int i = 0; i < LISTS; i++)
		note(&imports.lists[i]);
	for (int i = 0; i < PLACES && !r; i++)
		r = stand(i);
	return r ? NULL : Py_NewRef(Py_None);
}

PyObject *imports_begin(PyObject *Py_UNUSED(self), PyObject *args)
{
	PyObject *directory;
	int changed;

	if (!PyArg_ParseTuple(args, "Op", &directory, &changed))
		return NULL;
	imports.changed |= changed;
	imports.home = Py_NewRef(directory);
	imports.since = time_of_change(directory);
	imports.works = imports.decide != NULL;
	return Py_NewRef(Py_None);
}
