/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules wait imported in the template. A module that waits must be the one that an
 * import would find now, in the state that an import would give it now.
 *
 * A function stands in the place of __import__(), and one in that of importlib's own.
 * Both ask about the first import of each module that waits: is all as it was in the
 * template on which imports depend? That is sys.path with the program's directory in
 * front, that directory's time of change, sys.meta_path, sys.path_hooks, the
 * environment's variables and the working directory. If so, the module is taken, which
 * costs some comparisons. If not, waiting.py decides: it may remove the module from
 * sys.modules, and then the import continues as in an interpreter that has just begun.
 *
 * The variables and the working directory are watched by functions in the places of
 * putenv(), unsetenv(), chdir() and fchdir() of the modules os and posix.
 */
#ifndef RUNNERS_IMPORTS_H
#define RUNNERS_IMPORTS_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

/* stay(waiting, taken, decide): watches imports from now on, once. waiting: dict, the
 * modules by their full names; taken: set, to which the imports of these are added, as
 * a name or as (name, fromlist); decide(name, fromlist) is waiting.py's. */
PyObject *imports_stay(PyObject *self, PyObject *args);
/* begin(directory, changed): the program begins, and its imports look there first.
 * changed: a module that waits would be another one by itself. */
PyObject *imports_begin(PyObject *self, PyObject *args);

#endif
