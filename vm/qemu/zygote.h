/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template's zygote, as the daemon sees it: a machine that is restored,
 * heated and stopped for ever, so that others can be forked
 * off it. They find the guest's memory as the heat has left it and all that
 * QEMU has translated, which is most of what a machine costs under emulation;
 * both are shared until one of them writes. It has no secret of its own: OWN is
 * for its children (guest/wire/wire.h).
 *
 * It is never needed: without one machines are restored from the template.
 */
#ifndef VM_ZYGOTE_H
#define VM_ZYGOTE_H

#include "template.h"

struct zygote;

/* Neither comes from within a call of the owner's. */
struct zygote_events {
	/* Machines can be forked off it. */
	void (*ready)(void *arg, struct zygote *z);
	/* After zygote_ask_cost(): the bytes that it shares with no other
	 * process. 0: this host does not tell. */
	void (*cost)(void *arg, uint64_t bytes);
	/* It has ended, whatever it was, and is to be freed. Once. */
	void (*gone)(void *arg, struct zygote *z, const char *why);
};

/* How hot it is: for which runners (1 << enum wire_runner), and in how many
 * rounds. */
struct zygote_heat {
	uint32_t runners;
	unsigned rounds; /* 2: what programs do; 3: and what scripts start */
};

/*
 * Starts one; it is ready, or gone, in a second or some. t is borrowed; its
 * files are not looked at later. Return: 0 or negative errno.
 */
int zygote_new(const struct template_context *context, const struct template *t,
	       const struct zygote_heat *heat, const struct zygote_events *ev,
	       void *arg, struct zygote **ret, struct err *err);
/* Of one that is ready: `cost` follows. */
void zygote_ask_cost(struct zygote *z);
/* Kills it; gone follows, which says why. */
void zygote_end(struct zygote *z, const char *why);
/* Kills it if it lives; nothing is told any more. NULL is fine. */
void zygote_free(struct zygote *z);
/* Its number for restore_fork(), 0 as long as it is not ready. NULL is fine. */
uint32_t zygote_id(const struct zygote *z);
uint64_t zygote_began_ns(const struct zygote *z); /* CLOCK_MONOTONIC */
const struct zygote_heat *zygote_heat(const struct zygote *z);

#endif
