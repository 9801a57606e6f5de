/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine that is forked off a zygote for its sake only: it runs the least of
 * programs with each of the zygote's runners, and what it has written of their
 * common memory is told the zygote. The machines to come copy that at once,
 * before they have a job, and need no heat of their own.
 *
 * Measured: the heat kept a processor busy for 100 ms a machine, this for 10, and
 * the first job is as fast.
 */
#ifndef VM_SCOUT_H
#define VM_SCOUT_H

#include "template.h"

struct scout;

/* It has ended and is to be freed. taught: the zygote knows. Never from within
 * a call of the owner's. */
typedef void scout_done_fn(void *arg, bool taught);

/* zygote: a number for restore_fork(). Return: 0 or negative errno. */
int scout_new(const struct template_ground *g, const struct template *t,
	      uint32_t zygote, uint32_t runners, scout_done_fn *done,
	      void *arg, struct scout **ret, struct err *err);
/* Kills it if it lives; nothing is told any more. NULL is fine. */
void scout_free(struct scout *s);

#endif
