/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one machine, from its start to the reaping of its process. Only
 * machine.c assigns machine->state:
 *
 *   STARTING -> HEATING <-> WARM -> LEASED <-> RUNNING -> ENDED -> (freed)
 *       |          |                   ^
 *       +----------+-------------------+  a waiting lease takes it early
 *       '--> WARM                         if there is no time to heat it
 *   every state -> ENDED                  its process is killed, not yet reaped
 *
 * All functions and events run on the loop.
 */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include "vm/backend.h"
#include "vm/channel/channel.h"
#include "vm/channel/lanes.h"
#include "vm/lease.h"

enum machine_state {
	/* being restored or forked; does not read its wire yet */
	MACHINE_STARTING,
	MACHINE_HEATING, /* runs no-op programs */
	/* stopped, in the pool; `heated` says for which runners it is warm */
	MACHINE_WARM,
	MACHINE_LEASED, /* belongs to a lease and waits for the job */
	MACHINE_RUNNING, /* runs the job, or is shared */
	MACHINE_ENDED,    /* killed; its process is not reaped yet */
	MACHINE_STATE_MAX
};

extern const char *const machine_state_names[MACHINE_STATE_MAX];

struct machine;

struct machine_events {
	/* The machine may be leased: it is up, machine_heat() has woken it, or the guest
	 * has answered one HEAT (a round has one HEAT for each runner).
	 * Return: true if the handler leased it; then it is heated no further. */
	bool (*idle)(void *arg, struct machine *m);
	void (*warm)(void *arg, struct machine *m);
	/* The answer to machine_ask_cost(): see struct backend_machine_events. */
	void (*cost)(void *arg, struct machine *m, uint64_t bytes);
	/* The first frame about its job, or of a lane, has come. */
	void (*heard)(void *arg, struct machine *m);
	/* The machine broke, in any state; it is ENDED now. */
	void (*broken)(void *arg, struct machine *m, enum vm_failure why,
		       const char *sentence);
	/* The machine's network helper has ended, LEASED or RUNNING. */
	void (*network_ended)(void *arg, struct machine *m);
	/* The machine's process is reaped. m is freed right after this call. */
	void (*gone)(void *arg, struct machine *m);
};

struct machine {
	struct list node; /* link in the pool's list */
	enum machine_state state;     /* assigned by machine.c only */
	uint64_t made_ns; /* CLOCK_MONOTONIC when the machine's start began */
	void *owner;                  /* the pool's class */
	struct vm_lease *lease; /* set by the pool; NULL: not leased */
	uint32_t hot; /* runners that the machine was warm for from the start */
	uint32_t heat; /* runners that the machine is or will be warm for */
	uint32_t heated; /* runners whose HEAT the guest has answered */
	unsigned heats; /* how many times all rounds of heat were completed */
	bool forked; /* forked off a zygote, not restored */

	/* only machine.c uses the fields below */
	struct loop *loop;
	struct backend_machine *bm; /* NULL once its process is reaped */
	struct channel *ch; /* owned; NULL once ENDED */
	struct lanes *lanes; /* owned; NULL unless it is shared */
	const struct machine_events *ev;
	void *arg;
	/* `scale` is the factor of all timeouts; those of lanes are multiplied by
	 * `patience` too */
	unsigned scale, patience;
	unsigned rounds; /* rounds of heat still to run for each runner */
	uint32_t round_left; /* runners still to heat in this round */
	bool paused, up;
	bool born_hot; /* the machine needs no heat: it only gets OWN (new secrets) */
	bool used; /* the machine got a job, or was shared */
	bool heard; /* a frame about that job has come */
	bool stored; /* the machine has been WARM, so it was idle in the pool */
	bool helpless; /* its network helper has ended */
	bool suspect; /* WARM: a probe was sent, and it has not answered */
	bool taken; /* ENDED: another process killed it, so its template is not at fault */
	bool gone; /* the backend has reported the process's end */
	struct loop_timer sleep; /* stops the machine again when it is WARM and awake */
	/* ends the machine some time after its job, if the lease's owner has not done so */
	struct loop_timer served;
	/* the wire closed: waits for the cause from its process */
	struct loop_timer eof_wait;
	enum vm_failure eof_why;
};

struct machine_spec {
	struct loop *loop;
	struct backend *backend;
	const struct vm_class *cls;
	unsigned scale;
	uint32_t heat; /* mask of runners to heat it for; 0: none */
	unsigned rounds;
	const struct machine_events *ev;
	void *arg;
	void *owner;
};

int machine_new(const struct machine_spec *spec, struct machine **ret,
		struct err *err);
/* WARM only: runs no-ops until it is WARM again. */
void machine_heat(struct machine *m, uint32_t runners, unsigned rounds);
/* WARM and stopped only: wakes it for ROUSED_MS, because a job may come. It
 * stays WARM. */
void machine_rouse(struct machine *m);
/* WARM only: sends a probe. The machine is `suspect` until it answers; if it does not
 * answer in time it is ended. */
void machine_probe(struct machine *m);
/* WARM only: the event cost() follows, unless the machine ends before. */
void machine_ask_cost(struct machine *m);
/* Leases a machine that is WARM; or any machine from inside its event idle(). */
void machine_lease(struct machine *m, struct vm_lease *lease);
/*
 * Wakes a LEASED machine and sends the job; the machine is RUNNING then. It is broken
 * if it does not wake in time: within WAKE_MS, or, with patient, within the backend's
 * longer limit.
 */
void machine_run(struct machine *m, const struct vm_job *job, bool patient,
		 const struct vm_events *ev, void *arg);
/* Makes a LEASED machine a shared one, RUNNING, with machine->lanes. Return: 0
 * or negative errno; then end the machine. */
int machine_share(struct machine *m, const struct vm_share *share,
		  bool patient);
/* LEASED only: starts its relay, whose account is a socket pair: the relay gets `theirs`,
 * the caller keeps `ours`; both are borrowed. Then sends NET to the guest. Return: 0, or
 * negative errno with a sentence. */
int machine_network(struct machine *m, const struct wire_network *net, int ours,
		    int theirs, struct err *err);
/* Tells a machine that has a relay of more routes. Return: 0 or negative errno. */
int machine_route(struct machine *m, const struct wire_network *net);
/* For a machine that is LEASED after a job: see vm_rest(). */
void machine_rest(struct machine *m, struct vm_replay *replay);
/*
 * Adopts a machine of a dead process. It is RUNNING then (channel_adopt()), or LEASED if
 * job is NULL. Consumes wire and monitor. Both -1: the machine is gone, and the replay
 * buffer has everything that it sent about the job.
 * Return: 0 or negative errno.
 */
int machine_adopt(const struct machine_spec *spec, struct vm_replay *replay, int wire,
		  int monitor, const struct vm_job *job,
		  const struct vm_events *job_ev, void *job_arg,
		  struct machine **ret);
/* The same for a shared machine with its lanes: see lanes_adopt(). wire and
 * monitor must both be open. */
int machine_adopt_shared(const struct machine_spec *spec, struct vm_mux *mux,
			 int wire, int monitor, bool paused,
			 struct machine **ret);
/* Stops or continues a shared machine. */
void machine_pause(struct machine *m, bool pause);
/* Kills the machine, in any state. Only the event gone() follows. */
void machine_end(struct machine *m);
/* Frees the machine without waiting for its process. Call it when the backend is
 * closed. */
void machine_forget(struct machine *m);

#endif
