/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interrupt of a session's step: SIGINT, as by Ctrl-C. The event loop is told
 * first. If it does not turn, the JavaScript that runs is ended, which no program can
 * catch; guard() is where that stops, so that Node's own frames below, which count
 * timers and the like, are not ended with it. A program that listens for the signal
 * gets it from Node, and this file does not.
 *
 * In JavaScript:
 *   watch(call)  once, at the session's begin; call is called by the loop. Return:
 *                undefined, or true if there are interrupts.
 *   arm()        a step begins: its interrupts come here
 *   disarm()     a step ends: what has not come yet is forgotten
 *   take()       Return: has one come of which the loop was not told? It is, then.
 *   guard(call)  calls it; returns as well when it was interrupted
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
