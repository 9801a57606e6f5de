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
struct machines;
struct vm_lease;
struct vm_mux; /* defined in channel/mux.h */
struct vm_sockets; /* defined in options.h */
struct vm_replay; /* channel/replay.h */
struct vm_replay_flow; /* channel/replay.h */

enum vm_source { VM_WARM, VM_RESTORED, VM_BOOTED, VM_SOURCE_MAX };

/* The names of enum vm_source: "warm" ... */
extern const char *const vm_source_names[VM_SOURCE_MAX];

/* The needs of one job: the size of its machine and what must be in it. */
struct vm_need {
	/* enum wire_runner; the pool chooses a machine that has it warm */
	uint32_t runner;
	uint64_t memory_bytes; /* the program's memory and its files together */
	unsigned cpus;        /* >= 1 */
	/* Environment that the machine has; NULL: the base. Borrowed during the
	 * call. */
	struct environment *environment;
};

/*
 * Asks for a machine. Leases of the same class are granted in the order of
 * these calls. *events and arg are borrowed until vm_end(). Return: NULL
 * without memory.
 */
struct vm_lease *vm_lease(struct machines *vm, const struct vm_need *need,
			  const struct vm_events *events, void *arg);
/*
 * Returns whether the lease waits for the first machine of its template, while
 * that is searched for or made. Then *ret_mib and *ret_cpus are the most that a
 * program can get on such a machine.
 */
bool vm_lease_is_first(const struct vm_lease *lease, uint32_t *ret_mib,
		       uint32_t *ret_cpus);
/* Describes how far the making of the lease's template is, and how long that
 * takes. */
void vm_making(const struct vm_lease *lease, char *ret, size_t size);
/* Call it after granted(). *job and all it points at are borrowed until
 * vm_end(). */
void vm_run(struct vm_lease *lease, const struct vm_job *job);

/* Limits for all programs of a shared machine together. */
struct vm_share {
	uint64_t memory_bytes;
	uint32_t processes, cpus;
	/*
	 * Buffers of the machine's wire, so that the next server can adopt the
	 * machine. Borrowed until vm_end(). NULL: the machine cannot be
	 * adopted.
	 */
	struct vm_mux *mux;
};
/*
 * Turns the machine of a granted lease into a shared one; call it instead of
 * vm_run(), once. Jobs then run at the same time, each by a lease of its own
 * from vm_join(). This lease serves the files and gets only one event,
 * failed(), when the machine dies. vm_end() of it ends the machine, and all
 * leases on its lanes fail.
 */
void vm_share(struct vm_lease *lease, const struct vm_share *share);
/* Stops or continues the processors of a shared machine. Frames for it wait while it is
 * stopped. */
void vm_pause(struct vm_lease *machine, bool pause);
/*
 * Opens a lane of a shared machine and returns its lease; granted() follows.
 * The lease then works as any other, with three differences. vm_run() may
 * follow a step whose interpreter lives. vm_fs() reads the whole machine's
 * files. vm_end() ends only the lane: it kills the lane's running program, but
 * not the processes that an ended program left. If the machine dies the lease
 * fails. Return: NULL, and *ret_error is -ENOMEM, -EMFILE (WIRE_LANE_MAX lanes
 * are open) or -ESTALE (the machine is not shared, or has died).
 */
struct vm_lease *vm_join(struct vm_lease *machine,
			 const struct vm_events *events, void *arg,
			 int *ret_error);
/* Returns the number of the lease's lane, as WIRE_FS_PROCESSES reports it; 0:
 * none now. */
unsigned vm_lane(const struct vm_lease *lease);
/* Replaces the lease's events and their arg. */
void vm_hear(struct vm_lease *lease, const struct vm_events *events, void *arg);
/* Sends a signal; call it after vm_run(). Signal 9 to WIRE_KILL_ALL ends the
 * job, and exited() follows. */
void vm_kill(struct vm_lease *lease, enum wire_kill_scope scope, unsigned sig);
/*
 * Asks for a file of a machine. A session's machine can be asked from the
 * vm_run() of its first step on, also between steps; a shared machine from
 * vm_share() on. *fs is copied, and vm sets its id. Return: 0, and done() comes
 * exactly once; -ESTALE: the machine has no such service or is gone; -EBUSY: too
 * many requests are waiting; -ENOMEM.
 *
 * done() gets r: 0 with the operation's answer (wire_fs.h; its form is checked,
 * its content is the guest's), an errno of the guest, or -EIO if the machine
 * has ended. vm_end() and vm_free() may call done(), with -EIO.
 * It may call vm_fs(), but not vm_end().
 */
int vm_fs(struct vm_lease *lease, const struct wire_fs *fs, vm_fs_done *done,
	  void *arg);
/*
 * Set a checkpoint in the job's replay buffer, in two steps. vm_mark() notes it.
 * vm_commit_checkpoint() makes the last one noted valid: call it when all that was
 * delivered before vm_mark() is stored. No checkpoint is possible from the first
 * RESULT on, nor after the program's end: there the next server needs the whole
 * buffer.
 */
void vm_mark(struct vm_lease *lease, const struct vm_replay_flow *flow);
void vm_commit_checkpoint(struct vm_lease *lease);
/*
 * Adopts a job of a dead server, from the last checkpoint of its replay buffer
 * on. Recover that buffer before. sockets: the machine's stored descriptors;
 * consumed. Of *job only the replay buffer, and of its wire part mode and
 * limits, are used; it needs no inputs. Events follow as after vm_run().
 * Return: NULL without memory, or if the machine is gone and had not sent
 * everything. Call vm_adopted() after the last one: machines that were not
 * adopted are killed.
 */
struct vm_lease *vm_adopt(struct machines *vm, const struct vm_sockets *sockets,
			  const struct vm_job *job,
			  const struct vm_events *events, void *arg);
void vm_adopted(struct machines *vm);
/*
 * Lets a machine rest between two steps, so that another server can adopt it by
 * vm_adopt_idle(): its frames go into this replay buffer until the next vm_run(). Call
 * it after a step whose interpreter lives, if the machine is not shared. The buffer is
 * zeroed, or was used so before; borrowed until the next vm_run() or vm_end().
 */
void vm_rest(struct vm_lease *lease, struct vm_replay *replay);
/*
 * Adopts a machine that rests between two steps (vm_rest()). The replay buffer was
 * recovered before, and its `sent` is set. vm_run() may follow. Return: NULL: the
 * machine is gone, or there is no memory.
 */
struct vm_lease *vm_adopt_idle(struct machines *vm, const struct vm_sockets *sockets,
			       struct vm_replay *replay,
			       const struct vm_events *events, void *arg);
/*
 * Adopts a shared machine, as vm_adopt() does a job. mux: recovered before.
 * environment: that of the lease. Return: a lease as after vm_share(), or NULL:
 * the machine is gone, or there is no memory.
 */
struct vm_lease *vm_adopt_shared(struct machines *vm,
				 const struct vm_sockets *sockets,
				 struct vm_mux *mux,
				 struct environment *environment, bool paused,
				 const struct vm_events *events, void *arg);
/*
 * Adopts one lane of an adopted shared machine; call it before vm_adopted(),
 * which kills the lanes that were not adopted. With a job: continues that job,
 * whose RUN was sent and whose replay buffer was recovered; events follow as
 * after vm_run(). Without one: vm_run() may follow, as the lane's interpreter
 * waits for a job. aborts: the dead server may have sent a JOB without RUN
 * there; it is aborted. Return: NULL if the lane is in another state, or
 * without memory.
 */
struct vm_lease *vm_rejoin(struct vm_lease *machine, unsigned lane,
			   const struct vm_job *job, bool aborts,
			   const struct vm_events *events, void *arg);
/* Stops (true) or continues reading from the machine, for backpressure. */
void vm_hold(struct vm_lease *lease, bool hold);
void vm_end(struct vm_lease *lease);

/* How this lease was served; valid after granted(). */
struct vm_lease_info {
	enum vm_source source;
	enum vm_accel accel;
	const char *template_id; /* 16 hex digits, borrowed */
	uint64_t granted_ns;     /* CLOCK_MONOTONIC */
};
void vm_lease_info(const struct vm_lease *lease, struct vm_lease_info *ret);

#endif
