/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template's zygote: a machine that was restored, heated and stopped, so that
 * other machines can be forked off its process. They find the guest's memory as
 * the heat has left it, and all code that QEMU has translated. Under emulation
 * that is most of what a machine costs. Both are shared until one of them
 * writes. A zygote has no secret: its forked machines get OWN
 * (guest/wire/wire.h).
 *
 * A zygote only saves time: without one, machines are restored from the
 * template. All functions run on the loop.
 */
#ifndef VM_ZYGOTE_H
#define VM_ZYGOTE_H

#include "template.h"

struct zygote;

/* Events of a zygote. None is called inside a call of this header. */
struct zygote_events {
	/* Machines can be forked off it. */
	void (*ready)(void *arg, struct zygote *z);
	/* The answer to zygote_ask_cost(): bytes of memory that it shares with
	 * no other process. 0: this host does not report it. */
	void (*cost)(void *arg, uint64_t bytes);
	/* The zygote has ended, in whatever state; call zygote_free(). Called once. */
	void (*gone)(void *arg, struct zygote *z, const char *why);
};

/* The heat of a zygote: for which runners (1 << enum wire_runner), after how many
 * rounds. */
struct zygote_heat {
	uint32_t runners;
	unsigned rounds; /* 2: what programs do; 3: also what scripts start */
};

/*
 * Starts a zygote; ready() or gone() follows within seconds. t is borrowed during the
 * call. Return: 0 or negative errno.
 */
int zygote_new(const struct template_context *context, const struct template *t,
	       const struct zygote_heat *heat, const struct zygote_events *ev,
	       void *arg, struct zygote **ret, struct err *err);
/* Measures a ready zygote: the event cost() follows. */
void zygote_ask_cost(struct zygote *z);
/* Kills the zygote; gone() follows and reports why. */
void zygote_end(struct zygote *z, const char *why);
/* Kills the zygote if it lives; no event follows. z may be NULL. */
void zygote_free(struct zygote *z);
/* Returns the zygote's number for restore_fork(); 0: not ready. z may be NULL. */
uint32_t zygote_id(const struct zygote *z);
uint64_t zygote_began_ns(const struct zygote *z); /* CLOCK_MONOTONIC */
const struct zygote_heat *zygote_heat(const struct zygote *z);

#endif
