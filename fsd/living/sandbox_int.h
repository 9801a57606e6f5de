/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by this room only. */
#ifndef FSD_SANDBOX_INT_H
#define FSD_SANDBOX_INT_H

#include "fsd/jobs/parsed_config.h"
#include "fsd/run/run_adopt.h"
#include "fsd/run/run_int.h"
#include "sandboxes.h"

enum stage {
	STAGE_NEW,   /* no machine was asked for */
	STAGE_COMES, /* it waits for its environment or its machine */
	STAGE_LIVES,
	STAGE_LOST,
};

struct sandboxes {
	uint64_t last_no;      /* given */
	struct list all;       /* of struct sandbox; it is also in: */
	struct hash by_no, by_name;
	struct hash seats_by_no; /* of struct seat */
	struct hash files_by_no; /* of struct sandbox_file */
};

struct sandbox {
	struct list node;      /* in sandboxes->all */
	struct hash_node by_no, by_name; /* if it is */
	bool indexed;          /* in these */
	bool single;           /* a session: its seat has the machine alone */
	struct parsed_config *asked; /* a reference: the step that a single one has its
				* machine of; NULL: config is what it has */
	struct fsd *d;
	uint64_t no;           /* of its places; none is used twice */
	char *name;            /* owned */
	uid_t uid;
	gid_t gid;
	uint64_t made_ns;      /* CLOCK_REALTIME */
	struct sandbox_config config;
	struct buf text;       /* config.json */
	struct list files;     /* of struct sandbox_file */
	enum stage stage;
	struct build_wait build; /* for its environment, in STAGE_COMES */
	struct environment *environment; /* a reference, from the asking for a machine on */
	uint64_t memory;       /* bytes of its programs and files, once it is queued */
	struct sched_slot slot;
	struct sched_reservation hold;
	struct vm_lease *lease; /* owned: the machine's */
	struct run *asks;      /* borrowed: the run that hears why it waits; NULL: all */
	struct list seats;
	struct list runs;      /* of struct run, living.in_sandbox */
	struct list waiters;   /* of struct sandbox_waiter */
	struct list watchers;
	void (*told)(struct list *node); /* of the watchers */
	unsigned told_state;   /* that they know */
	uint64_t until_ns;     /* CLOCK_REALTIME; 0: for ever */
	uint64_t paused_ns;    /* since when until_ns waits; 0: it is not paused */
	uint64_t used_ns;      /* now_ns(): when it was used last, or paused */
	unsigned holders;      /* open files `hold` of it; */
	bool held;             /* it ends with the last of them */
	char why[200]; /* it is lost, or a single one's machine was; "": it is
				* not */
	struct loop_timer until, idle;
	struct sandbox_record *kept; /* in fsd->handover, or NULL, */
	struct vm_mux *mux;    /* as is this: while it has a machine */
};

/* Where runs are one behind the other: a session, or one program's own. */
struct seat {
	struct list node;      /* in sandbox->seats */
	struct hash_node by_no; /* in sandboxes->seats_by_no */
	struct sandbox *sandbox;
	uint64_t no;
	char *name;            /* owned; NULL: a program's */
	const struct lang *lang;
	struct vm_lease *lease; /* owned, a single one's the machine's; NULL: begun at
				 * the next run */
	bool granted;
	bool told;             /* the log of its first run says why it waits */
	uint64_t steps, lease_steps;
	struct list waiting;   /* of struct run, living.in_session */
	struct run *current;   /* borrowed: it has the lease */
	struct loop_call next;
	struct loop_call late; /* its run has lost its lane, because of */
	char lost[300];
	struct seat_record *kept; /* a session's, in fsd->handover; or NULL */
	struct vm_replay *rest; /* a single one's, likewise: its machine has that between
				* two steps */
};

/* A sandbox or a session, for the next server: all that there is of it but its machine. */
struct sandbox_record {
	uint32_t live;
	uint32_t lost;        /* its machine is gone, because of why */
	uint64_t no;          /* struct sandbox's, */
	uint64_t made_ns, until_ns, paused_ns;
	uint32_t uid, gid;
	uint32_t mux;         /* its machine's slot, plus 1; 0: it has none */
	uint32_t which;       /* the text that holds; the other is a draft */
	uint32_t text_len[2];
	uint64_t memory_mb[2]; /* which its environment may have raised */
	char name[208];
	char environment_id[68], environment_name[68]; /* "": base */
	uint32_t held;        /* it goes with the last open file `hold` */
	uint32_t single;      /* a session, which has no text: what its machine has */
	uint32_t cpus;
	uint64_t memory;      /* bytes, */
	uint64_t idle_ms;     /* and when it ends */
	char why[200];
	_Alignas(4096) char text[2][LIMIT_CONFIG_BYTES]; /* config.json */
};

/* A session, or one of a sandbox, for the next server. */
struct seat_record {
	uint32_t live;
	uint32_t lane;        /* of its interpreter; 0: it has none */
	uint64_t no, sandbox;
	uint64_t steps, lease_steps;
	char language[16], name[208];
};

/* A number that no sandbox, session or seat has, nor had. */
uint64_t sandboxes_next_no(struct fsd *d);
/* sandbox.c: one without a config, in sandboxes->all. NULL without memory. */
struct sandbox *sandbox_new(struct fsd *d, uint64_t no, const char *name,
			    uid_t uid, gid_t gid, bool single);
/* An earlier server has given this number. */
void sandboxes_no_taken(struct fsd *d, uint64_t no);
/* "session" or "sandbox", for sentences. */
const char *sandbox_kind(const struct sandbox *s);
/* The config that its machine is made by. Borrowed. */
const struct job_config *sandbox_machine(const struct sandbox *s);
bool sandbox_is_in_use(const struct sandbox *s);
/* sandbox.c: the interpreter of a single one has ended; the next step gets another
 * machine. */
void sandbox_restart(struct sandbox *s);
/* sandbox.c: queues a single one, whose environment is known, for a machine that has
 * room for the inputs of its first step; old: that step's, as in struct sched_slot.
 * Return: 0 or negative errno with a sentence. */
int sandbox_queue(struct sandbox *s, uint64_t memory, uint64_t old, struct err *err);

/* sandbox.c: as run_host's tell(). */
void sandbox_tell(struct run *run);
/* sandbox_single.c: as sandboxes_check(), of a session without a sandbox. */
int single_check(struct fsd *d, uid_t uid, const struct job_config *c,
		 const struct lang *lang, bool accepted, struct err *err);
/* The session of the run; made, if there is none. NULL without memory. */
struct sandbox *single_of(struct run *run);
/* As sandbox_begin(): with what the run asks for, unless another step has asked. */
int single_begin(struct sandbox *s, struct run *run, struct err *err);
/* No machine could be had with that: the next step asks anew. */
void single_forget(struct sandbox *s);
/* May s be queued for its machine, as one more session? Return: 0, or negative errno
 * with a sentence: it waits, and singles_go() follows when another has ended. */
int single_may_begin(const struct sandbox *s, struct err *err);
void singles_go(struct fsd *d);
/* Why the run cannot be a step of it, a sentence in err: 0 or -EINVAL. */
int single_check_step(const struct sandbox *s, const struct job_config *c,
		      struct err *err);
/* sandbox_show.c: it can be found from now on, until then. Return: 0 or -ENOMEM. */
int sandbox_index(struct sandbox *s);
void sandbox_unindex(struct sandbox *s); /* no-op on one that is not */
/* The one of uid, or NULL. */
struct sandbox *sandbox_find_own(struct fsd *d, uid_t uid, const char *name,
				 bool single);
/* The number of sandboxes that uid has, sessions not counted. */
unsigned sandboxes_of(struct fsd *d, uid_t uid);
/* It is in no list any more, and its machine ends. */
void sandbox_drop(struct sandbox *s);
/* Its machine is gone for good; why: a sentence. */
void sandbox_lose(struct sandbox *s, const char *why);
extern const struct vm_events sandbox_events; /* of its machine */
extern const struct vm_events seat_events;    /* of a seat's, while no run has it */
void sandbox_fill_slot(struct sandbox *s, uint64_t memory);

/* sandbox.c: the first user. Return: 0 or negative errno with a sentence. */
int sandbox_begin(struct sandbox *s, struct err *err);
/* -EAGAIN with a sentence if it is paused, else 0. */
int sandbox_check_pause(const struct sandbox *s, struct err *err);
/* The time of its end is another one; 0: for ever. sandbox_set_times() is to follow. */
void sandbox_end_at(struct sandbox *s, uint64_t until_ns);
/* It was used just now. */
void sandbox_used(struct sandbox *s);
/* Its state may be another one. */
void sandbox_changed(struct sandbox *s);
/* sandbox_time.c: its timers, before and after all else of it. */
void sandbox_times_init(struct sandbox *s);
void sandbox_times_done(struct sandbox *s);
/* One of its times has changed. */
void sandbox_set_times(struct sandbox *s);

/* sandbox_kept.c: what the next server is to know. Without room there it knows
 * nothing, and the sandbox ends with this one. */
void sandbox_keep_new(struct sandbox *s);
void sandbox_keep(const struct sandbox *s); /* its times and its stage */
void sandbox_keep_text(const struct sandbox *s);
/* A machine of it is there, with its environment. */
void sandbox_keep_environment(struct sandbox *s);
/* Several runs will share it. Return: for struct vm_share, or NULL. */
struct vm_mux *sandbox_keep_mux(struct sandbox *s);
void sandbox_forget_mux(struct sandbox *s);
void sandbox_forget(struct sandbox *s);
void seat_keep_new(struct seat *t);
void seat_keep(const struct seat *t); /* its lane and its steps */
void seat_forget(struct seat *t);
/* The environment that a record of a killed server names. Return: 0 or negative errno. */
int sandbox_find_environment(struct sandbox *s, const struct sandbox_record *k);

/* session_kept.c: a step of a single one has ended, whose replay buffer was `of` (or NULL), and its
 * interpreter lives. */
void seat_rest(struct seat *t, struct vm_replay *of);
void seat_forget_rest(struct seat *t);
/* Of a killed server, once it has its seat: does its machine rest? Then it is this one's,
 * else perhaps a step's. */
void single_adopt(struct sandbox *s);
/* A step whose replay buffer was recovered continues there. Return: 0 or -ESRCH. */
int single_take_run(struct sandbox *s, struct run *run, struct vm_replay *replay);
/* After all runs. The second drops the replay buffers of no session and no run. */
void single_adopted(struct sandbox *s);
void singles_drop_replays(struct fsd *d);

/* sandbox_seats.c: name NULL: a program's. NULL without memory. */
struct seat *seat_new(struct sandbox *s, uint64_t no, const char *name,
		      const struct lang *lang);
void seat_free(struct seat *t);
/* 0, or -EINVAL with a sentence: it speaks another language. t: may be NULL. */
int seat_check_language(const struct seat *t, const struct lang *lang,
			struct err *err);
/* Its interpreter lives on a lane, and no run has it. aborts: see vm_rejoin(). */
void seat_go_on(struct seat *t, unsigned lane, bool aborts);
/* The same with a run that is under way. Return: 0 or -ESRCH. */
int seat_go_on_with(struct seat *t, unsigned lane, struct run *run);

/* sandbox_seats.c: takes a seat for the run: run->living.seat. Its machine begins.
 * Return: as sandboxes_check(). */
int sandbox_enter(struct run *run, struct err *err);
/* As run_host's leave(), put_off() and retry(). The first: no-op without a seat. */
void sandbox_leave(struct run *run);
bool sandbox_put_off(struct run *run, const char *sentence);
bool sandbox_retry(struct run *run);
/* sandbox_kept.c: as run_host's. */
bool sandbox_outlives(const struct run *run);
void sandbox_sign(const struct run *run, struct vm_replay *t);
int sandbox_take_run(struct run *run, struct vm_replay *t);
/* sandbox_seats.c: its machine is there. */
void seats_go(struct sandbox *s);
/* Runs that have no machine any more fail. */
void seats_fail(struct sandbox *s, enum vm_failure why, const char *sentence);
/* The same of the first run that waits in a single one. */
void seat_fail_first(struct sandbox *s, enum vm_failure why, const char *sentence);
/* The seat of a single one has no machine any more. */
void seats_forget_lease(struct sandbox *s);
void seats_free(struct sandbox *s);
void seats_cancel(struct sandbox *s, const char *why);

#endif
