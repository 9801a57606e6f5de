/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks imports of modules that wait, already imported, in the template. Such
 * a module must be the one that an import would find now, in the state that an
 * import would give it now.
 *
 * One function replaces __import__(), and another replaces importlib's own.
 * Both check the first import of each module that waits: is everything on which
 * imports depend as it was in the template? That is sys.path with the program's
 * directory in front, that directory's modification time, sys.meta_path,
 * sys.path_hooks, the environment's variables and the working directory. If so,
 * the import gets the module, which costs some comparisons. If not, waiting.py
 * decides: it may remove the module from sys.modules, and then the import
 * continues as in a new interpreter.
 *
 * Functions that replace putenv(), unsetenv(), chdir() and fchdir() of the
 * modules os and posix note changes of the variables and of the working
 * directory.
 */
#ifndef RUNNERS_IMPORTS_H
#define RUNNERS_IMPORTS_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/*
 * stay(waiting, taken, decide): begins to check imports; call it once. waiting:
 * dict of the modules by their full names; taken: set, gets the imports of
 * them, as a name or as (name, fromlist); decide(name, fromlist) is
 * waiting.py's.
 */
PyObject *imports_stay(PyObject *self, PyObject *args);
/*
 * begin(directory, changed): the program begins, and its imports search there
 * first. changed: something already differs from the template, so each import
 * is checked by decide().
 */
PyObject *imports_begin(PyObject *self, PyObject *args);

#endif
