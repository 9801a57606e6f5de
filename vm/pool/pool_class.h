/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of the pool; for the files of the pool and vm.c. */
#ifndef VM_POOL_CLASS_H
#define VM_POOL_CLASS_H

#include "pool.h"
#include "vm/channel/tape.h"

#define MACHINE_MIB 1024        /* the pool's class */
#define MACHINE_EXTRA (320ull << 20) /* the guest's own: kernel, runners */

/* NULL without memory. */
struct pool_class *class_get(struct vm *vm, const struct vm_class *cls);
/* The smallest class that holds the need; doubling keeps them few. */
struct vm_class class_of(const struct vm_need *need);
struct pool_class *base_class(struct vm *vm);
/* Its template failed lately: who wants it is not to wait. */
bool class_is_hopeless(const struct pool_class *c);
/* vm_health() of a class with `slow`. */
#define CLASS_SLOW "a machine has not started within 10 s: QEMU or the jailer " \
		   "was stopped, or this host has too much to do"
/* Asks for its template, unless there is one, or it is too early. */
void class_want_template(struct pool_class *c);

/* A machine of the class failed before it was of use; template: it was started
 * from that, which may be why, and nobody else is to blame. */
void class_bad_machine(struct pool_class *c, const char *sentence,
		       bool template);
/* One that was idle died, and nobody had used it. */
void class_bad_idle(struct pool_class *c, const char *sentence);
/* One has answered, one that was idle has served: whatever was wrong is over. */
void class_good_machine(struct pool_class *c);
void class_good_idle(struct pool_class *c);
/* Notes whether one has been starting for too long, and tells who waits. */
void class_look(struct pool_class *c);
/* When something of the class is due after now; UINT64_MAX: never. */
uint64_t class_due_ns(const struct pool_class *c, uint64_t now);

/* --- pool_start.c ------------------------------------------------------------ */

/* Starts one. Return: false if no further one should be tried now. */
bool pool_start(struct pool_class *c, uint32_t heat);
/* Gives the machine to the lease that has waited longest for the class. */
void pool_grant(struct machine *m, enum vm_source source);
/* The runner that l is going to use, if an emulator has to translate its code first:
 * as long as a job takes by itself, which is none of the job's time. */
uint32_t class_heat_for(const struct pool_class *c, const struct vm_lease *l);

/* --- pool_machines.c --------------------------------------------------------- */

unsigned class_count(const struct pool_class *c, enum machine_state state);
/* Machines that are or will be idle; have[r]: those that are hot for r. */
unsigned class_hot(struct pool_class *c, unsigned have[WIRE_RUN_MAX]);
/* Ends the one of its idle machines that is worth least. */
void pool_end_idle(struct pool_class *c);
/* Machines that use a processor now to become ready. */
unsigned pool_preparing(const struct vm *vm);
/* When the last lease that has begun is no longer young; 0: now. */
uint64_t pool_young_until(const struct vm *vm);

/* --- pool_plan.c
 * --------------------------------------------------------------- */

/* Looks at what is there, into vm->plan. */
void pool_plan(struct vm *vm);
/* The class's row of it, or PLAN_NOBODY. */
unsigned pool_row(const struct vm *vm, const struct pool_class *c);
/* The class's zygote. */
struct backend_prepared class_prepared(const struct pool_class *c);
/* Is one being made, which takes a processor? */
bool pool_is_preparing(const struct vm *vm);
/* One of its machines has told what it takes. */
void class_costs(struct pool_class *c, const struct machine *m, uint64_t bytes);
/* Asks a machine at rest, if none of its kind was asked. */
void class_ask_cost(struct pool_class *c, struct machine *m);
/* Room for one more machine, if need be in place of another class's warm one.
 * Return: is there room now? */
bool pool_make_room(struct vm *vm, const struct pool_class *c);

/* --- pool_idle.c ---------------------------------------------------------- */

#define HEAT_ROUNDS 1           /* measured: further ones change nothing */

/* Of a row of vm->plan that pool_plan() has made: is its zygote still to be
 * made, when there is time? */
bool pool_wants_zygote(const struct vm *vm, unsigned row);
/* Adds zygotes and bytes. */
void pool_count_idle(struct vm *vm, struct vm_stats *ret);
/* One step towards the plan, or as many as there are processors for. */
void pool_refill(struct vm *vm);

/* pool_making.c: a step of the template of all that share cls; and for people, how far
 * that is. */
void class_progress(struct vm *vm, const struct vm_class *cls, const char *step,
		    enum vm_accel accel);
void class_print_making(const struct pool_class *c, char *ret, size_t size);

#endif
