/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of records in memory that outlives a server process. The supervisor has a
 * descriptor of that memory; each server maps it and finds the records of the previous
 * one. A module declares a table in the file that uses it, and no other file names it:
 *
 *   struct seat_record { uint32_t live; uint64_t no; ... };
 *   static HANDOVER_TABLE(seats, "seats", 1, struct seat_record, 1u << 18);
 *
 *   struct seat_record *k = handover_add(d->handover, &seats, &slot);
 *   k->no = 7;
 *   handover_publish(&k->live);
 *
 *   for (uint32_t i = 0; (k = handover_next(d->handover, &seats, &i)); )   the next server
 *
 * `live` is written last: a server that is killed leaves each record whole or absent. The
 * next server checks every field, since the previous one may have been compromised.
 *
 * A table is identified by its name, version, record size and number of records. If a
 * server finds a live record in a table that it does not declare in exactly this way,
 * handover_open() fails, and the supervisor starts the previous program again. README.md
 * has the rules.
 *
 * Context: the loop's thread and its fibers; handover_publish() on any thread.
 */
#ifndef FSD_HANDOVER_H
#define FSD_HANDOVER_H

#include <stddef.h>
#include <stdint.h>

#include "layout/layout.h"

struct handover_table {
	_Alignas(64) char name[16]; /* the linker lays all tables side by side */
	uint32_t version; /* raise it when a record's fields or their meaning change */
	uint32_t size;    /* bytes of a record; it begins with `uint32_t live` */
	uint32_t most;    /* records */
	uint32_t zeroed;  /* bytes that handover_add() zeroes; 0: all */
};

/* Declares a table; the last argument may be `.zeroed = N`. A name of at most 15 bytes. */
#define HANDOVER_TABLE(variable, its_name, its_version, type, its_most, ...)             \
	const struct handover_table variable                                             \
		__attribute__((section("handover_tables"), used)) = {                    \
		.name = its_name, .version = its_version, .size = sizeof(type),          \
		.most = its_most, __VA_ARGS__                                            \
	};                                                                               \
	_Static_assert(offsetof(type, live) == 0 && sizeof(((type *)0)->live) == 4,      \
		       "a record begins with uint32_t live")

struct handover;

/* Return: a descriptor of new memory, or a negative errno. */
int handover_make(void);
/* Maps all tables of this program. fd: of handover_make(), borrowed; -1: private memory,
 * for tests. Return: 0; -EPROTO: this program cannot take over, and has changed no record;
 * -ENOMEM or another negative errno. */
int handover_open(int fd, struct handover **ret, struct err *err);
void handover_close(struct handover *h); /* NULL is fine */
/* Call it before this server answers its first request. If it dies earlier, a server that
 * does not declare its tables may drop their records. */
void handover_serves(struct handover *h);
/* True if a server has answered before this one. */
bool handover_is_next(const struct handover *h);

/* Return: a zeroed record, not live yet, and its slot, below `most`; NULL: the table is
 * full. */
void *handover_add(struct handover *h, const struct handover_table *t,
		   uint32_t *ret_slot);
/* Return: the live record in a slot, or NULL. */
void *handover_at(const struct handover *h, const struct handover_table *t,
		  uint32_t slot);
/* Return: the next live record from slot *at on, and moves *at behind it; NULL: no more. */
void *handover_next(const struct handover *h, const struct handover_table *t,
		    uint32_t *at);
/* Return: n, if the slots 0 to n - 1 of the table were ever in use. */
uint32_t handover_count(const struct handover *h, const struct handover_table *t);
uint32_t handover_slot(const struct handover *h, const struct handover_table *t,
			const void *record);
void handover_del(struct handover *h, const struct handover_table *t, void *record);
/* Removes all records of the table. */
void handover_clear(struct handover *h, const struct handover_table *t);
/* Lets handover_add() use the slots of all records that are not live. Call it once, when
 * the server has checked all records that it found. Before, handover_add() uses only slots
 * behind all of them, and slots whose record this server has deleted. */
void handover_recycle(struct handover *h, const struct handover_table *t);

/* Return: the record of a table with one record. It exists from the beginning, zeroed; its
 * user sets `live` while the next server must see it. */
void *handover_fact(const struct handover *h, const struct handover_table *t);

/* Makes a record live. The next server sees all that was written to the record before. */
static inline void handover_publish(uint32_t *live)
{
	__atomic_store_n(live, 1u, __ATOMIC_RELEASE);
}

#endif
