/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the pool, for pool_*.c and vm.c: classes, counts, plan, idle
 * machines. All functions run on the loop.
 */
#ifndef VM_POOL_CLASS_H
#define VM_POOL_CLASS_H

#include "pool.h"
#include "vm/channel/replay.h"

#define MACHINE_MIB 1024 /* memory of the default class */
/* the guest's own need: kernel and runners */
#define MACHINE_EXTRA (320ull << 20)

/* Finds the class, or adds it. NULL without memory. */
struct pool_class *class_get(struct machines *vm, const struct vm_class *cls);
/* Returns the smallest class that holds the need. Sizes are doubled, to have
 * few classes. */
struct vm_class class_of(const struct vm_need *need);
struct pool_class *base_class(struct machines *vm);
/* Returns whether the class's template failed lately: fail its leases instead of letting
 * them wait. */
bool class_is_hopeless(const struct pool_class *c);
/* Sentence of vm_health() for a class with `slow`. */
#define CLASS_SLOW "a machine has not started within 10 s: QEMU or the jailer " \
		   "was stopped, or this host has too much to do"
/* Asks for the class's template, unless it exists, is being made, or retry_ns is not
 * past. */
void class_want_template(struct pool_class *c);

/* Counts a machine of the class that failed before any use. template: no
 * process outside killed it, so the template it was started from may be broken. */
void class_bad_machine(struct pool_class *c, const char *sentence,
		       bool template);
/* Counts an idle machine that died unused. */
void class_bad_idle(struct pool_class *c, const char *sentence);
/* Clear the counts of failures: a machine has answered; an idle machine has
 * served. */
void class_good_machine(struct pool_class *c);
void class_good_idle(struct pool_class *c);
/* Checks whether a machine has been starting for too long, and informs waiting
 * leases. */
void class_check(struct pool_class *c);
/* Returns when the class next needs work() after now; UINT64_MAX: never. */
uint64_t class_due_ns(const struct pool_class *c, uint64_t now);

/* --- pool_start.c ------------------------------------------------------------ */

/* Starts a machine. heat: mask of runners. Return: false if no further one
 * should be tried now. */
bool pool_start(struct pool_class *c, uint32_t heat);
/* Gives the machine to the class's longest waiting lease. */
void pool_grant(struct machine *m, enum vm_source source);
/*
 * Returns the runner of l as a mask if it must be heated before the job; else 0. Under
 * emulation the interpreter's code is translated when it first runs, which takes as long
 * as a job. Without heat that would count as the job's time.
 */
uint32_t class_heat_for(const struct pool_class *c, const struct vm_lease *l);

/* --- pool_machines.c --------------------------------------------------------- */

unsigned class_count(const struct pool_class *c, enum machine_state state);
/* Counts machines that are or will be idle. have[r]: those that are hot for r. */
unsigned class_hot(struct pool_class *c, unsigned have[WIRE_RUN_MAX]);
/* Ends the class's idle machine that was heated the fewest times. */
void pool_end_idle(struct pool_class *c);
/* Counts machines that use a processor now to get ready. */
unsigned pool_preparing(const struct machines *vm);
/* Returns when the youngest running job will be older than YOUNG_MS; 0: there
 * is none. */
uint64_t pool_young_until(const struct machines *vm);

/* --- pool_plan.c -------------------------------------------------------- */

/* Fills vm->plan with the present state, and computes the target. */
void pool_plan(struct machines *vm);
/* Returns the index of the class's row in vm->plan, or PLAN_NOBODY. */
unsigned pool_row(const struct machines *vm, const struct pool_class *c);
/* Describes the class's zygote. */
struct backend_prepared class_prepared(const struct pool_class *c);
/* Returns whether a zygote is being made; that uses a processor. */
bool pool_is_preparing(const struct machines *vm);
/* Records the bytes that a machine of the class takes. */
void class_costs(struct pool_class *c, const struct machine *m, uint64_t bytes);
/* Measures a stopped machine, if none of its kind (forked or not) was measured. */
void class_ask_cost(struct pool_class *c, struct machine *m);
/* Makes a slot for one more machine; may end an idle machine of another class.
 * Return: whether there is a slot now. */
bool pool_make_room(struct machines *vm, const struct pool_class *c);

/* --- pool_idle.c ---------------------------------------------------------- */

#define HEAT_ROUNDS 1 /* measured: more rounds change nothing */

/* Returns whether the row's zygote must still be made when no job waits. Call
 * pool_plan() before. */
bool pool_wants_zygote(const struct machines *vm, unsigned row);
/* Adds the figures of zygotes and bytes to ret. */
void pool_count_idle(struct machines *vm, struct vm_stats *ret);
/* Takes one step towards the plan, or as many as there are free processors. */
void pool_refill(struct machines *vm);

/*
 * pool_making.c. class_progress(): notes in every class that shares the template of cls
 * which step the making of the template has reached. class_print_making(): describes
 * that for a person.
 */
void class_progress(struct machines *vm, const struct vm_class *cls, const char *step,
		    enum vm_accel accel);
void class_print_making(const struct pool_class *c, char *ret, size_t size);

#endif
