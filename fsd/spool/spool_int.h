/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a spool that serves.
 *
 *   spool.c     the processes: one that serves, one that starts it again
 *   serve.c     the loop; backpressure
 *   steps.c     what a claim's next step does, and what comes of its failure
 *   job.c       makes the job of a claim, takes its results
 *   program.c   the job of --program
 *   archive.c   the job that unpacks an archive
 *   claim.c     the claims' directories; claim_fail.c: the results of what cannot run
 *   place.c     the spool's directories
 *   status.c    the file DIR/status
 *   clean.c     removes old results
 */
#ifndef FSD_SPOOL_INT_H
#define FSD_SPOOL_INT_H

#include <dirent.h>

#include "claim.h"
#include "entries.h"
#include "fsd/client/client_mount.h"
#include "spool.h"

/* Why a step has failed. The sentence has no end. */
enum trouble_kind {
	TROUBLE_NONE,
	TROUBLE_ENTRY,      /* the entry can never run: it goes to failed/ */
	TROUBLE_UNREADABLE, /* the entry cannot be read; after a while it goes to
			     * failed/ */
	TROUBLE_WRITTEN,    /* the entry is still being written */
	TROUBLE_MOUNT,      /* the mount takes nothing now */
	TROUBLE_PROGRAM,    /* the program of --program cannot be run */
	TROUBLE_LOST,       /* the mount is dead */
	TROUBLE_DISK,       /* DIR takes nothing now */
	TROUBLE_GONE,       /* another instance has taken the claim over */
	TROUBLE_NO_JOB,     /* the mount has no such job */
	TROUBLE_SIGNAL,     /* the spool is to end */
};

struct trouble {
	enum trouble_kind kind;
	int error;          /* negative errno, or 0 */
	char text[600];
};

/* Why no entry is claimed for a while. */
enum block {
	BLOCK_NONE,
	BLOCK_QUEUE, /* the mount's queue is full: EAGAIN */
	BLOCK_QUOTA, /* the user's quota is used up: EDQUOT */
	BLOCK_SPACE, /* ENOSPC in the mount */
	BLOCK_DRAIN, /* the mount drains: ESHUTDOWN */
	BLOCK_MOUNT, /* the mount does not answer, or fails in another way */
	BLOCK_DISK,  /* DIR has no space, or fails */
	BLOCK_PROGRAM, /* the files or options of --program are wrong */
	BLOCK_MAX
};

struct program;

struct spool {
	const struct spool_options *o;
	struct place place;
	char mnt[PATH_MAX];
	struct client_mount mount; /* owned */
	struct client_signals signals; /* owned */
	bool ending; /* a signal came */
	struct program *program; /* owned: the program of --program, or NULL */
	struct entries *entries;
	struct list claims;
	unsigned count;   /* how many claims are not published yet */
	unsigned window;
	enum block block;
	uint64_t block_until_ns, block_pause_ns;
	uint64_t done, failed; /* published by this process */
	uint64_t denied; /* claims that failed, since this user has not the right */
	enum block said;       /* the block that was printed last */
	uint64_t say_ns;       /* when an entry that cannot be claimed is reported
			        * again */
	uint64_t status_ns;    /* when DIR/status is checked next */
	uint64_t fresh_ns;     /* when DIR/status is written even without a change */
	struct buf status;     /* this instance's lines in DIR/status */
	struct cleaning {
		DIR *dir;        /* owned: the directory that is being searched, or
				  * NULL */
		uint64_t keep_s; /* seconds that results stay in that directory */
		size_t next;     /* index of the next directory, of done and failed */
		uint64_t due_ns;
	} cleaning;
};

/* True if a signal has come. */
bool spool_is_ending(struct spool *s);

/* --- troubles (steps.c) ------------------------------------------------------------- */

/* Return: -1, so that a caller can write `return trouble(t, ...)`. */
int trouble(struct trouble *t, enum trouble_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Makes the trouble of a failed call on DIR. r: negative errno. */
int trouble_disk(struct trouble *t, int r);
/* Makes the trouble of a failed call on the mount. dir: of the job, whose `error` has a
 * better sentence; or -1. */
int trouble_mount(struct trouble *t, int r, int dir);

/* --- the job (job.c) --------------------------------------------------------------- */

enum job_kind { JOB_OF_CLAIM, JOB_DRAFT_OF_CLAIM, JOB_UNPACKS, JOB_DRAFT_UNPACKS,
		JOB_KINDS };
#define JOB_NAME (CLAIM_ID + 16)
/* Writes "spool-ID", ".spool-ID", "unpack-ID" or ".unpack-ID". */
void claim_job_name(const char *id, enum job_kind kind, char ret[JOB_NAME]);
/* Return: the ID in such a name, or NULL. */
const char *claim_id_of_job(const char *name);
/* Opens the directory of the claim's job. Return: a descriptor, or negative errno. */
int claim_job_open(const struct spool *s, const struct claim *c, enum job_kind kind);
/* Removes a job or a draft. waits: until it has gone. */
void claim_job_remove(const struct spool *s, const char *name, bool waits);
/* Opens `wait` of the job in dir. Return: 0, or -1 with a trouble. */
int claim_job_await(struct claim *c, int dir, struct trouble *t);

/* Make the draft of a claim. Return: 0, or -1 with a trouble. */
int put_draft(struct spool *s, struct claim *c, struct trouble *t);
/* Like put_draft(), for a directory `from`: copies all its entries, program and
 * config.json included. */
int put_tree(struct spool *s, struct claim *c, int from, struct trouble *t);
/* Makes an empty draft for the claim. Return: the descriptor of its directory, or -1. */
int put_begin(struct spool *s, struct claim *c, enum job_kind kind, struct trouble *t);
int put_text(int draft, const char *name, const char *data, size_t len,
		struct trouble *t);
/* Copies the file `name` of the directory `from` into the draft, as `as`. */
int put_copy(struct spool *s, int from, const char *name, int draft, const char *as,
	       struct trouble *t);
/* Copies the results of the job that has ended. */
int claim_take_results(struct spool *s, struct claim *c, struct trouble *t);
/* Writes the NAME of the results. */
void put_base(const struct spool *s, const struct claim *c, char ret[NAME_MAX + 1]);

/* --- archives (archive.c) ------------------------------------------------- */

/* Length of the name without an archive's ending; 0: it is none. */
size_t archive_base(const char *name);
int archive_put(struct spool *s, struct claim *c, struct trouble *t);
/* Call it when the unpacking job has ended: makes the draft of its output. */
int archive_take(struct spool *s, struct claim *c, struct trouble *t);

/* --- the program of --program (program.c) --------------------------------- */

/* Return: 0 or the exit code, and standard error has the sentence. Call program_end()
 * also after an error. */
int program_begin(struct spool *s);
void program_end(struct spool *s);
/* Makes the draft of a claim. */
int program_put(struct spool *s, struct claim *c, struct trouble *t);

/* --- steps (steps.c) ------------------------------------------------------ */

/* Does all steps of the claim that are possible now. Return: 0; -1: the mount is dead. */
int claim_advance(struct spool *s, struct claim *c);
/* Claims one entry. Return: as claim_advance(). */
int claim_entry(struct spool *s, const char *name);
/* Finds claims in run/INSTANCE that this process does not know. Return: 0 or negative
 * errno. */
int claims_find(struct spool *s);
/* Removes jobs that belong to no claim any more. */
void claims_drop_orphans(struct spool *s);

/* --- the rest ------------------------------------------------------------- */

/* Lets the spool claim no entry for a while. text: why. */
void spool_block(struct spool *s, enum block why, const char *text);
/* Call it when the mount has accepted a job: entries are claimed again. */
void spool_unblock(struct spool *s);

/* Writes DIR/status if that is due. */
void status_write(struct spool *s);
extern const char *const block_names[BLOCK_MAX];

/* Removes some results that are too old. */
void clean_round(struct spool *s);
void clean_end(struct spool *s);
/* Return: when clean_round() has work; UINT64_MAX: never. */
uint64_t clean_due_ns(const struct spool *s);
/* Completes removals that a killed process had begun. */
void clean_leftovers(const struct spool *s);

/* Gives up the rights that the loop does not need. */
int spool_restrain(const struct spool *s, struct err *err);

#endif
