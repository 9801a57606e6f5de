/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the network module: its state, and the calls between its files. */
#ifndef FSD_NETWORK_INT_H
#define FSD_NETWORK_INT_H

#include "network.h"

struct fiber;

/* The policy in force. */
struct network_rules {
	bool set;
	struct net_policy policy; /* owned, if set */
	char *ca; /* owned: PEM text; NULL: none */
	size_t ca_len;
};

/* A message that the door has not taken yet. */
struct network_order {
	struct list node;
	int fd; /* owned; -1: none */
	size_t size;
	char bytes[];
};

/* For the next server. `live` stays 0: another version may begin with new numbers. */
struct numbers_record {
	uint32_t live;
	uint32_t last; /* the last number that a socket of a door got; no other door uses it */
};

struct network_job {
	struct list node; /* in network->jobs */
	struct network *network;
	uid_t uid;
	char *wish; /* owned; no NUL behind it */
	size_t len;
	uint32_t no, former; /* of its socket, and of its former one; 0: none */
	const struct network_watch *watch; /* borrowed */
	void *arg;
};

struct fdstore;

struct network {
	struct handover *handover; /* this and the next two: borrowed */
	struct fdstore *fdstore;
	struct numbers_record *numbers;
	struct network_rules rules;
	struct ports_table *ports; /* owned */
	bool has_relays;
	struct network_use use; /* start NULL: the mount has no policy */
	/* the door in use; sock -1: none */
	struct network_door door;
	struct loop_fd src;
	uint32_t walls;
	uint64_t began_ns;
	int former; /* owned: socket of the former server's door; -1: none */
	struct list orders; /* of struct network_order */
	struct loop_timer restart;
	uint64_t pause_ns;
	/* a door that is being started */
	bool brings;
	struct fiber *waits; /* for its policy; NULL: none */
	struct loop_fd wait;
	struct loop_timer wait_late;
	/* jobs */
	struct list jobs;
	uint64_t told[NET_TOLD_MAX];
};

/* --- rules.c ------------------------------------------------------------- */

/*
 * Parses the policy that a door has sent: text, and the ids of its users (door_wire.h).
 * Return: 0; or -EINVAL, -EFBIG, -ENOMEM with a sentence.
 */
int network_rules_read(const char *text, size_t len, const uint32_t *ids, size_t id_count,
		       struct network_rules *ret, struct err *err);
void network_rules_done(struct network_rules *rules);

/* --- link.c -------------------------------------------------------------- */

/* Sends an order with its wish and descriptor (-1: none; consumed on success). Return: 0,
 * -EPIPE: there is no door, or -ENOMEM. */
int network_order(struct network *n, const struct door_order *order, const char *wish,
		  int fd);
/* Closes the door's socket, so that it ends. */
void network_door_drop(struct network *n);

/* --- members.c ----------------------------------------------------------- */

/* A new door is there: all jobs get sockets of it. */
void network_jobs_begin(struct network *n);
void network_job_record(struct network *n, const struct door_record *r);
/* Tells every job a sentence about the door. */
void network_jobs_say(struct network *n, const char *sentence);

#endif
