/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls on machines: leases a machine, runs jobs in it, ends it. vm/ knows
 * machines and frames, but no FUSE, no job files and no JSON. Every call and
 * every event happens on the loop's thread. No event is called from inside a
 * call of this header.
 *
 *   vm_new -> (template made or verified, pool filled, all in the background)
 *   vm_lease -> granted -> vm_run -> started, output*, exited,
 *               (file, file_data*, file_end)*, finished -> vm_end
 *
 * `failed` may come in place of any event after vm_lease; after it only
 * vm_end() is allowed. vm_end() is allowed at any time, also inside an event:
 * the machine is killed and no further event is called. A machine serves one
 * job. Two exceptions: vm_run() may be called again after a session's step if
 * exited() said that its interpreter lives; and a shared machine (vm_share())
 * serves many.
 */
#ifndef VM_VM_H
#define VM_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect.h"
#include "lease.h"
#include "options.h"
#include "vm/os/loop.h"

struct environment; /* environment/environment.h */
struct machines;

/* Callbacks of the owner of a struct machines. */
struct vm_watch {
	/* Health or readiness changed; read them with vm_health(). */
	void (*changed)(void *arg);
	/* This process cannot start any further machine. */
	void (*broken)(void *arg);
	/* One step of a template's making, for a person: "booting", ... */
	void (*progress)(void *arg, const char *sentence);
	/* A machine has ended, and its memory is free. May be NULL. */
	void (*freed)(void *arg);
	/* Returns whether the pool may make a machine that no lease waits for.
	 * May be NULL. */
	bool (*may_warm)(void *arg);
	/*
	 * Opens the environment that a spec (environment_open()) names. spec
	 * NULL: the environment of jobs that ask for none. The caller owns
	 * *ret. Return: 0, or a negative errno if it does not exist or does not
	 * fit. May be NULL: only the base.
	 */
	int (*environment)(void *arg, const char *spec,
			   struct environment **ret);
	void *arg;
};

/*
 * Checks QEMU and the image now: if they are missing it fails, with a remedy in
 * err. Makes or verifies the template in the background. Copies *options and
 * the strings. Return: 0 or negative errno.
 */
int vm_new(struct loop *loop, const struct vm_options *options,
	   const struct vm_watch *watch, struct machines **ret_vm, struct err *err);
/* Kills every machine and waits, for a bounded time, until all have ended. Call
 * vm_end() for every lease before. vm may be NULL. */
void vm_free(struct machines *vm);

/*
 * Return: 0 when jobs can run. -EAGAIN while the template is made, or when jobs
 * run but something is wrong. Else a negative errno. *ret always gets one
 * sentence; "ok" for 0.
 */
int vm_health(const struct machines *vm, struct err *ret);

/* Reads the host's memory. */
void vm_memory(struct machines *vm, struct vm_memory *ret);
/*
 * Bytes that a machine takes beside what its program may use. Measured (PSS,
 * QEMU 7.2 under TCG): 70 to 100 MiB for QEMU, translated code, the guest's
 * kernel and its runners. An idle machine takes just that, and its
 * environment's heap if it has one.
 */
#define VM_MACHINE_BYTES (128ull << 20)
/* Ends an idle machine to free its memory. Return: false if there is none; else
 * freed() follows. */
bool vm_give_way(struct machines *vm);

/* Returns whether the last attempt to make the base's template failed. The pool tries
 * again, also when no lease waits. */
bool vm_has_no_template(const struct machines *vm);
/* Returns true if vm_has_no_template() does, or if machines failed to start and none has
 * served a job since. */
bool vm_is_failing(const struct machines *vm);

/* State of an environment's template; environment NULL: the base's. */
enum vm_made { VM_MADE_NOT, VM_MADE_MAKING, VM_MADE_READY, VM_MADE_FAILED };
/* ret gets the reason of VM_MADE_FAILED; may be NULL. */
enum vm_made vm_template_state(const struct machines *vm,
			       const struct environment *e, struct err *ret);
/* Returns the modules that the template does not keep warm, a line "MODULE:
 * WHY" each; "": none known. Borrowed until control returns to the loop. */
const char *vm_template_cold(const struct machines *vm, const struct environment *e);
/* Makes the environment's template though no lease waits for it, once the loop
 * runs. See vm_template_state() for the outcome. Return: 0 or -ENOMEM. */
int vm_make_template(struct machines *vm, struct environment *e);

/*
 * Announces that a lease for the runner (enum wire_runner) may come within a
 * second, because a user is writing a program. Wakes one warm machine; it is
 * stopped again if no lease comes. environment_id: the id of the likely one;
 * "base"; or "" for the environment of jobs that ask for none.
 */
void vm_expect(struct machines *vm, uint32_t runner, const char *environment_id);

struct vm_stats {
	unsigned warm, starting, leased; /* machines now, by state */
	unsigned zygotes; /* zygotes now */
	unsigned zygotes_wanted; /* zygotes still to make, when no job waits */
	unsigned unheated; /* warm machines that need more heat */
	uint64_t idle_bytes; /* taken by idle machines and zygotes */
	uint64_t idle_limit; /* most that idle_bytes may be */
	unsigned waiting;    /* leases not granted yet */
	uint64_t machines_made, machines_failed, jobs_warm, jobs_restored,
		jobs_booted, templates_made, boots_failed;
	enum vm_accel accel; /* VM_ACCEL_AUTO while undecided */
};
void vm_stats(struct machines *vm, struct vm_stats *ret);
/* The pool's figures of one class. */
struct vm_class_stats {
	char environment[84];    /* "base", NAME, or NAME@ID if two have NAME */
	uint32_t memory_mib, cpus;
	/* machines that are idle; that the plan wants idle */
	unsigned idle, wanted;
	/* bytes of an idle machine, as measured or estimated */
	uint64_t machine_bytes;
	/* The class has a zygote. If classes share it, only one of them has true here. */
	bool zygote;
};
void vm_each_class(struct machines *vm,
		   void (*each)(void *arg, const struct vm_class_stats *s),
		   void *arg);
/* Returns the walls around each machine, as found at start. NULL: machines have
 * none (in tests). Borrowed. */
const struct walls *vm_walls(const struct machines *vm);
/* Returns whether vm_network() can start relays. */
bool vm_has_relays(const struct machines *vm);
/* Returns the QEMU of the machines. NULL: they have none (in tests). Borrowed. */
const struct vm_qemu *vm_qemu(const struct machines *vm);
/*
 * Reads the walls inside the guest, as the guests saw them when their templates
 * were made: bits 1 << enum wire_wall that stand in machines of every class.
 * Return: false while no template was made; then *ret has all bits.
 */
bool vm_guest_walls(const struct machines *vm, uint32_t *ret);

#endif
