/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new hash secret for an interpreter that is already up.
 *
 * Clones of one template share the secret that was drawn when the template's
 * interpreter started, so hash("x") and the order of sets would be the same
 * in each of them. rehash() sets another secret and brings every object that
 * is there into the state it would have had with it:
 *
 *   str, bytes    the cached hash, where one is cached
 *   dict          the index of its keys and the hashes stored with them; the
 *                 entries stay in their places, and so every cache in the
 *                 byte code that names a place or a version stays right
 *   set           the table
 *   frozenset     the table and the cached hash
 *
 * It works in two steps. plan_make() only looks, and refuses, with nothing
 * changed, whatever it does not understand completely. plan_apply() only
 * stores, and cannot fail.
 *
 * How every object is found: an object of these types lies in writable memory
 * and its second word points to its type. All writable memory is read for
 * words that are such a pointer. What is found is believed on evidence:
 *
 *   a str or bytes   its cached hash is the hash of its contents with the old
 *                    secret, 64 bits that do not agree by accident. A dead
 *                    one passes as well; nobody reads what is stored there.
 *   a set            is linked into the collector's lists, and every entry is
 *                    found from its hash.
 *   a dict           likewise, or is untracked; a dead one has no references.
 *
 * The other way round, what the collector knows has been found, and so has
 * every str and bytes that is a key.
 */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "internal/pycore_dict.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"

#if PY_VERSION_HEX >> 16 != 0x030b
#error "the layout of objects is known for Python 3.11 only"
#endif

#define SECRET sizeof(_Py_HashSecret_t)
/* More references than memory has room for, less than any address. */
#define MOST_REFERENCES 0x400000
#define PERTURB 5
#define LINEAR_PROBES 9
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
	struct vector texts;	  /* str and bytes with a cached hash */
	struct vector dicts;	  /* first all, then those to be made anew */
	struct vector sets;	  /* likewise */
	struct vector keys;	  /* of dicts and types, likewise */
	struct vector references; /* weak ones with a cached hash */
	size_t tracked;		  /* dicts and sets the collector knows */
	size_t stale;		  /* what only looked like a str or bytes */
	uintptr_t texts_at[MAX_TEXTS];
	uintptr_t dicts_at[MAX_TABLES], sets_at[MAX_TABLES];
	uintptr_t keys_at[MAX_TABLES], references_at[MAX_TABLES];
	setentry spare[MAX_SPARE];
	char maps[1 << 16];
};

/*
 * What may be loaded: these keep no hash of a str or bytes, or of what is made
 * of them, other than in objects that are known here. Others that do, such as
 * functools' cache, collections' OrderedDict or datetime, come with modules
 * that are not listed.
 */
static const char *const audited[] = {
	"__main__", "_abc", "_codecs", "_collections_abc", "_distutils_hack",
	"_frozen_importlib", "_frozen_importlib_external", "_imp", "_io",
	"_signal", "_sitebuiltins", "_stat", "_thread", "_warnings",
	"_weakref", "abc", "atexit", "builtins", "codecs", "encodings",
	"encodings.aliases", "encodings.ascii", "encodings.latin_1",
	"encodings.utf_8", "errno", "gc", "genericpath", "io", "marshal",
	"os", "os.path", "posix", "posixpath", "rehash", "site",
	"sitecustomize", "stat", "sys", "time", "usercustomize", "zipimport",
	NULL,
};

static int refuse(const char *why, const char *what)
{
	PyErr_Format(PyExc_RuntimeError, "no new hash secret: %s%s%s", why,
		     what ? " " : "", what ? what : "");
	return -1;
}

/* --- vectors -------------------------------------------------------------- */

static int push(struct vector *v, const void *item)
{
	if (v->count == v->max)
		return refuse("too many objects", NULL);
	v->at[v->count++] = (uintptr_t)item;
	return 0;
}

/* Shell's sort: the C library's may allocate, over what was found dead. */
static void sort(struct vector *v)
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

static bool has(const struct vector *v, const void *item)
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

/* --- memory --------------------------------------------------------------- */

static bool in_memory(const struct plan *p, const void *pointer, size_t length)
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

static int find_memory(struct plan *p)
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

/* --- types ---------------------------------------------------------------- */

static int add_type(struct plan *p, const PyTypeObject *t, enum kind kind)
{
	if (p->types == MAX_TYPES)
		return refuse("too many types", NULL);
	p->type[p->types++] = (struct type){t, kind};
	p->filter[((uintptr_t)t >> 4) % FILTER] = 1;
	return 0;
}

/* Every type is once among the subclasses of its first base. */
static int find_types(struct plan *p, PyTypeObject *t)
{
	static const struct {
		PyTypeObject *base;
		enum kind kind;
	} root[] = {
		{&PyUnicode_Type, TEXT},       {&PyBytes_Type, BYTES},
		{&PyDict_Type, DICT},	       {&PySet_Type, SET},
		{&PyFrozenSet_Type, SET},      {&PySetIter_Type, SET_ITERATOR},
		{&PyMemoryView_Type, VIEW},    {&_PyWeakref_RefType, REFERENCE},
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

		if (PyType_Check(sub) &&
		    ((PyTypeObject *)sub)->tp_base == t &&
		    find_types(p, (PyTypeObject *)sub))
			return -1;
	}
	return 0;
}

static const struct type *type_of(const struct plan *p, uintptr_t word)
{
	for (unsigned i = 0; i < p->types; i++)
		if (word == (uintptr_t)p->type[i].type)
			return &p->type[i];
	return NULL;
}

/* --- texts ---------------------------------------------------------------- */

/* str and bytes cache it at the same place. */
static Py_hash_t *text_hash(PyObject *op)
{
	return &((PyASCIIObject *)op)->hash;
}

static Py_hash_t text_compute(PyObject *op)
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
		return length + (s->state.ascii ? sizeof(PyASCIIObject)
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

/* --- keys: does the secret change their hash? ------------------------------ */

/* Return: 1 yes, 0 no, -1 refused. */
static int depends(const struct plan *p, PyObject *key)
{
	hashfunc hash = Py_TYPE(key)->tp_hash;
	PyObject *item;
	Py_hash_t unused;
	Py_ssize_t at = 0;
	int r = 0;

	if (hash == PyUnicode_Type.tp_hash || hash == PyBytes_Type.tp_hash) {
		if (*text_hash(key) == -1 || has(&p->texts, key))
			return 1;
		return refuse("a key was not found in memory", NULL);
	}
	if (hash == PyBaseObject_Type.tp_hash || hash == PyLong_Type.tp_hash ||
	    hash == PyFloat_Type.tp_hash || hash == PyComplex_Type.tp_hash ||
	    hash == PyCFunction_Type.tp_hash)
		return 0;
	if (hash == PyTuple_Type.tp_hash) {
		for (; r >= 0 && at < PyTuple_GET_SIZE(key); at++)
			r |= depends(p, PyTuple_GET_ITEM(key, at));
		return r;
	}
	if (hash == PyFrozenSet_Type.tp_hash) {
		while (r >= 0 && _PySet_NextEntry(key, &at, &item, &unused))
			r |= depends(p, item);
		return r;
	}
	if (hash == _PyWeakref_RefType.tp_hash) {
		/* What is dead is found by identity, its hash stays. */
		item = PyWeakref_GET_OBJECT(key);
		if (item == Py_None || !depends(p, item))
			return 0;
	}
	return refuse("a key is of type", Py_TYPE(key)->tp_name);
}

/* A set is made anew from hashes of what is in it; the order in which sets
 * within sets would have to be done is not worked out. */
static bool holds_set(PyObject *key)
{
	if (PyTuple_Check(key))
		for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
			if (holds_set(PyTuple_GET_ITEM(key, i)))
				return true;
	return PyAnySet_Check(key);
}

/* --- dicts ---------------------------------------------------------------- */

static Py_ssize_t index_get(const PyDictKeysObject *k, size_t i)
{
	if (k->dk_log2_size < 8)
		return ((const int8_t *)k->dk_indices)[i];
	if (k->dk_log2_size < 16)
		return ((const int16_t *)k->dk_indices)[i];
	return ((const int32_t *)k->dk_indices)[i];
}

static void index_set(PyDictKeysObject *k, size_t i, Py_ssize_t ix)
{
	if (k->dk_log2_size < 8)
		((int8_t *)k->dk_indices)[i] = (int8_t)ix;
	else if (k->dk_log2_size < 16)
		((int16_t *)k->dk_indices)[i] = (int16_t)ix;
	else
		((int32_t *)k->dk_indices)[i] = (int32_t)ix;
}

/* Follows hash to the place of the index that holds ix, or to an empty one. */
static size_t index_find(const PyDictKeysObject *k, Py_hash_t hash,
			 Py_ssize_t ix)
{
	size_t mask = (size_t)DK_SIZE(k) - 1, perturb = (size_t)hash;
	size_t i = perturb & mask;
	Py_ssize_t found;

	while ((found = index_get(k, i)) != ix && found != DKIX_EMPTY) {
		perturb >>= PERTURB;
		i = mask & (i * 5 + perturb + 1);
	}
	return i;
}

static PyObject *entry_key(PyDictKeysObject *k, Py_ssize_t ix)
{
	return DK_IS_UNICODE(k) ? DK_UNICODE_ENTRIES(k)[ix].me_key
				: DK_ENTRIES(k)[ix].me_key;
}

static Py_hash_t entry_hash(PyDictKeysObject *k, Py_ssize_t ix)
{
	return DK_IS_UNICODE(k) ? *text_hash(DK_UNICODE_ENTRIES(k)[ix].me_key)
				: DK_ENTRIES(k)[ix].me_hash;
}

/* Is this the shape of a table of keys? */
static bool keys_fit(const struct plan *p, PyDictKeysObject *k)
{
	Py_ssize_t size, room;
	int width;

	if (!in_memory(p, k, sizeof(*k)) || k->dk_log2_size < 3 ||
	    k->dk_log2_size > 30 || k->dk_kind > DICT_KEYS_SPLIT)
		return false;
	width = k->dk_log2_size < 8 ? 0 : k->dk_log2_size < 16 ? 1 : 2;
	size = (Py_ssize_t)DK_SIZE(k);
	room = size * 2 / 3;
	return k->dk_log2_index_bytes == k->dk_log2_size + width &&
	       k->dk_usable >= 0 && k->dk_nentries >= 0 &&
	       k->dk_usable + k->dk_nentries <= room &&
	       in_memory(p, k,
			 sizeof(*k) + ((size_t)size << width) +
				 (size_t)room * (DK_IS_UNICODE(k) ? 16 : 24));
}

/* Return: 1 keys are to be indexed anew, 0 not, -1 refused. */
static int see_keys(const struct plan *p, PyDictKeysObject *k)
{
	int any = 0;

	if (!in_memory(p, k, sizeof(*k)))
		return refuse("a dict's keys are not in memory", NULL);
	if (!k->dk_nentries)
		return 0;
	if (!keys_fit(p, k))
		return refuse("a dict's keys have an unknown shape", NULL);
	for (Py_ssize_t ix = 0; ix < k->dk_nentries; ix++) {
		PyObject *key = entry_key(k, ix);
		int r;

		if (!key)
			continue;
		if (!in_memory(p, key, sizeof(*key)))
			return refuse("a dict's key is not in memory", NULL);
		if (index_get(k, index_find(k, entry_hash(k, ix), ix)) != ix)
			return refuse("a dict's key is not in its place", NULL);
		r = depends(p, key);
		if (r < 0)
			return -1;
		if (DK_IS_UNICODE(k) && !PyUnicode_CheckExact(key))
			return refuse("a key is no str", NULL);
		any |= r;
	}
	return any;
}

static void index_anew(PyDictKeysObject *k)
{
	memset(k->dk_indices, 0xff, (size_t)1 << k->dk_log2_index_bytes);
	for (Py_ssize_t ix = 0; ix < k->dk_nentries; ix++) {
		PyObject *key = entry_key(k, ix);

		if (!key)
			continue;
		if (!DK_IS_UNICODE(k) &&
		    Py_TYPE(key)->tp_hash != _PyWeakref_RefType.tp_hash)
			DK_ENTRIES(k)[ix].me_hash = PyObject_Hash(key);
		index_set(k, index_find(k, entry_hash(k, ix), DKIX_EMPTY), ix);
	}
}

/* --- sets ----------------------------------------------------------------- */

/* Follows hash to the entry of key, or to a free one. */
static setentry *set_find(PySetObject *so, Py_hash_t hash, const PyObject *key)
{
	size_t mask = (size_t)so->mask, perturb = (size_t)hash;
	size_t i = perturb & mask;

	for (;;) {
		size_t last = i + LINEAR_PROBES <= mask ? i + LINEAR_PROBES : i;

		for (size_t j = i; j <= last; j++)
			if (so->table[j].key == key || !so->table[j].key)
				return &so->table[j];
		perturb >>= PERTURB;
		i = (i * 5 + 1 + perturb) & mask;
	}
}

static int see_set(const struct plan *p, PySetObject *so)
{
	size_t size = (size_t)so->mask + 1;
	int any = 0;

	if (so->mask < 0 || size & (size_t)so->mask || so->fill > so->mask ||
	    so->used < 0 || so->used > so->fill || so->used > MAX_SPARE ||
	    !in_memory(p, so->table, size * sizeof(setentry)))
		return refuse("a set has an unknown shape", NULL);
	for (setentry *e = so->table; e < so->table + size; e++) {
		int r;

		if (!e->key || e->key == _PySet_Dummy)
			continue;
		if (set_find(so, e->hash, e->key) != e)
			return refuse("a set's key is not in its place", NULL);
		r = depends(p, e->key);
		if (r < 0)
			return -1;
		if (r && holds_set(e->key))
			return refuse("a set is in a set", NULL);
		any |= r;
	}
	return any;
}

static void set_anew(PySetObject *so, setentry *spare)
{
	Py_ssize_t count = 0;

	for (Py_ssize_t i = 0; i <= so->mask; i++) {
		setentry *e = &so->table[i];

		if (!e->key || e->key == _PySet_Dummy)
			continue;
		if (Py_TYPE(e->key)->tp_hash != _PyWeakref_RefType.tp_hash)
			e->hash = PyObject_Hash(e->key);
		spare[count++] = *e;
	}
	memset(so->table, 0, ((size_t)so->mask + 1) * sizeof(setentry));
	while (count--)
		*set_find(so, spare[count].hash, NULL) = spare[count];
	so->fill = so->used;
	so->finger = 0;
	if (so->hash != -1) {
		so->hash = -1;
		PyObject_Hash((PyObject *)so);
	}
}

/* --- the plan ------------------------------------------------------------- */

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
static int scan(struct plan *p)
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

static int check_collector(const struct plan *p)
{
	struct _gc_runtime_state *gc = &PyInterpreterState_Get()->gc;
	size_t known = 0;

	for (int i = 0; i <= NUM_GENERATIONS; i++) {
		PyGC_Head *head = i < NUM_GENERATIONS
					  ? &gc->generations[i].head
					  : &gc->permanent_generation.head;
		PyGC_Head *at = _PyGCHead_NEXT(head);

		for (; at != head; at = _PyGCHead_NEXT(at)) {
			PyObject *op = (PyObject *)(at + 1);
			const struct type *t =
				type_of(p, (uintptr_t)Py_TYPE(op));

			if (!t || (t->kind != DICT && t->kind != SET))
				continue;
			known++;
			if (!has(t->kind == DICT ? &p->dicts : &p->sets, op))
				return refuse("the collector knows another",
					      Py_TYPE(op)->tp_name);
		}
	}
	if (known != p->tracked)
		return refuse("the collector does not know all", NULL);
	return 0;
}

static int choose_sets(struct plan *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->sets.count; i++) {
		int r = see_set(p, (PySetObject *)p->sets.at[i]);

		if (r < 0)
			return -1;
		if (r)
			p->sets.at[kept++] = p->sets.at[i];
	}
	p->sets.count = kept;
	return 0;
}

static int see_dict(struct plan *p, PyDictObject *d)
{
	if (d->ma_used < 0 || !in_memory(p, d->ma_keys, sizeof(*d->ma_keys)) ||
	    d->ma_used > d->ma_keys->dk_nentries)
		return refuse("a dict has an unknown shape", NULL);
	if (d->ma_used && PyODict_Check(d))
		return refuse("there is an OrderedDict", NULL);
	return push(&p->keys, d->ma_keys);
}

/* Keys are chosen once, and their owners must be all that have been found. */
static int choose_keys(struct plan *p)
{
	struct vector *v = &p->keys;
	size_t kept = 0;

	for (size_t i = 0; i < p->dicts.count; i++)
		if (see_dict(p, (PyDictObject *)p->dicts.at[i]))
			return -1;
	sort(v);
	for (size_t i = 0, next; i < v->count; i = next) {
		PyDictKeysObject *k = (PyDictKeysObject *)v->at[i];
		int r = see_keys(p, k);

		if (r < 0)
			return -1;
		for (next = i; next < v->count && v->at[next] == v->at[i];)
			next++;
		/* The table of all that is empty is everyone's. */
		if (k->dk_log2_size && (Py_ssize_t)(next - i) != k->dk_refcnt)
			return refuse("not all dicts of some keys were found",
				      NULL);
		if (r)
			v->at[kept++] = (uintptr_t)k;
	}
	v->count = kept;
	return 0;
}

static int check_references(const struct plan *p)
{
	for (size_t i = 0; i < p->references.count; i++) {
		PyObject *op = (PyObject *)p->references.at[i];

		if (depends(p, op) < 0)
			return -1;
	}
	return 0;
}

/* One thread in one interpreter, and nothing loaded that is not known. */
static int check_quiet(void)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	PyObject *name, *module;
	Py_ssize_t at = 0;

	if (interp->next || PyInterpreterState_Next(interp) ||
	    interp != PyInterpreterState_Main() ||
	    PyThreadState_Next(PyInterpreterState_ThreadHead(interp)))
		return refuse("there are several threads or interpreters",
			      NULL);
	if (interp->gc.collecting)
		return refuse("the collector is at work", NULL);
	while (PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module)) {
		const char *text = PyUnicode_AsUTF8(name);
		const char *const *known = audited;

		while (text && *known && strcmp(text, *known))
			known++;
		if (!text || !*known)
			return refuse("unknown module", text);
	}
	return 0;
}

static int plan_make(struct plan *p)
{
	p->texts = (struct vector){p->texts_at, 0, MAX_TEXTS};
	p->dicts = (struct vector){p->dicts_at, 0, MAX_TABLES};
	p->sets = (struct vector){p->sets_at, 0, MAX_TABLES};
	p->keys = (struct vector){p->keys_at, 0, MAX_TABLES};
	p->references = (struct vector){p->references_at, 0, MAX_TABLES};
	return check_quiet() || find_memory(p) ||
			       find_types(p, &PyBaseObject_Type) || scan(p) ||
			       check_collector(p) || choose_sets(p) ||
			       choose_keys(p) || check_references(p)
		       ? -1
		       : 0;
}

static void plan_apply(struct plan *p, const void *secret)
{
	memcpy(&_Py_HashSecret, secret, SECRET);
	for (size_t i = 0; i < p->texts.count; i++) {
		PyObject *op = (PyObject *)p->texts.at[i];

		*text_hash(op) = text_compute(op);
	}
	for (size_t i = 0; i < p->sets.count; i++)
		set_anew((PySetObject *)p->sets.at[i], p->spare);
	for (size_t i = 0; i < p->keys.count; i++)
		index_anew((PyDictKeysObject *)p->keys.at[i]);
}

/* Pages that are not touched cost nothing. */
static struct plan *plan_new(void)
{
	struct plan *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);

	if (p != MAP_FAILED)
		return p;
	PyErr_SetFromErrno(PyExc_OSError);
	return NULL;
}

static void plan_free(struct plan *p)
{
	munmap(p, sizeof(*p));
}

/* --- the module ----------------------------------------------------------- */

static PyObject *rehash_rehash(PyObject *Py_UNUSED(self), PyObject *arg)
{
	struct plan *p;
	int r;

	if (!PyBytes_Check(arg) || PyBytes_GET_SIZE(arg) != SECRET)
		return PyErr_Format(PyExc_ValueError,
				    "the secret must be %d bytes", (int)SECRET);
	p = plan_new();
	if (!p)
		return NULL;
	r = plan_make(p);
	if (!r)
		plan_apply(p, PyBytes_AS_STRING(arg));
	plan_free(p);
	if (r)
		return NULL;
	Py_RETURN_NONE;
}

/* No signal is handled in Python here: nothing may run before the plan is
 * carried out. */
static int wait_readable(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = poll(&ready, 1, -1);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

static PyObject *rehash_wait(PyObject *Py_UNUSED(self), PyObject *args)
{
	unsigned char secret[SECRET];
	const char *said;
	Py_ssize_t length;
	struct plan *p;
	int fd, r;

	if (!PyArg_ParseTuple(args, "iy#", &fd, &said, &length))
		return NULL;
	p = plan_new();
	if (!p)
		return NULL;
	r = plan_make(p);
	if (!r && (write(fd, said, (size_t)length) != length ||
		   wait_readable(fd) ||
		   getrandom(secret, SECRET, 0) != (ssize_t)SECRET)) {
		PyErr_SetFromErrno(PyExc_OSError);
		r = -1;
	}
	if (!r)
		plan_apply(p, secret);
	plan_free(p);
	if (r)
		return NULL;
	Py_RETURN_NONE;
}

/* Every key of every dict, by the interpreter's own way to look it up. */
static int look_up_all(struct plan *p)
{
	for (size_t i = 0; i < p->dicts.count; i++) {
		PyObject *d = (PyObject *)p->dicts.at[i], *key, *value;
		Py_ssize_t at = 0;

		while (PyDict_Next(d, &at, &key, &value))
			if (PyDict_GetItemWithError(d, key) != value)
				return refuse("a dict does not find a key",
					      NULL);
	}
	return 0;
}

static PyObject *rehash_check(PyObject *Py_UNUSED(self),
			      PyObject *Py_UNUSED(arg))
{
	PyObject *counts = NULL;
	struct plan *p = plan_new();

	if (!p)
		return NULL;
	if (!plan_make(p) && !look_up_all(p))
		counts = Py_BuildValue(
			"{s:n,s:n,s:n,s:n,s:n}", "texts",
			(Py_ssize_t)p->texts.count, "stale",
			(Py_ssize_t)p->stale, "dicts",
			(Py_ssize_t)p->dicts.count, "keys",
			(Py_ssize_t)p->keys.count, "sets",
			(Py_ssize_t)p->sets.count);
	plan_free(p);
	return counts;
}

static PyMethodDef methods[] = {
	{"rehash", rehash_rehash, METH_O,
	 "rehash(secret): take these 24 bytes as the new hash secret"},
	{"wait", rehash_wait, METH_VARARGS,
	 "wait(fd, said): plan, write what is said to fd, wait until fd can be "
	 "read, then take a new secret from the kernel"},
	{"check", rehash_check, METH_NOARGS,
	 "check(): is every hash consistent with the secret? Counts what is "
	 "there"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "rehash", NULL, 0, methods,
	NULL,		       NULL,	 NULL, NULL,
};

PyMODINIT_FUNC PyInit_rehash(void);
PyMODINIT_FUNC PyInit_rehash(void)
{
	const PyHash_FuncDef *hash = PyHash_GetFuncDef();

	if (Py_Version != PY_VERSION_HEX ||
	    PyInterpreterState_Get()->modules != PyImport_GetModuleDict() ||
	    strcmp(hash->name, "siphash13") || hash->seed_bits != 128) {
		PyErr_SetString(PyExc_ImportError,
				"rehash is made for Python " PY_VERSION);
		return NULL;
	}
	return PyModule_Create(&definition);
}
