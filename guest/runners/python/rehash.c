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
#include "rehash.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * What may be loaded: these keep no hash of a str or bytes, or of what is made
 * of them, other than in objects that are known here. Others that do, such as
 * functools' cache, collections' OrderedDict or datetime, come with modules
 * that are not listed.
 */
/* clang-format off */
static const char *const audited[] = {
	"__main__", "_abc", "_codecs", "_collections_abc", "_distutils_hack",
	"_frozen_importlib", "_frozen_importlib_external", "_imp", "_io",
	"_signal", "_sitebuiltins", "_stat", "_thread", "_warnings",
	"_weakref", "abc", "atexit", "builtins", "codecs", "encodings",
	"encodings.aliases", "encodings.ascii", "encodings.latin_1",
	"encodings.utf_8", "errno", "faulthandler", "gc", "genericpath", "io",
	"marshal", "os", "os.path", "posix", "posixpath", "pwd", "rehash",
	"site", "sitecustomize", "stat", "sys", "time", "usercustomize",
	"zipimport", NULL,
};
/* clang-format on */

int refuse(const char *why, const char *what)
{
	PyErr_Format(PyExc_RuntimeError, "no new hash secret: %s%s%s", why,
		     what ? " " : "", what ? what : "");
	return -1;
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
		keys_anew((PyDictKeysObject *)p->keys.at[i]);
}

/* Pages that are not touched cost nothing. */
static struct plan *plan_new(void)
{
	struct plan *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p != MAP_FAILED)
		return p;
	PyErr_SetFromErrno(PyExc_OSError);
	return NULL;
}

static void plan_free(struct plan *p)
{
	munmap(p, sizeof(*p));
}

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
	return Py_NewRef(Py_None);
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
	if (!r &&
	    (write(fd, said, (size_t)length) != length || wait_readable(fd) ||
	     getrandom(secret, SECRET, 0) != (ssize_t)SECRET)) {
		PyErr_SetFromErrno(PyExc_OSError);
		r = -1;
	}
	if (!r)
		plan_apply(p, secret);
	plan_free(p);
	if (r)
		return NULL;
	return Py_NewRef(Py_None);
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
		counts = Py_BuildValue("{s:n,s:n,s:n,s:n,s:n}", "texts",
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
	{"stay", rehash_stay, METH_NOARGS,
	 "stay(): make ready what each clone would have to; once"},
	{"leave", rehash_leave, METH_NOARGS,
	 "leave(): the interpreter's end, which has begun, is to be shorter"},
	{"check", rehash_check, METH_NOARGS,
	 "check(): is every hash consistent with the secret? Counts what is "
	 "there"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	"rehash",
	NULL,
	0,
	methods,
	NULL,
	NULL,
	NULL,
	NULL,
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
