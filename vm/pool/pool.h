/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines and those who want one: classes with their templates, leases in
 * the order of their asking, warm machines kept ahead of them. One function,
 * pool_work(), looks at everything and does what is due; whatever happens only
 * schedules it, so it never runs inside a call of vm.h.
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
#include "pool_kept.h"

#define AGAIN_MAX 2 /* other machines for a job that none has heard */

enum class_state {
	CLASS_NONE,    /* no template, nobody is making one */
	CLASS_MAKING,
	CLASS_READY,
	CLASS_FAILED,  /* the template cannot be had; tried again later */
};

/* What an idle machine of a class takes, as one of them told. */
struct class_cost {
	uint64_t bytes;            /* 0: not known */
	bool asked;
};

/* How far its template is that is being made. */
struct class_making {
	char step[160];
	uint64_t since_ns;         /* it is booted; 0: not yet, */
	enum vm_accel accel;       /* by this one, */
	unsigned usual_ms;         /* and how long that takes as a rule */
};

struct pool_class {
	struct list node;          /* vm->classes */
	struct vm *vm;
	struct vm_class cls;
	enum class_state state;
	struct class_making making;
	struct backend_template tmpl; /* while READY */
	struct err err;            /* why FAILED, or the last bad machine, */
	uint64_t bad_since_ns;     /* CLOCK_REALTIME, since when; 0: it is well */
	struct list waiting;       /* vm_lease.node, oldest first */
	unsigned waiting_count;
	unsigned started;          /* machines, ever */
	uint64_t prepare_ns;       /* when preparing is to be tried again; or 0 */
	struct demand demand;
	uint64_t used_ns;          /* when a lease asked for it last */
	struct class_cost cost[2]; /* of an idle machine: restored, forked */
	bool begins;               /* a template is to be had before any lease */
	bool is_hasty;             /* one has been started since the last look */
	unsigned bad_row;          /* machines that failed, in a row, */
	unsigned bad_started;      /* and those of them by their own fault */
	unsigned bad_templates;    /* templates that failed, in a row */
	uint64_t retry_ns;         /* nothing is started before that time */
	unsigned idle_deaths;      /* since one of them has served */
	uint64_t refill_ns;        /* nor any idle one before this */
	uint64_t slow_ns;          /* when a machine that starts now is late; or 0 */
	bool slow;                 /* that was before now */
};

struct vm_lease {
	struct list node;          /* class->waiting until granted; of->joined */
	struct vm *vm;
	struct pool_class *cls;
	struct vm_need need;
	const struct vm_events *events; /* borrowed */
	void *arg;
	struct machine *machine;   /* NULL before grant and after its end */
	const struct vm_job *job;  /* borrowed; NULL before vm_run() */
	unsigned runs;             /* calls of vm_run() */
	unsigned again;            /* machines that never said anything of it */
	uint64_t first_run_ns;
	struct loop_call call;     /* delivers granted, failed or stranded */
	bool granted, failed, stranded;
	bool told_slow;            /* as class_look() does */
	enum vm_failure why;
	char sentence[300];
	struct vm_lease_info info;
	bool shared;               /* vm_share() was called */
	struct vm_share share;
	struct list joined;        /* vm_lease.node, of its lanes */
	struct vm_lease *of;       /* whose machine it has a lane of; or NULL */
	struct lane *lane;         /* of; NULL before and after there is one */
};

struct vm {
	struct loop *loop;
	struct vm_options options; /* its strings are owned */
	struct vm_keep keep;       /* of the options, or zeroed */
	struct vm_watch watch;
	struct backend_host host;
	struct backend *backend;   /* owned */
	struct list machines;      /* machine.node, every one not reaped */
	struct list classes;       /* the first is the pool's own */
	struct plan plan;          /* pool_plan() makes it anew */
	struct pool_class *planned[PLAN_ROWS];
	struct pool_kept kept;     /* the demand, on the disk */
	struct pool_class *usual;  /* of jobs that ask for nothing special */
	bool told_costs;           /* that the host does not tell them */
	bool broken;               /* no machine can be started any more */
	uint64_t quiet_ns;         /* the last lease and start are long ago then */
	struct loop_call work;
	struct loop_timer retry;
	struct host_memory memory;
	unsigned processors;       /* that this process may use */
	uint32_t guest_walls;      /* that stand in every class, once seen */
	bool guest_seen;
	struct err told;           /* the health that `changed` last told of */
	struct loop_call begin;
	struct loop_call tell;
	struct vm_stats stats;     /* the counters; the rest is computed */
};

void pool_init(struct vm *vm);
/* The loop runs: looks for what is likely to be asked for. */
void pool_begin(struct vm *vm);
/* Forgets all machines and leases; the backend is closed already. */
void pool_done(struct vm *vm);
/* vm->broken: who waits is told that none comes. */
void pool_strand(struct vm *vm);
int pool_lease(struct vm *vm, struct vm_lease *lease);
/* pool_adopt.c. Of a lease with a job that has a tape: see machine_adopt(). */
int pool_adopt(struct vm_lease *lease, int wire, int monitor);
/* Of a lease with an environment: see machine_adopt_shared(). */
int pool_adopt_shared(struct vm_lease *lease, struct vm_mux *mux, int wire,
		      int monitor, bool paused);
/* See vm_give_way(). */
bool pool_give_way(struct vm *vm);
/* See vm_expect(). */
void pool_expect(struct vm *vm, uint32_t runner, const char *environment_id);
/* The lease does not wait any more, or its machine is not wanted. */
void pool_unlease(struct vm_lease *lease);
/* Warm ones that are to have a second round of heat. */
unsigned pool_lukewarm(const struct vm *vm);
/* pool_start.c. Has the lease's machine run its job. */
void pool_run(struct vm_lease *lease);
extern const struct machine_events pool_machine_events; /* arg: the room */
/* pool_lease.c. Of one that is zeroed. */
void lease_init(struct vm_lease *lease);
/* Delivers what the lease is due, later. */
void pool_defer(struct vm_lease *lease);
/* Delivers stranded, later. */
void lease_strand(struct vm_lease *lease);
/* Delivers failed, later, once. */
void lease_fail(struct vm_lease *lease, enum vm_failure why,
		const char *sentence);
/* What the lease and its class say of its machine. */
void pool_sign(const struct vm_lease *lease, struct vm_origin *ret);
/* pool_machines.c. Looks at everything soon. */
void pool_kick(struct vm *vm);
unsigned pool_count(const struct vm *vm, enum machine_state state);
unsigned pool_total(const struct vm *vm); /* in any state */
/* pool_class.c. */
void pool_template_done(void *arg, const struct vm_class *cls,
			const struct backend_template *t,
			const struct err *err);

#endif
