/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines that outlive a run. A sandbox is one in which several interpreters and
 * programs run side by side. A run whose config names one has no machine of its own
 * and waits for none: it takes a seat there, a session's or one for itself. The
 * machine is asked for by the first run or the first use of its files, and is one run
 * for the scheduler. A sandbox ends by rmdir, at its time, by idleness, and with the
 * daemon; when its machine dies it is lost for good, and says so. It outlives the
 * server: see sandbox_adopt.h.
 *
 * A session without a sandbox is a sandbox that no user has made: `single`. Its first
 * step makes it, with the machine that this step asks for. It has one seat, whose
 * interpreter has the machine alone. When that ends the next step gets another
 * machine. It outlives the server as well.
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

/* Return: 0, or negative errno with a sentence. The caller knows that uid has none
 * of that name. */
int sandbox_make(struct fsd *d, const char *name, uid_t uid, gid_t gid,
		 struct sandbox **ret, struct err *err);
/* Its runs are cancelled, its machine ends, its name is free; it is gone. */
void sandbox_end(struct sandbox *s);
/* The table. Return: 0 or -ENOMEM. */
int sandboxes_new(struct sandboxes **ret);
void sandboxes_end(struct fsd *d); /* all of them, with the server */
/* After sandboxes_end(), when no open file is of one. NULL is fine. */
void sandboxes_free(struct sandboxes *all);

/* Those of uid; root sees all, by names of seen_name.h. single: sessions. */
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

/* Its files, whole; negative errno without memory. */
int sandbox_show_state(const struct sandbox *s, struct buf *out);
int sandbox_show_until(const struct sandbox *s, struct buf *out);
int sandbox_show_config(const struct sandbox *s, struct buf *out);
int sandbox_show_error(const struct sandbox *s, struct buf *out);
/* Why it is lost, a sentence; "": it is not. */
const char *sandbox_why(const struct sandbox *s);
/* A number that is another one when state says another word. */
unsigned sandbox_state_no(const struct sandbox *s);
/* The machine's processes as they are now; a fiber waits for the answer. */
int sandbox_show_processes(struct sandbox *s, struct buf *out);

/* Takes a config. Return: 0; -EINVAL, -EFBIG, -ENODATA (it ends too early), -EBUSY
 * (the machine has begun) with a sentence, and the config is as before. */
int sandbox_configure(struct sandbox *s, const char *text, size_t len,
		      struct err *err);
/* The same without taking it. */
int sandbox_check_config(const struct sandbox *s, const char *text, size_t len,
			 struct err *err);
/* Takes what was written to until. Return: 0 or -EINVAL with a sentence. */
int sandbox_set_until(struct sandbox *s, const char *text, size_t len,
		      struct err *err);

/* Takes what was written to ctl: "pause" or "resume". Return: 0; -EINVAL, -ESTALE (it is
 * lost) with a sentence. */
int sandbox_control(struct sandbox *s, const char *text, size_t len,
		    struct err *err);

/* Open files that hold it: it ends with the last one, if one was opened in full. An
 * open file outlives the server, so each of them is counted again by the next. */
void sandbox_held_more(struct sandbox *s);
void sandbox_held_less(struct sandbox *s); /* s may be gone afterwards */
void sandbox_hold(struct sandbox *s);      /* one of them was opened */

/* Since when it keeps a machine that nothing uses, as now_ns() has it; 0: it does
 * not. */
uint64_t sandbox_idle_since(const struct sandbox *s);
/* It loses that machine to another user, and says so. */
void sandbox_take_back(struct sandbox *s);

/* Files beside config.json, until they are renamed to it. Numbers are as the
 * sandboxes'. */
struct sandbox_file {
	struct list node;
	struct hash_node by_no;
	struct sandbox *sandbox;
	uint64_t no;
	char *name;      /* owned */
	struct buf text;
	struct user_weight weight;   /* of it */
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

/* Its sessions. */
struct seat *sandbox_session(struct sandbox *s, const char *name);
struct seat *sandbox_session_by_no(struct fsd *d, uint64_t no);
struct sandbox *seat_sandbox(const struct seat *t);
void sandbox_sessions_list(struct sandbox *s,
			   void (*fn)(void *arg, const char *name, uint64_t no),
			   void *arg);
/* The one of a single sandbox. */
struct seat *sandbox_seat(const struct sandbox *s);
/* The files of a session's directory, by index from 0; NULL beyond the last. Those of
 * a single one are more. */
const char *seat_field_name(unsigned field, bool single);
int seat_field(const struct seat *t, unsigned field, struct buf *out);
/* Its steps are cancelled, its interpreter ends. */
void seat_end(struct seat *t);

/* One that waits for its machine; embedded, zeroed. */
struct sandbox_waiter {
	struct list node;
	struct fiber *fiber;
	int result;
};
/* Begins it, if it has not, and waits until its machine is there. w is borrowed
 * meanwhile. Return: 0; -ESTALE: it is lost, or has ended; -EIO: it gets no
 * machine; -EINTR: sandbox_stop_waiting(); another one with a sentence: it cannot
 * begin. */
int sandbox_wait(struct sandbox *s, struct sandbox_waiter *w, struct err *err);
void sandbox_stop_waiting(struct sandbox_waiter *w);
bool sandbox_is_there(const struct sandbox *s); /* its machine */
/* As vm_fs(); that is use. */
int sandbox_fs(struct sandbox *s, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg);
/* node is in its list until told is called for that, once, at the next state. */
void sandbox_watch(struct sandbox *s, struct list *node,
		   void (*told)(struct list *node));

/* --- for runs ------------------------------------------------------------------ */

/* Return: 0, or negative errno with a sentence: there is none of that name, it is
 * lost, cannot begin now, its session speaks another language or has another
 * environment, or there are too many sessions, which an accepted run waits out. */
int sandboxes_check(struct fsd *d, uid_t uid, const struct job_config *config,
		    const struct lang *lang, bool accepted, struct err *err);
/* Gives runs a place in a session or a sandbox. */
extern const struct run_host living_host;

#endif
