/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a C function in the place of one of Python's, with the same name, signature,
 * description and module: help() and inspect then show the original's.
 *
 * The texts are never freed, since Python keeps pointers to them. A function of posix is
 * replaced in os as well, because os copies its names. All runs when the
 * interpreter starts, with its lock.
 */
#include "looks.h"

#include <stdio.h>
#include <string.h>

char *describe_function(PyObject *function, const char *name)
{
	PyObject *signature = PyObject_GetAttrString(function, "__text_signature__");
	PyObject *words = PyObject_GetAttrString(function, "__doc__");
	const char *first = signature && PyUnicode_Check(signature)
				    ? PyUnicode_AsUTF8AndSize(signature, NULL) : NULL;
	const char *second = words && PyUnicode_Check(words)
				     ? PyUnicode_AsUTF8AndSize(words, NULL) : NULL;
	char *text = NULL;

	if (first && asprintf(&text, "%s%s\n--\n\n%s", name, first,
			      second ? second : "") < 0)
		text = NULL;
	else if (!first && second)
		text = strdup(second);
	PyErr_Clear();
	Py_DecRef(signature);
	Py_DecRef(words);
	return text;
}

/* The functions of posix are in os as well. */
static int put_in_os(const char *name, PyObject *function)
{
	PyObject *os = PyImport_ImportModule("os");
	int r = os ? PyObject_SetAttrString(os, name, function) : -1;

	Py_DecRef(os);
	return r;
}

int stand_in(PyObject *module, const char *name, PyMethodDef *method,
	     PyCFunction function, PyObject **plain)
{
	PyObject *home = PyModule_GetNameObject(module), *own = NULL;
	int r = -1;

	*plain = home ? PyObject_GetAttrString(module, name) : NULL;
	if (*plain) {
		*method = (PyMethodDef){name, function, METH_VARARGS | METH_KEYWORDS,
					describe_function(*plain, name)};
		own = PyCFunction_NewEx(method, module, home);
	}
	if (own)
		r = PyObject_SetAttrString(module, name, own);
	if (!r && !PyUnicode_CompareWithASCIIString(home, "posix"))
		r = put_in_os(name, own);
	Py_DecRef(own);
	Py_DecRef(home);
	return r;
}
