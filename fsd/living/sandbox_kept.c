/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the data of sandboxes for the next server, and adopts the sandboxes of a killed
 * one. The sandbox has a record, each of its sessions has one, and its machine has a mux
 * (vm/channel/mux.h). Its runs have replay buffers, as runs with machines of their own.
 *
 * The file owns these three tables. Its functions run on the loop and do not wait; those
 * of the second half run before the loop runs.
 */
#include "sandbox_adopt.h"
#include "sandbox_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/environments.h"
#include "vm/channel/mux.h"
#include "vm/environment/environment.h"

static HANDOVER_TABLE(sandbox_records, "sandboxes", 1, struct sandbox_record, 2048,
		      .zeroed = offsetof(struct sandbox_record, text));
static HANDOVER_TABLE(seat_records, "seats", 1, struct seat_record, 1u << 18);
static HANDOVER_TABLE(mux_records, "muxes", 2, struct vm_mux, 512, .zeroed = VM_MUX_HEAD);

/* --- for the next server ----------------------------------------------------------- */

void sandbox_keep_text(const struct sandbox *s)
{
	struct sandbox_record *k = s->kept;
	uint32_t draft;

	if (!k)
		return;
	draft = !k->which;
	k->text_len[draft] = (uint32_t)MIN(s->text.len, sizeof(k->text[0]));
	memcpy(k->text[draft], s->text.len ? s->text.data : "",
	       k->text_len[draft]);
	k->memory_mb[draft] = s->config.machine.memory_mb;
	__atomic_store_n(&k->which, draft, __ATOMIC_RELEASE);
}

void sandbox_keep(const struct sandbox *s)
{
	struct sandbox_record *k = s->kept;

	if (!k)
		return;
	k->until_ns = s->until_ns;
	k->paused_ns = s->paused_ns;
	k->held = s->held;
	k->single = s->single;
	k->memory = s->memory;
	k->cpus = (uint32_t)sandbox_machine(s)->cpus;
	k->idle_ms = s->config.idle_ms;
	memcpy(k->why, s->why, sizeof(k->why));
	/* A machine without a mux ends with this server. */
	k->lost = s->stage == STAGE_LOST ||
		  (s->stage == STAGE_LIVES && !s->mux && !s->single);
}

void sandbox_keep_new(struct sandbox *s)
{
	struct sandbox_record *k;
	uint32_t place;

	k = handover_add(s->d->handover, &sandbox_records, &place);
	if (!k)
		return;
	k->no = s->no;
	k->made_ns = s->made_ns;
	k->uid = s->uid;
	k->gid = s->gid;
	snprintf(k->name, sizeof(k->name), "%s", s->name);
	s->kept = k;
	sandbox_keep_text(s);
	sandbox_keep(s);
	handover_publish(&k->live);
}

void sandbox_keep_environment(struct sandbox *s)
{
	struct sandbox_record *k = s->kept;
	const struct environment *e = s->environment;

	if (!k)
		return;
	snprintf(k->environment_id, sizeof(k->environment_id), "%s",
		 e ? e->id : "");
	snprintf(k->environment_name, sizeof(k->environment_name), "%s",
		 e ? e->name : "");
}

struct vm_mux *sandbox_keep_mux(struct sandbox *s)
{
	struct sandbox_record *k = s->kept;
	struct vm_mux *m;
	uint32_t place;

	m = k ? handover_add(s->d->handover, &mux_records, &place) : NULL;
	if (!m)
		return NULL;
	handover_publish(&m->live);
	__atomic_store_n(&k->mux, place + 1, __ATOMIC_RELEASE);
	s->mux = m;
	return m;
}

static void forget_mux(struct fsd *d, struct sandbox_record *k,
		       struct vm_mux *m)
{
	k->mux = 0;
	mux_end(m);
	handover_del(d->handover, &mux_records, m);
}

void sandbox_forget_mux(struct sandbox *s)
{
	struct vm_mux *m = take_ptr(s->mux);

	if (m)
		forget_mux(s->d, s->kept, m);
}

void sandbox_forget(struct sandbox *s)
{
	sandbox_forget_mux(s);
	if (s->kept)
		handover_del(s->d->handover, &sandbox_records, s->kept);
	s->kept = NULL;
}

void seat_keep(const struct seat *t)
{
	struct seat_record *k = t->kept;

	if (!k)
		return;
	k->lane = t->lease ? vm_lane(t->lease) : 0;
	k->steps = t->steps;
	k->lease_steps = t->lease_steps;
}

void seat_keep_new(struct seat *t)
{
	struct seat_record *k;
	uint32_t place;

	if (!t->name || t->kept || !t->sandbox->kept)
		return;
	k = handover_add(t->sandbox->d->handover, &seat_records, &place);
	if (!k)
		return;
	k->no = t->no;
	k->sandbox = t->sandbox->no;
	snprintf(k->language, sizeof(k->language), "%s", t->lang->name);
	snprintf(k->name, sizeof(k->name), "%s", t->name);
	t->kept = k;
	seat_keep(t);
	handover_publish(&k->live);
}

bool sandbox_outlives(const struct run *run)
{
	const struct seat *t = run->living.seat;

	if (t && t->sandbox->single)
		return t->kept && !run->vm_job.stdin_open;
	return t && t->sandbox->mux && (!t->name || t->kept);
}

void sandbox_sign(const struct run *run, struct vm_replay *replay)
{
	replay->sandbox = run->living.seat->sandbox->no;
	replay->seat = run->living.seat->no;
	replay->lane = vm_lane(run->lease);
	replay->step = run->living.step;
}

void seat_forget(struct seat *t)
{
	if (t->kept)
		handover_del(t->sandbox->d->handover, &seat_records, t->kept);
	t->kept = NULL;
	seat_forget_rest(t);
}

/* --- from the previous server --------------------------------------------- */

/* Parses the config again, like a text of a user: the previous server may have been
 * compromised. Return: 0 or negative errno. */
static int restore_config(struct sandbox *s, const struct sandbox_record *k)
{
	uint32_t which = k->which & 1;
	uint32_t len = MIN(k->text_len[which], (uint32_t)sizeof(k->text[0]));
	struct err err;
	int r;

	if (len && buf_add(&s->text, k->text[which], len) < 0)
		return -ENOMEM;
	r = sandbox_config_parse(k->text[which], len, &s->d->options->limits,
				 &s->config, &err);
	/* Without memory_mb in the config, the environment may have raised the default. */
	if (r == 0 && !s->config.machine.memory_given)
		s->config.machine.memory_mb =
			MIN(k->memory_mb[which], s->d->options->limits.memory_mb);
	return r;
}

/* Opens the environment by its id, as its name may lead to another one now. */
int sandbox_find_environment(struct sandbox *s, const struct sandbox_record *k)
{
	struct environment_places places = *environments_places(s->d->environments);
	struct err err;
	int r;

	if (!k->environment_id[0])
		return 0;
	places.is_users = true;
	places.uid = s->uid;
	r = environment_open_id(&places, k->environment_id, &s->environment,
				&err);
	if (r == -ENOENT) { /* the machine has its files open and needs no other */
		log_warn("%s %s of user %u: its environment %s has been removed",
			 sandbox_kind(s), s->name, s->uid, k->environment_name);
		return 0;
	}
	if (r < 0)
		return r;
	snprintf(s->environment->name, sizeof(s->environment->name), "%.*s",
		 ENVIRONMENT_NAME_MAX, k->environment_name);
	return 0;
}

/* Adopts the machine and its memory at the scheduler. Return: 0 or negative errno. */
static int take_machine(struct sandbox *s, const struct sandbox_record *k)
{
	struct vm_sockets sockets;
	int r = sandbox_find_environment(s, k);

	if (r < 0)
		return r;
	sockets = run_fetch_sockets(s->d, &s->mux->reach.keys);
	s->lease = vm_adopt_shared(s->d->vm, &sockets, s->mux, s->environment,
				   s->paused_ns, &sandbox_events, s);
	if (!s->lease)
		return -ESRCH;
	sandbox_fill_slot(s, MIB(s->config.machine.memory_mb));
	r = sched_adopt(s->d->sched, &s->slot);
	if (r == 0)
		sched_join(&s->slot, &s->hold);
	return r;
}

/* Recovers the replay buffers of all runs in s. Call it before a frame is sent to the
 * machine. */
static void recover_replays(const struct sandbox *s)
{
	struct handover *in = s->d->handover;
	struct vm_replay *t;

	for (uint32_t i = 0; (t = handover_next(in, &replay_records, &i)); )
		if (t->sandbox == s->no && replay_recover_lane(t, s->mux->out.end) < 0)
			t->spoiled = 1;
}

static bool is_of_one(struct fsd *d, const struct vm_mux *m)
{
	list_for_each(pos, tmp, &d->sandboxes->all)
		if (list_entry(pos, struct sandbox, node)->mux == m)
			return true;
	return false;
}

static const char gone[] = "its machine has died, with the server";

/* Adopts the machine of a sandbox that had one, or had just asked for one. */
static void find_machine(struct sandbox *s, const struct sandbox_record *k)
{
	struct vm_mux *m = handover_at(s->d->handover, &mux_records, k->mux - 1);

	if (!m || is_of_one(s->d, m)) {
		s->kept->mux = 0;
		return;
	}
	s->mux = m;
	if (!m->shared) { /* no run was in this machine: a new one is started later */
		sandbox_forget_mux(s);
		return;
	}
	s->stage = STAGE_LOST;
	if (mux_recover(m) == 0 && take_machine(s, k) == 0) {
		recover_replays(s);
		s->stage = STAGE_LIVES;
		sandbox_network_adopt(s);
		log_info("sandbox %s of user %u: another server goes on with it",
			 s->name, s->uid);
		return;
	}
	log_warn("sandbox %s of user %u: its machine is lost", s->name, s->uid);
	sandbox_lose(s, gone);
}

/* Upper bounds for fields that a compromised server may have written. */
#define MEMORY_MAX (1ull << 46)
#define CPUS_MAX 4096u

static void adopt_one(struct fsd *d, struct sandbox_record *k)
{
	struct sandbox *s;

	k->name[sizeof(k->name) - 1] = '\0';
	k->environment_id[sizeof(k->environment_id) - 1] = '\0';
	k->environment_name[sizeof(k->environment_name) - 1] = '\0';
	s = job_name_check(k->name) < 0 || job_name_is_draft(k->name)
		    ? NULL : sandbox_new(d, k->no, k->name, k->uid, k->gid,
					 k->single);
	if (!s) {
		k->live = 0;
		return;
	}
	sandboxes_no_taken(d, k->no);
	s->made_ns = k->made_ns;
	s->until_ns = k->until_ns;
	s->paused_ns = k->paused_ns;
	s->used_ns = now_ns();
	s->held = k->held;
	utf8_recover(k->why, sizeof(k->why));
	memcpy(s->why, k->why, sizeof(s->why));
	s->kept = k;
	if (s->single) {
		s->config.idle_ms = MIN(k->idle_ms, LIMIT_SESSION_IDLE_MS);
		s->config.machine.cpus = MIN(k->cpus, CPUS_MAX);
		s->memory = MIN(k->memory, MEMORY_MAX);
		sandbox_set_times(s);
		return; /* single_adopt() finds its machine */
	}
	if (restore_config(s, k) < 0) {
		log_error("sandbox %s of user %u cannot be taken over: its "
			  "config is not there", s->name, s->uid);
		sandbox_drop(s);
		return;
	}
	if (k->lost) {
		s->stage = STAGE_LOST;
		if (!s->why[0])
			snprintf(s->why, sizeof(s->why), "%s", gone);
	} else if (k->mux)
		find_machine(s, k);
	s->told_state = sandbox_state_no(s);
	sandbox_set_times(s);
}

static void adopt_seat(struct fsd *d, struct seat_record *k)
{
	struct sandbox *s = sandboxes_by_no(d, k->sandbox);
	const struct lang *lang;
	struct seat *t;

	k->name[sizeof(k->name) - 1] = '\0';
	k->language[sizeof(k->language) - 1] = '\0';
	lang = lang_by_name(k->language);
	t = s && lang ? seat_new(s, k->no, k->name, lang)
		      : NULL;
	if (!t) {
		k->live = 0;
		return;
	}
	sandboxes_no_taken(d, k->no);
	t->steps = k->steps;
	t->lease_steps = k->lease_steps;
	t->kept = k;
}

void sandboxes_adopt(struct fsd *d)
{
	struct handover *in = d->handover;
	struct sandbox_record *k;
	struct seat_record *seat;

	for (uint32_t i = 0; (k = handover_next(in, &sandbox_records, &i)); )
		adopt_one(d, k);
	for (uint32_t i = 0; (seat = handover_next(in, &seat_records, &i)); )
		adopt_seat(d, seat);
	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (s->single)
			single_adopt(s);
	}
}

/* --- its runs ------------------------------------------------------------- */

/* Puts an adopted run into its seat. t: its replay buffer, recovered. Return: 0; -ESRCH:
 * the run had not begun, or its sandbox, seat or lane does not exist any more. */
static int take_seat(struct run *run, struct vm_replay *t)
{
	struct sandbox *s = sandboxes_by_no(run->d, t->sandbox);
	const char *name = run->spec.config->session;
	struct seat *seat;
	int r;

	if (s && s->single)
		return single_take_run(s, run, t);
	if (!t->lane) /* the run had left its lane, which another run may have */
		return -ESRCH;
	if (!s || s->stage != STAGE_LIVES || s->uid != run->job->meta.uid ||
	    !t->sent)
		return -ESRCH;
	seat = name ? sandbox_session(s, name)
		    : seat_new(s, t->seat, NULL, run->spec.lang);
	if (!seat || seat->current || seat->lease)
		return -ESRCH;
	run->living.seat = seat; /* run_fill_limits() takes limits from the sandbox */
	run_fill_limits(run);
	run->living.seat = NULL;
	r = seat_go_on_with(seat, t->lane, run);
	if (r < 0 && !name)
		seat_free(seat);
	return r;
}

/* Finds an adopted run's standard input. Return: 0, or negative errno: the file is
 * gone. */
static int take_input(struct run *run, const struct vm_replay *t)
{
	const struct job_config *c = run->spec.config;

	run->vm_job.stdin_open = c->stdin_open;
	run->vm_job.stdin_size = t->stdin_size;
	if (c->stdin_open)
		feed_take(run, t);
	return run_take_inputs(run, t->lane && t->stdin_size > t->feed.put);
}

int sandbox_take_run(struct run *run, struct vm_replay *t)
{
	static const struct vm_sockets closed = { -1, -1, -1, -1 };
	int r = take_input(run, t);

	run->vm_job.replay = t;
	run->living.step = t->step;
	run->slot.granted = true; /* the sandbox's slot is the one that counts */
	run_fill_limits(run);
	if (r == 0)
		r = take_seat(run, t);
	if (r < 0) /* no lane to continue on: the replay buffer may have all that the
		    * machine sent, up to the run's end */
		run->lease = vm_adopt(run->d->vm, &closed, &run->vm_job,
				      &run_events, run);
	return run->lease ? 0 : r;
}

/* True if the killed server had sent JOB to the seat's lane and not RUN. */
static bool has_not_begun(const struct seat *t)
{
	struct handover *in = t->sandbox->d->handover;
	const struct vm_replay *replay;

	for (uint32_t i = 0; (replay = handover_next(in, &replay_records, &i)); )
		if (replay->sandbox == t->sandbox->no && replay->seat == t->no &&
		    replay->lane == t->kept->lane)
			return !replay->run_at;
	return false;
}

static void go_on(struct sandbox *s)
{
	list_for_each(pos, tmp, &s->seats) {
		struct seat *t = list_entry(pos, struct seat, node);

		if (s->stage == STAGE_LIVES && t->kept && t->kept->lane &&
		    !t->lease)
			seat_go_on(t, t->kept->lane, has_not_begun(t));
		else if (!t->lease)
			seat_keep(t);
	}
	sandbox_used(s); /* starts the idle time, unless there are runs */
	sandbox_changed(s);
}

/* Ends muxes that belong to no sandbox: the server was killed before it wrote into a
 * record which mux the sandbox has, or after it had cleared that. */
static void drop_muxes(struct fsd *d)
{
	struct handover *in = d->handover;
	struct vm_mux *m;

	for (uint32_t i = 0; (m = handover_next(in, &mux_records, &i)); ) {
		if (is_of_one(d, m))
			continue;
		mux_end(m);
		m->live = 0;
	}
}

void sandboxes_adopted(struct fsd *d)
{
	struct handover *in = d->handover;

	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (s->single)
			single_adopted(s);
		else if (s->held && !s->holders)
			sandbox_end(s);
		else
			go_on(s);
	}
	drop_muxes(d);
	singles_drop_replays(d);
	handover_recycle(in, &sandbox_records);
	handover_recycle(in, &seat_records);
	handover_recycle(in, &mux_records);
}
