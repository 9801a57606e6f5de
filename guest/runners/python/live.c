/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flushes a running program's output from a thread of its own. The static `live` has the
 * thread, its timer and the flags that both threads read.
 *
 * live_thread() runs on that thread. flush_all() runs on it and, before a fork or a new
 * program, on the program's own threads; it needs the interpreter's lock. All others run
 * on the program's threads.
 */
#include "live.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "looks.h"

#define UNCOUNTED_YIELDS 10000
#define LIVE_MS 50
#define LIVE_SIGNAL (SIGRTMAX - 1) /* blocked in the thread, and sent to it only */
#define LIVE_STACK (256u << 10)

static struct {
	pthread_t thread;
	timer_t timer;
	bool there, timed; /* the thread exists; the thread's timer exists */
	atomic_bool ends; /* the thread must end */
	atomic_bool works; /* a program is running */
	/* held by the thread while it is in the interpreter */
	pthread_mutex_t flushes;
	pid_t process; /* process that has the thread */
	atomic_int writing; /* number of threads in watched_write() */
	atomic_int id; /* the kernel's id of the thread */
	PyObject *text, *buffered; /* types of streams that can be flushed */
	struct stat file[2]; /* standard output and error at the start */
} live = {.flushes = PTHREAD_MUTEX_INITIALIZER};

/*
 * Returns whether fd is another file than at the start. A program that
 * redirects its output for a while flushes it by itself; what it printed before
 * would go to the other file.
 */
static bool is_elsewhere(int fd)
{
	const struct stat *first = &live.file[fd - 1];
	struct stat now;

	return fstat(fd, &now) || now.st_dev != first->st_dev ||
	       now.st_ino != first->st_ino;
}

static PyObject *watched_write(PyObject *raw, PyObject *data)
{
	PyObject *type = (PyObject *)Py_TYPE(raw);
	PyObject *plain = PyObject_GetAttrString(type, "write"), *r;

	if (!plain)
		return NULL;
	live.writing++;
	r = PyObject_CallFunctionObjArgs(plain, raw, data, NULL);
	live.writing--;
	Py_DecRef(plain);
	return r;
}

static PyMethodDef write_method = {"write", watched_write, METH_O, NULL};

PyObject *live_watch(PyObject *Py_UNUSED(self), PyObject *raw)
{
	PyObject *write = PyCFunction_NewEx(&write_method, raw, NULL);
	int r = write ? PyObject_SetAttrString(raw, "write", write) : -1;

	Py_DecRef(write);
	return r ? NULL : Py_NewRef(Py_None);
}

/* Returns whether thing's innermost stream is watched, and all streams above
 * that are Python's own. */
static bool is_watched(PyObject *thing)
{
	PyObject *buffer, *raw = NULL, *write = NULL;
	bool r = false;

	if ((PyObject *)Py_TYPE(thing) != live.text)
		return false;
	buffer = PyObject_GetAttrString(thing, "buffer");
	if (buffer && (PyObject *)Py_TYPE(buffer) == live.buffered)
		raw = PyObject_GetAttrString(buffer, "raw");
	if (raw)
		write = PyObject_GetAttrString(raw, "write");
	if (write && Py_TYPE(write) == &PyCFunction_Type)
		r = PyCFunction_GetFunction(write) == watched_write;
	Py_DecRef(write);
	Py_DecRef(raw);
	Py_DecRef(buffer);
	return r;
}

/* Flushes one stream. If the output cannot be written it stays in the stream,
 * and the program's own flush reports the error. */
static void flush(const char *name, int fd)
{
	PyObject *stream = PySys_GetObject(name), *r;

	if (!stream || is_elsewhere(fd))
		return;
	Py_IncRef(stream);
	if (is_watched(stream) && !live.writing) {
		r = PyObject_CallMethod(stream, "flush", NULL);
		Py_DecRef(r);
	}
	PyErr_Clear();
	Py_DecRef(stream);
}

static void flush_all(void)
{
	static const char *const names[] = {"stdout", "__stdout__", "stderr"};

	for (int i = 0; i < 3; i++)
		flush(names[i], i < 2 ? STDOUT_FILENO : STDERR_FILENO);
}

/* Flushes both streams with Python's lock. The program may have ended while
 * this thread waited for that. */
static void flush_in_python(void)
{
	PyGILState_STATE state = PyGILState_Ensure();

	if (live.works && !live.ends)
		flush_all();
	PyGILState_Release(state);
}

static void *live_thread(void *unused)
{
	static const struct timespec while_works = {0, LIVE_MS * 1000000L};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, LIVE_SIGNAL);
	live.id = gettid();
	while (!live.ends) {
		if (live.works)
			sigtimedwait(&set, NULL, &while_works);
		else
			sigwaitinfo(&set, NULL);
		if (!live.works || live.ends)
			continue;
		pthread_mutex_lock(&live.flushes);
		if (live.works && !live.ends)
			flush_in_python();
		pthread_mutex_unlock(&live.flushes);
	}
	return unused;
}

static void make_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = LIVE_SIGNAL};

	event._sigev_un._tid = live.id;
	live.timed = !timer_create(CLOCK_MONOTONIC, &event, &live.timer);
}

/* Starts the thread. If that fails the output is flushed only when Python does
 * so. */
static void start(void)
{
	pthread_attr_t attr;
	sigset_t all, before;

	if (live.there || pthread_attr_init(&attr))
		return;
	live.ends = false;
	live.id = 0;
	live.process = getpid();
	sigfillset(&all);
	pthread_attr_setstacksize(&attr, LIVE_STACK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	live.there = !pthread_create(&live.thread, &attr, live_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	while (live.there && !live.id)
		sched_yield();
	if (live.there)
		make_timer();
}

/* Waits until the kernel does not count a thread that has ended: pthread_join() returns a
 * little earlier. Python counts the threads in /proc/self/stat, and would warn that the
 * program forks with two. */
static void wait_until_uncounted(pid_t id)
{
	for (int i = 0; i < UNCOUNTED_YIELDS && !tgkill(getpid(), id, 0); i++)
		sched_yield();
}

/* Flushes before a fork, so that the child does not write the same output once
 * more. */
static PyObject *before_fork(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	if (live.works)
		flush_all();
	if (live.there) {
		live.ends = true;
		pthread_kill(live.thread, LIVE_SIGNAL);
		Py_BEGIN_ALLOW_THREADS
		pthread_join(live.thread, NULL);
		wait_until_uncounted(live.id);
		Py_END_ALLOW_THREADS
		if (live.timed)
			timer_delete(live.timer);
		live.there = live.timed = false;
	}
	return Py_NewRef(Py_None);
}

static int start_again(void *unused)
{
	(void)unused;
	start();
	if (live.there && live.works)
		pthread_kill(live.thread, LIVE_SIGNAL);
	return 0;
}

/* Starts the thread later: Python counts the threads after this call. */
static PyObject *after_fork(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	Py_AddPendingCall(start_again, NULL);
	return Py_NewRef(Py_None);
}

static PyObject *in_child(PyObject *self, PyObject *arg)
{
	live.writing = 0; /* the child has one thread only */
	return after_fork(self, arg);
}

static PyMethodDef fork_methods[] = {
	{"before", before_fork, METH_NOARGS, NULL},
	{"after", after_fork, METH_NOARGS, NULL},
	{"in_child", in_child, METH_NOARGS, NULL},
};

/* Calls posix.register_at_fork(before=, after_in_parent=, after_in_child=). */
static int watch_forks(void)
{
	PyObject *posix = PyImport_ImportModule("posix");
	PyObject *ask = posix ? PyObject_GetAttrString(posix, "register_at_fork")
			      : NULL;
	PyObject *call[3] = {0};
	PyObject *none = PyTuple_New(0), *named = NULL, *r = NULL;

	for (int i = 0; i < 3; i++)
		call[i] = PyCFunction_NewEx(&fork_methods[i], NULL, NULL);
	if (call[0] && call[1] && call[2])
		named = Py_BuildValue("{sOsOsO}", "before", call[0],
				      "after_in_parent", call[1],
				      "after_in_child", call[2]);
	if (ask && none && named)
		r = PyObject_Call(ask, none, named);
	Py_DecRef(r);
	Py_DecRef(named);
	Py_DecRef(none);
	for (int i = 0; i < 3; i++)
		Py_DecRef(call[i]);
	Py_DecRef(ask);
	Py_DecRef(posix);
	return r ? 0 : -1;
}

/* Python's functions that start programs. Functions of this file replace them
 * and look like them. */
enum { SPAWN_SYSTEM, SPAWN_POSIX, SPAWN_POSIX_PATH, SPAWN_FORK_EXEC, SPAWN_MAX };
static struct {
	PyObject *plain, *own;
	PyMethodDef method;
} spawns[SPAWN_MAX];

/* Flushes before a program is started: earlier output must come first. */
static PyObject *spawn(int i, PyObject *args, PyObject *named)
{
	if (live.works)
		flush_all();
	return PyObject_Call(spawns[i].plain, args, named);
}

#define SPAWN(function, i)                                                    \
	static PyObject *function(PyObject *Py_UNUSED(module), PyObject *args, \
				  PyObject *named)                            \
	{                                                                     \
		return spawn(i, args, named);                                 \
	}
SPAWN(spawn_system, SPAWN_SYSTEM)
SPAWN(spawn_posix, SPAWN_POSIX)
SPAWN(spawn_posix_path, SPAWN_POSIX_PATH)
SPAWN(spawn_fork_exec, SPAWN_FORK_EXEC)

static PyObject *(*const functions[SPAWN_MAX])(PyObject *, PyObject *, PyObject *) = {
	spawn_system, spawn_posix, spawn_posix_path, spawn_fork_exec};

static const struct {
	const char *module, *name;
	int spawn;
} spawners[] = {
	{"posix", "system", SPAWN_SYSTEM},
	{"os", "system", SPAWN_SYSTEM},
	{"posix", "posix_spawn", SPAWN_POSIX},
	{"os", "posix_spawn", SPAWN_POSIX},
	{"posix", "posix_spawnp", SPAWN_POSIX_PATH},
	{"os", "posix_spawnp", SPAWN_POSIX_PATH},
	{"_posixsubprocess", "fork_exec", SPAWN_FORK_EXEC},
	/* used only if subprocess is imported already */
	{"subprocess", "_fork_exec", SPAWN_FORK_EXEC},
};

/* Replaces module.name. Both modules of one function get the same replacement;
 * the first call makes it. */
static int watch_spawn(PyObject *module, const char *place, const char *name, int i)
{
	PyObject *home = PyUnicode_FromString(place);

	if (home && !spawns[i].own) {
		spawns[i].plain = PyObject_GetAttrString(module, name);
		if (spawns[i].plain) {
			spawns[i].method = (PyMethodDef){
				name, (PyCFunction)(void (*)(void))functions[i],
				METH_VARARGS | METH_KEYWORDS,
				describe_function(spawns[i].plain, name)};
			spawns[i].own = PyCFunction_NewEx(&spawns[i].method, module,
							  home);
		}
	}
	Py_DecRef(home);
	return spawns[i].own ? PyObject_SetAttrString(module, name, spawns[i].own)
			     : -1;
}

static int watch_spawns(void)
{
	PyObject *modules = PyImport_GetModuleDict();

	for (size_t i = 0; i < sizeof(spawners) / sizeof(*spawners); i++) {
		const char *name = spawners[i].module;
		PyObject *module;
		int r;

		if (!strcmp(name, "subprocess") &&
		    !PyDict_GetItemString(modules, name))
			continue;
		module = PyImport_ImportModule(name);
		r = module ? watch_spawn(module, name, spawners[i].name,
					 spawners[i].spawn) : -1;
		Py_DecRef(module);
		if (r)
			return -1;
	}
	return 0;
}

PyObject *live_stay(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	PyObject *io = PyImport_ImportModule("_io");

	if (!io)
		return NULL;
	live.text = PyObject_GetAttrString(io, "TextIOWrapper");
	live.buffered = PyObject_GetAttrString(io, "BufferedWriter");
	Py_DecRef(io);
	if (!live.text || !live.buffered || watch_forks() ||
	    watch_spawns())
		return NULL;
	start();
	return Py_NewRef(Py_None);
}

PyObject *live_begin(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	static const struct itimerspec once = {
		.it_value = {0, LIVE_MS * 1000000L}};

	fstat(STDOUT_FILENO, &live.file[0]);
	fstat(STDERR_FILENO, &live.file[1]);
	live.works = true;
	if (live.timed)
		timer_settime(live.timer, 0, &once, NULL);
	return Py_NewRef(Py_None);
}

PyObject *live_rest(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arg))
{
	live.works = false;
	/* A child of fork() does not have the thread, though its copy of the
	 * mutex may be locked. */
	if (live.process != getpid())
		return Py_NewRef(Py_None);
	/* At the interpreter's end no other thread may be in it: Python would
	 * abort. The thread may be waiting for Python's lock. */
	if (pthread_mutex_trylock(&live.flushes)) {
		Py_BEGIN_ALLOW_THREADS
		pthread_mutex_lock(&live.flushes);
		Py_END_ALLOW_THREADS
	}
	pthread_mutex_unlock(&live.flushes);
	return Py_NewRef(Py_None);
}
