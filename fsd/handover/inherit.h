/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a serving process leaves to the next one when it is killed: requests
 * that the kernel waits for, open files, the inode numbers that it knows, what
 * is on record of each job. The
 * memory is the supervisor's (supervisor.h), so it outlives whoever writes it; what is
 * to outlive the host is in the store.
 *
 *   0        struct inherit_head
 *   64 KiB   struct inherit_message, some: requests that are being looked at
 *   64 MiB   requests   512 MiB  handles   1 GiB  nodes   2 GiB  blocks
 *   3 GiB    untold   4 GiB  jobs    5.25 GiB  replay buffers   6.25 GiB  seats
 *   6.5 GiB  muxes    8.5 GiB  sandboxes  13 GiB  files of sandboxes
 *
 * All but what is used is a hole. A table's record begins with `live`, which
 * is written last: who takes over finds whole ones. It believes none of them:
 * the process that died may have been taken over itself.
 */
#ifndef FSD_INHERIT_H
#define FSD_INHERIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/layout.h"
#include "vm/channel/mux.h"
#include "vm/vm.h"

/* Raised with every change of what is here, and of supervisor.h. */
#define INHERIT_VERSION 17u

#define INHERIT_INIT_MAX 4096u
#define INHERIT_MESSAGE_MAX ((1u << 20) + 4096u)
#define INHERIT_MESSAGES 32u
#define INHERIT_BLOCK 16384u
#define INHERIT_HELPERS 8u
#define INHERIT_REFUSALS 3u

enum inherit_table {
	INHERIT_REQUESTS, INHERIT_HANDLES, INHERIT_NODES, INHERIT_BLOCKS,
	INHERIT_UNTOLD, INHERIT_JOBS,
	INHERIT_REPLAYS, /* struct vm_replay: runs whose machines may outlive us */
	INHERIT_SEATS, INHERIT_SANDBOXES, INHERIT_GUEST_INODES,
	INHERIT_MUXES, /* struct vm_mux: the machines of sandboxes */
	INHERIT_TABLES
};

struct inherit_head {
	uint32_t version;
	uint32_t served;    /* servers so far; 0: none has served yet */
	uint32_t draining;  /* the operator's wish */
	uint32_t init_len;  /* 0: the kernel has not begun */
	uint32_t jobs_whole; /* every job has a record */
	uint32_t opened;    /* handles so far */
	uint64_t started_ns, health_ns; /* of the mount, CLOCK_REALTIME */
	uint64_t last_seq;  /* of requests */
	uint32_t count[INHERIT_TABLES]; /* records that were ever in use */
	/* Processes that tell watchers (inotify.h), also of dead servers; 0: none. */
	int32_t helper[INHERIT_HELPERS];
	struct vm_known known; /* of the machines' room */
	/* shutdown.c: servers that the disk has ended, the last one first, as now_ns()
	 * has it; why, an errno; and whether that were too many. */
	uint64_t refused_ns[INHERIT_REFUSALS];
	uint32_t refused, read_only;
	_Alignas(uint64_t) uint8_t init[INHERIT_INIT_MAX];
};

/* How far a request has come, wherever it lies. */
struct inherit_progress {
	uint32_t tries;  /* servers that died while they looked at it */
	uint32_t begun;  /* what cannot be done twice has begun, */
	uint64_t before; /* and what the operation found before */
};

struct inherit_message {
	uint64_t seq;
	struct inherit_progress progress;
	uint8_t data[INHERIT_MESSAGE_MAX]; /* its first word is 0: none */
};

#define INHERIT_SHORT 200u /* bytes of a request that need no blocks */

struct inherit_request {
	uint32_t live;
	uint32_t len;
	uint64_t seq;    /* in this order they came */
	struct inherit_progress progress;
	union {
		uint8_t data[INHERIT_SHORT];
		uint32_t block[INHERIT_SHORT / sizeof(uint32_t)];
	};
};

enum inherit_handle_kind { INHERIT_FILE = 1, INHERIT_LISTING, INHERIT_GUEST_INODE };

/* An open file or directory; for its number for the kernel see handle_table.h. */
struct inherit_handle {
	uint32_t live;
	uint16_t kind;   /* enum inherit_handle_kind */
	uint16_t what;   /* enum handle_kind */
	uint64_t ino;
	uint64_t end;    /* the fields of struct handle of the same names */
	uint64_t poll;   /* the kernel's number of a poll, 0: none */
	uint32_t flags;  /* O_ACCMODE | O_APPEND of its opening */
	uint32_t number; /* no other in this place has had it */
	uint32_t uid;    /* who opened it */
	uint32_t run;
	int32_t opener, seen;
	int32_t closer;
	uint8_t writer, changed, failed;
	uint8_t how;     /* INHERIT_DIRECT ...: what its opener was told */
};

#define INHERIT_DIRECT 1u
#define INHERIT_NOFLUSH 2u

/* A stored file that the kernel has looked up. */
struct inherit_node {
	uint32_t live;
	uint32_t run;    /* AREA_OUTPUT */
	uint64_t ino, job;
	uint32_t area;   /* enum node_area; else it is gone */
	uint32_t born;   /* tells it from who has its number later; 0: unknown */
	uint32_t uid, unused; /* of the job's owner */
	uint64_t lookups; /* that the kernel was told of, and may forget */
};

/* A job of which watchers have not been told all. */
struct inherit_untold {
	uint32_t live;
	uint32_t known;  /* 1 << row: the results that they know of */
	uint64_t job;
};

#define INHERIT_NAME 208u
#define INHERIT_WHY 200u

/* A job: what its meta says (store.h), for meta_copy.c; and what is on no record. */
struct inherit_job {
	uint32_t live;
	uint32_t torn;   /* the disk may say something else, or nothing */
	uint64_t no;
	uint32_t uid, gid, mode, state, run, exit_code;
	uint32_t attempt, retry, retain_s;
	uint32_t hidden, hidden_run; /* struct job's, of that run's results, */
	uint16_t copied;
	uint8_t sink;                /* whether there is one */
	uint8_t tries;               /* struct job's */
	uint32_t held;
	uint32_t due; /* it is to be told what it waits for: draft.c */
	uint64_t created_ns, changed_ns, queued_no, ended_ns;
	char name[INHERIT_NAME];
};

/* A sandbox or a session: all that there is of it but its machine. */
struct inherit_sandbox {
	uint32_t live;
	uint32_t lost;        /* its machine is gone, because of why */
	uint64_t no;          /* struct sandbox's, */
	uint64_t made_ns, until_ns, paused_ns;
	uint32_t uid, gid;
	uint32_t mux;         /* its machine's place, plus 1; 0: it has none */
	uint32_t which;       /* the text that holds; the other is a draft */
	uint32_t text_len[2];
	uint64_t memory_mb[2]; /* which its environment may have raised */
	char name[INHERIT_NAME];
	char environment_id[68], environment_name[68]; /* "": base */
	uint32_t held;        /* it goes with the last open file `hold` */
	uint32_t single;      /* a session, which has no text: what its machine has */
	uint32_t cpus;
	uint64_t memory;      /* bytes, */
	uint64_t idle_ms;     /* and when it ends */
	char why[INHERIT_WHY];
	_Alignas(4096) char text[2][LIMIT_CONFIG_BYTES]; /* config.json */
};

/* All before the text: what a new one's owner is to zero. */
#define INHERIT_SANDBOX_HEAD offsetof(struct inherit_sandbox, text)

/* A session, or one of a sandbox. */
struct inherit_seat {
	uint32_t live;
	uint32_t lane;        /* of its interpreter; 0: it has none */
	uint64_t no, sandbox;
	uint64_t steps, lease_steps;
	char language[16], name[INHERIT_NAME];
};

/* A file of a sandbox that the kernel has looked up. */
struct inherit_guest_inode {
	uint32_t live;
	uint32_t is_dir;
	uint64_t ino, home;   /* of the home or root that it is in */
	uint64_t lookups;
	char path[1000];      /* a longer one is not kept */
};

struct inherit_block {
	uint32_t live;
	uint8_t data[INHERIT_BLOCK - sizeof(uint32_t)];
};

struct inherit;

/* Return: a descriptor of new memory, or a negative errno. */
int inherit_make(void);
/* Takes over what is in fd (borrowed); below 0: nothing, and for nobody.
 * Return: 0, -ENOMEM, -EPROTO: another version has written it. */
int inherit_open(int fd, struct inherit **ret);
void inherit_close(struct inherit *in); /* NULL is fine */

struct inherit_head *inherit_head(struct inherit *in);
/* i: below INHERIT_MESSAGES. */
struct inherit_message *inherit_message(struct inherit *in, unsigned i);

/* A zeroed record, not live yet, and its place. NULL: there is no room. */
void *inherit_add(struct inherit *in, enum inherit_table table,
		  uint32_t *ret_place);
/* NULL if there is no such place or nothing live there. */
void *inherit_at(struct inherit *in, enum inherit_table table, uint32_t slot);
/* Places of a table: 0 .. this - 1. */
uint32_t inherit_count(const struct inherit *in, enum inherit_table table);
uint32_t inherit_slot(const struct inherit *in, enum inherit_table table,
		      const void *record);
void inherit_del(struct inherit *in, enum inherit_table table, void *record);
/* None of a table is live any more. */
void inherit_clear(struct inherit *in, enum inherit_table table);
/* Once, when `live` of every record of a table can be believed: what is not is
 * given out again. Before that only what lies behind all of them is. */
void inherit_recycle(struct inherit *in, enum inherit_table table);

/* Everything before is written before `live` is. */
static inline void inherit_publish(uint32_t *live)
{
	__atomic_store_n(live, 1u, __ATOMIC_RELEASE);
}

#endif
