/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runners on Node cannot say in JavaScript:
 *
 *   quit(code)  _exit(). Node has no other end than exit(), which joins
 *               threads and runs the destructors of every library; under
 *               emulation that is longer than most programs.
 *   hold()      has the code's pages there and starts the holder; see
 *               populate.h and hold.h.
 *   grow()      a heap that is full grows: V8's limit follows the machine's
 *               memory, while the job's own is enforced on the process.
 *   turn()      one turn of the event loop, for heating it.
 *   begin()     process.uptime() begins now.
 *   block(fd)   its reads and writes wait, as they did before libuv had it.
 *
 * The functions of Node-API and libuv are declared here because their binary
 * interfaces are fixed, and the headers are not on every machine that builds
 * the guest.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "../hold.h"
#include "../populate.h"

#define UV_RUN_NOWAIT 2

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);
struct uv_loop_s;

int napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc,
		     napi_value *argv, napi_value *self, void **data);
int napi_get_value_int32(napi_env env, napi_value value, int32_t *result);
int napi_create_function(napi_env env, const char *name, size_t length,
			 napi_callback call, void *data, napi_value *result);
int napi_set_named_property(napi_env env, napi_value object, const char *name,
			    napi_value value);
int napi_get_uv_event_loop(napi_env env, struct uv_loop_s **loop);
int uv_run(struct uv_loop_s *loop, int mode);

/* V8's own, which may be called otherwise in another version. */
struct isolate;
typedef size_t (*near_limit)(void *data, size_t now, size_t first);
__attribute__((weak)) struct isolate *current_isolate(void)
	__asm__("_ZN2v87Isolate10GetCurrentEv");
__attribute__((weak)) void
add_near_limit(struct isolate *isolate, near_limit call, void *data)
	__asm__("_ZN2v87Isolate24AddNearHeapLimitCallbackEPFmPvmmES1_");
__attribute__((weak)) extern uint64_t
	start_time __asm__("_ZN4node11per_process15node_start_timeE");
uint64_t uv_hrtime(void);
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

/* A little at a time: with much room V8 would be slow to collect garbage. */
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
	(void)env;
	(void)info;
	if (&start_time)
		start_time = uv_hrtime();
	return NULL;
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
	return exports;
}
