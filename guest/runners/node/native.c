/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the runners on Node need and JavaScript does not have:
 *
 *   quit(code)  _exit(). Node has no other end than exit(), which joins
 *               threads and runs the destructors of every library; under
 *               emulation that is longer than most programs.
 *   hold()      loads the pages of code into memory and starts the holder; see
 *               populate.h and hold.h.
 *   grow()      lets the heap grow beyond V8's limit, which V8 derives from the
 *               machine's memory. The control group enforces the job's limit.
 *   turn()      runs one turn of the event loop, to heat it.
 *   begin()     the program's clocks begin now: process.uptime(), performance.now()
 *               and all that count with it, also in threads that begin later.
 *   block(fd)   makes fd blocking again, after libuv has made it nonblocking.
 *   place(fd, file, flags)  opens a file as that descriptor. Return: fd; anything else
 *               is an error.
 *   watch(), arm(), disarm(), take(), guard()   see interrupt.h.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "../hold.h"
#include "../populate.h"
#include "interrupt.h"

__attribute__((weak)) extern uint64_t
	start_time __asm__("_ZN4node11per_process15node_start_timeE"),
	process_start __asm__("_ZN4node11performance25performance_process_startE"),
	v8_start __asm__("_ZN4node11performance20performance_v8_startE");
/* microseconds since 1970 */
__attribute__((weak)) extern double process_start_timestamp
	__asm__("_ZN4node11performance35performance_process_start_timestampE");
napi_value napi_register_module_v1(napi_env env, napi_value exports);

static napi_value quit(napi_env env, napi_callback_info info)
{
	napi_value argv[1];
	size_t argc = 1;
	int32_t code = 0;

	if (!napi_get_cb_info(env, info, &argc, argv, NULL, NULL) && argc == 1)
		napi_get_value_int32(env, argv[0], &code);
	_exit(code);
}

static napi_value turn(napi_env env, napi_callback_info info)
{
	struct uv_loop_s *loop;

	(void)info;
	if (!napi_get_uv_event_loop(env, &loop))
		uv_run(loop, UV_RUN_NOWAIT);
	return NULL;
}

static napi_value hold(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	populate_files(1);
	hold_memory(CLONE_PARENT);
	return NULL;
}

/* Raises V8's limit a little at a time: with much space V8 would be slow to
 * collect garbage. */
static size_t grow_heap(void *data, size_t now, size_t first)
{
	(void)data;
	(void)first;
	return now + now / 8;
}

static napi_value grow(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	if (current_isolate && add_near_limit)
		add_near_limit(current_isolate(), grow_heap, NULL);
	return NULL;
}

static napi_value block(napi_env env, napi_callback_info info)
{
	napi_value argv[1];
	size_t argc = 1;
	int32_t fd;
	int flags;

	if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) || argc != 1 ||
	    napi_get_value_int32(env, argv[0], &fd))
		return NULL;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return NULL;
}

static napi_value begin(napi_env env, napi_callback_info info)
{
	uint64_t *const starts[] = {&start_time, &process_start, &v8_start};
	uint64_t now = uv_hrtime();
	struct timespec day;

	(void)env;
	(void)info;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (starts[i])
			*starts[i] = now;
	if (&process_start_timestamp && !clock_gettime(CLOCK_REALTIME, &day))
		process_start_timestamp = (double)day.tv_sec * 1e6 +
					  (double)day.tv_nsec / 1e3;
	return NULL;
}

#define FILE_ROOM 256

static napi_value place(napi_env env, napi_callback_info info)
{
	napi_value argv[3], value = NULL;
	size_t argc = 3;
	int32_t fd, flags;
	char file[FILE_ROOM];
	int opened, placed = -1;

	if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) || argc != 3 ||
	    napi_get_value_int32(env, argv[0], &fd) ||
	    napi_get_value_string_utf8(env, argv[1], file, sizeof(file), NULL) ||
	    napi_get_value_int32(env, argv[2], &flags))
		return NULL;
	opened = open(file, flags | O_CLOEXEC);
	if (opened == fd) {
		placed = fd;
	} else if (opened >= 0) {
		placed = dup2(opened, fd);
		close(opened);
	}
	napi_create_int32(env, placed, &value);
	return value;
}

static void add(napi_env env, napi_value exports, const char *name,
		napi_callback call)
{
	napi_value function;

	if (!napi_create_function(env, name, SIZE_MAX, call, NULL, &function))
		napi_set_named_property(env, exports, name, function);
}

__attribute__((visibility("default"))) napi_value
napi_register_module_v1(napi_env env, napi_value exports)
{
	add(env, exports, "quit", quit);
	add(env, exports, "hold", hold);
	add(env, exports, "grow", grow);
	add(env, exports, "turn", turn);
	add(env, exports, "block", block);
	add(env, exports, "begin", begin);
	add(env, exports, "place", place);
	add(env, exports, "watch", interrupt_watch);
	add(env, exports, "arm", interrupt_arm);
	add(env, exports, "disarm", interrupt_disarm);
	add(env, exports, "take", interrupt_take);
	add(env, exports, "guard", interrupt_guard);
	return exports;
}
