/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the questions of relays. A question is decided by the name first, so a name that
 * no rule covers is never looked up; then each address of the name is judged, and those
 * that pass are connected to as judged. No name is resolved twice, so an answer that
 * changes gains no access.
 *
 * A question belongs to its job. Each waits at most 5 s for name servers, 5 s for a free
 * place and 10 s for a connection.
 */
#include "door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static struct net_asker asker_of(const struct door_ask *a)
{
	return (struct net_asker){ &a->job->user->share, &a->job->wish };
}

static void refuse(struct door_ask *a, enum net_told told,
		   const struct net_address *address, const char *why)
{
	door_tell(a, told, address, why);
	a->answer.told = told;
	a->answer.again = a->q.op == DOOR_RESOLVE &&
			  (a->silent || told == NET_TOLD_LIMIT);
	a->answer.range_count = 0;
	door_answer_ask(a);
}

/* --- the name ------------------------------------------------------------ */

/* Decides the name and the port, or the address that the program has given. */
static bool may_ask(struct door_ask *a)
{
	struct net_asker asker = asker_of(a);
	struct net_ports ports[NET_RULE_PORTS];
	unsigned count;
	bool looks = false;

	if (!a->name[0])
		return true; /* judge_address() decides it */
	count = net_name_ports(&asker, a->name, ports);
	if (!count) {
		refuse(a, NET_TOLD_DENIED, NULL, "no rule names it");
		return false;
	}
	if (a->q.op == DOOR_RESOLVE) {
		a->answer.range_count = count;
		for (unsigned i = 0; i < count; i++)
			a->answer.range[i] = (struct net_range){ ports[i].low,
								 ports[i].high };
		return true;
	}
	if (net_name_verdict(&asker, a->name, a->q.port, &looks) != NET_OK) {
		refuse(a, NET_TOLD_DENIED, NULL, "no rule names this port");
		return false;
	}
	a->answer.compares_name = looks;
	return true;
}

/* --- the addresses ------------------------------------------------------- */

/* Judges an address for a name that is looked up: it passes if it does at one end of one
 * range of its ports. The port is decided when a program connects. */
static void judge_ranges(struct door_ask *a, const struct net_address *address,
			 struct judgement *ret)
{
	for (unsigned i = 0; i < a->answer.range_count * 2; i++) {
		const struct net_range *r = &a->answer.range[i / 2];

		judge_address(a->job, a->name, address, i % 2 ? r->high : r->low, ret);
		if (ret->told == NET_TOLD_OK)
			return;
	}
}

/* Drops the addresses that may not be used. *ret: the judgement on the first one that was
 * dropped. */
static void judge_all(struct door_ask *a, struct judgement *ret,
		      struct net_address *ret_first)
{
	const char *name = a->name[0] ? a->name : NULL;
	unsigned kept = 0;

	ret->told = NET_TOLD_OK;
	for (unsigned i = 0; i < a->found_count; i++) {
		struct judgement now = { .told = NET_TOLD_DENIED };

		if (a->q.op == DOOR_RESOLVE)
			judge_ranges(a, &a->found[i], &now);
		else
			judge_address(a->job, name, &a->found[i], a->q.port, &now);
		if (now.told == NET_TOLD_OK) {
			a->found[kept++] = a->found[i];
		} else if (ret->told == NET_TOLD_OK) {
			*ret = now;
			*ret_first = a->found[i];
		}
	}
	a->found_count = kept;
}

static void on_place(struct door_turn *t)
{
	struct door_ask *a = container_of(t, struct door_ask, turn);

	loop_timer_del(&a->late);
	if (race_begin(a, a->found, a->found_count) < 0)
		refuse(a, NET_TOLD_LIMIT, NULL, "the host has no memory for it");
}

static void on_late(struct loop_timer *t)
{
	struct door_ask *a = t->arg;

	a->silent = a->lookup && a->lookup->state == LOOKUP_ASKS;
	if (a->silent)
		ask_resolved(a);
	else
		refuse(a, NET_TOLD_LIMIT, NULL,
		       "this user's part of the host's connections is used up");
}

static void wait_for(struct door_ask *a)
{
	loop_timer_set(a->job->user->door->loop, &a->late, DOOR_WAIT_NS);
}

/* Some of the addresses may be used. */
static void go_on(struct door_ask *a)
{
	if (a->q.op != DOOR_CONNECT) {
		door_answer_ask(a);
		return;
	}
	wait_for(a);
	a->turn.kind = DOOR_CONNECTING;
	a->turn.go = on_place;
	door_turn_ask(a->job->user, &a->turn);
}

void ask_resolved(struct door_ask *a)
{
	struct net_address first;
	struct judgement j;

	loop_timer_del(&a->late);
	lookup_leave(a);
	if (!a->found_count) {
		refuse(a, NET_TOLD_UNRESOLVED, NULL, a->silent ?
		       "could not be looked up: the host's name servers did not answer" :
		       "does not exist");
		return;
	}
	judge_all(a, &j, &first);
	if (a->found_count)
		go_on(a);
	else
		refuse(a, j.told, &first, j.why);
}

void ask_raced(struct door_ask *a, enum net_told told, const struct net_address *address,
	       int fd, const char *why)
{
	struct net_address where = *address; /* the race has it */

	if (told != NET_TOLD_OK) {
		refuse(a, told, &where, why);
		return;
	}
	a->fd = fd;
	door_count_sockets(a->job->user, 1);
	a->answer.address = where;
	door_tell(a, told, &where, NULL);
	door_answer_ask(a);
}

/* --- begin and end ------------------------------------------------------- */

/* Return: NULL, or why it is neither a name nor an address. */
static const char *read_target(struct door_ask *a)
{
	size_t len = strlen(a->q.name);

	if (a->q.op != DOOR_RESOLVE && !net_address_read(a->q.name, len, a->found)) {
		a->found_count = 1;
		return NULL;
	}
	if (host_name_read(a->q.name, len, a->name) < 0)
		return "it is no name of a host";
	return host_name_is_local(a->name) ? "that is the job's own machine" : NULL;
}

void ask_begin(struct door_job *job, const struct door_question *q)
{
	struct door_ask *a = calloc(1, sizeof(*a));
	const char *wrong;

	if (!a)
		return; /* the relay's own bound ends its wait */
	a->job = job;
	a->q = *q;
	a->fd = -1;
	a->late = (struct loop_timer){ .fn = on_late, .arg = a };
	a->answer = (struct door_answer){
		.version = DOOR_VERSION, .op = DOOR_ANSWER, .asked = q->op, .id = q->id,
		.allows_ech = job->user->share.ech,
	};
	list_add_tail(&job->asks, &a->node);
	job->ask_count++;
	wrong = read_target(a);
	if (wrong) {
		refuse(a, NET_TOLD_DENIED, NULL, wrong);
		return;
	}
	if (!may_ask(a))
		return;
	if (q->op == DOOR_CHECK) {
		a->found[0] = q->address;
		a->found_count = 1;
	}
	if (a->found_count) {
		ask_resolved(a);
		return;
	}
	wait_for(a);
	lookup_ask(a);
}

static void close_socket(struct door_ask *a)
{
	if (a->fd >= 0)
		door_count_sockets(a->job->user, -1);
	fd_close(&a->fd);
}

void ask_drop_socket(struct door_ask *a)
{
	close_socket(a);
	a->answer.told = NET_TOLD_LIMIT;
}

void door_ask_free(struct door_ask *a)
{
	loop_timer_del(&a->late);
	lookup_leave(a);
	race_free(a);
	door_turn_end(&a->turn);
	close_socket(a);
	list_del(&a->node);
	a->job->ask_count--;
	free(a);
}
