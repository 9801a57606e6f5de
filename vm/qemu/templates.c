/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns all templates of a backend, starts their making one after another, and renews old
 * ones by a timer.
 *
 * `making` is true while any template boots. next_template() runs after each end: a
 * template that a job waits for goes first, and a renewal is stopped for it. All
 * functions run on the loop.
 */
#include "templates.h"

#include <stdlib.h>

#include "layout/base/log.h"
#include "layout/base/num.h"

#define RENEW_S 10 /* seconds from the server's start to the first renewal */
#define RENEW_AGAIN_S 60 /* seconds to wait if another template is being made */
#define RENEW_LATER_S 3600 /* seconds to wait after a renewal has failed */

static const struct backend_host *host_of(const struct templates *ts)
{
	return ts->context->host;
}

void templates_init(struct templates *ts, struct template_context *context,
		    const struct walls *walls)
{
	*ts = (struct templates){ .context = context, .walls = walls };
	list_init(&ts->all);
}

void templates_free(struct templates *ts)
{
	list_for_each(pos, tmp, &ts->all) {
		struct own_template *own =
			list_entry(pos, struct own_template, node);

		zygotes_drop(&own->zygotes);
		loop_timer_del(&own->age);
		template_free(own->t);
		free(own);
	}
}

/* --- renewal ------------------------------------------------------------ */

static void renew_in(struct own_template *own, uint64_t seconds)
{
	loop_timer_set(host_of(own->in)->loop, &own->age, seconds * NS_PER_S);
}

/* Sets the timer to the time when the template will be old. */
static void watch_age(struct own_template *own)
{
	uint64_t due = 0, now = now_ns();

	if (host_of(own->in)->options->no_renewal)
		return;
	if (template_is_old(own->t, &due))
		renew_in(own, RENEW_S);
	else
		renew_in(own, (due - MIN(now, due)) / NS_PER_S + 1);
}

static void on_age(struct loop_timer *timer)
{
	struct own_template *own = container_of(timer, struct own_template,
						age);
	uint64_t due = 0;

	if (template_dir(own->t) < 0)
		return; /* the template will be made again in any case */
	if (!template_is_old(own->t, &due)) {
		watch_age(own);
	} else if (own->in->making) {
		renew_in(own, RENEW_AGAIN_S);
	} else {
		own->in->making = own->renews = true;
		template_renew(own->t);
	}
}

static void on_renewed(struct own_template *own, const struct err *err)
{
	const struct backend_host *host = host_of(own->in);

	own->renews = false;
	if (err) {
		log_warn("the template serves on, its successor cannot be made: "
			 "%s", err->text);
		renew_in(own, RENEW_LATER_S);
	} else {
		log_info("the template was made anew");
		watch_age(own);
		host->renewed(host->arg);
	}
}

/* Stops a renewal if a job waits for another template. */
static void give_way(struct templates *ts)
{
	bool any = false;

	list_for_each(pos, tmp, &ts->all)
		any |= list_entry(pos, struct own_template, node)->wanted;
	list_for_each(pos2, tmp2, &ts->all) {
		struct own_template *own =
			list_entry(pos2, struct own_template, node);

		if (!any || !own->renews || !template_renew_stop(own->t))
			continue;
		own->renews = ts->making = false;
		renew_in(own, RENEW_AGAIN_S);
	}
}

static void next_template(struct templates *ts)
{
	give_way(ts);
	list_for_each(pos, tmp, &ts->all) {
		struct own_template *own =
			list_entry(pos, struct own_template, node);

		if (ts->making || !own->wanted)
			continue;
		own->wanted = false;
		ts->making = true;
		template_make(own->t);
	}
}

static void on_template(void *arg, struct template *t, const struct err *err)
{
	struct own_template *own = arg;
	const struct backend_host *host = host_of(own->in);
	struct backend_template ready;

	own->in->making = false;
	if (own->renews) {
		on_renewed(own, err);
		next_template(own->in);
		return;
	}
	if (!err)
		watch_age(own);
	template_describe(t, &ready);
	host->template_done(host->arg, template_class(t), err ? NULL : &ready,
			    err);
	next_template(own->in);
}

struct own_template *templates_find(const struct templates *ts,
				    const struct vm_class *cls)
{
	list_for_each(pos, tmp, &ts->all) {
		struct own_template *own =
			list_entry(pos, struct own_template, node);

		if (vm_class_shares(template_class(own->t), cls))
			return own;
	}
	return NULL;
}

static struct own_template *find_or_add(struct templates *ts,
					const struct vm_class *cls)
{
	struct own_template *own = templates_find(ts, cls);

	if (own)
		return own;
	own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	own->in = ts;
	own->age.fn = on_age;
	own->t = template_new(ts->context, cls, on_template, own);
	if (!own->t) {
		free(own);
		return NULL;
	}
	zygotes_init(&own->zygotes, ts->context, own->t, ts->walls);
	list_add_tail(&ts->all, &own->node);
	return own;
}

void templates_get(struct templates *ts, const struct vm_class *cls)
{
	struct own_template *own = find_or_add(ts, cls);
	const struct backend_host *host = host_of(ts);
	struct err err;

	if (!own) {
		err_sys(&err, -ENOMEM, "a template");
		host->template_done(host->arg, cls, NULL, &err);
		return;
	}
	own->wanted = true;
	next_template(own->in);
}

void templates_drop(struct templates *ts, const struct vm_class *cls,
		    const char *why)
{
	struct own_template *own = templates_find(ts, cls);

	if (!own)
		return;
	zygotes_drop(&own->zygotes);
	loop_timer_del(&own->age);
	if (own->renews && template_renew_stop(own->t))
		own->renews = own->in->making = false;
	template_drop(own->t, why);
}

uint64_t templates_prepare(struct templates *ts, const struct vm_class *cls,
			   uint32_t runners, bool thorough)
{
	struct own_template *own = templates_find(ts, cls);

	return own ? zygotes_prepare(&own->zygotes, runners, thorough) : 0;
}

struct backend_prepared templates_prepared(const struct templates *ts,
					   const struct vm_class *cls)
{
	struct own_template *own = templates_find(ts, cls);

	return own ? zygotes_prepared(&own->zygotes)
		   : (struct backend_prepared){0};
}

bool templates_unprepare(struct templates *ts, const struct vm_class *cls)
{
	struct own_template *own = templates_find(ts, cls);

	return own && zygotes_give_up(&own->zygotes);
}
