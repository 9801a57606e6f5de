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
#ifndef VM_PAGE_PROBE_H
#define VM_PAGE_PROBE_H

#include "template.h"

struct page_probe;

/* It has ended and is to be freed. taught: the zygote knows. Never from within
 * a call of the owner's. */
typedef void page_probe_done_fn(void *arg, bool taught);

/* zygote: a number for restore_fork(). Return: 0 or negative errno. */
int page_probe_new(const struct template_context *g, const struct template *t,
		   uint32_t zygote, uint32_t runners, page_probe_done_fn *done,
		   void *arg, struct page_probe **ret, struct err *err);
/* Kills it if it lives; nothing is told any more. NULL is fine. */
void page_probe_free(struct page_probe *s);

#endif
