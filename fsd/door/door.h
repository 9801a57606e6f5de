/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the door: a process with one thread that looks up names and connects for
 * the jobs of one server. It decides by the operator's policy and by each job's wish, and
 * passes connected sockets on; it sees no byte of a connection.
 *
 *   main.c      arguments, start
 *   files.c     the operator's file, certificates, users; sends them to the server
 *   hosts.c     the host's own names
 *   restrain.c  gives up all rights
 *   jobs.c      users, jobs, messages
 *   asks.c      one question of a relay, from its message to its answer
 *   judge.c     verdicts and their reasons
 *   lookup.c    c-ares, and the answers that it gave
 *   race.c      connects to the addresses of a name
 */
#ifndef FSD_DOOR_H
#define FSD_DOOR_H

#include <ares.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/layout.h"
#include "layout/network/verdict.h"
#include "vm/net/door_wire.h"
#include "vm/os/loop.h"

#define DOOR_FDS 4096      /* most sockets of jobs at a time */
#define DOOR_LIMIT (2 * DOOR_FDS) /* of descriptors; half of it for look-ups and the door */
#define DOOR_CONNECTS 1024 /* most connects under way */
#define DOOR_LOOKUPS 1024  /* most look-ups under way */
#define DOOR_PART 4        /* one user has at most a quarter of each */
#define DOOR_ASKS 256      /* most questions of a job that have no answer yet */
#define DOOR_TURN 32       /* most questions of a job that are read in one turn */
#define DOOR_RECORDS 1024  /* with more records unsent, no question is read */
#define DOOR_WAIT_NS (5 * NS_PER_S)     /* for a look-up, or for a free place */
#define DOOR_CONNECT_NS (10 * NS_PER_S) /* for a connection in all */
#define DOOR_ADDRESSES 16 /* most addresses of a name that count */
#define DOOR_NAMES 512    /* most answers that are kept for a user */

/* --- the host's own names ------------------------------------------------ */

struct host {
	char *name; /* owned; normalised */
	struct net_address address;
	size_t line; /* the order of the file */
};

struct hosts {
	size_t count;
	struct host *item; /* owned; sorted by name, then by line */
};

/* Parses the text of a hosts file; ignores lines that are wrong. Return: 0 or -ENOMEM. */
int hosts_read(const char *text, size_t len, struct hosts *ret);
void hosts_done(struct hosts *hosts);
/* Copies at most `most` addresses of a name. Return: their number. */
unsigned hosts_find(const struct hosts *hosts, const char *name, struct net_address *ret,
		    unsigned most);

/* --- places: what users share -------------------------------------------- */

enum door_kind { DOOR_LOOKUP, DOOR_CONNECTING, DOOR_KINDS };

/* The wish for a place; embedded, zeroed. */
struct door_turn {
	struct list node; /* in the user's `waiting` while it has none */
	struct door_user *user; /* borrowed; NULL: it neither waits nor has a place */
	enum door_kind kind;
	bool has_place;
	void (*go)(struct door_turn *t);
};

struct door_user {
	struct list node;
	struct door *door;
	uint32_t uid;
	struct net_share share; /* its lists are borrowed from the policy */
	unsigned jobs, queries; /* it is freed when both are 0 */
	unsigned used[DOOR_KINDS];
	unsigned sockets;
	struct list waiting[DOOR_KINDS];
	struct list names; /* of struct lookup; last used first */
	unsigned name_count;
};

/* --- jobs and questions -------------------------------------------------- */

struct door_job {
	struct list node;
	struct door_user *user;
	uint32_t no;
	struct net_wish wish; /* owned */
	struct loop_fd src;
	struct list asks;    /* those that have no answer yet */
	struct list answers; /* those whose answer is not sent yet */
	unsigned ask_count;  /* of both */
};

/* One question of a relay. Owned by its job. */
struct door_ask {
	struct list node; /* in job->asks or job->answers */
	struct door_job *job;
	struct door_question q;
	/* the name as host_name_read() gives it; "": the question has an address */
	char name[HOST_NAME_MAX_LEN + 1];
	struct loop_timer late;
	struct lookup *lookup; /* the one that it waits for; NULL: none */
	struct list among;     /* in lookup->asks */
	/* the addresses that were found and, after judging, those that may be used */
	struct net_address found[DOOR_ADDRESSES];
	unsigned found_count;
	bool silent; /* the name servers did not answer */
	struct door_turn turn;    /* to connect */
	struct race *race;        /* owned */
	struct door_answer answer;
	int fd; /* the connected socket */
};

struct door_unsent {
	struct list node;
	struct door_record record;
};

struct door {
	struct loop *loop;
	struct loop_fd server;
	struct net_policy policy;
	struct hosts hosts;
	struct resolver *resolver;
	struct list users, jobs;
	struct list records; /* of struct door_unsent */
	unsigned record_count;
	unsigned used[DOOR_KINDS];
	unsigned sockets, most_sockets; /* of all users together */
	struct loop_call serve; /* gives free places to those who wait */
	int code; /* the exit code */
};

/* --- jobs.c -------------------------------------------------------------- */

/* Serves until the server closes its socket. Return: the exit code. */
int door_serve(struct door *d);
/* Asks for a place: calls t->go at once, or when there is one. */
void door_turn_ask(struct door_user *u, struct door_turn *t);
/* Gives the place back, or ends the waiting. No-op if it has neither. */
void door_turn_end(struct door_turn *t);
/* Returns whether the user may have one more socket. */
bool door_has_socket(const struct door_user *u);
/* Counts n more sockets of the user, or fewer. */
void door_count_sockets(struct door_user *u, int n);
/* A look-up of the user has ended: frees the user if that was the last use of it. */
void door_user_put(struct door_user *u);
/* Tells the server a verdict. address, why: NULL: none. */
void door_tell(struct door_ask *a, enum net_told told, const struct net_address *address,
	       const char *why);
/* Sends the answer in a->answer and frees the question. */
void door_answer_ask(struct door_ask *a);

/* --- asks.c -------------------------------------------------------------- */

/* Begins to answer a question. It may be answered, and freed, when this returns. */
void ask_begin(struct door_job *job, const struct door_question *q);
/* Its look-up has ended: a->found, a->silent. */
void ask_resolved(struct door_ask *a);
/* Its race has ended: told, and of NET_TOLD_OK the socket (owned by the callee). */
void ask_raced(struct door_ask *a, enum net_told told, const struct net_address *address,
	       int fd, const char *why);
/* Its socket cannot be sent: the answer says so. */
void ask_drop_socket(struct door_ask *a);
/* Frees a question without an answer. */
void door_ask_free(struct door_ask *a);

/* --- judge.c ------------------------------------------------------------- */

struct judgement {
	enum net_told told;
	char why[DOOR_TEXT_MAX];
};

/* Judges an address of a name, or of the program itself (name NULL). */
void judge_address(const struct door_job *job, const char *name,
		   const struct net_address *a, unsigned port, struct judgement *ret);
/* Return: 1 if a datagram to the address would come from that address; 0 if not; negative
 * errno: the kernel cannot be asked now. */
int judge_is_own(const struct net_address *a);

/* --- lookup.c ------------------------------------------------------------ */

enum lookup_state { LOOKUP_WAITS, LOOKUP_ASKS, LOOKUP_KNOWN };

/* The addresses of one name, for one user. Owned by the user. */
struct lookup {
	struct list node; /* in user->names */
	struct door_user *user;
	char name[HOST_NAME_MAX_LEN + 1];
	enum lookup_state state;
	unsigned count;
	struct net_address address[DOOR_ADDRESSES];
	uint64_t until_ns; /* of LOOKUP_KNOWN */
	struct list asks;  /* those that wait */
	struct door_turn turn;
};

/* Reads the file of name servers. Return: 0 or negative errno, with a sentence. */
int resolver_new(struct door *d, const char *resolv_conf, struct err *err);
void resolver_free(struct door *d);
/* Looks up a->name: ask_resolved(a) follows, possibly before this returns. */
void lookup_ask(struct door_ask *a);
/* The question does not wait any more. */
void lookup_leave(struct door_ask *a);
/* Frees all look-ups of a user that has no query under way. */
void lookups_free(struct door_user *u);

/* --- race.c -------------------------------------------------------------- */

/* Connects to one of the addresses: ask_raced() follows, never before this returns.
 * Return: 0 or -ENOMEM. */
int race_begin(struct door_ask *a, const struct net_address *address, unsigned count);
void race_free(struct door_ask *a); /* no-op if there is none */

/* --- start --------------------------------------------------------------- */

struct door_files {
	const char *policy; /* NULL: the policy is made of rules */
	const char *const *rules;
	size_t rule_count;
	const char *hosts, *resolv_conf;
};

/* The texts of the operator. */
struct door_texts {
	struct buf policy, ca;
	uint32_t *ids; /* owned: one for each user of the policy */
	int policy_fd, ca_fd; /* owned: sealed memory with these; -1: none */
};

/* Reads and checks the operator's files. Return: 0 or negative errno, with a sentence. */
int files_read(struct door *d, const struct door_files *f, struct door_texts *ret,
	       struct err *err);
/* Puts the texts into sealed memory, for which the door has no right later. Return: 0 or
 * negative errno, with a sentence. */
int files_seal(struct door_texts *t, size_t user_count, struct err *err);
/* Tells the server the policy, or what is wrong (err->code < 0). Return: 0 or negative
 * errno. */
int files_send(const struct door_texts *t, uint32_t walls, const struct err *err);
void texts_done(struct door_texts *t);

/* Gives up all rights, and sets the most sockets. *ret_walls: bits of DOOR_WALL_...
 * Return: 0 or negative errno. */
int door_restrain(struct door *d, uint32_t uid_first, uint32_t uid_count,
		  uint32_t *ret_walls, struct err *err);

#endif
