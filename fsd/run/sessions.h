/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living sessions: a machine whose interpreter outlives a job. A run whose
 * config names a session waits for its turn there instead of for a machine of
 * its own; the session leases one at its first step, and another when the
 * interpreter was lost. It ends by rmdir, by idleness, and with the daemon.
 */
#ifndef FSD_SESSIONS_H
#define FSD_SESSIONS_H

#include "fsd/fsd.h"
#include "vm/vm.h"

struct run;
struct session;
struct sessions;

/* Return: 0, or negative errno with a sentence: the session speaks another
 * language, has another environment, or there are too many, which who was accepted waits out. */
int sessions_check(struct fsd *d, uid_t uid, const struct job_config *config,
		   const struct lang *lang, bool accepted, struct err *err);
/* run->session is set; run_begin() or run_events.failed() comes later.
 * Return: 0, -ENOMEM, or -EINVAL: the session speaks another language now. */
int sessions_join(struct run *run, struct err *err);
/* The run needs the session no more; its machine is kept if the interpreter
 * lives. run->session and run->lease are NULL afterwards. */
void sessions_leave(struct run *run);
/* Its session lives, or will: the step needs no further machine. */
bool sessions_has_machine(const struct run *run);
/* There is one of that name, for the user's steps. */
bool sessions_lives(const struct run *run);
/* See struct sched_slot_ops. */
const char *sessions_begins(const struct run *run, unsigned coming,
			    unsigned own, bool *ret);
/* The machine has refused the run before anything of it ran, because it had
 * lost its interpreter: true if the run will begin again in another one. */
bool sessions_retry(struct run *run);
/* The table. Return: 0 or -ENOMEM. */
int sessions_new(struct sessions **ret);
void sessions_end(struct fsd *d); /* all of them, with the server */
void sessions_free(struct sessions *all); /* after that; NULL is fine */
/* A number that no session, sandbox or seat has, nor had. */
uint64_t sessions_next_no(struct fsd *d);
/* A sandbox or a seat of an earlier server has this number. */
void sessions_no_taken(struct fsd *d, uint64_t no);

/* The one behind it, or the first; NULL: there is none. */
struct session *sessions_next(struct fsd *d, struct session *s);
bool session_has_machine(const struct session *s);
/* Since when it keeps a machine that nothing uses, as now_ns() has it; 0: it does
 * not. */
uint64_t session_idle_since(const struct session *s);
/* It loses that machine to another user. Its next step begins it anew. */
void session_take_back(struct session *s);

/* For .fsd/sessions. Those of uid; root sees all, by names of seen_name.h. */
struct session *sessions_find(struct fsd *d, uid_t uid, const char *name);
struct session *sessions_by_no(struct fsd *d, uint64_t no);
void sessions_list(struct fsd *d, uid_t uid,
		   void (*fn)(void *arg, const char *name, uint64_t no),
		   void *arg);
uint64_t session_no(const struct session *s);
/* The files of its directory, by index from 0; NULL beyond the last. */
const char *session_field_name(unsigned field);
int session_field(const struct session *s, unsigned field, struct buf *out);
const char *session_name(const struct session *s);
uid_t session_uid(const struct session *s);
bool session_is_for(const struct session *s, uid_t uid);
gid_t session_gid(const struct session *s);
/* Asks for a file of its machine, see vm_fs(). That is use: it is not idle. */
int session_fs(struct session *s, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg);
/* Its steps are cancelled, its machine ends, its name is free. */
void session_end(struct session *s);

#endif
