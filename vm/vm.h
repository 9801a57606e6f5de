/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines' door: lease a machine, run one job in it, give it up. The room
 * behind it knows machines and frames; it knows nothing of FUSE, job files or
 * JSON. Single-threaded: every call and every event happens on the loop's
 * thread, and no event is delivered from inside a call of this header.
 *
 *   vm_new -> (template made or verified, pool filled, all in the background)
 *   vm_lease -> granted -> vm_run -> started, output*, exited,
 *               (file, file_data*, file_end)*, finished -> vm_end
 *
 * Instead of any event after vm_lease there may come one `failed`, after which
 * only vm_end() is allowed. vm_end() is allowed at any time, also from inside
 * an event; the machine dies and no further event is delivered. A machine
 * serves one job and is destroyed; but when the job was a session's step and
 * `exited` said that its interpreter lives, vm_run() may be called again. A
 * shared machine (vm_share()) serves many.
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
struct vm;

/* What the room tells its owner without being asked. */
struct vm_watch {
	/* Health or readiness changed; read them with vm_health(). */
	void (*changed)(void *arg);
	/* No machine can be started any more, by this process. */
	void (*broken)(void *arg);
	/* One step of a template's making, for a person: "booting", ... */
	void (*progress)(void *arg, const char *sentence);
	/* A machine is gone, and what it took is free. May be NULL. */
	void (*freed)(void *arg);
	/* May one be made that nobody waits for? May be NULL. */
	bool (*may_warm)(void *arg);
	/* The environment that a spec (environment_open()) names, NULL: the one
	 * of jobs that ask for none. *ret is the caller's. Return: 0, or negative
	 * errno: it is not there, or does not fit. May be NULL: there are none. */
	int (*environment)(void *arg, const char *spec,
			   struct environment **ret);
	void *arg;
};

/*
 * Starts the room: checks QEMU and the image now (their absence is an error
 * here, with a remedy), makes or verifies the template in the background.
 * The strings and *options are copied. Return: 0 or negative errno.
 */
int vm_new(struct loop *loop, const struct vm_options *options,
	   const struct vm_watch *watch, struct vm **ret_vm, struct err *err);
/* Kills every machine and waits until they are gone (bounded). Every lease is
 * to be ended before. NULL is fine. */
void vm_free(struct vm *vm);

/*
 * 0 when jobs can run; -EAGAIN while the template is being made, or they can
 * though all is not well; else a negative errno. *ret always gets one sentence, "ok" when 0.
 */
int vm_health(const struct vm *vm, struct err *ret);

/* The host's memory now. */
void vm_memory(struct vm *vm, struct vm_memory *ret);
/*
 * Measured (PSS, QEMU 7.2 under TCG): a machine comes to what its program may
 * take and some 70 to 100 MiB: QEMU, translated code, the guest's kernel and
 * runners. An idle one has those alone. One of an environment has its heap
 * besides.
 */
#define VM_MACHINE_BYTES (128ull << 20)
/* Ends an idle machine, for its memory. False if there is none; else freed
 * follows. */
bool vm_give_way(struct vm *vm);

/* The template cannot be had; it is tried again, whether anybody waits or not. */
bool vm_has_no_template(const struct vm *vm);
/* That, or machines have failed to start and none has served since. */
bool vm_is_failing(const struct vm *vm);

/* How far the template of an environment's machines is; NULL: of base. */
enum vm_made { VM_MADE_NOT, VM_MADE_MAKING, VM_MADE_READY, VM_MADE_FAILED };
/* ret: why it FAILED, or NULL. */
enum vm_made vm_template_state(const struct vm *vm,
			       const struct environment *e, struct err *ret);
/* Modules that its template does not keep warm: lines "MODULE: WHY"; "": none that
 * is known. Borrowed until the loop runs. */
const char *vm_template_cold(const struct vm *vm, const struct environment *e);
/* Has it made although nobody waits for it. On the loop, once it runs. Return: 0
 * or -ENOMEM; vm_template_state() tells what becomes of it. */
int vm_make_template(struct vm *vm, struct environment *e);

/*
 * A lease for the runner (enum wire_runner) may come within a second: somebody
 * writes a program. One warm machine is woken, and stopped again if none does.
 * environment_id: of that which is likely, or "base"; "": what jobs have that
 * ask for none.
 */
void vm_expect(struct vm *vm, uint32_t runner, const char *environment_id);

struct vm_stats {
	unsigned warm, starting, leased; /* machines now */
	unsigned zygotes;                /* that machines are forked off, */
	unsigned zygotes_wanted;         /* to be made when there is time */
	unsigned lukewarm;               /* warm ones that want more heat */
	uint64_t idle_bytes; /* that idle machines and zygotes take, */
	uint64_t idle_limit; /* and that they may take */
	unsigned waiting;    /* leases not granted yet */
	uint64_t machines_made, machines_failed, jobs_warm, jobs_restored,
		jobs_booted, templates_made, boots_failed;
	enum vm_accel accel; /* VM_ACCEL_AUTO while undecided */
};
void vm_stats(struct vm *vm, struct vm_stats *ret);
/* One class of machines, as the pool sees it. */
struct vm_class_stats {
	char environment[84];    /* "base", NAME, or NAME@ID if two have NAME */
	uint32_t memory_mib, cpus;
	unsigned idle, wanted;  /* machines that are idle; that should be */
	uint64_t machine_bytes; /* that an idle one takes, as far as is known */
	bool zygote;            /* there is one; of classes that share it one
				   tells */
};
void vm_each_class(struct vm *vm,
		   void (*each)(void *arg, const struct vm_class_stats *s),
		   void *arg);
/* The walls around each machine as they were found; NULL: there are none
 * (machines of tests). Borrowed. */
const struct walls *vm_walls(const struct vm *vm);
/* The QEMU of the machines; NULL: they have none (machines of tests). Borrowed. */
const struct vm_qemu *vm_qemu(const struct vm *vm);
/* Those inside the guest, as it saw them when its template was made: *ret are
 * the bits (1 << enum wire_wall) that stand in machines of every class. Return:
 * false while there was no machine to look at, and then *ret has all. */
bool vm_guest_walls(const struct vm *vm, uint32_t *ret);

#endif
