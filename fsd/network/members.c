/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs that use the network: gives each a socket of the door, and the door's records.
 * Owns the list of jobs and their wishes; a job's user owns its watch. All functions run
 * on the loop.
 *
 * Each socket has a number of its own, which is never used twice. When a job's wish
 * changes it gets a new number. Records of its last one still reach it.
 */
#include "network_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Tells the door about the job, and the job about its socket. Without a door the job gets
 * its socket when there is one. */
static int begin(struct network_job *j)
{
	struct network *n = j->network;
	struct door_order order = {
		.version = DOOR_VERSION, .op = DOOR_NEW, .job = n->numbers->last + 1,
		.uid = j->uid, .wish_size = (uint32_t)j->len,
	};
	auto_close int ours = -1, theirs = -1;
	int pair[2], r;

	if (n->door.sock < 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	r = network_order(n, &order, j->wish, theirs);
	if (r < 0)
		return r;
	take_fd(&theirs); /* the order has it */
	n->numbers->last++;
	if (j->no)
		j->former = j->no;
	j->no = order.job;
	j->watch->door(j->arg, take_fd(&ours));
	return 0;
}

/* A door that has never heard of the job gets no message. */
static void end(struct network_job *j)
{
	struct door_order order = { .version = DOOR_VERSION, .op = DOOR_GONE,
				    .job = j->no };

	if (j->no)
		network_order(j->network, &order, NULL, -1);
}

static int set_wish(struct network_job *j, const char *wish, size_t len)
{
	char *copy;

	if (!len || len > DOOR_WISH_MAX)
		return -EINVAL;
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, wish, len);
	free(j->wish);
	j->wish = copy;
	j->len = len;
	return 0;
}

int network_join(struct network *n, uid_t uid, const char *wish, size_t len,
		 const struct network_watch *watch, void *arg, struct network_job **ret)
{
	struct network_job *j = calloc(1, sizeof(*j));
	int r = j ? set_wish(j, wish, len) : -ENOMEM;

	if (r == 0) {
		j->network = n;
		j->uid = uid;
		j->watch = watch;
		j->arg = arg;
		list_add_tail(&n->jobs, &j->node);
		*ret = j;
		r = begin(j);
	}
	if (r < 0) {
		*ret = NULL;
		if (j)
			list_del(&j->node);
		free(j ? j->wish : NULL);
		free(j);
	}
	return r;
}

int network_change(struct network_job *j, const char *wish, size_t len)
{
	int r = set_wish(j, wish, len);

	if (r < 0)
		return r;
	end(j); /* the old wish ends, whoever has its socket */
	return begin(j);
}

void network_leave(struct network_job *j)
{
	if (!j)
		return;
	end(j);
	list_del(&j->node);
	free(j->wish);
	free(j);
}

uint32_t network_no(const struct network_job *j)
{
	return j->no;
}

void network_was(struct network_job *j, uint32_t no)
{
	j->former = no;
}

void network_jobs_begin(struct network *n)
{
	list_for_each(node, next, &n->jobs) {
		struct network_job *j = list_entry(node, struct network_job, node);
		int r;

		j->no = 0; /* this door has not heard of it */
		j->watch->renewed(j->arg, j->wish, j->len);
		r = begin(j);
		if (r < 0)
			log_warn("a job of uid %u has no network: %s", j->uid,
				 strerror(-r));
	}
}

/* --- records ------------------------------------------------------------- */

void network_job_record(struct network *n, const struct door_record *r)
{
	n->told[r->told]++;
	list_for_each(node, next, &n->jobs) {
		struct network_job *j = list_entry(node, struct network_job, node);

		if (j->no != r->job && j->former != r->job)
			continue;
		j->watch->record(j->arg, r);
		return;
	}
}

void network_jobs_say(struct network *n, const char *sentence)
{
	list_for_each(node, next, &n->jobs) {
		struct network_job *j = list_entry(node, struct network_job, node);

		j->watch->said(j->arg, sentence);
	}
}

void network_counts(const struct network *n, uint64_t ret[NET_TOLD_MAX])
{
	memcpy(ret, n->told, sizeof(n->told));
}
