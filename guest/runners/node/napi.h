/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that native.c and interrupt.c use of Node-API, libuv and V8. It is declared
 * here because the binary interfaces of the first two are fixed, and the headers are not
 * on every machine that builds the guest. V8's functions are weak: another version of V8
 * may give them other symbols, and then a pointer here is NULL.
 */
#ifndef RUNNERS_NODE_NAPI_H
#define RUNNERS_NODE_NAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UV_RUN_NOWAIT 2
#define UV_ASYNC 1

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_ref__ *napi_ref;
typedef struct napi_handle_scope__ *napi_handle_scope;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);
struct uv_loop_s;
struct uv_handle_s; /* a pointer to it also stands for structs that begin with one */

int napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc,
		     napi_value *argv, napi_value *self, void **data);
int napi_get_value_int32(napi_env env, napi_value value, int32_t *result);
int napi_create_int32(napi_env env, int32_t value, napi_value *result);
int napi_get_value_string_utf8(napi_env env, napi_value value, char *text,
			       size_t room, size_t *length);
int napi_get_boolean(napi_env env, bool value, napi_value *result);
int napi_get_undefined(napi_env env, napi_value *result);
int napi_create_function(napi_env env, const char *name, size_t length,
			 napi_callback call, void *data, napi_value *result);
int napi_call_function(napi_env env, napi_value self, napi_value function,
		       size_t argc, const napi_value *argv, napi_value *result);
int napi_get_and_clear_last_exception(napi_env env, napi_value *result);
int napi_set_named_property(napi_env env, napi_value object, const char *name,
			    napi_value value);
int napi_create_reference(napi_env env, napi_value value, uint32_t count,
			  napi_ref *result);
int napi_get_reference_value(napi_env env, napi_ref ref, napi_value *result);
int napi_open_handle_scope(napi_env env, napi_handle_scope *result);
int napi_close_handle_scope(napi_env env, napi_handle_scope scope);
int napi_get_uv_event_loop(napi_env env, struct uv_loop_s **loop);

int uv_run(struct uv_loop_s *loop, int mode);
uint64_t uv_hrtime(void);
size_t uv_handle_size(int type);
int uv_async_init(struct uv_loop_s *loop, struct uv_handle_s *async,
		  void (*call)(struct uv_handle_s *async));
int uv_async_send(struct uv_handle_s *async);
void uv_unref(struct uv_handle_s *handle);

struct isolate;
typedef void (*microtasks_completed)(struct isolate *isolate, void *data);
typedef size_t (*near_limit)(void *data, size_t now, size_t first);
__attribute__((weak)) struct isolate *current_isolate(void)
	__asm__("_ZN2v87Isolate10GetCurrentEv");
__attribute__((weak)) void
add_near_limit(struct isolate *isolate, near_limit call, void *data)
	__asm__("_ZN2v87Isolate24AddNearHeapLimitCallbackEPFmPvmmES1_");
__attribute__((weak)) void terminate(struct isolate *isolate)
	__asm__("_ZN2v87Isolate18TerminateExecutionEv");
__attribute__((weak)) void cancel_terminate(struct isolate *isolate)
	__asm__("_ZN2v87Isolate24CancelTerminateExecutionEv");
__attribute__((weak)) void
add_microtasks_completed(struct isolate *isolate, microtasks_completed call,
			 void *data)
	__asm__("_ZN2v87Isolate30AddMicrotasksCompletedCallbackEPFvPS0_PvES2_");

#endif
