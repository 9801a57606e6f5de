/* SPDX-License-Identifier: Apache-2.0 */
#include "sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/jobs/environments.h"
#include "fsd/jobs/job.h"
#include "fsd/files/remote.h"
#include "run_int.h"
#include "sessions_int.h"
#include "fsd/sched/sched.h"

/* What was opened in it is not what the next one has at the same path. */
static void drop_machine(struct session *s)
{
	if (s->lease)
		vm_end(take_ptr(s->lease));
	sched_release(&s->hold);
	remote_drop(s->d->remotes, s->no);
	s->granted = false;
	s->lease_steps = 0;
}

static void session_free(struct session *s)
{
	struct sched *sched = s->d->sched;

	list_del(&s->node);
	loop_timer_del(&s->idle);
	loop_call_del(&s->next);
	drop_machine(s);
	environment_unref(s->environment);
	free(s->name);
	free(s);
	sched_look(sched); /* another one may begin */
}

/* --- its machine ------------------------------------------------------------- */

static void on_granted(void *arg)
{
	struct session *s = arg;

	s->granted = true;
	loop_defer(s->d->loop, &s->next);
}

/* No machine could be had, or an idle one has died. */
static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct session *s = arg;
	struct run *run = list_first(&s->waiting, struct run, in_session);
	char kept[300];

	/* The sentence is the lease's. */
	snprintf(kept, sizeof(kept), "%s", sentence);
	drop_machine(s);
	if (run)
		run_events.failed(run, why, kept);
	else
		log_warn("session %s: its machine has died: %s", s->name, kept);
	loop_defer(s->d->loop, &s->next);
}

static void on_waits(void *arg, const char *sentence)
{
	const struct session *s = arg;
	struct run *run = list_first(&s->waiting, struct run, in_session);

	if (run)
		run_events.waits(run, sentence);
}

static void on_stranded(void *arg)
{
	const struct session *s = arg;
	struct run *run = list_first(&s->waiting, struct run, in_session);

	if (run)
		run_events.stranded(run);
}

static const struct vm_events session_events = {
	.granted = on_granted,
	.failed = on_failed,
	.waits = on_waits,
	.stranded = on_stranded,
};

void session_take_back(struct session *s)
{
	log_warn("session %s of user %u: another user had waited for its machine, "
		 "which was not in use", s->name, s->uid);
	drop_machine(s);
	s->given = true;
}

/* --- one step after the other ---------------------------------------------------- */

static void on_idle(struct loop_timer *t)
{
	struct session *s = t->arg;

	/* What waits for something else than the session is use of it too. */
	if (sched_has_steps(s->d->sched, s->uid, s->name)) {
		loop_timer_set(s->d->loop, t, s->idle_ms * NS_PER_MS);
		return;
	}
	log_debug("session %s: ended after %" PRIu64 " s without use", s->name,
		  s->idle_ms / 1000);
	session_free(s);
}

void session_rest(struct session *s)
{
	if (s->ending) {
		session_free(s);
		return;
	}
	if (!s->idle.loop) {
		s->idle_since_ns = now_ns();
		loop_timer_set(s->d->loop, &s->idle, s->idle_ms * NS_PER_MS);
	}
}

static void ask_for_machine(struct session *s, struct run *run)
{
	struct vm_need need = {
		.runner = WIRE_RUN_EXEC,
		.memory_bytes = run_memory_need(run),
		.cpus = run->vm_job.wire.cpus,
		.environment = s->environment,
	};

	/* The one before has ended: this one has its place. */
	sched_hold(&run->slot, run_room_need(run), need.cpus, &s->hold);

	s->lease = vm_lease(s->d->vm, &need, &session_events, s);
	if (!s->lease)
		run_events.failed(run, VM_FAILED_START,
				  "no machine can be asked for");
}

static void on_next(struct loop_call *c)
{
	struct session *s = c->arg;
	struct run *run = list_first(&s->waiting, struct run, in_session);

	if (s->current)
		return;
	if (!run) {
		session_rest(s);
		return;
	}
	loop_timer_del(&s->idle);
	if (!s->lease) {
		ask_for_machine(s, run);
	} else if (s->granted) {
		list_del(&run->in_session);
		s->current = run;
		run->step = s->steps + 1;
		if (s->given)
			job_log(run->job, "session %s: begun anew, for another "
				"user had waited for its machine, which was not "
				"in use", s->name);
		s->given = false;
		run_begin(run, s->lease);
	}
}

/* By the clock: a counter would tell each user of the others' sessions. It is
 * part of an inode number, which has room for nine years of this. */
uint64_t sessions_next_no(struct fsd *d)
{
	struct sessions *all = d->sessions;

	return all->last_no = MAX(all->last_no + 1, now_ns() >> 22);
}

void sessions_no_taken(struct fsd *d, uint64_t no)
{
	d->sessions->last_no = MAX(d->sessions->last_no, no);
}

static struct session *session_new(struct run *run, const char *name)
{
	const struct job_meta *owner = &run->job->meta;
	struct fsd *d = run->d;
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct session){
		.d = d, .no = sessions_next_no(d), .name = strdup(name),
		.uid = owner->uid, .gid = owner->gid,
		.lang = lang_living(run->spec.lang),
		.environment = environment_ref(run->environment.of),
		.idle = { .fn = on_idle, .arg = s },
		.next = { .fn = on_next, .arg = s },
	};
	list_init(&s->waiting);
	if (!s->name) {
		environment_unref(s->environment);
		free(s);
		return NULL;
	}
	list_add_tail(&d->sessions->all, &s->node);
	return s;
}

struct session *session_find_own(struct fsd *d, uid_t uid, const char *name)
{
	list_for_each(pos, tmp, &d->sessions->all) {
		struct session *s = list_entry(pos, struct session, node);

		if (s->uid == uid && !s->ending && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

static int check_language(const struct session *s, const char *name,
			  const struct lang *lang, struct err *err)
{
	if (s && s->lang != lang_living(lang))
		return err_set(err, -EINVAL,
			       "config.json: \"session\" is \"%s\", which speaks "
			       "%s; this program is %s: use another name, or "
			       "end it by rmdir .fsd/sessions/%s",
			       name, s->lang->name, lang->name, name);
	return 0;
}

/* It has what its first step asked for. A step that asks for nothing has that. */
static int check_environment(const struct session *s,
			     const struct job_config *c, struct err *err)
{
	char room[ENVIRONMENT_SHOWN_MAX];

	if (s && c->packages.count &&
	    !environments_has(s->d, s->uid, s->environment, c))
		return err_set(err, -EINVAL,
			       "config.json: \"packages\" has what the session "
			       "\"%s\" in %s has not: use another name, or end "
			       "it by rmdir .fsd/sessions/%s", c->session,
			       environments_name(s->environment), c->session);
	if (!s || !c->environment || c->packages.count ||
	    environments_is(s->d, s->environment, c->environment))
		return 0;
	return err_set(err, -EINVAL,
		       "config.json: \"environment\" is %s, and the "
		       "session \"%s\" has %s: use another name, or end it by "
		       "rmdir .fsd/sessions/%s",
		       environment_shown(c->environment, room), c->session,
		       environments_name(s->environment), c->session);
}

/* One that has lost its machine to another user begins anew with its next step, as
 * one that is not there. */
static bool has_place(const struct session *s)
{
	return s->hold.sched || !s->given;
}

/* May uid have one more, if so many are to come? Idle ones have their machines
 * as well. */
static int check_room(struct fsd *d, uid_t uid, unsigned coming, unsigned own,
		      struct err *err)
{
	unsigned most = MAX(sched_machines_most(d->sched), 2u) - 1;
	struct quota_limits may;
	struct quota_use use;

	quota_of(users_quota(d->users), uid, &use, &may);
	list_for_each(pos, tmp, &d->sessions->all) {
		const struct session *s = list_entry(pos, struct session, node);

		if (!has_place(s))
			continue;
		coming++;
		own += s->uid == uid;
	}
	if (may.running && own >= may.running)
		return err_set(err, -EDQUOT,
			       "you have %u sessions already, as many as "
			       "--quota-running allows; end one by rmdir "
			       ".fsd/sessions/NAME",
			       own);
	if (coming >= most)
		return err_set(err, -EAGAIN,
			       "%u sessions live already, as many as machines "
			       "allow; end one by rmdir .fsd/sessions/NAME",
			       coming);
	return 0;
}

int sessions_check(struct fsd *d, uid_t uid, const struct job_config *c,
		   const struct lang *lang, bool accepted, struct err *err)
{
	const char *name = c->session;
	const struct session *s = session_find_own(d, uid, name);
	struct err why = { 0 };
	int r = check_environment(s, c, err);

	if (r < 0)
		return r;
	if (s || accepted)
		return check_language(s, name, lang, err);
	r = check_room(d, uid, 0, 0, &why);
	if (r == -EAGAIN && sched_has_turn(d->sched, uid))
		r = 0; /* it waits, and another user's gives way */
	return r < 0 ? err_set(err, r,
			       "config.json: \"session\" is \"%s\", and %s",
			       name, why.text)
		     : 0;
}

const char *sessions_begins(const struct run *run, unsigned coming,
			    unsigned own, bool *ret)
{
	struct err *err = &run->d->sessions->why;
	uid_t uid = run->job->meta.uid;
	const struct session *s =
		session_find_own(run->d, uid, run->spec.config->session);

	*ret = !s || !has_place(s);
	return *ret && check_room(run->d, uid, coming, own, err) < 0
		       ? err->text : NULL;
}

int sessions_join(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	const struct job_meta *owner = &run->job->meta;
	struct session *s = session_find_own(run->d, owner->uid, c->session);
	int r = sessions_check(run->d, owner->uid, c, run->spec.lang, true,
			       err);

	if (r < 0)
		return r;
	if (!s)
		s = session_new(run, c->session);
	if (!s)
		return err_sys(err, -ENOMEM, "a session cannot be begun");
	s->idle_ms = c->session_idle_ms;
	run->session = s;
	run_has_environment(run, s->environment);
	sched_join(&run->slot, &s->hold);
	list_add_tail(&s->waiting, &run->in_session);
	loop_timer_del(&s->idle); /* it may be due before the call */
	loop_defer(s->d->loop, &s->next);
	return 0;
}

bool sessions_lives(const struct run *run)
{
	return session_find_own(run->d, run->job->meta.uid, run->spec.config->session);
}

bool sessions_has_machine(const struct run *run)
{
	const struct session *s = session_find_own(run->d, run->job->meta.uid,
					   run->spec.config->session);

	return s && s->hold.sched;
}

void sessions_leave(struct run *run)
{
	struct session *s = take_ptr(run->session);

	if (!s)
		return;
	list_del(&run->in_session);
	if (s->current == run) {
		s->current = NULL;
		if (run->phase == RUN_COMPLETE && run->exit.lives && !s->ending) {
			s->steps++;
			s->lease_steps++;
			vm_hear(s->lease, &session_events, s);
		} else {
			drop_machine(s);
		}
	}
	run->lease = NULL;
	loop_defer(s->d->loop, &s->next);
}

bool sessions_retry(struct run *run)
{
	struct session *s = run->session;

	if (!s || s->current != run || run_has_started(run) || !s->lease_steps)
		return false;
	drop_machine(s);
	run_unsend(run);
	s->current = NULL;
	list_add(&s->waiting, &run->in_session);
	job_log(run->job, "session %s: its interpreter had ended; begun anew",
		s->name);
	loop_defer(s->d->loop, &s->next);
	return true;
}

int sessions_new(struct sessions **ret)
{
	struct sessions *all = calloc(1, sizeof(*all));

	*ret = all;
	if (!all)
		return -ENOMEM;
	list_init(&all->all);
	return 0;
}

void sessions_free(struct sessions *all)
{
	free(all);
}

void sessions_end(struct fsd *d)
{
	if (!d->sessions)
		return; /* the server never began */
	list_for_each(pos, tmp, &d->sessions->all)
		session_free(list_entry(pos, struct session, node));
}

/* One that is still being accepted is not its job's yet: whoever accepts it
 * finds that it was cancelled, and has no machine. */
static void cancel(struct run *run)
{
	const char *why = "its session was ended";

	if (run_is_accepted(run)) {
		run_finish(run, STATUS_CANCELLED, why);
		return;
	}
	run->cancelled = true;
	run_fail(run, VM_FAILED_GUEST, why);
	sessions_leave(run);
	run_collect_stop(run);
	sched_leave(&run->slot);
}

/* Those that have no place in it yet. */
static void cancel_coming(struct session *s)
{
	struct sched_slot *slot;

	while ((slot = sched_step(s->d->sched, s->uid, s->name)))
		cancel(container_of(slot, struct run, slot));
}

void session_end(struct session *s)
{
	struct run *run;

	s->ending = true;
	cancel_coming(s);
	while ((run = list_first(&s->waiting, struct run, in_session)))
		cancel(run);
	if (s->current && run_is_accepted(s->current))
		run_kill(s->current->job);
	else if (s->current)
		cancel(s->current);
	loop_timer_del(&s->idle);
	loop_defer(s->d->loop, &s->next);
}
