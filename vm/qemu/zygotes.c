/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a template gets a zygote, and replaces the current one by a hotter one. A
 * struct zygotes owns `current`, `fresh` and the page probe of `fresh`.
 *
 * The order for a fresh one: zygote_new(), on_ready(), page probe, on_scouted(), which makes
 * it the current one. The wait doubles after each failure; after six in a row the
 * template has no zygote any more. All functions run on the loop.
 */
#include "zygotes.h"

#include "layout/base/cleanup.h"
#include "layout/base/log.h"

#define RETRY_S 5 /* wait after an end; doubles with each one */
#define SPARED_S 60 /* wait after zygotes_give_up() */
/* rounds of heat; after one, TypeScript takes 3 times as long */
#define QUICK 2
#define THOROUGH 3
/*
 * The TypeScript compiler is a separate process with threads. In each forked
 * machine these must stop again: 300 ms for the first program, 70 ms after a
 * round of heat.
 */
#define NEEDS_HEAT (1u << WIRE_RUN_TYPESCRIPT)
#define ENDED_MAX 6 /* ends in a row after which the template gets no zygote */

static uint32_t rounds(const struct zygotes *z, bool thorough)
{
	return thorough && !z->context->host->options->quick_heat ? THOROUGH
								 : QUICK;
}

static void failed(struct zygotes *z, const char *why)
{
	uint64_t wait_s = RETRY_S << z->ended++;

	z->retry_ns = now_ns() + wait_s * NS_PER_S;
	log_warn("a zygote has ended (%s); machines are restored %s", why,
		 z->ended < ENDED_MAX ? "meanwhile" : "from now on");
}

static void on_gone(void *arg, struct zygote *one, const char *why)
{
	struct zygotes *z = arg;
	const struct backend_host *host = z->context->host;
	bool given_up = z->given_up;

	zygote_free(one);
	if (one == z->fresh) {
		z->fresh = NULL;
		page_probe_free(take_ptr(z->page_probe));
	} else {
		z->current = NULL;
	}
	z->given_up = given_up && (z->fresh || z->current);
	if (!given_up)
		failed(z, why);
	host->freed(host->arg);
}

/* Makes `fresh` the current zygote and ends the old one. Machines that were forked off the
 * old one live on without it. */
static void on_scouted(void *arg, bool taught)
{
	struct zygotes *z = arg;
	const struct backend_host *host = z->context->host;

	page_probe_free(take_ptr(z->page_probe));
	zygote_free(z->current);
	z->current = take_ptr(z->fresh);
	z->number = z->fresh_number;
	log_info("a zygote is ready after %.1f s: machines are forked off it",
		 (double)(now_ns() - zygote_began_ns(z->current)) / NS_PER_S);
	/* ask now, while no machine shares its memory: later the figure would be too low */
	zygote_ask_cost(z->current);
	z->hot = taught ? zygote_heat(z->current)->runners & ~NEEDS_HEAT : 0;
	host->prepared(host->arg);
}

static void on_ready(void *arg, struct zygote *one)
{
	struct zygotes *z = arg;
	struct err err;

	if (page_probe_new(z->context, z->t, zygote_id(one),
			   zygote_heat(one)->runners & ~NEEDS_HEAT, on_scouted, z,
			   &z->page_probe, &err) < 0) {
		log_info("machines are heated one by one: %s", err.text);
		on_scouted(z, false);
	}
}

static void on_cost(void *arg, uint64_t bytes)
{
	struct zygotes *z = arg;
	const struct backend_host *host = z->context->host;

	z->bytes = bytes;
	host->prepared(host->arg);
}

static const struct zygote_events events = {
	.ready = on_ready,
	.cost = on_cost,
	.gone = on_gone,
};

/* Returns whether the template can have a zygote. Only under TCG: with KVM a
 * part of the guest is in the kernel, and fork(2) does not copy that. */
static bool may_be(const struct zygotes *z)
{
	return !z->context->host->options->no_fork && z->walls->forks &&
	       template_dir(z->t) >= 0 &&
	       template_accel(z->t) == VM_ACCEL_TCG && z->ended < ENDED_MAX;
}

uint64_t zygotes_prepare(struct zygotes *z, uint32_t runners, bool thorough)
{
	struct zygote_heat heat = { .runners = runners,
				    .rounds = rounds(z, thorough) };
	const struct zygote_heat *has;
	struct err err;

	if (z->fresh || z->given_up || !may_be(z))
		return 0;
	if (now_ns() < z->retry_ns)
		return z->retry_ns;
	if (z->current) {
		has = zygote_heat(z->current);
		heat.runners |= has->runners;
		heat.rounds = MAX(heat.rounds, has->rounds);
		if (heat.runners == has->runners &&
		    heat.rounds == has->rounds &&
		    z->number == template_number(z->t))
			return 0;
	}
	z->fresh_number = template_number(z->t);
	if (zygote_new(z->context, z->t, &heat, &events, z, &z->fresh,
		       &err) == 0)
		return 0;
	failed(z, err.text);
	return z->retry_ns;
}

bool zygotes_give_up(struct zygotes *z)
{
	static const char why[] = "its memory is needed";

	if (z->given_up || (!z->current && !z->fresh))
		return z->given_up;
	z->given_up = true;
	z->retry_ns = now_ns() + SPARED_S * NS_PER_S;
	if (z->current)
		zygote_end(z->current, why);
	if (z->fresh)
		zygote_end(z->fresh, why);
	return true;
}

struct backend_prepared zygotes_prepared(const struct zygotes *z)
{
	bool ready = zygotes_id(z) != 0;

	return (struct backend_prepared){
		.possible = may_be(z),
		.ready = ready,
		.thorough =
			ready && zygote_heat(z->current)->rounds >= rounds(z, true),
		.making = z->fresh && !z->given_up,
		.bytes = z->bytes,
	};
}

uint32_t zygotes_id(const struct zygotes *z)
{
	return zygote_id(z->current);
}

void zygotes_praise(struct zygotes *z)
{
	z->ended = 0;
}

void zygotes_blame(struct zygotes *z, uint32_t id, const char *why)
{
	if (zygotes_id(z) == id)
		zygote_end(z->current, why);
}

void zygotes_init(struct zygotes *z, const struct template_context *context,
		  struct template *t, const struct walls *walls)
{
	*z = (struct zygotes){ .context = context, .t = t, .walls = walls };
}

void zygotes_drop(struct zygotes *z)
{
	page_probe_free(take_ptr(z->page_probe));
	zygote_free(take_ptr(z->fresh));
	zygote_free(take_ptr(z->current));
	zygotes_init(z, z->context, z->t, z->walls);
}
