/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts a session's step by SIGINT, as Ctrl-C does. First the event loop
 * is notified. If it does not turn, V8 terminates the running JavaScript, which
 * no program can catch. guard() is where that stops, so that Node's own frames
 * below, which count timers and the like, are not terminated. If the program
 * listens for the signal, Node delivers it, and this file does not act.
 *
 * In JavaScript:
 *   watch(call)  once, at the session's start; the loop calls call. Return:
 *                undefined, or true if interrupts are possible.
 *   arm()        a step begins: interrupts are for it
 *   disarm()     a step ends: pending interrupts are dropped
 *   take()       Return: whether an interrupt is pending that the loop did not
 *                get; it is taken.
 *   guard(call)  calls it; returns also when it was interrupted
 */
#ifndef RUNNERS_NODE_INTERRUPT_H
#define RUNNERS_NODE_INTERRUPT_H

#include "napi.h"

napi_value interrupt_watch(napi_env env, napi_callback_info info);
napi_value interrupt_arm(napi_env env, napi_callback_info info);
napi_value interrupt_disarm(napi_env env, napi_callback_info info);
napi_value interrupt_take(napi_env env, napi_callback_info info);
napi_value interrupt_guard(napi_env env, napi_callback_info info);

#endif
