/* SPDX-License-Identifier: Apache-2.0 */
/* Finds objects in memory. */
#include "rehash.h"

#include <fcntl.h>
#include <unistd.h>

/* More references than memory has room for, less than any address. */
#define MOST_REFERENCES 0x400000

int push(struct vector *v, const void *item)
{
	if (v->count == v->max)
		return refuse("too many objects", NULL);
	v->at[v->count++] = (uintptr_t)item;
	return 0;
}

/* Shell's sort: the C library's may allocate, over what was found dead. */
void sort(struct vector *v)
{
	for (size_t gap = v->count / 2; gap; gap /= 2)
		for (size_t i = gap; i < v->count; i++) {
			uintptr_t item = v->at[i];
			size_t j = i;

			for (; j >= gap && v->at[j - gap] > item; j -= gap)
				v->at[j] = v->at[j - gap];
			v->at[j] = item;
		}
}

bool has(const struct vector *v, const void *item)
{
	size_t low = 0, high = v->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v->at[middle] == (uintptr_t)item)
			return true;
		if (v->at[middle] < (uintptr_t)item)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool in_memory(const struct plan *p, const void *pointer, size_t length)
{
	uintptr_t at = (uintptr_t)pointer;

	if (at % sizeof(void *))
		return false;
	for (unsigned i = 0; i < p->regions; i++)
		if (at >= p->region[i].start && at < p->region[i].end)
			return length <= p->region[i].end - at;
	return false;
}

/*
 * One line of /proc/self/maps. What follows a file's pages without a gap may
 * be its .bss: static objects are aligned less than allocated ones.
 */
static int add_region(struct plan *p, const char *line, uintptr_t *file_end)
{
	unsigned long start, end, inode;
	char perms[5], name[32] = "";
	bool file;

	if (sscanf(line, "%lx-%lx %4s %*x %*s %lu %31s", &start, &end, perms,
		   &inode, name) < 4)
		return refuse("a line of /proc/self/maps is not understood",
			      NULL);
	file = inode || start == *file_end;
	if (file)
		*file_end = end;
	if (strcmp(perms, "rw-p"))
		return perms[1] == 'w'
			       ? refuse("memory is shared or executable", line)
			       : 0;
	if (!strcmp(name, "[stack]"))
		return 0;
	if (p->regions == MAX_REGIONS)
		return refuse("too many mappings", NULL);
	p->region[p->regions++] = (struct region){
		start, end, file ? sizeof(void *) : 2 * sizeof(void *)};
	return 0;
}

int find_memory(struct plan *p)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	uintptr_t file_end = 0;
	size_t used = 0;
	ssize_t n = -1;

	while (fd >= 0 && used < sizeof(p->maps) - 1) {
		n = read(fd, p->maps + used, sizeof(p->maps) - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (n)
		return refuse("/proc/self/maps cannot be read", NULL);
	for (char *line = p->maps, *end; (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = '\0';
		/* its own pages hold nothing of the interpreter's */
		if (strtoul(line, NULL, 16) != (uintptr_t)p &&
		    add_region(p, line, &file_end))
			return -1;
	}
	return 0;
}

static int add_type(struct plan *p, const PyTypeObject *t, enum kind kind)
{
	if (p->types == MAX_TYPES)
		return refuse("too many types", NULL);
	p->type[p->types++] = (struct type){t, kind};
	p->filter[((uintptr_t)t >> 4) % FILTER] = 1;
	return 0;
}

/* Every type is once among the subclasses of its first base. */
int find_types(struct plan *p, PyTypeObject *t)
{
	static const struct {
		PyTypeObject *base;
		enum kind kind;
	} root[] = {
		{&PyUnicode_Type, TEXT},    {&PyBytes_Type, BYTES},
		{&PyDict_Type, DICT},       {&PySet_Type, SET},
		{&PyFrozenSet_Type, SET},   {&PySetIter_Type, SET_ITERATOR},
		{&PyMemoryView_Type, VIEW}, {&_PyWeakref_RefType, REFERENCE},
	};
	PyObject *key, *value;
	Py_ssize_t at = 0;

	for (size_t i = 0; i < Py_ARRAY_LENGTH(root); i++)
		if (PyType_IsSubtype(t, root[i].base) &&
		    add_type(p, t, root[i].kind))
			return -1;
	if (PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE) &&
	    ((PyHeapTypeObject *)t)->ht_cached_keys &&
	    push(&p->keys, ((PyHeapTypeObject *)t)->ht_cached_keys))
		return -1;
	while (t->tp_subclasses &&
	       PyDict_Next(t->tp_subclasses, &at, &key, &value)) {
		PyObject *sub = PyWeakref_GET_OBJECT(value);

		if (PyType_Check(sub) && ((PyTypeObject *)sub)->tp_base == t &&
		    find_types(p, (PyTypeObject *)sub))
			return -1;
	}
	return 0;
}

const struct type *type_of(const struct plan *p, uintptr_t word)
{
	for (unsigned i = 0; i < p->types; i++)
		if (word == (uintptr_t)p->type[i].type)
			return &p->type[i];
	return NULL;
}

Py_hash_t text_compute(PyObject *op)
{
	if (PyUnicode_Check(op))
		return _Py_HashBytes(PyUnicode_DATA(op),
				     PyUnicode_GET_LENGTH(op) *
					     PyUnicode_KIND(op));
	return _Py_HashBytes(PyBytes_AS_STRING(op), PyBytes_GET_SIZE(op));
}

/* The length of the object up to the end of its text; 0 if it is none. */
static size_t text_size(const struct plan *p, PyObject *op, enum kind kind)
{
	PyASCIIObject *s = (PyASCIIObject *)op;
	size_t length = (size_t)s->length; /* ob_size of bytes */

	if (length > PTRDIFF_MAX / 8)
		return 0;
	if (kind == BYTES)
		return offsetof(PyBytesObject, ob_sval) + length;
	if (!s->state.ready || !s->state.kind || s->state.kind == 3 ||
	    s->state.kind > 4)
		return 0;
	length *= s->state.kind;
	if (s->state.compact)
		return length + (s->state.ascii
					 ? sizeof(PyASCIIObject)
					 : sizeof(PyCompactUnicodeObject));
	/* An instance of a subclass keeps its text elsewhere. */
	if (!in_memory(p, op, sizeof(PyUnicodeObject)) ||
	    !in_memory(p, ((PyUnicodeObject *)op)->data.any, length))
		return 0;
	return sizeof(PyUnicodeObject);
}

static int see_text(struct plan *p, PyObject *op, enum kind kind,
		    const struct region *r)
{
	size_t size;

	if (r->end - (uintptr_t)op < sizeof(PyASCIIObject) ||
	    *text_hash(op) == -1)
		return 0;
	size = text_size(p, op, kind);
	if (!size || size > r->end - (uintptr_t)op ||
	    text_compute(op) != *text_hash(op)) {
		p->stale++;
		return 0;
	}
	return push(&p->texts, op);
}

enum life { DEAD, TRACKED, UNTRACKED };

/* What the words before an object say. */
static enum life life_of(const struct plan *p, PyObject *op)
{
	PyGC_Head *gc = _Py_AS_GC(op), *next;

	if (Py_REFCNT(op) <= 0 || Py_REFCNT(op) >= MOST_REFERENCES)
		return DEAD;
	next = _PyGCHead_NEXT(gc);
	if (!next)
		return _PyGCHead_PREV(gc) ? DEAD : UNTRACKED;
	if (!in_memory(p, next, sizeof(*next)) || _PyGCHead_PREV(next) != gc)
		return DEAD;
	return TRACKED;
}

static int see(struct plan *p, PyObject *op, const struct region *r)
{
	const struct type *t = type_of(p, (uintptr_t)op->ob_type);
	enum life life;

	if (!t)
		return 0;
	if (t->kind == TEXT || t->kind == BYTES)
		return see_text(p, op, t->kind, r);
	if ((uintptr_t)op % 16 ||
	    (uintptr_t)op < r->start + sizeof(PyGC_Head) ||
	    (size_t)t->type->tp_basicsize > r->end - (uintptr_t)op)
		return 0;
	life = life_of(p, op);
	if (life == DEAD)
		return 0;
	if (t->kind == DICT || t->kind == SET) {
		p->tracked += life == TRACKED;
		return push(t->kind == DICT ? &p->dicts : &p->sets, op);
	}
	/* The first member after the head is the set, NULL at the end. */
	if (t->kind == SET_ITERATOR && *(PyObject **)(op + 1))
		return refuse("a set is being iterated over", NULL);
	if (t->kind == VIEW && ((PyMemoryViewObject *)op)->hash != -1)
		return refuse("a memoryview has a hash", NULL);
	if (t->kind == REFERENCE && ((PyWeakReference *)op)->hash != -1)
		return push(&p->references, op);
	return 0;
}

/* Regions and what is in them come in ascending order. */
int scan(struct plan *p)
{
	for (unsigned i = 0; i < p->regions; i++) {
		const struct region *r = &p->region[i];
		uintptr_t at = r->start;

		for (; at + sizeof(PyObject) <= r->end; at += r->step) {
			uintptr_t word = ((const uintptr_t *)at)[1];

			if (p->filter[(word >> 4) % FILTER] &&
			    see(p, (PyObject *)at, r))
				return -1;
		}
	}
	return 0;
}
