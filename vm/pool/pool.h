/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: classes with their templates, leases in the order in which they
 * were asked for, and warm machines kept ahead of them. One function,
 * work(), checks everything and does what is due. Events only schedule it
 * (pool_kick()), so it never runs inside a call of vm.h. All functions run on
 * the loop.
 */
#ifndef VM_POOL_H
#define VM_POOL_H

#include "vm/backend.h"
#include "demand.h"
#include "vm/channel/lanes.h"
#include "vm/channel/mux.h"
#include "vm/qemu/host.h"
#include "vm/vm.h"
#include "machine.h"
#include "plan.h"
#include "pool_saved.h"

/* how many other machines a job may get if none answers it */
#define AGAIN_MAX 2

enum class_state {
	CLASS_NONE, /* no template exists, and none is being made */
	CLASS_MAKING,
	CLASS_READY,
	CLASS_FAILED, /* making the template failed; tried again later */
};

/* Bytes that one idle machine of a class takes, as measured on one of them. */
struct class_cost {
	uint64_t bytes;            /* 0: not known */
	bool asked;
};

/* The progress of making a class's template. */
struct class_making {
	char step[160];
	uint64_t since_ns; /* when the template's boot began; 0: it did not */
	enum vm_accel accel; /* accelerator of that boot */
	unsigned usual_ms; /* how long such a boot usually takes */
};

struct pool_class {
	struct list node;          /* vm->classes */
	struct machines *vm;
	struct vm_class cls;
	enum class_state state;
	struct class_making making;
	struct backend_template tmpl; /* valid while READY */
	struct err err; /* why the class is FAILED, or why its last machine failed */
	/* CLOCK_REALTIME of the first failure; 0: no failure */
	uint64_t bad_since_ns;
	struct list waiting;       /* vm_lease.node, oldest first */
	unsigned waiting_count;
	unsigned started; /* machines started, ever */
	/* when to call the backend's prepare() again; 0: not needed */
	uint64_t prepare_ns;
	struct demand demand;
	uint64_t used_ns; /* when a lease last asked for this class */
	/* [0]: cost of a restored machine; [1]: of a forked one */
	struct class_cost cost[2];
	bool begins; /* make the template before any lease asks */
	bool is_hasty; /* a machine was started since prepare_hastily() ran */
	/* failed attempts in a row; machines that fail before retry_ns count as one
	 * attempt */
	unsigned bad_row;
	/* machines that failed by their own fault since one last answered; may exceed
	 * bad_row */
	unsigned bad_started;
	unsigned bad_templates; /* templates that failed in a row */
	/* start no machine and no template before this time */
	uint64_t retry_ns;
	/* how many idle machines died since an idle one last served a job */
	unsigned idle_deaths;
	uint64_t refill_ns; /* start no idle machine before this time */
	/* when a machine that is starting will be late; 0: none */
	uint64_t slow_ns;
	bool slow; /* a machine is late */
};

struct vm_lease {
	struct list node; /* link in class->waiting until it is granted; in of->joined */
	struct machines *vm;
	struct pool_class *cls;
	struct vm_need need;
	const struct vm_events *events; /* borrowed */
	void *arg;
	/* NULL before it is granted and after the machine's end */
	struct machine *machine;
	const struct vm_job *job;  /* borrowed; NULL before vm_run() */
	unsigned runs;             /* calls of vm_run() */
	unsigned again; /* machines that ended without a frame about the job */
	uint64_t first_run_ns;
	struct loop_call call; /* calls granted, failed or lost_jailer */
	bool granted, failed, lost_jailer;
	/* the owner knows that the start is slow (class_check()) */
	bool told_slow;
	enum vm_failure why;
	char sentence[300];
	struct vm_lease_info info;
	struct lease_network *network; /* owned; NULL: the machine has none */
	bool shared;               /* vm_share() was called */
	struct vm_share share;
	struct list joined; /* leases on lanes of this lease's machine: struct vm_lease,
			     * by node */
	/* the lease of the shared machine whose lane it has; NULL: own machine */
	struct vm_lease *of;
	struct lane *lane; /* the lease's lane of that machine; NULL: none now */
};

/* pool_network.c: closes the account of the lease's relay, which then ends. No-op without
 * one. */
void lease_network_end(struct vm_lease *l);
/* The machine's network helper has ended: lost() follows. No-op without a relay. */
void lease_network_lost(struct vm_lease *l);
/* Gives an adopted lease the account of its relay, for vm_network_adopt(). Consumes
 * account; -1: no-op. */
void lease_network_take(struct vm_lease *l, int account);

struct machines {
	struct loop *loop;
	struct vm_options options; /* a copy of the given options; its strings are owned */
	struct vm_keep keep; /* what the server keeps for its successor (copy of
			      * options.keep); zeroed: nothing */
	struct vm_watch watch;
	struct backend_host host;
	struct backend *backend;   /* owned */
	struct list machines; /* machine.node of every machine not reaped */
	struct list classes; /* the first one is of the base and default size */
	struct plan plan; /* rewritten by each pool_plan() */
	struct pool_class *planned[PLAN_ROWS];
	struct pool_saved saved; /* the demand stored on the disk */
	/* class of jobs that ask for nothing special */
	struct pool_class *usual;
	bool told_costs; /* the log says already that the host reports no costs */
	bool broken; /* the backend cannot start machines any more */
	uint64_t quiet_ns; /* a quiet time begins then: QUIET_MS after a lease or a start */
	struct loop_call work;
	struct loop_timer retry;
	struct host_memory memory;
	unsigned processors; /* number that this process may use */
	/* walls that stand inside the guests of every class; valid if guest_seen */
	uint32_t guest_walls;
	bool guest_seen;
	struct err told; /* the health that `changed` last reported */
	struct loop_call begin;
	struct loop_call tell;
	/* only the counters; vm_stats() computes the rest */
	struct vm_stats stats;
};

void pool_init(struct machines *vm);
/* Runs once the loop runs: makes templates of the environments that are likely. */
void pool_begin(struct machines *vm);
/* Frees all machines and leases; close the backend before. */
void pool_done(struct machines *vm);
/* Reports to every waiting lease that no machine will come. Call it when
 * vm->broken is set. */
void pool_strand(struct machines *vm);
int pool_lease(struct machines *vm, struct vm_lease *lease);
/* See vm_give_way(). */
bool pool_give_way(struct machines *vm);
/* See vm_expect(). */
void pool_expect(struct machines *vm, uint32_t runner, const char *environment_id);
/* Ends a lease's wait, or its machine. */
void pool_unlease(struct vm_lease *lease);
/* Returns the warm machines that need a second round of heat. */
unsigned pool_unheated(const struct machines *vm);
/* pool_start.c. Sends the job to the lease's machine. */
void pool_run(struct vm_lease *lease);
extern const struct machine_events pool_machine_events; /* arg: struct machines */
/* pool_lease.c. NULL without memory. */
struct vm_lease *lease_new(struct machines *vm, const struct vm_events *events, void *arg);
/* Schedules the lease's next event on the loop. */
void pool_defer(struct vm_lease *lease);
/* Schedules the event lost_jailer(). */
void lease_strand(struct vm_lease *lease);
/* Schedules the event failed(), once. */
void lease_fail(struct vm_lease *lease, enum vm_failure why,
		const char *sentence);
/* Describes the lease's machine for a process that may adopt it. */
void pool_sign(const struct vm_lease *lease, struct vm_origin *ret);
/* pool_machines.c. Schedules work(). */
void pool_kick(struct machines *vm);
unsigned pool_count(const struct machines *vm, enum machine_state state);
/* Counts all machines, in any state. */
unsigned pool_total(const struct machines *vm);
/* pool_class.c. */
void pool_template_done(void *arg, const struct vm_class *cls,
			const struct backend_template *t,
			const struct err *err);

#endif
