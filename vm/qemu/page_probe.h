/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A throw-away machine, forked off a zygote to find out which pages a job
 * writes. It runs the smallest program with each of the zygote's runners. Then
 * the jailer tells the zygote which pages of the shared memory it has written.
 * Machines forked later copy these pages at once, before they have a job, and
 * need no heat of their own.
 *
 * Measured, for each machine: heat kept a processor busy for 100 ms, copying
 * these pages for 10 ms, and the first job is as fast. All functions run on the
 * loop.
 */
#ifndef VM_PAGE_PROBE_H
#define VM_PAGE_PROBE_H

#include "template.h"

struct page_probe;

/* Reports the probe's end; call page_probe_free(). taught: the zygote knows the pages.
 * Not called inside a call of this header. */
typedef void page_probe_done_fn(void *arg, bool taught);

/*
 * Starts a probe. zygote: a number for restore_fork(). Return: 0 or negative errno.
 */
int page_probe_new(const struct template_context *g, const struct template *t,
		   uint32_t zygote, uint32_t runners, page_probe_done_fn *done,
		   void *arg, struct page_probe **ret, struct err *err);
/* Kills the probe if it lives; done() is not called. s may be NULL. */
void page_probe_free(struct page_probe *s);

#endif
