/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All templates of a backend, each with its zygotes. One is made at a time. One
 * that is old serves on while its successor is made beside it; that gives way to
 * a template that a job waits for.
 */
#ifndef VM_TEMPLATES_H
#define VM_TEMPLATES_H

#include "layout/base/list.h"
#include "template.h"
#include "zygotes.h"

struct templates {
	struct template_context *context; /* borrowed */
	const struct walls *walls;      /* borrowed: around each machine */
	struct list all;                /* own_template.node */
	bool making;
};

/* Owned by its templates, until their end. */
struct own_template {
	struct list node;
	struct templates *in;
	struct template *t;    /* owned */
	bool wanted;           /* waits for its turn */
	bool renews;           /* it is ready, and being made anew */
	struct loop_timer age; /* to that */
	struct zygotes zygotes;
};

void templates_init(struct templates *ts, struct template_context *context,
		    const struct walls *walls);
void templates_free(struct templates *ts);
/* Return: NULL: there is none of this class yet. */
struct own_template *templates_find(const struct templates *ts,
				    const struct vm_class *cls);
/* These are the backend's (vm/backend.h), which says what they do. */
void templates_get(struct templates *ts, const struct vm_class *cls);
void templates_drop(struct templates *ts, const struct vm_class *cls,
		    const char *why);
uint64_t templates_prepare(struct templates *ts, const struct vm_class *cls,
			   uint32_t runners, bool thorough);
struct backend_prepared templates_prepared(const struct templates *ts,
					   const struct vm_class *cls);
bool templates_unprepare(struct templates *ts, const struct vm_class *cls);

#endif
