/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal's handler wakes a separate thread: V8 and libuv take locks, which
 * a handler must not do. The thread notifies the loop, waits, and terminates
 * what runs. The lock ensures that it terminates the step, and not code that
 * runs after it.
 */
#include "interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/*
 * How long to wait for the loop to turn, in ms. After the first time guarded code is
 * terminated. After the second, and each further one, any running code is terminated,
 * which may be Node's own.
 */
static const long wait_ms[] = {100, 400, 2000};
#define THREAD_STACK (128u << 10)

static struct {
	pthread_mutex_t lock;
	sem_t wanted; /* posted for each interrupt */
	/* posted when the loop has turned, or the step has ended */
	sem_t turned;
	bool armed;        /* a step runs */
	bool asked; /* the loop was notified and has not turned since */
	unsigned depth; /* running calls of guard() */
	atomic_bool ending; /* running code is being terminated */
	struct isolate *isolate;
	struct uv_handle_s *async; /* owned */
	napi_env env;
	napi_ref call;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_signal(int number)
{
	int kept = errno;

	(void)number;
	sem_post(&state.wanted);
	errno = kept;
}

/* Ends the termination; call it under the lock. */
static void calm(void)
{
	if (state.ending)
		cancel_terminate(state.isolate);
	state.ending = false;
}

static bool ask(void)
{
	bool asks;

	pthread_mutex_lock(&state.lock);
	asks = state.armed;
	if (asks) {
		state.asked = true;
		while (!sem_trywait(&state.turned))
			; /* drop posts of an earlier interrupt */
		uv_async_send(state.async);
	}
	pthread_mutex_unlock(&state.lock);
	return asks;
}

/* Terminates running code. Return: false: the step has ended. */
static bool end_what_runs(bool guarded_only)
{
	bool asked;

	pthread_mutex_lock(&state.lock);
	asked = state.armed && state.asked;
	if (asked && (state.depth || !guarded_only)) {
		state.ending = true;
		terminate(state.isolate);
	}
	pthread_mutex_unlock(&state.lock);
	return asked;
}

/* Waits. Return: whether the loop has turned. */
static bool wait_turn(long ms)
{
	struct timespec until;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	do
		r = sem_clockwait(&state.turned, CLOCK_MONOTONIC, &until);
	while (r && errno == EINTR);
	return !r;
}

static void *interrupt_thread(void *unused)
{
	for (;;) {
		size_t i = 0;

		if (sem_wait(&state.wanted) || !ask())
			continue;
		while (!wait_turn(wait_ms[i]) && end_what_runs(!i))
			i += i < 2;
	}
	return unused;
}

/* Takes a pending interrupt. Return: whether there was one. */
static bool take(bool armed)
{
	bool asked;

	pthread_mutex_lock(&state.lock);
	asked = state.asked;
	state.asked = false;
	state.armed = armed && state.armed;
	calm();
	sem_post(&state.turned);
	pthread_mutex_unlock(&state.lock);
	return asked;
}

static void on_turn(struct uv_handle_s *async)
{
	napi_handle_scope scope;
	napi_value self, call, value;

	(void)async;
	if (!take(true) || napi_open_handle_scope(state.env, &scope))
		return;
	if (!napi_get_undefined(state.env, &self) &&
	    !napi_get_reference_value(state.env, state.call, &call) &&
	    napi_call_function(state.env, self, call, 0, NULL, &value))
		napi_get_and_clear_last_exception(state.env, &value);
	napi_close_handle_scope(state.env, scope);
}

/*
 * V8 calls this after microtasks. The terminated code may be one of them;
 * otherwise V8 would also terminate the next function that is called, and so
 * Node itself.
 */
static void on_microtasks(struct isolate *isolate, void *unused)
{
	(void)isolate;
	(void)unused;
	if (!state.ending)
		return;
	pthread_mutex_lock(&state.lock);
	calm();
	pthread_mutex_unlock(&state.lock);
}

static bool start_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	if (sem_init(&state.wanted, 0, 0) || sem_init(&state.turned, 0, 0) ||
	    pthread_attr_init(&attr))
		return false;
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, interrupt_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return !r;
}

napi_value interrupt_watch(napi_env env, napi_callback_info info)
{
	napi_value argv[1];
	size_t argc = 1;
	struct uv_loop_s *loop;

	if (!current_isolate || !terminate || !cancel_terminate ||
	    !add_microtasks_completed ||
	    napi_get_cb_info(env, info, &argc, argv, NULL, NULL) || argc != 1 ||
	    napi_create_reference(env, argv[0], 1, &state.call) ||
	    napi_get_uv_event_loop(env, &loop))
		return NULL;
	state.env = env;
	state.isolate = current_isolate();
	state.async = calloc(1, uv_handle_size(UV_ASYNC));
	if (!state.async || uv_async_init(loop, state.async, on_turn) ||
	    !start_thread())
		return NULL;
	uv_unref(state.async);
	add_microtasks_completed(state.isolate, on_microtasks, NULL);
	return argv[0];
}

napi_value interrupt_arm(napi_env env, napi_callback_info info)
{
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = SA_RESTART};

	(void)env;
	(void)info;
	pthread_mutex_lock(&state.lock);
	state.armed = true;
	state.asked = false;
	pthread_mutex_unlock(&state.lock);
	sigaction(SIGINT, &action, NULL);
	return NULL;
}

napi_value interrupt_disarm(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	take(false);
	return NULL;
}

napi_value interrupt_take(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	napi_get_boolean(env, take(true), &value);
	return value;
}

napi_value interrupt_guard(napi_env env, napi_callback_info info)
{
	napi_value argv[1], self, value;
	size_t argc = 1;
	bool failed, ended;

	if (napi_get_cb_info(env, info, &argc, argv, &self, NULL) || argc != 1)
		return NULL;
	pthread_mutex_lock(&state.lock);
	state.depth++;
	pthread_mutex_unlock(&state.lock);
	failed = napi_call_function(env, self, argv[0], 0, NULL, &value);
	pthread_mutex_lock(&state.lock);
	state.depth--;
	ended = failed && state.ending;
	if (ended)
		state.asked = false; /* the interrupt is done: guarded() of living.js
				      * sees that its function has not finished */
	calm();
	pthread_mutex_unlock(&state.lock);
	if (ended) /* otherwise the exception is the program's own: keep it */
		napi_get_and_clear_last_exception(env, &value);
	return NULL;
}
