/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of rehash share; rehash.c says how it works. */
#ifndef REHASH_H
#define REHASH_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <internal/pycore_dict.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#include <internal/pycore_pystate.h>

_Static_assert(PY_VERSION_HEX >> 16 == 0x030b,
	       "the layout of objects is known for Python 3.11 only");

#define SECRET sizeof(_Py_HashSecret_t)
#define FILTER 4096

#define MAX_TYPES 256
#define MAX_REGIONS 256
#define MAX_TEXTS (1u << 19)
#define MAX_TABLES (1u << 17)
#define MAX_SPARE (1 << 16)

enum kind { TEXT, BYTES, DICT, SET, SET_ITERATOR, VIEW, REFERENCE };

struct type {
	const PyTypeObject *type;
	enum kind kind;
};

struct region {
	uintptr_t start, end;
	unsigned step; /* from object to object */
};

struct vector {
	uintptr_t *at; /* ascending once sorted */
	size_t count, max;
};

struct plan {
	struct type type[MAX_TYPES];
	struct region region[MAX_REGIONS];
	unsigned types, regions;
	unsigned char filter[FILTER];
	struct vector texts;      /* str and bytes with a cached hash */
	struct vector dicts;      /* first all, then those to be made anew */
	struct vector sets;       /* likewise */
	struct vector keys;       /* of dicts and types, likewise */
	struct vector references; /* weak ones with a cached hash */
	size_t tracked;           /* dicts and sets the collector knows */
	size_t stale;             /* what only looked like a str or bytes */
	uintptr_t texts_at[MAX_TEXTS];
	uintptr_t dicts_at[MAX_TABLES], sets_at[MAX_TABLES];
	uintptr_t keys_at[MAX_TABLES], references_at[MAX_TABLES];
	setentry spare[MAX_SPARE];
	char maps[1 << 16];
};

/* Raises RuntimeError. Return: -1. */
int refuse(const char *why, const char *what);

/* rehash_find.c: what is where in memory */

int push(struct vector *v, const void *item);
void sort(struct vector *v);
bool has(const struct vector *v, const void *item);

int find_memory(struct plan *p);
bool in_memory(const struct plan *p, const void *pointer, size_t length);
/* The types of interest below t, and the keys that types keep. */
int find_types(struct plan *p, PyTypeObject *t);
const struct type *type_of(const struct plan *p, uintptr_t word);
/* Finds all objects of these types. */
int scan(struct plan *p);

/* str and bytes cache their hash at the same place. */
static inline Py_hash_t *text_hash(PyObject *op)
{
	return &((PyASCIIObject *)op)->hash;
}
Py_hash_t text_compute(PyObject *op);

/* stay.c */
PyObject *rehash_stay(PyObject *self, PyObject *arg);

/* leave.c */
PyObject *rehash_leave(PyObject *self, PyObject *arg);

/* rehash_table.c: dicts and sets. Return of the first three: 1 the secret
 * matters, 0 it does not, -1 refused. */

int depends(const struct plan *p, PyObject *key);
int see_keys(const struct plan *p, PyDictKeysObject *k);
int see_set(const struct plan *p, PySetObject *so);
void keys_anew(PyDictKeysObject *k);
void set_anew(PySetObject *so, setentry *spare);

#endif
