/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine's life, from its start out of a template to its reaping, and the
 * only place that assigns machine->state:
 *
 *   STARTING -> HEATING <-> WARM -> LEASED <-> RUNNING -> ENDED -> (freed)
 *       |          |                   ^
 *       +----------+-------------------+  a lease that waits takes it early
 *       '--> WARM                         when there is no time to heat it
 *   every state -> ENDED               its process is killed, to be reaped
 */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include "vm/backend.h"
#include "vm/channel/channel.h"
#include "vm/channel/lanes.h"
#include "vm/lease.h"

enum machine_state {
	MACHINE_STARTING, /* being restored; cannot hear yet */
	MACHINE_HEATING,  /* runs no-ops */
	MACHINE_WARM,     /* stopped, in the pool; `heated` says how warm */
	MACHINE_LEASED,   /* belongs to a lease, idle or stopped */
	MACHINE_RUNNING,  /* has the job, or is shared */
	MACHINE_ENDED,    /* killed; its process is not reaped yet */
	MACHINE_STATE_MAX
};

extern const char *const machine_state_names[MACHINE_STATE_MAX];

struct machine;

struct machine_events {
	/*
	 * It is up, or has finished one round of heat: may it be leased?
	 * Return: true if somebody took it, so that it heats no further.
	 */
	bool (*idle)(void *arg, struct machine *m);
	void (*warm)(void *arg, struct machine *m);
	/* After machine_ask_cost(): see struct backend_machine_events. */
	void (*cost)(void *arg, struct machine *m, uint64_t bytes);
	/* It has said something of its job, or of a lane, for the first
	 * time. */
	void (*heard)(void *arg, struct machine *m);
	/* It broke, in whatever state; it is ENDED now. */
	void (*broken)(void *arg, struct machine *m, enum vm_failure why,
		       const char *sentence);
	/* It is reaped and freed right after this call. */
	void (*gone)(void *arg, struct machine *m);
};

struct machine {
	struct list node;             /* the pool's */
	enum machine_state state;     /* assigned by machine.c only */
	uint64_t made_ns;             /* CLOCK_MONOTONIC: when its start began */
	void *owner;                  /* the pool's class */
	struct vm_lease *lease;       /* the pool's, NULL when not leased */
	uint32_t hot;                 /* runners that it was born hot for */
	uint32_t heat;                /* runners it is to be heated for, and hot */
	uint32_t heated;              /* runners that have answered */
	unsigned heats;               /* times that it was heated to the end */
	bool forked;                  /* off a zygote, and not restored */

	/* machine.c's own */
	struct loop *loop;
	struct backend_machine *bm;   /* NULL once gone */
	struct channel *ch;           /* owned; NULL once ended */
	struct lanes *lanes;          /* owned; NULL but while it is shared */
	const struct machine_events *ev;
	void *arg;
	unsigned scale, patience;     /* of its waits, and of a lane's besides */
	unsigned rounds;              /* of heat that are left per runner */
	uint32_t round_left;          /* runners left in this round */
	bool paused, up;
	bool born_hot;                /* it only draws its secrets */
	bool used;                    /* it has had a job, or was shared */
	bool heard;                   /* and has said something of it */
	bool stored;                  /* it was WARM */
	bool suspect;                 /* WARM: it is to answer first */
	bool taken;                   /* ENDED: by the host, not by itself */
	bool gone;                    /* nobody waits for its process */
	struct loop_timer sleep;      /* WARM, but awake: when it is to stop */
	struct loop_timer served;     /* its job is over: its end is near */
	struct loop_timer eof_wait;   /* the wire closed: why? */
	enum vm_failure eof_why;
};

struct machine_spec {
	struct loop *loop;
	struct backend *backend;
	const struct vm_class *cls;
	unsigned scale;
	uint32_t heat;                /* mask of runners, 0: none */
	unsigned rounds;
	const struct machine_events *ev;
	void *arg;
	void *owner;
};

int machine_new(const struct machine_spec *spec, struct machine **ret,
		struct err *err);
/* From WARM: runs no-ops until it is WARM again. */
void machine_heat(struct machine *m, uint32_t runners, unsigned rounds);
/* WARM and stopped: wakes it for a moment, because a job may come. It is WARM
 * all the same. */
void machine_rouse(struct machine *m);
/* WARM: it is a suspect until it has answered; if it does not it dies. */
void machine_probe(struct machine *m);
/* WARM: `cost` follows, unless it ends before. */
void machine_ask_cost(struct machine *m);
/* From idle or WARM to LEASED. */
void machine_lease(struct machine *m, struct vm_lease *lease);
/* LEASED to RUNNING: wakes it and sends the job. Unless patient, one that does
 * not wake at once is broken soon. */
void machine_run(struct machine *m, const struct vm_job *job, bool patient,
		 const struct vm_events *ev, void *arg);
/* LEASED to RUNNING, with lanes (machine->lanes) instead of a job. Return: 0 or
 * negative errno; then it is to be ended. */
int machine_share(struct machine *m, const struct vm_share *share,
		  bool patient);
/* One that a process before this one had, RUNNING: see channel_adopt(). wire and
 * monitor are consumed, both -1: it is gone, and its tape has all. Return: 0 or
 * negative errno. */
int machine_adopt(const struct machine_spec *spec, int wire, int monitor,
		  const struct vm_job *job, const struct vm_events *job_ev,
		  void *job_arg, struct machine **ret);
/* The same of a shared one, with its lanes: see lanes_adopt(). Both descriptors lead to
 * it. */
int machine_adopt_shared(const struct machine_spec *spec, struct vm_mux *mux,
			 int wire, int monitor, bool paused,
			 struct machine **ret);
/* It is shared: it stops, or goes on. */
void machine_pause(struct machine *m, bool pause);
/* Kills it, in any state; no event but gone follows. */
void machine_end(struct machine *m);
/* Frees it without waiting for its process, when the backend is closed. */
void machine_forget(struct machine *m);

#endif
