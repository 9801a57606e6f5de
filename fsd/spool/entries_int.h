/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of struct entries.
 *
 *   entries.c        what the spool calls, and events
 *   entries_rules.c  which entry is complete
 *   entries_scan.c   reads the directory's names
 *   entries_state.c  the states of an entry
 *   entries_store.c  the entries by name, and two queues of them
 */
#ifndef FSD_SPOOL_ENTRIES_INT_H
#define FSD_SPOOL_ENTRIES_INT_H

#include "entries.h"
#include "survey.h"
#include "watch.h"

#define ENTRIES_MARKER ".ready"

enum entry_state {
	ENTRY_FRESH,    /* in the list entries.fresh: it was not examined */
	ENTRY_AHEAD,    /* in the queue `waiting`: it may be complete soon */
	ENTRY_SLOW,     /* in the queue `waiting`: it was incomplete after settle_ms */
	ENTRY_COMPLETE, /* in the queue `complete` */
};

struct entry {
	struct entry *same_hash;
	struct list in_all;   /* link in the list of all entries, in the order of
			       * `order` */
	struct list in_fresh; /* link in the list of fresh ones, in the order of
			       * `order` */
	uint64_t order;       /* unique; the smaller, the earlier seen */
	int64_t seen;
	int64_t since;        /* since when two surveys were equal */
	int64_t unreadable_since; /* 0: the entry can be read */
	int64_t key;          /* when the entry is due, the key of its queue; or 0 */
	struct sight sight;
	uint32_t scan;        /* number of the last scan that found the entry */
	uint32_t slot;        /* index in the queue of the entry's state */
	uint8_t state;        /* enum entry_state */
	bool renamed;         /* a rename brought the entry (rule 1) */
	bool returned;        /* this process has renamed the entry back: rule 1 never
			       * holds for it */
	char name[];
};

/* Entries by name. The table owns them. */
struct table {
	struct entry **heads;
	size_t size; /* a power of two */
	size_t count;
};

int table_init(struct table *t);
void table_free(struct table *t);
struct entry *table_find(const struct table *t, const char *name);
/* Return: a new entry, zeroed but its name; NULL: no memory. */
struct entry *table_add(struct table *t, const char *name);
void table_remove(struct table *t, struct entry *x);

/* A binary heap by key, then by order. */
struct queue {
	struct entry **at;
	size_t count, size;
};

struct entry *queue_first(const struct queue *q);
/* Makes room for so many elements. Return: 0 or -ENOMEM. */
int queue_reserve(struct queue *q, size_t count);
/* Adds an entry. Call queue_reserve() before. */
void queue_add(struct queue *q, struct entry *x);
void queue_remove(struct queue *q, struct entry *x);

struct entries {
	int dir; /* borrowed */
	unsigned settle_ms;
	const char *ready; /* borrowed */
	bool any_directory;
	struct watch watch;
	struct table table;
	struct list all, fresh;
	struct queue waiting, complete;
	size_t ahead; /* entries in state ENTRY_AHEAD */
	uint64_t last_order;
	uint32_t scan;
};

/* --- entries_state.c --------------------------------------------------------- */

/* Return: a fresh entry, the last in order; NULL: no memory. */
struct entry *entries_add(struct entries *e, const char *name, int64_t now);
/* Frees the entry. */
void entries_forget(struct entries *e, struct entry *x);
/* Lets the entry be examined at `due`. state: ENTRY_AHEAD or ENTRY_SLOW. */
void entries_wait(struct entries *e, struct entry *x, enum entry_state state,
		  int64_t due);
void entries_set_complete(struct entries *e, struct entry *x);
/* Starts the time of rule 2 or 3 again. */
void entries_restart(struct entries *e, struct entry *x, int64_t now);

/* --- entries_rules.c, entries_scan.c ------------------------------------------ */

/* ahead: the time of entries_clock() less that of the caller. */
void entries_examine(struct entries *e, struct entry *x, int64_t ahead);
/* Reads all names of the directory. Adds new ones, forgets missing ones. Return: as
 * entries_update(). */
int entries_scan(struct entries *e, int64_t now, struct err *err);

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t entries_clock(void);

#endif
