/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All templates of a backend, each with its zygotes. Only one is made at a
 * time. An old template is used on while its successor is made; that renewal
 * stops when a job waits for another template. All functions run on the loop.
 */
#ifndef VM_TEMPLATES_H
#define VM_TEMPLATES_H

#include "layout/base/list.h"
#include "template.h"
#include "zygotes.h"

struct templates {
	struct template_context *context; /* borrowed */
	const struct walls *walls; /* borrowed: the walls around each machine */
	struct list all;                /* list of struct own_template, by node */
	bool making;
};

/* One template and its zygotes; owned by struct templates. */
struct own_template {
	struct list node;
	struct templates *in;
	struct template *t;    /* owned */
	bool wanted; /* must be made, as soon as the one that is being made now is ready */
	bool renews; /* ready, and its successor is being made */
	struct loop_timer age; /* time of the next renewal */
	struct zygotes zygotes;
};

void templates_init(struct templates *ts, struct template_context *context,
		    const struct walls *walls);
void templates_free(struct templates *ts);
/* Finds the template of the class; NULL: there is none yet. */
struct own_template *templates_find(const struct templates *ts,
				    const struct vm_class *cls);
/* Functions of the backend's table; see vm/backend.h. */
void templates_get(struct templates *ts, const struct vm_class *cls);
void templates_drop(struct templates *ts, const struct vm_class *cls,
		    const char *why);
uint64_t templates_prepare(struct templates *ts, const struct vm_class *cls,
			   uint32_t runners, bool thorough);
struct backend_prepared templates_prepared(const struct templates *ts,
					   const struct vm_class *cls);
bool templates_unprepare(struct templates *ts, const struct vm_class *cls);

#endif
