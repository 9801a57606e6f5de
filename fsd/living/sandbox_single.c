/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions without a sandbox (`single`, see sandboxes.h). Finds or makes the session of a
 * run, checks whether the run may be a step of it, and whether one more session may have
 * a machine. Everything else is as for a sandbox with one session. All functions run on
 * the loop or in a fiber; none waits.
 */
#include <errno.h>
#include <string.h>

#include "fsd/jobs/environments.h"
#include "fsd/users/users.h"
#include "fsd/users/quota.h"
#include "sandbox_int.h"

struct seat *sandbox_seat(const struct sandbox *s)
{
	return list_first(&s->seats, struct seat, node);
}

/* True if the next step decides what machine the session gets. */
static bool begins_anew(const struct sandbox *s)
{
	return s->stage == STAGE_NEW && !sandbox_is_in_use(s);
}

/* Return: 0; -EINVAL with a sentence: c asks for another network or other ports than the
 * session has. */
static int check_network(const struct sandbox *s, const struct job_config *c,
			 struct err *err)
{
	const struct job_config *machine = sandbox_machine(s);
	const char *own = machine->network_text;
	bool same = !c->network_text || (own && !strcmp(own, c->network_text));

	/* a server that has adopted the session does not know its network and ports */
	if (!s->asked || (same && (!config_has_ports(&c->ports) ||
				   config_ports_equal(&c->ports, &machine->ports))))
		return 0;
	if (same)
		return err_set(err, -EINVAL,
			       "config.json: \"ports\" differs from that of session \"%s\": "
			       "use another name, or end it by rmdir .fsd/sessions/%s",
			       c->session, c->session);
	return err_set(err, -EINVAL,
		       "config.json: \"network\" differs from that of session \"%s\", which "
		       "was started with%s%.200s: use another name, or end it by rmdir "
		       ".fsd/sessions/%s", c->session, own ? " " : "out one", own ? own : "",
		       c->session);
}

/* Checks that a later step asks for the network, packages and environment of the session,
 * or for none. */
int single_check_step(const struct sandbox *s, const struct job_config *c,
		      struct err *err)
{
	char room[ENVIRONMENT_SHOWN_MAX];

	if (begins_anew(s) || s->build.build)
		return 0;
	if (check_network(s, c, err) < 0)
		return -EINVAL;
	if (c->packages.count &&
	    !environments_has(s->d, s->uid, s->environment, c))
		return err_set(err, -EINVAL,
			       "config.json: \"packages\" has what the session "
			       "\"%s\" in %s has not: use another name, or end "
			       "it by rmdir .fsd/sessions/%s", c->session,
			       environments_name(s->environment), c->session);
	if (!c->environment || c->packages.count ||
	    environments_is(s->d, s->environment, c->environment))
		return 0;
	return err_set(err, -EINVAL,
		       "config.json: \"environment\" is %s, and the "
		       "session \"%s\" has %s: use another name, or end it by "
		       "rmdir .fsd/sessions/%s",
		       environment_shown(c->environment, room), c->session,
		       environments_name(s->environment), c->session);
}

static bool has_machine(const struct sandbox *s)
{
	return s->hold.sched;
}

/* True if the session has a machine or asks for one. */
static bool has_begun(const struct sandbox *s)
{
	return s->slot.user || s->lease;
}

/* Checks whether uid may begin one more session. counts(): which sessions count; idle
 * sessions do, since they keep their machines. Return: 0, -EDQUOT or -EAGAIN, with a
 * sentence. */
static int check_count(struct fsd *d, uid_t uid,
		       bool (*counts)(const struct sandbox *s), struct err *err)
{
	unsigned most = MAX(sched_machines_most(d->sched), 2u) - 1;
	unsigned count = 0, own = 0;
	struct quota_limits may;
	struct quota_use use;

	quota_of(users_quota(d->users), uid, &use, &may);
	list_for_each(pos, tmp, &d->sandboxes->all) {
		const struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (!s->single || !counts(s))
			continue;
		count++;
		own += s->uid == uid;
	}
	if (may.running && own >= may.running)
		return err_set(err, -EDQUOT,
			       "you have %u sessions already, as many as "
			       "--quota-running allows; end one by rmdir "
			       ".fsd/sessions/NAME", own);
	if (count >= most && !sched_has_turn(d->sched, uid)) /* if another user has a
							      * turn, an idle machine is
							      * taken back */
		return err_set(err, -EAGAIN,
			       "%u sessions live already, as many as machines "
			       "allow; end one by rmdir .fsd/sessions/NAME", count);
	return 0;
}

int single_may_begin(const struct sandbox *s, struct err *err)
{
	return check_count(s->d, s->uid, has_begun, err);
}

void singles_go(struct fsd *d)
{
	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (s->single)
			seats_go(s);
	}
}

int single_check(struct fsd *d, uid_t uid, const struct job_config *c,
		 const struct lang *lang, bool accepted, struct err *err)
{
	const struct sandbox *s = sandbox_find_own(d, uid, c->session, true);
	struct err why = { 0 };
	int r = s ? single_check_step(s, c, err) : 0;

	if (r == 0 && s)
		r = seat_check_language(sandbox_seat(s), lang, err);
	if (r < 0 || s || accepted)
		return r;
	r = check_count(d, uid, has_machine, &why);
	return r < 0 ? err_set(err, r,
			       "config.json: \"session\" is \"%s\", and %s",
			       c->session, why.text)
		     : 0;
}

void single_forget(struct sandbox *s)
{
	parsed_config_unref(take_ptr(s->asked));
}

int single_begin(struct sandbox *s, struct run *run, struct err *err)
{
	int r;

	if (!s->asked && s->stage == STAGE_NEW)
		s->asked = parsed_config_ref(run->spec.parsed);
	r = sandbox_begin(s, err);
	if (r < 0)
		single_forget(s);
	return r;
}

struct sandbox *single_of(struct run *run)
{
	const struct job_config *c = run->spec.config;
	const struct job_meta *owner = &run->job->meta;
	struct fsd *d = run->d;
	struct sandbox *s = sandbox_find_own(d, owner->uid, c->session, true);

	if (!s)
		s = sandbox_new(d, sandboxes_next_no(d), c->session, owner->uid,
				owner->gid, true);
	if (!s)
		return NULL;
	if (!s->kept)
		sandbox_keep_new(s);
	if (begins_anew(s))
		single_forget(s);
	s->config.idle_ms = c->session_idle_ms;
	return s;
}
