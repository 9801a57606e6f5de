/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a machine's network: machine_network.c has its beginning and its end,
 * machine_streams.c the connections. All functions run on the loop.
 */
#ifndef FSD_MACHINE_NETWORK_INT_H
#define FSD_MACHINE_NETWORK_INT_H

#include "fsd/network/network.h"
#include "machine_network.h"
#include "network_kept.h"
#include "vm/net/network.h"

#define EARLY_MOST 32u

struct machine_network {
	struct fsd *d;
	struct vm_lease *lease; /* borrowed; NULL: the relay has ended, */
	char lost[RELAY_TEXT_MAX]; /* for this reason; "": the machine broke the protocol */
	struct network_watch watch;
	struct network_job *job; /* owned; NULL: the machine has ports alone */
	struct ports *ports;     /* owned; NULL: the machine has none */
	struct kept_network *record; /* NULL: it is lost with this server */
	char name[LIMIT_FILE_NAME + 1]; /* of its job or sandbox */
	uid_t uid;
	uint64_t key;
	const struct network_listener *listener; /* borrowed, or NULL */
	void *arg;
	struct list streams; /* of struct stream */
	struct relay_said early[EARLY_MOST]; /* ends whose beginning did not come yet */
	unsigned early_count; /* of all that came; the next is early[that % EARLY_MOST] */
	uint64_t sent, received; /* so far */
	unsigned notes;
};

/* A struct door_record: a refusal, or the beginning of a stream. arg: the
 * machine_network. */
void machine_streams_record(void *arg, const struct door_record *r);
/* A message of the relay that is about streams, their bytes or their limits. arg: the
 * machine_network. */
void machine_streams_said(void *arg, const struct relay_said *said);
/* Ends all streams: the relay, which had their counts, has ended for the reason
 * n->lost. */
void machine_streams_lose(struct machine_network *n);
/* Forgets all streams, and their records for the next server. */
void machine_streams_drop(struct machine_network *n);
/* Takes the streams over that another server had recorded. */
void machine_streams_adopt(struct machine_network *n);

#endif
