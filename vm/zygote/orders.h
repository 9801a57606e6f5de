/* SPDX-License-Identifier: Apache-2.0 */
/* The zygote's own thread: it obeys the orders of the jailer (wire.h). */
#ifndef VM_ZYGOTE_ORDERS_H
#define VM_ZYGOTE_ORDERS_H

#include <pthread.h>

/* Starts the thread that waits for orders; call it before QEMU begins. create: the C
 * library's pthread_create(). Ends the process if it fails, or when the jailer has
 * ended. */
void orders_begin(int (*create)(pthread_t *, const pthread_attr_t *,
				void *(*)(void *), void *));

#endif
