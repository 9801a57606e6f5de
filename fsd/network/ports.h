/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ports of machines: sockets in the mount to which other programs connect. Each port
 * is a file of type socket below the directory `ports` of its owner, a job or a sandbox.
 * A table of all owners finds them by number; the owner frees its ports when its machine
 * ends. The listener goes to the relay of the machine.
 *
 *   ports_new -> ports_open* -> ready(port, listener) or failed(port) -> ports_free
 *
 * All functions run on the loop; ports_ask() in a fiber.
 */
#ifndef FSD_PORTS_H
#define FSD_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"

#define PORTS_MOST 32 /* most ports of one owner at a time */

struct ports;
struct ports_table;

/* The owner's number and kind in one key. */
enum port_owner { PORT_OF_JOB, PORT_OF_SANDBOX };
#define PORTS_KEY(owner, no) ((uint64_t)(no) << 1 | (owner))

/*
 * Puts sockets into the mount; fsd/mount implements it. A socket of the mount is bound
 * through the mount, which a server cannot do itself.
 */
struct port_binder {
	/* Binds a socket in PORTS_DIR, with ports_name() of the owner's number and the
	 * port. bound() follows, from the loop, with a listener that the callee owns or a
	 * negative errno. Return: 0, and *ret is for drop(); or negative errno. */
	int (*bind)(void *arg, uint32_t no, unsigned port,
		    void (*bound)(void *owner, int fd), void *owner, void **ret);
	/* bound() will not be called. */
	void (*drop)(void *arg, void *bind);
	/* No port is left, and the table ends. */
	void (*done)(void *arg);
	void *arg;
};

struct ports_owner {
	uint64_t key;
	uid_t uid;
	gid_t gid;
	bool any; /* any port may be opened, not only those of the config */
	/* The port's socket is in the mount. The callee owns the listener fd. */
	void (*ready)(void *arg, unsigned port, int fd);
	/* May be NULL. */
	void (*failed)(void *arg, unsigned port, const char *why);
	void *arg;
};

struct handover;

/* handover: for the next server; borrowed. Return: 0 or -ENOMEM. */
int ports_table_new(struct handover *handover, struct ports_table **ret);
void ports_table_free(struct ports_table *t); /* NULL: does nothing */
/* From here on sockets can be bound; those that were asked for before are. binder:
 * copied. */
void ports_table_serve(struct ports_table *t, const struct port_binder *binder);

/* After the last ports_new() of an owner that another server had: forgets the ports of all
 * others. */
void ports_taken_over(struct ports_table *t);

/* Returns whether an owner whom this server has not adopted yet had ports. */
bool ports_are_kept(const struct ports_table *t, uint64_t key);
/* If another server had ports of this owner, they are open, and the relay has their
 * listeners. Return: NULL without memory. */
struct ports *ports_new(struct ports_table *t, const struct ports_owner *owner);
/* Closes all. NULL: no-op. */
void ports_free(struct ports *p);
/* Opens a port unless it is open. Return: 0; -EINVAL, -EMFILE with a sentence;
 * -ENOMEM. */
int ports_open(struct ports *p, unsigned port, struct err *err);
/* Closes a port, and its socket is gone; no-op if there is none. */
void ports_close(struct ports *p, unsigned port);
/*
 * The verb "port N": opens the port if the owner may have any, and waits until it is
 * open. Return: 0; -EACCES: the config does not name it; -ESTALE: the machine has ended;
 * another negative errno. Each with a sentence.
 */
int ports_ask(struct ports *p, unsigned port, struct err *err);

/* Return: NULL: the owner has no ports now. */
struct ports *ports_find(const struct ports_table *t, uint64_t key);
/* Owners have a number besides their key, from 1 on; a key has more bits than an entry of
 * .fsd has room for. */
uint32_t ports_no(const struct ports *p);
struct ports *ports_by_no(const struct ports_table *t, uint32_t no); /* or NULL */
uid_t ports_uid(const struct ports *p);
gid_t ports_gid(const struct ports *p);
/* May the verb "port N" open any port? */
void ports_set_any(struct ports *p, bool any);
bool ports_has(const struct ports *p, unsigned port);
/* Calls fn for each open port. */
void ports_each(const struct ports *p, void (*fn)(void *arg, unsigned port), void *arg);
/* A socket is made for that port now. Return: true if one is expected, once. */
bool ports_take_made(struct ports *p, unsigned port);

/* The directory in which sockets are bound, which is not listed, and the name there; the
 * same file is then in the owner's directory. ports_name_read(): false: it is no such
 * name. */
#define PORTS_DIR ".fsd/ports"
#define PORTS_NAME_SIZE 32
void ports_name(uint32_t no, unsigned port, char ret[PORTS_NAME_SIZE]);
bool ports_name_read(const char *name, uint32_t *ret_no, unsigned *ret_port);

#endif
