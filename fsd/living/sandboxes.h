/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes and sessions: machines that outlive a run. In a sandbox several interpreters
 * and programs run side by side. A run whose config names a sandbox gets no machine of
 * its own. It takes a seat in the sandbox: the seat of a session, or a new one for
 * itself. The first run, or the first use of the files, asks for the machine, which
 * counts as one run for the scheduler. A sandbox ends when its user removes its directory,
 * at the time in its file `until`, when it was idle too long, and with fsd. If its machine
 * dies, the sandbox is lost: its files `state` and `error` say so, and it cannot be used
 * any more. It outlives a server: see sandbox_adopt.h.
 *
 * A session without a sandbox is implemented as a sandbox with `single` set, here called
 * a single sandbox. Its first step makes it, and the machine has what that step asks for.
 * It has one seat, whose interpreter has the machine alone. When the interpreter ends,
 * the next step gets another machine. A single sandbox outlives a server as well.
 *
 * Context: the loop's thread, in a fiber or not. No call waits, unless its comment says
 * so.
 */
#ifndef FSD_SANDBOXES_H
#define FSD_SANDBOXES_H

#include "fsd/fsd.h"
#include "vm/vm.h"
#include "fsd/users/users.h"

struct fiber;
struct run_host;
struct sandbox;
struct sandboxes;
struct seat;

/* --- for .fsd/sandboxes ------------------------------------------------------ */

/* Makes a sandbox; uid has none of that name. Return: 0, or negative errno with a
 * sentence. */
int sandbox_make(struct fsd *d, const char *name, uid_t uid, gid_t gid,
		 struct sandbox **ret, struct err *err);
/* Cancels the runs of a sandbox, ends its machine, and frees it. */
void sandbox_end(struct sandbox *s);
/* Makes the table of all sandboxes. Return: 0 or -ENOMEM. */
int sandboxes_new(struct sandboxes **ret);
void sandboxes_end(struct fsd *d); /* ends all sandboxes, when the server ends */
/* Call it after sandboxes_end(), when no file of a sandbox is open. NULL is fine. */
void sandboxes_free(struct sandboxes *all);

/* Finds and lists the sandboxes of uid, or with single its sessions. Root sees those of
 * all users, by the names of seen_name.h. */
struct sandbox *sandboxes_find(struct fsd *d, uid_t uid, const char *name,
			       bool single);
struct sandbox *sandboxes_by_no(struct fsd *d, uint64_t no);
void sandboxes_list(struct fsd *d, uid_t uid, bool single,
		    void (*fn)(void *arg, const char *name, uint64_t no),
		    void *arg);
bool sandbox_is_single(const struct sandbox *s);
bool sandbox_is_for(const struct sandbox *s, uid_t uid);
uint64_t sandbox_no(const struct sandbox *s);
const char *sandbox_name(const struct sandbox *s);
uid_t sandbox_uid(const struct sandbox *s);
gid_t sandbox_gid(const struct sandbox *s);
uint64_t sandbox_made_ns(const struct sandbox *s); /* CLOCK_REALTIME */

/* Append the whole text of a sandbox's file. Return: 0 or -ENOMEM. */
int sandbox_show_state(const struct sandbox *s, struct buf *out);
int sandbox_show_until(const struct sandbox *s, struct buf *out);
int sandbox_show_config(const struct sandbox *s, struct buf *out);
int sandbox_show_error(const struct sandbox *s, struct buf *out);
int sandbox_show_network(const struct sandbox *s, struct buf *out);
/* Return: a sentence, why the sandbox is lost, borrowed; "": it is not. */
const char *sandbox_why(const struct sandbox *s);
/* Return: a number that changes with the word in the file `state`. */
unsigned sandbox_state_no(const struct sandbox *s);
/* Asks the machine for its processes and appends their list; the fiber waits. Return: 0;
 * -EAGAIN: it is paused; -ESTALE: it has ended; another negative errno. */
int sandbox_show_processes(struct sandbox *s, struct buf *out);

/* Sets the config. Return: 0; -EINVAL, -EFBIG, -ENODATA (the text ends too early), -EBUSY
 * (the machine has begun and this key is fixed), each with a sentence: the config is
 * unchanged. */
int sandbox_configure(struct sandbox *s, const char *text, size_t len,
		      struct err *err);
/* Like sandbox_configure(), but only checks the text. */
int sandbox_check_config(const struct sandbox *s, const char *text, size_t len,
			 struct err *err);
/* Sets the end from the text that a user has written to `until`. Return: 0 or -EINVAL
 * with a sentence. */
int sandbox_set_until(struct sandbox *s, const char *text, size_t len,
		      struct err *err);

/* Obeys the text that a user has written to ctl: "pause", "resume" or "port N". For
 * "port N" the fiber waits until the port is open; the sandbox may be gone then. Return:
 * 0; -EINVAL; -ESTALE: the sandbox is lost; for a port also as ports_ask(). Each error has
 * a sentence. */
int sandbox_control(struct sandbox *s, const char *text, size_t len,
		    struct err *err);

/* Count the open files `hold` of a sandbox. If sandbox_hold() was called, the sandbox
 * ends when the last one is closed. Open files outlive a server, so the next server
 * counts each of them again. */
void sandbox_held_more(struct sandbox *s);
void sandbox_held_less(struct sandbox *s); /* s may be gone afterwards */
void sandbox_hold(struct sandbox *s);      /* a user has opened `hold` */

/* Return: since when the machine has been idle or paused, in now_ns(); 0: it is in use,
 * or there is none. */
uint64_t sandbox_idle_since(const struct sandbox *s);
/* Takes the idle machine from the sandbox, for another user who waits. The sandbox is lost
 * then; a single sandbox gets another machine at its next step. */
void sandbox_take_back(struct sandbox *s);

/* A file beside config.json: an editor writes it, then renames it to config.json. */
struct sandbox_file {
	struct list node;
	struct hash_node by_no;
	struct sandbox *sandbox;
	uint64_t no;     /* its number, from sandboxes_next_no() */
	char *name;      /* owned */
	struct buf text;
	struct user_weight weight;   /* the bytes that count for the user */
};
/* Return: 0, -EDQUOT with a sentence: there are too many; -ENOMEM. */
int sandbox_file_make(struct sandbox *s, const char *name,
		      struct sandbox_file **ret, struct err *err);
struct sandbox_file *sandbox_file_find(struct sandbox *s, const char *name);
struct sandbox_file *sandbox_file_by_no(struct fsd *d, uint64_t no);
void sandbox_file_del(struct sandbox_file *f);
void sandbox_files_list(struct sandbox *s,
			void (*fn)(void *arg, const char *name, uint64_t no),
			void *arg);

/* Find a session of a sandbox by name, find it by number, list all sessions of it. */
struct seat *sandbox_session(struct sandbox *s, const char *name);
struct seat *sandbox_session_by_no(struct fsd *d, uint64_t no);
struct sandbox *seat_sandbox(const struct seat *t);
void sandbox_sessions_list(struct sandbox *s,
			   void (*fn)(void *arg, const char *name, uint64_t no),
			   void *arg);
/* Return: the seat of a single sandbox. */
struct seat *sandbox_seat(const struct sandbox *s);
/* Return the name of a file in a session's directory, by index from 0 (NULL behind the
 * last), and append its text. A session without a sandbox has more files. */
const char *seat_field_name(unsigned field, bool single);
int seat_field(const struct seat *t, unsigned field, struct buf *out);
/* Ends a session: cancels its steps, ends its interpreter. */
void seat_end(struct seat *t);

/* A fiber that waits for a sandbox's machine; embedded, zeroed. */
struct sandbox_waiter {
	struct list node;
	struct fiber *fiber;
	int result;
};
/* Asks for the machine, if that was not done before, and waits for it, in a fiber. w:
 * borrowed during the wait. Return: 0; -ESTALE: the sandbox is lost, or has ended; -EIO:
 * no machine could be started; -EINTR: sandbox_stop_waiting() was called; another
 * negative errno with a sentence: the sandbox cannot begin. */
int sandbox_wait(struct sandbox *s, struct sandbox_waiter *w, struct err *err);
void sandbox_stop_waiting(struct sandbox_waiter *w);
bool sandbox_is_there(const struct sandbox *s); /* true if it has its machine */
/* Sends a request for files to the machine, which counts as use. Return: as vm_fs(); also
 * -EAGAIN: the sandbox is paused. */
int sandbox_fs(struct sandbox *s, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg);
/* Calls told(node) once, at the next change of the state. node is in the sandbox's list
 * until then. */
void sandbox_watch(struct sandbox *s, struct list *node,
		   void (*told)(struct list *node));

/* --- for runs ------------------------------------------------------------------ */

/* Checks whether a run with this config can take its seat. Return: 0, or negative errno
 * with a sentence: the sandbox does not exist, is lost or cannot begin now; or the
 * session has another language or environment; or there are too many sessions (not with
 * accepted: such a run waits). */
int sandboxes_check(struct fsd *d, uid_t uid, const struct job_config *config,
		    const struct lang *lang, bool accepted, struct err *err);
/* The host of runs in sessions and sandboxes: run_host.h. */
extern const struct run_host living_host;

#endif
