/* SPDX-License-Identifier: Apache-2.0 */
/* Dicts and sets: are they as they should be, and anew. */
#include "rehash.h"

/* These are Objects/dictobject.c's and Objects/setobject.c's. */
#define PERTURB 5
#define LINEAR_PROBES 9

/* Return: 1 yes, 0 no, -1 refused. */
int depends(const struct plan *p, PyObject *key)
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
int see_keys(const struct plan *p, PyDictKeysObject *k)
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

void keys_anew(PyDictKeysObject *k)
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

int see_set(const struct plan *p, PySetObject *so)
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

void set_anew(PySetObject *so, setentry *spare)
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
