/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structs of fsd/living and the calls between its files. sandboxes.h explains
 * sandbox, seat and `single`. Context: the loop's thread, in a fiber or not; no call
 * waits.
 */
#ifndef FSD_SANDBOX_INT_H
#define FSD_SANDBOX_INT_H

#include "fsd/jobs/parsed_config.h"
#include "fsd/run/run_adopt.h"
#include "fsd/run/run_int.h"
#include "sandboxes.h"

enum stage {
	STAGE_NEW,   /* the sandbox has not asked for a machine */
	STAGE_COMES, /* the sandbox waits for its environment or its machine */
	STAGE_LIVES, /* the sandbox has its machine */
	STAGE_LOST,  /* the machine died, or was taken back */
};

struct sandboxes {
	uint64_t last_no;      /* the last number that was given */
	struct list all;       /* of struct sandbox */
	struct hash by_no, by_name; /* of struct sandbox */
	struct hash seats_by_no; /* of struct seat */
	struct hash files_by_no; /* of struct sandbox_file */
};

struct sandbox {
	struct list node;      /* link in sandboxes->all */
	struct hash_node by_no, by_name;
	bool indexed;          /* the sandbox is in the two hashes */
	bool single;           /* a session without a sandbox */
	struct parsed_config *asked; /* owned reference: the config of the step that asked
				* for the machine; NULL: not single, or not asked */
	struct fsd *d;
	uint64_t no;           /* unique, also for later servers; in inode numbers */
	char *name;            /* owned */
	uid_t uid;
	gid_t gid;
	uint64_t made_ns;      /* CLOCK_REALTIME */
	struct sandbox_config config;
	struct buf text;       /* text of config.json */
	struct list files;     /* of struct sandbox_file */
	enum stage stage;
	struct build_wait build; /* the wait for a build of its environment */
	struct environment *environment; /* owned reference, once it asks for a machine */
	uint64_t memory;       /* bytes of its programs and files, once it is queued */
	struct sched_slot slot;
	struct sandbox_network *network; /* owned; NULL: the machine has none */
	struct sched_reservation hold; /* memory and processors that are reserved for its
				        * machine */
	struct vm_lease *lease; /* owned: of the machine; or NULL */
	struct run *asks;      /* borrowed: the run whose log gets the reason for the wait;
				* NULL: all runs */
	struct list seats;
	struct list runs;      /* list of struct run, by living.in_sandbox: runs in the
			        * sandbox */
	struct list waiters;   /* of struct sandbox_waiter */
	struct list watchers;
	void (*told)(struct list *node); /* called for each of the watchers */
	unsigned told_state;   /* the sandbox_state_no() that the watchers know */
	uint64_t until_ns;     /* CLOCK_REALTIME of the sandbox's end; 0: none */
	uint64_t paused_ns;    /* CLOCK_REALTIME of its pause; it postpones the end; 0: it
				* is not paused */
	uint64_t used_ns;      /* now_ns() of the last use, or of the pause */
	unsigned holders;      /* open files `hold` of this sandbox */
	bool held;             /* the sandbox ends when the last of these is closed */
	char why[200];         /* why the sandbox was lost; single: why its last machine was
				* lost; "": it was not */
	struct loop_timer until, idle;
	struct sandbox_record *kept; /* the sandbox's record for the next server; or
				      * NULL */
	struct vm_mux *mux;    /* buffers of its machine's wire, for the next server; or
			        * NULL */
};

/* A queue of runs that run one after the other in one interpreter: a session, or the seat
 * that a program has for its one run. */
struct seat {
	struct list node;      /* link in sandbox->seats */
	struct hash_node by_no; /* link in sandboxes->seats_by_no */
	struct sandbox *sandbox;
	uint64_t no;
	char *name;            /* owned; NULL: the seat of one program */
	const struct lang *lang;
	struct vm_lease *lease; /* owned: of its lane; in a single sandbox borrowed from
				 * the sandbox; NULL: the next run asks for one */
	bool granted;          /* the lease can take a run */
	bool told;             /* the log of the first waiting run has the reason */
	uint64_t steps, lease_steps; /* steps: all completed steps; lease_steps: those
				      * with the present interpreter */
	struct list waiting;   /* runs that wait: struct run, by living.in_session */
	struct run *current;   /* borrowed: the run that uses the lease; or NULL */
	struct loop_call next; /* begins the next run */
	struct loop_call late; /* fails the current run, whose lane is gone */
	char lost[300];        /* the reason for `late` */
	struct seat_record *kept; /* a session's record for the next server; or NULL */
	struct vm_replay *rest; /* in fsd->handover, for a single sandbox: the machine's
				* replay buffer between two steps; or NULL */
};

/* The data of a sandbox or a session for the next server; mux_records has the machine. */
struct sandbox_record {
	uint32_t live;
	uint32_t lost;        /* the machine is gone; `why` has the reason */
	uint64_t no;          /* this and the next two lines: as in struct sandbox */
	uint64_t made_ns, until_ns, paused_ns;
	uint32_t uid, gid;
	uint32_t mux;         /* slot of its mux, plus 1; 0: it has none */
	uint32_t which;       /* index of the valid text; the other one is a draft */
	uint32_t text_len[2];
	uint64_t memory_mb[2]; /* memory_mb for each text; the environment may have raised
			        * it */
	char name[208];
	char environment_id[68], environment_name[68]; /* "": base */
	uint32_t held;        /* the sandbox ends when the last open file `hold` is
			       * closed */
	uint32_t single;      /* a session without a sandbox: cpus, memory and idle_ms take
			       * the place of text */
	uint32_t cpus;
	uint64_t memory;      /* bytes */
	uint64_t idle_ms;     /* the session ends after so long without use */
	char why[200];
	_Alignas(4096) char text[2][LIMIT_CONFIG_BYTES]; /* text of config.json */
};

/* The data of a session, in a sandbox or without one, for the next server. */
struct seat_record {
	uint32_t live;
	uint32_t lane;        /* lane of the session's interpreter; 0: it has none */
	uint64_t no, sandbox;
	uint64_t steps, lease_steps;
	char language[16], name[208];
};

/* Return: a number that no sandbox, session or seat has or had. */
uint64_t sandboxes_next_no(struct fsd *d);
/* sandbox.c: makes a sandbox without a config, and adds it to sandboxes->all. Return:
 * NULL without memory. */
struct sandbox *sandbox_new(struct fsd *d, uint64_t no, const char *name,
			    uid_t uid, gid_t gid, bool single);
/* Notes a number that an earlier server has given. */
void sandboxes_no_taken(struct fsd *d, uint64_t no);
/* Return: "session" or "sandbox", for sentences. */
const char *sandbox_kind(const struct sandbox *s);
/* Return: the config that decides what the machine has, borrowed. */
const struct job_config *sandbox_machine(const struct sandbox *s);
bool sandbox_is_in_use(const struct sandbox *s);
/* sandbox.c: drops the machine of a single sandbox; the next step gets another one. */
void sandbox_restart(struct sandbox *s);
/* sandbox.c: queues the sandbox, whose environment is known, for a machine. memory: bytes
 * of the programs and their inputs. old: as in struct sched_slot. Return: 0 or negative
 * errno with a sentence. */
int sandbox_queue(struct sandbox *s, uint64_t memory, uint64_t old, struct err *err);

/* sandbox.c: tell() of run_host.h: logs why the run waits. */
void sandbox_tell(struct run *run);
/* sandbox_single.c: sandboxes_check() for a session without a sandbox. */
int single_check(struct fsd *d, uid_t uid, const struct job_config *c,
		 const struct lang *lang, bool accepted, struct err *err);
/* Finds the session that the run names, or makes it. Return: NULL without memory. */
struct sandbox *single_of(struct run *run);
/* Calls sandbox_begin() with the config of this run, unless an earlier step has asked for
 * a machine already. */
int single_begin(struct sandbox *s, struct run *run, struct err *err);
/* Drops the config of the step that asked for the machine: the next step asks again. */
void single_forget(struct sandbox *s);
/* Checks whether one more session may have a machine. Return: 0, or negative errno with a
 * sentence: s waits; singles_go() is called when another session has ended. */
int single_may_begin(const struct sandbox *s, struct err *err);
void singles_go(struct fsd *d);
/* Checks whether a run with this config can be a step of s. Return: 0, or -EINVAL with a
 * sentence. */
int single_check_step(const struct sandbox *s, const struct job_config *c,
		      struct err *err);
/* sandbox_table.c: adds s to the hashes, so that calls find it by name and by number.
 * Return: 0 or -ENOMEM. */
int sandbox_index(struct sandbox *s);
void sandbox_unindex(struct sandbox *s); /* does nothing if it is not in the hashes */
/* Finds a sandbox (single: a session) of uid itself. Return: NULL: there is none. */
struct sandbox *sandbox_find_own(struct fsd *d, uid_t uid, const char *name,
				 bool single);
/* Return: the number of sandboxes of uid, without sessions. */
unsigned sandboxes_of(struct fsd *d, uid_t uid);
/* Removes s from all lists, ends its machine, and frees it. It has no runs. */
void sandbox_drop(struct sandbox *s);
/* Marks s as lost, and ends its machine. why: a sentence. */
void sandbox_lose(struct sandbox *s, const char *why);
extern const struct vm_events sandbox_events; /* events of a sandbox's machine */
extern const struct vm_events seat_events;    /* events of a seat's lease while no run has
					       * it */
/* Fills s->slot for the scheduler. memory: bytes of the programs and their files. */
void sandbox_fill_slot(struct sandbox *s, uint64_t memory);

/* sandbox_network.c: gives the machine, which was just granted, the network of its config.
 * Return: 0, or negative errno with a sentence. */
int sandbox_network_begin(struct sandbox *s, struct err *err);
/* Call it when the machine of a killed server was adopted: adopts its network, if it has
 * one. */
void sandbox_network_adopt(struct sandbox *s);
/* Call it when the machine has ended. No-op without a network. */
void sandbox_network_end(struct sandbox *s);
/* Return: the network of the machine, borrowed; NULL: it has none. */
struct machine_network *sandbox_network_of(const struct sandbox *s);
/* Call it when the config of a sandbox has changed. */
void sandbox_network_changed(const struct sandbox *s);

/* sandbox.c: asks for the machine, or for a build of its environment first; does nothing
 * if that was done before. Return: 0 or negative errno with a sentence. */
int sandbox_begin(struct sandbox *s, struct err *err);
/* Return: 0; -EAGAIN with a sentence: the sandbox is paused. */
int sandbox_check_pause(const struct sandbox *s, struct err *err);
/* Sets when the sandbox ends (CLOCK_REALTIME; 0: never). Call sandbox_set_times()
 * then. */
void sandbox_end_at(struct sandbox *s, uint64_t until_ns);
/* Notes a use: begins the idle time again. */
void sandbox_used(struct sandbox *s);
/* Calls the watchers if the state has changed. */
void sandbox_changed(struct sandbox *s);
/* sandbox_time.c: the timers. Call sandbox_times_init() before all others for s.
 * sandbox_times_done() stops the timers. */
void sandbox_times_init(struct sandbox *s);
void sandbox_times_done(struct sandbox *s);
/* Arms the timers, after a time has changed. */
void sandbox_set_times(struct sandbox *s);

/* sandbox_kept.c: writes data for the next server into fsd->handover. If the table is
 * full the sandbox ends with this server. */
void sandbox_keep_new(struct sandbox *s);
void sandbox_keep(const struct sandbox *s); /* writes the times and the stage */
void sandbox_keep_text(const struct sandbox *s);
/* Writes which environment the machine has. */
void sandbox_keep_environment(struct sandbox *s);
/* Makes the mux of a machine that several runs share. Return: the mux, for struct
 * vm_share; NULL: the table is full. */
struct vm_mux *sandbox_keep_mux(struct sandbox *s);
void sandbox_forget_mux(struct sandbox *s);
void sandbox_forget(struct sandbox *s);
void seat_keep_new(struct seat *t);
void seat_keep(const struct seat *t); /* writes the lane and the counts of steps */
void seat_forget(struct seat *t);
/* Opens the environment that a killed server's record names. Return: 0 or negative
 * errno. */
int sandbox_find_environment(struct sandbox *s, const struct sandbox_record *k);

/* session_kept.c: makes the machine of a single sandbox adoptable between two steps. of:
 * the replay buffer of the step that has ended, or NULL; it becomes invalid. */
void seat_rest(struct seat *t, struct vm_replay *of);
void seat_forget_rest(struct seat *t);
/* Adopts the machine of a killed server's session, if it was between two steps. Else
 * single_take_run() may adopt it. */
void single_adopt(struct sandbox *s);
/* Adopts the machine of s together with the step that runs there. replay: the step's
 * replay buffer, which replay_recover() has checked. Return: 0 or -ESRCH. */
int single_take_run(struct sandbox *s, struct run *run, struct vm_replay *replay);
/* Call both after all runs were adopted. single_adopted() ends the takeover of s.
 * singles_drop_replays() frees the replay buffers that belong to no session and no
 * run. */
void single_adopted(struct sandbox *s);
void singles_drop_replays(struct fsd *d);

/* sandbox_seats.c: makes a seat. name: of the session; NULL: for one program. Return:
 * NULL without memory. */
struct seat *seat_new(struct sandbox *s, uint64_t no, const char *name,
		      const struct lang *lang);
void seat_free(struct seat *t);
/* Return: 0; -EINVAL with a sentence: the session has another language. t may be NULL. */
int seat_check_language(const struct seat *t, const struct lang *lang,
			struct err *err);
/* Adopts the seat's interpreter, which waits on a lane without a run. aborts: see
 * vm_rejoin(). */
void seat_go_on(struct seat *t, unsigned lane, bool aborts);
/* Adopts the seat's interpreter and the run on it. Return: 0 or -ESRCH. */
int seat_go_on_with(struct seat *t, unsigned lane, struct run *run);

/* sandbox_seats.c: puts the run into a seat (run->living.seat), and asks for the
 * sandbox's machine. Return: as sandboxes_check(). */
int sandbox_enter(struct run *run, struct err *err);
/* sandbox_seats.c: leave(), put_off() and retry() of run_host.h. leave() does nothing
 * without a seat. */
void sandbox_leave(struct run *run);
bool sandbox_put_off(struct run *run, const char *sentence);
bool sandbox_retry(struct run *run);
/* sandbox_kept.c: outlives(), sign() and adopt() of run_host.h. */
bool sandbox_outlives(const struct run *run);
void sandbox_sign(const struct run *run, struct vm_replay *t);
int sandbox_take_run(struct run *run, struct vm_replay *t);
/* sandbox_seats.c: begins the next run of each seat, soon. */
void seats_go(struct sandbox *s);
/* Fails all runs of s, which has no machine any more. */
void seats_fail(struct sandbox *s, enum vm_failure why, const char *sentence);
/* Fails the first run that waits in a single sandbox. */
void seat_fail_first(struct sandbox *s, enum vm_failure why, const char *sentence);
/* Drops the lease from the seat of a single sandbox, whose machine ends. */
void seats_forget_lease(struct sandbox *s);
void seats_free(struct sandbox *s);
void seats_cancel(struct sandbox *s, const char *why);

#endif
