/* SPDX-License-Identifier: Apache-2.0 */
/* The zygote's own thread: it does what the jailer says (wire.h). */
#ifndef VM_ZYGOTE_ORDERS_H
#define VM_ZYGOTE_ORDERS_H

#include <pthread.h>

/* Before QEMU begins. create: the C library's pthread_create(). Ends the
 * process if it cannot, or when the jailer has gone. */
void orders_begin(int (*create)(pthread_t *, const pthread_attr_t *,
				void *(*)(void *), void *));

#endif
