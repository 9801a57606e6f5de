/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one machine, from its start or adoption to its end: heat, pause,
 * lease, job, end. The only file that sets machine->state. Gets events of the
 * backend and of the channel, and reports to the pool by struct machine_events.
 * All functions run on the loop.
 */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "vm/channel/mux.h"
#include "vm/net/network.h"

/* A monitor answers within a millisecond; a frozen QEMU never does. */
#define WAKE_MS 2000
#define ROUSED_MS 1000 /* how long machine_rouse() keeps a machine awake */
/* milliseconds from the job's end to the machine's, if the owner does not end it
 * before */
#define SERVED_MS 100
/* milliseconds from the end of the wire until the process must have ended */
#define EOF_WAIT_MS 1000

const char *const machine_state_names[MACHINE_STATE_MAX] = {
	[MACHINE_STARTING] = "starting", [MACHINE_HEATING] = "heating",
	[MACHINE_WARM] = "warm",	 [MACHINE_LEASED] = "leased",
	[MACHINE_RUNNING] = "running",	 [MACHINE_ENDED] = "ended",
};

#define TO(state) (1u << (state))

static const unsigned next_states[MACHINE_STATE_MAX] = {
	[MACHINE_STARTING] = TO(MACHINE_HEATING) | TO(MACHINE_WARM) |
			     TO(MACHINE_LEASED) | TO(MACHINE_ENDED),
	[MACHINE_HEATING] = TO(MACHINE_WARM) | TO(MACHINE_LEASED) |
			    TO(MACHINE_ENDED),
	[MACHINE_WARM] = TO(MACHINE_HEATING) | TO(MACHINE_LEASED) |
			 TO(MACHINE_ENDED),
	[MACHINE_LEASED] = TO(MACHINE_RUNNING) | TO(MACHINE_ENDED),
	[MACHINE_RUNNING] = TO(MACHINE_LEASED) | TO(MACHINE_ENDED),
	[MACHINE_ENDED] = 0,
};
_Static_assert(ARRAY_SIZE(next_states) == MACHINE_STATE_MAX, "a row a state");

static bool enter(struct machine *m, enum machine_state state)
{
	if (!(next_states[m->state] & TO(state))) {
		log_error("a machine cannot go from %s to %s",
			  machine_state_names[m->state],
			  machine_state_names[state]);
		return false;
	}
	m->state = state;
	return true;
}

/* --- the end -------------------------------------------------------------- */

/* Enters ENDED: closes the wire and kills the process. */
static void end(struct machine *m)
{
	if (m->state == MACHINE_ENDED)
		return;
	enter(m, MACHINE_ENDED);
	loop_timer_del(&m->eof_wait);
	loop_timer_del(&m->sleep);
	loop_timer_del(&m->served);
	channel_free(m->ch);
	m->ch = NULL;
	lanes_free(m->lanes);
	m->lanes = NULL;
	if (m->bm)
		m->bm->backend->ops->kill(m->bm);
	else if (!m->gone)
		/* no backend machine, so no gone() will come: on_served() frees it */
		loop_timer_set(m->loop, &m->served, 0);
}

static void broke(struct machine *m, enum vm_failure why, const char *sentence)
{
	if (m->state == MACHINE_ENDED)
		return;
	end(m);
	m->ev->broken(m->arg, m, why, sentence);
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct machine *m = arg;

	if (!eof) {
		broke(m, why, sentence);
		return;
	}
	/* The process is probably dying. Wait: its end will say the reason. */
	m->eof_why = why;
	loop_timer_set(m->loop, &m->eof_wait, EOF_WAIT_MS * NS_PER_MS);
}

static void on_eof_wait(struct loop_timer *t)
{
	struct machine *m = t->arg;

	broke(m, m->eof_why, "the machine closed its wire");
}

static void on_gone(void *arg, const char *why, bool taken)
{
	struct machine *m = arg;
	enum vm_failure failure = m->state == MACHINE_RUNNING ?
					  VM_FAILED_LOST : VM_FAILED_START;

	m->bm = NULL;
	m->gone = true;
	m->taken = taken;
	/* Deliver the frames in the socket: the job may have ended before the process. */
	if (m->state != MACHINE_ENDED && m->lanes)
		lanes_drain(m->lanes);
	else if (m->state != MACHINE_ENDED)
		channel_drain(m->ch);
	if (m->state != MACHINE_ENDED)
		broke(m, m->eof_wait.loop ? m->eof_why : failure, why);
	m->ev->gone(m->arg, m);
	free(m);
}

void machine_end(struct machine *m)
{
	m->lease = NULL;
	end(m);
}

void machine_forget(struct machine *m)
{
	m->bm = NULL;
	m->gone = true;
	end(m);
	loop_timer_del(&m->served); /* an earlier machine_end() may have set it */
	free(m);
}

/* --- the start ------------------------------------------------------------ */

static void stop(struct machine *m)
{
	m->bm->backend->ops->pause(m->bm);
	m->paused = true;
}

/* Wakes the machine. limit_ns: most time for its answer; 0: the backend's limit. */
static void awake(struct machine *m, uint64_t limit_ns)
{
	loop_timer_del(&m->sleep);
	if (m->paused)
		m->bm->backend->ops->resume(m->bm, limit_ns);
	m->paused = false;
}

void machine_probe(struct machine *m)
{
	if (m->state != MACHINE_WARM || m->suspect)
		return;
	m->suspect = true;
	m->bm->backend->ops->probe(m->bm, WAKE_MS * NS_PER_MS);
}

static void on_alive(void *arg)
{
	struct machine *m = arg;

	m->suspect = false;
	if (m->state == MACHINE_WARM)
		m->ev->warm(m->arg, m);
}

void machine_ask_cost(struct machine *m)
{
	const struct vm_backend *ops = m->bm ? m->bm->backend->ops : NULL;

	if (m->state == MACHINE_WARM && ops && ops->cost)
		ops->cost(m->bm);
}

static void on_cost(void *arg, uint64_t bytes)
{
	struct machine *m = arg;

	m->ev->cost(m->arg, m, bytes);
}

static void on_sleep(struct loop_timer *t)
{
	stop(t->arg);
}

void machine_rouse(struct machine *m)
{
	awake(m, WAKE_MS * NS_PER_MS);
	loop_timer_set(m->loop, &m->sleep, ROUSED_MS * NS_PER_MS);
}

static void stop_and_store(struct machine *m)
{
	if (!enter(m, MACHINE_WARM))
		return;
	m->stored = true;
	m->heats += !!m->heat;
	stop(m);
	m->ev->warm(m->arg, m);
}

/* Heats the lowest runner of the round. One HEAT at a time, so that a lease
 * that comes meanwhile waits for one no-op only. */
static void heat_next(struct machine *m)
{
	uint32_t one;

	if (m->ev->idle(m->arg, m) || m->state == MACHINE_ENDED)
		return;
	if (!m->round_left && m->rounds) {
		m->rounds--;
		m->round_left = m->heat;
	}
	if (!m->round_left && !m->born_hot) {
		stop_and_store(m);
		return;
	}
	if (m->state == MACHINE_STARTING && !enter(m, MACHINE_HEATING))
		return;
	if (m->born_hot) {
		m->born_hot = false;
		channel_heat(m->ch, 0, 1);
		return;
	}
	one = m->round_left & -m->round_left;
	m->round_left &= ~one;
	channel_heat(m->ch, one, 1);
}

void machine_heat(struct machine *m, uint32_t runners, unsigned rounds)
{
	if (!runners || !enter(m, MACHINE_HEATING))
		return;
	m->heat |= runners;
	m->round_left = runners;
	m->rounds = rounds - 1;
	awake(m, 0);
	heat_next(m);
}

static void on_heated(void *arg, uint32_t runners)
{
	struct machine *m = arg;

	if (m->state != MACHINE_HEATING || m->gone)
		return;
	m->heated |= runners;
	heat_next(m);
}

static void on_up(void *arg)
{
	struct machine *m = arg;

	m->up = true;
	if (m->state == MACHINE_STARTING)
		heat_next(m);
}

static void on_served(struct loop_timer *t)
{
	struct machine *m = t->arg;

	if (m->state != MACHINE_ENDED) {
		end(m); /* keep m->lease: its owner has not called vm_end() yet */
		return;
	}
	/* end() has set this timer: machine_adopt() found no process, so no gone() comes. */
	m->ev->gone(m->arg, m);
	free(m);
}

/*
 * The job has finished. Killing the process uses a processor for longer than
 * publishing the result does. So the lease's owner publishes first and then
 * ends the machine; this timer is for an owner that does not.
 */
static void on_finished(void *arg)
{
	struct machine *m = arg;

	loop_timer_set(m->loop, &m->served, SERVED_MS * NS_PER_MS);
}

static void on_heard(void *arg)
{
	struct machine *m = arg;

	m->heard = true;
	m->ev->heard(m->arg, m);
}

static void on_lives(void *arg)
{
	enter(arg, MACHINE_LEASED);
}

/* The guest's network helper has ended. Ends a machine that has no lease yet. */
static void on_network_ended(void *arg)
{
	struct machine *m = arg;

	m->helpless = true;
	if (m->lease)
		m->ev->network_ended(m->arg, m);
	else
		broke(m, VM_FAILED_START, VM_NETWORK_HELPER_ENDED);
}

static const struct channel_events channel_events = {
	.heated = on_heated,
	.heard = on_heard,
	.finished = on_finished,
	.lives = on_lives,
	.network_ended = on_network_ended,
	.broken = on_broken,
};

static const struct backend_machine_events backend_events = {
	.up = on_up,
	.alive = on_alive,
	.cost = on_cost,
	.gone = on_gone,
};

static struct machine *blank(const struct machine_spec *spec)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	*m = (struct machine){
		.loop = spec->loop, .ev = spec->ev, .arg = spec->arg,
		.owner = spec->owner, .heat = spec->heat, .scale = spec->scale,
		.patience = vm_class_patience(spec->cls),
		.made_ns = now_ns(),
		.rounds = spec->heat ? spec->rounds : 0,
		.eof_wait = { .fn = on_eof_wait, .arg = m },
		.sleep = { .fn = on_sleep, .arg = m },
		.served = { .fn = on_served, .arg = m },
	};
	return m;
}

/* For a machine that the backend started hot: sets all as after its rounds of heat. */
static void is_born_hot(struct machine *m)
{
	m->hot = m->heated = m->bm->hot;
	m->heat |= m->hot;
	m->rounds = 0;
	m->born_hot = m->heat;
	m->heats = m->born_hot;
}

int machine_new(const struct machine_spec *spec, struct machine **ret,
		struct err *err)
{
	struct machine *m = blank(spec);
	int wire, r;

	if (!m)
		return err_sys(err, -ENOMEM, "a machine");
	r = spec->backend->ops->start(spec->backend, spec->cls, spec->heat,
				      &backend_events, m, &m->bm, &wire, err);
	if (r < 0) {
		free(m);
		return r;
	}
	m->forked = m->bm->forked;
	if (!(m->heat & ~m->bm->hot))
		is_born_hot(m);
	r = channel_new(spec->loop, wire, PHASE_IDLE, spec->scale,
			&channel_events, m, &m->ch);
	if (!r)
		r = channel_own(m->ch);
	if (r < 0)
		end(m); /* do not free m: the backend uses it until it calls gone() */
	*ret = m;
	return 0;
}

/* --- use ---------------------------------------------------------------- */

int machine_route(struct machine *m, const struct wire_network *net)
{
	return m->ch ? channel_network(m->ch, net) : -ESRCH;
}

int machine_network(struct machine *m, const struct wire_network *net, int ours,
		    int theirs, struct err *err)
{
	const struct vm_backend *ops = m->bm ? m->bm->backend->ops : NULL;
	int r;

	if (!ops || !ops->relay)
		return err_set(err, -ENOTSUP, "these machines have no network");
	if (m->helpless)
		return err_set(err, -EPIPE, VM_NETWORK_HELPER_ENDED);
	r = ops->relay(m->bm, ours, theirs, err);
	if (r < 0)
		return r;
	r = channel_network(m->ch, net);
	return r < 0 ? err_sys(err, r, "the machine's network") : 0;
}

void machine_lease(struct machine *m, struct vm_lease *lease)
{
	if (enter(m, MACHINE_LEASED))
		m->lease = lease;
	loop_timer_del(&m->sleep);
}

void machine_run(struct machine *m, const struct vm_job *job, bool patient,
		 const struct vm_events *ev, void *arg)
{
	if (!enter(m, MACHINE_RUNNING))
		return;
	m->used = true;
	if (job->replay) {
		replay_invalidate(job->replay);
		if (m->bm->backend->ops->sign)
			m->bm->backend->ops->sign(m->bm, &job->replay->reach);
	}
	/* Send before the guest is awake: the bytes wait in the socket. */
	awake(m, patient ? 0 : WAKE_MS * NS_PER_MS);
	channel_job(m->ch, job, ev, arg);
}

static void on_lanes_heard(void *arg)
{
	on_heard(arg);
}

static void on_lanes_broken(void *arg, const char *sentence, bool eof)
{
	on_broken(arg, VM_FAILED_LOST, sentence, eof);
}

static const struct lanes_events lanes_events = {
	.heard = on_lanes_heard,
	.broken = on_lanes_broken,
};

int machine_share(struct machine *m, const struct vm_share *share,
		  bool patient)
{
	const struct wire_share wire = {
		.memory_bytes = share->memory_bytes,
		.processes = share->processes,
		.cpus = share->cpus,
		.realtime_ns = realtime_ns(),
	};

	if (!enter(m, MACHINE_RUNNING))
		return -EINVAL;
	m->used = true;
	if (share->mux && m->bm->backend->ops->sign)
		m->bm->backend->ops->sign(m->bm, &share->mux->reach);
	awake(m, patient ? 0 : WAKE_MS * NS_PER_MS);
	/* A lane may start an interpreter, which imports the environment's packages as
	 * the boot does. So its timeouts get the boot's factor, patience, too. */
	return lanes_new(m->loop, m->ch, &wire, share->mux,
			 m->scale * m->patience, &lanes_events, m, &m->lanes);
}

/* Continues a shared machine. Its clock stood still, so set it. */
static void go_on(struct machine *m)
{
	awake(m, 0);
	channel_tell_time(m->ch);
}

void machine_pause(struct machine *m, bool pause)
{
	if (m->state != MACHINE_RUNNING || !m->lanes)
		return;
	lanes_pause(m->lanes, pause);
	if (pause)
		stop(m);
	else
		go_on(m);
}

/* Returns a socket whose other end is closed. */
static int dead_wire(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return -errno;
	close(pair[1]);
	return pair[0];
}

void machine_rest(struct machine *m, struct vm_replay *replay)
{
	if (m->state != MACHINE_LEASED)
		return;
	if (m->bm && m->bm->backend->ops->sign)
		m->bm->backend->ops->sign(m->bm, &replay->reach);
	channel_rest(m->ch, replay);
}

int machine_adopt(const struct machine_spec *spec, struct vm_replay *replay, int wire,
		  int monitor, const struct vm_job *job,
		  const struct vm_events *job_ev, void *job_arg,
		  struct machine **ret)
{
	struct backend *b = spec->backend;
	struct machine *m = blank(spec);
	auto_close int owned = monitor;
	bool lives = wire >= 0;
	int r;

	if (!lives)
		wire = dead_wire();
	if (!m || wire < 0) {
		fd_close(&wire);
		free(m);
		return -ENOMEM;
	}
	m->state = job ? MACHINE_RUNNING : MACHINE_LEASED;
	m->up = m->used = m->heard = true;
	r = job ? channel_adopt(spec->loop, wire, spec->scale, &channel_events, m,
				job, job_ev, job_arg, &m->ch)
		: channel_adopt_idle(spec->loop, wire, spec->scale,
				     &channel_events, m, replay, &m->ch);
	if (r == 0 && lives)
		r = b->ops->adopt(b, &replay->reach, spec->scale,
				  take_fd(&owned), &backend_events, m,
				  &m->bm);
	if (r < 0) {
		channel_free(m->ch);
		free(m);
		return r;
	}
	/*
	 * The dead process may have sent the job and not yet woken the machine.
	 * If the program has started, the machine is awake, and it need not
	 * answer in a given time.
	 */
	if (lives && job && !replay->started_ns)
		b->ops->resume(m->bm, 0);
	*ret = m;
	return 0;
}

int machine_adopt_shared(const struct machine_spec *spec, struct vm_mux *mux,
			 int wire, int monitor, bool paused,
			 struct machine **ret)
{
	struct backend *b = spec->backend;
	struct machine *m = blank(spec);
	auto_close int owned = monitor;
	int r;

	if (!m) {
		close(wire);
		return -ENOMEM;
	}
	m->state = MACHINE_RUNNING;
	m->up = m->used = m->heard = true;
	r = lanes_adopt(spec->loop, wire, mux, m->scale * m->patience,
			&lanes_events, m, &channel_events, m, &m->lanes, &m->ch);
	if (r == 0)
		r = b->ops->adopt(b, &mux->reach, spec->scale, take_fd(&owned),
				  &backend_events, m, &m->bm);
	if (r < 0) {
		channel_free(m->ch);
		lanes_free(m->lanes);
		free(m);
		return r;
	}
	lanes_pause(m->lanes, paused);
	m->paused = true;
	/* The dead process may have recorded this and not carried it out: do it again. */
	if (paused)
		b->ops->pause(m->bm);
	else
		go_on(m);
	*ret = m;
	return 0;
}
