/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases: asks for a machine, runs jobs in it, shares it, adopts it after a restart,
 * ends it. Every call is made on the loop's thread. See vm.h for the order of calls.
 */
#ifndef VM_LEASE_H
#define VM_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job.h"
#include "vm/os/accel.h"

struct environment; /* environment/environment.h */
struct vm;
struct vm_lease;
struct vm_mux; /* channel/mux.h */
struct vm_sockets; /* options.h */
struct vm_tape_flow; /* channel/tape.h */

enum vm_source { VM_WARM, VM_RESTORED, VM_BOOTED, VM_SOURCE_MAX };

extern const char *const vm_source_names[VM_SOURCE_MAX]; /* "warm" ... */

/* What a job needs of a machine. */
struct vm_need {
	uint32_t runner;      /* enum wire_runner: which path should be hot */
	uint64_t memory_bytes; /* the program's memory and its files together */
	unsigned cpus;        /* >= 1 */
	/* What its machine has besides the image; NULL: nothing. Borrowed. */
	struct environment *environment;
};

/*
 * Asks for a machine. Those that the same kind of machine can serve are granted
 * in the order of the asking. *events is borrowed, and arg, until vm_end().
 * NULL only without memory.
 */
struct vm_lease *vm_lease(struct vm *vm, const struct vm_need *need,
			  const struct vm_events *events, void *arg);
/* Does it wait for the first machine of its template, which is looked for or made?
 * Then *ret_mib and *ret_cpus are what its machines have at most for a program. */
bool vm_lease_is_first(const struct vm_lease *lease, uint32_t *ret_mib,
		       uint32_t *ret_cpus);
/* How far its template is that is being made, and how long that takes. */
void vm_making(const struct vm_lease *lease, char *ret, size_t size);
/* After granted. *job and what it points at are borrowed until vm_end(). */
void vm_run(struct vm_lease *lease, const struct vm_job *job);

/* What all that a shared machine runs may use together. */
struct vm_share {
	uint64_t memory_bytes;
	uint32_t processes, cpus;
	/* Borrowed until vm_end(): what is on its way lies there, so that another
	 * process can go on with the machine. NULL: none can. */
	struct vm_mux *mux;
};
/*
 * After granted, instead of vm_run(), once: the machine serves several jobs at
 * once from now on, each by a lease that vm_join() gives. This lease has its
 * files, and hears only of its death: failed. vm_end() of it ends the machine;
 * leases that are joined still fail.
 */
void vm_share(struct vm_lease *lease, const struct vm_share *share);
/* Of a shared machine: it stops and takes no time of a processor, or goes on. What is
 * said to it meanwhile waits. */
void vm_pause(struct vm_lease *machine, bool pause);
/*
 * A lease on a lane of a shared machine. granted follows; then all that is said
 * of a lease holds, but for the machine's life: vm_run() may follow a step whose
 * interpreter lives, vm_fs() asks the machine, and vm_end() ends the lane alone.
 * It kills what still runs of it; what a program left that has ended lives on.
 * If the machine dies it fails. Return: NULL, and
 * *ret_error is -ENOMEM, -EMFILE (WIRE_LANE_MAX are open) or -ESTALE: the
 * machine is not shared, or has died.
 */
struct vm_lease *vm_join(struct vm_lease *machine,
			 const struct vm_events *events, void *arg,
			 int *ret_error);
/* The number of its lane, as WIRE_FS_PROCESSES tells it; 0: it has none now. */
unsigned vm_lane(const struct vm_lease *lease);
/* From now on ev hears of the lease, not who asked for it. */
void vm_hear(struct vm_lease *lease, const struct vm_events *events, void *arg);
/* After vm_run(). Signal 9 to WIRE_KILL_ALL ends the job (exited follows). */
void vm_kill(struct vm_lease *lease, enum wire_kill_scope scope, unsigned sig);
/*
 * Asks for a file of a session's machine, from vm_run() of its first step on,
 * whether a step runs or none; or of a shared one, from vm_share() on. *fs is copied; its id is chosen here. Return: 0,
 * then done comes exactly once; -ESTALE: there is no such machine; -EBUSY: too
 * much was asked for already; -ENOMEM.
 *
 * r is 0 with what the operation gives (wire_fs.h, checked, but what it says
 * is the guest's), an errno of the guest, or -EIO: the machine has ended. Only
 * then done may come from inside vm_end() and vm_free(). It may ask again, but
 * not end the lease.
 */
int vm_fs(struct vm_lease *lease, const struct wire_fs *fs, vm_fs_done *done,
	  void *arg);
/*
 * A point on the job's tape: all that was delivered before is stored when
 * vm_settle() says so, of the last vm_mark(). There is none where the tape must
 * be heard whole: from the first RESULT on, and from the program's end on.
 */
void vm_mark(struct vm_lease *lease, const struct vm_tape_flow *flow);
void vm_settle(struct vm_lease *lease);
/*
 * Goes on with the job of a process that is dead, where its tape's last point
 * is; the tape was recovered. sockets are those of its keys, and are consumed.
 * job needs no input, and of its wire only mode and limits; it has the tape.
 * Events follow as after vm_run(). Return: NULL if it cannot be: without memory,
 * or the machine is gone and has not said all.
 * vm_adopted() when there are no more: what was not adopted dies.
 */
struct vm_lease *vm_adopt(struct vm *vm, const struct vm_sockets *sockets,
			  const struct vm_job *job,
			  const struct vm_events *events, void *arg);
void vm_adopted(struct vm *vm);
/*
 * The same of a shared machine; its mux was recovered. environment: as it was leased
 * with. Return: a lease as after vm_share(), or NULL: the machine is gone, or no
 * memory.
 */
struct vm_lease *vm_adopt_shared(struct vm *vm,
				 const struct vm_sockets *sockets,
				 struct vm_mux *mux,
				 struct environment *environment, bool paused,
				 const struct vm_events *events, void *arg);
/*
 * A lane of it, before vm_adopted(). With a job it goes on with that, whose RUN was
 * sent and whose tape was recovered; events follow as after vm_run(). Without one
 * vm_run() may follow: an interpreter lives there, and no job runs. aborts: it may
 * have been given one that has not begun. Return: NULL: it is not so, or no memory.
 * What nobody has asked for until vm_adopted() is killed.
 */
struct vm_lease *vm_rejoin(struct vm_lease *machine, unsigned lane,
			   const struct vm_job *job, bool aborts,
			   const struct vm_events *events, void *arg);
/* Stops (true) or resumes reading what the guest sends: back-pressure. */
void vm_hold(struct vm_lease *lease, bool hold);
void vm_end(struct vm_lease *lease);

/* How this lease was served; valid from granted on. */
struct vm_lease_info {
	enum vm_source source;
	enum vm_accel accel;
	const char *template_id; /* 16 hex digits, borrowed */
	uint64_t granted_ns;     /* CLOCK_MONOTONIC */
};
void vm_lease_info(const struct vm_lease *lease, struct vm_lease_info *ret);

#endif
