/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the pool's demand on the disk and reads it at the start of a server
 * (pool_saved.h). All functions run on the loop, except on_work(), which a
 * worker thread runs and which calls write_text() there.
 */
#include "pool_saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demand_text.h"
#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "pool_class.h"
#include "vm/qemu/template_store.h"

#define FILE_NAME "demand"
#define EVERY_S 60
#define ONE_JOB 0.5 /* a class with less demand gets no line */

/* --- reading ---------------------------------------------------------------- */

/* Returns the class of a row; NULL: its environment does not exist any more. */
static struct pool_class *class_of_row(struct machines *vm,
				       const struct demand_row *row)
{
	struct vm_class cls = {
		.memory_mib = row->memory_mib, .cpus = row->cpus,
	};
	struct pool_class *c;

	if (strcmp(row->environment, ENVIRONMENT_BASE) != 0 &&
	    (!vm->watch.environment ||
	     vm->watch.environment(vm->watch.arg, row->environment,
				   &cls.environment) < 0))
		return NULL;
	c = class_get(vm, &cls);
	environment_unref(cls.environment);
	return c;
}

/* Adds the demand of the rows. The template of a class whose share of the pool is one
 * machine or more is made before a lease asks for it. */
static void take_rows(struct machines *vm, const struct demand_row *rows,
		      unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += demand_total(&rows[i].demand);
	if (sum < ONE_JOB)
		return;
	vm->usual->demand = (struct demand){ 0 };
	for (unsigned i = 0; i < count; i++) {
		struct pool_class *c = class_of_row(vm, &rows[i]);

		if (!c)
			continue;
		c->demand = rows[i].demand;
		c->begins = demand_total(&c->demand) * vm->options.pool >= sum;
	}
}

void pool_saved_open(struct machines *vm)
{
	struct demand_row rows[DEMAND_ROWS];
	char text[DEMAND_TEXT_MAX];
	unsigned count;
	int r;

	if (!vm->options.pool)
		return;
	r = template_store_text_get(vm->options.cache_dir, FILE_NAME, text, sizeof(text));
	if (r == 0)
		r = demand_text_parse(text, rows, &count);
	if (r == 0)
		take_rows(vm, rows, count);
	else if (r != -ENOENT)
		log_warn("the demand of the server before, %s/templates/"
			 FILE_NAME ", is damaged or cannot be read (%s): it is "
			 "ignored, and written anew", vm->options.cache_dir,
			 strerror(-r));
}

/* --- writing ---------------------------------------------------------------- */

static int by_demand(const void *a, const void *b)
{
	double x = demand_total(&((const struct demand_row *)a)->demand);
	double y = demand_total(&((const struct demand_row *)b)->demand);

	return (x < y) - (x > y);
}

static void print_name(const struct environment *e, char ret[DEMAND_NAME_MAX])
{
	if (e)
		snprintf(ret, DEMAND_NAME_MAX, "%s@%s", e->name, e->id);
	else
		snprintf(ret, DEMAND_NAME_MAX, "%s", ENVIRONMENT_BASE);
}

/* Prints the classes with the most demand. Return: owned by the caller, NULL
 * without memory. */
static char *print(const struct machines *vm)
{
	struct demand_row rows[PLAN_ROWS] = { 0 };
	struct buf text = { 0 };
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->classes) {
		const struct pool_class *c =
			list_entry(pos, struct pool_class, node);

		if (n == PLAN_ROWS || demand_total(&c->demand) < ONE_JOB ||
		    (c->cls.environment && !c->cls.environment->name[0]))
			continue;
		rows[n] = (struct demand_row){
			.memory_mib = c->cls.memory_mib, .cpus = c->cls.cpus,
			.demand = c->demand,
		};
		print_name(c->cls.environment, rows[n++].environment);
	}
	qsort(rows, n, sizeof(*rows), by_demand);
	demand_text_print(rows, MIN(n, DEMAND_ROWS), &text);
	buf_add(&text, "", 1);
	if (!text.failed)
		return text.data;
	buf_done(&text);
	return NULL;
}

static void write_text(const struct pool_saved *k)
{
	int r = k->text ? template_store_text_put(k->cache_dir, FILE_NAME, k->text) :
			  -ENOMEM;

	if (r < 0)
		log_info("the demand for machines is not kept: %s",
			 strerror(-r));
}

static void on_work(void *arg, const atomic_bool *cancel)
{
	(void)cancel;
	write_text(arg);
}

static void on_done(void *arg)
{
	(void)arg;
}

static void renew_text(struct machines *vm)
{
	free(vm->saved.text);
	vm->saved.text = print(vm);
	vm->saved.cache_dir = vm->options.cache_dir;
}

void pool_saved_note(struct machines *vm)
{
	struct pool_saved *k = &vm->saved;
	uint64_t now = now_ns();

	if (!vm->options.pool || k->worker.busy)
		return;
	if (!k->due_ns) /* first lease: wait a minute, until the counts mean something */
		k->due_ns = now + EVERY_S * NS_PER_S;
	if (now < k->due_ns)
		return;
	k->due_ns = now + EVERY_S * NS_PER_S;
	renew_text(vm);
	k->worker.loop = vm->loop;
	k->worker.work = on_work;
	k->worker.done = on_done;
	k->worker.arg = k;
	worker_start(&k->worker);
}

void pool_saved_close(struct machines *vm)
{
	struct pool_saved *k = &vm->saved;

	worker_stop(&k->worker);
	if (k->due_ns) { /* set: a lease has come */
		renew_text(vm);
		write_text(k);
	}
	free(take_ptr(k->text));
}
