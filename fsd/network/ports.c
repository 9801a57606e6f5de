/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all ports. A port is bound by a process outside of the server, through
 * the mount: bind(2) of that process asks the mount to make the socket, and
 * ports_take_made() lets it. Only then does the socket's file exist for users.
 *
 * Owns the ports, and a record of each owner for the next server. A relay outlives its
 * server, with the listeners of its ports; the kernel finds them by the inode of the
 * socket's file, whose number the next server makes of the same two numbers. All
 * functions run on the loop.
 */
#include "ports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/handover/handover.h"

/* A socket may be made by a process that a killed server has asked; then ours fails. */
#define BINDS_MOST 3

/* An owner's open ports, for the next server. */
struct ports_record {
	uint32_t live;
	uint32_t no;
	uint64_t key;
	uint16_t port[PORTS_MOST]; /* as in `item`; 0: it is free, or not open */
};

static HANDOVER_TABLE(ports_records, "ports", 1, struct ports_record, 4096);

enum port_state { PORT_ASKED, PORT_BINDING, PORT_MADE, PORT_OPEN, PORT_FAILED };

struct port {
	struct ports *owner;
	uint16_t number; /* 0: this entry is free */
	uint8_t state; /* enum port_state */
	uint8_t binds; /* how often the port was bound */
	int error;     /* of FAILED: a negative errno */
	void *bind;    /* the binder's; NULL: none under way */
};

struct ports {
	struct list node; /* link in the table */
	struct ports_table *table;
	uint32_t no; /* no other owner of this mount has it */
	struct ports_owner owner;
	struct ports_record *record; /* NULL: no room */
	struct list waiting; /* struct waiter */
	struct port item[PORTS_MOST];
};

struct waiter {
	struct list node;
	struct fiber *fiber;
	bool gone; /* the ports were freed */
};

struct ports_table {
	struct handover *handover; /* borrowed */
	struct port_binder binder; /* bind NULL: not yet */
	struct list all; /* struct ports */
	uint32_t last; /* number given */
};

void ports_name(uint32_t no, unsigned port, char ret[PORTS_NAME_SIZE])
{
	snprintf(ret, PORTS_NAME_SIZE, "%" PRIu32 "-%u", no, port);
}

bool ports_name_read(const char *name, uint32_t *ret_no, unsigned *ret_port)
{
	char again[PORTS_NAME_SIZE];

	if (sscanf(name, "%10" SCNu32 "-%5u", ret_no, ret_port) != 2)
		return false;
	ports_name(*ret_no, *ret_port, again);
	return !strcmp(name, again);
}

int ports_table_new(struct handover *handover, struct ports_table **ret)
{
	struct ports_table *t = calloc(1, sizeof(*t));
	const struct ports_record *k;

	if (!t)
		return -ENOMEM;
	t->handover = handover;
	list_init(&t->all);
	for (uint32_t i = 0; (k = handover_next(handover, &ports_records, &i)); )
		t->last = MAX(t->last, k->no);
	*ret = t;
	return 0;
}

void ports_table_free(struct ports_table *t)
{
	if (t && t->binder.done)
		t->binder.done(t->binder.arg);
	free(t);
}

/* --- one port ----------------------------------------------------------- */

static void wake(struct ports *p, bool gone)
{
	list_for_each(pos, tmp, &p->waiting) {
		struct waiter *w = list_entry(pos, struct waiter, node);

		list_del(&w->node);
		w->gone = gone;
		fiber_wake(w->fiber);
	}
}

/* For the next server. number 0: the port is not open any more. */
static void note(const struct port *port, uint16_t number)
{
	struct ports *p = port->owner;

	if (p->record)
		p->record->port[port - p->item] = number;
}

static void bind_port(struct port *port);

static void fail(struct port *port, int error)
{
	struct ports *p = port->owner;

	port->state = PORT_FAILED;
	port->error = error;
	if (p->owner.failed)
		p->owner.failed(p->owner.arg, port->number, strerror(-error));
	wake(p, false);
}

static void on_bound(void *arg, int fd)
{
	struct port *port = arg;
	struct ports *p = port->owner;

	port->bind = NULL;
	if (fd >= 0) {
		port->state = PORT_OPEN;
		p->owner.ready(p->owner.arg, port->number, fd);
		note(port, port->number); /* the relay has it */
		wake(p, false);
	} else if (port->binds < BINDS_MOST) {
		bind_port(port);
	} else {
		fail(port, fd);
	}
}

/* Begins to bind the port, unless no socket can be bound yet. */
static void bind_port(struct port *port)
{
	const struct ports *p = port->owner;
	const struct port_binder *b = &p->table->binder;
	int r;

	port->state = PORT_ASKED;
	if (!b->bind)
		return;
	port->binds++;
	r = b->bind(b->arg, p->no, port->number, on_bound, port, &port->bind);
	if (r < 0)
		fail(port, r);
	else
		port->state = PORT_BINDING;
}

static void close_port(struct port *port)
{
	const struct port_binder *b;

	if (!port->bind) /* a free entry has no owner either */
		return;
	b = &port->owner->table->binder;
	b->drop(b->arg, take_ptr(port->bind));
}

/* number 0: a free entry. */
static struct port *find(struct ports *p, unsigned number)
{
	for (unsigned i = 0; i < PORTS_MOST; i++)
		if (p->item[i].number == number)
			return &p->item[i];
	return NULL;
}

/* --- the ports of one owner --------------------------------------------- */

void ports_table_serve(struct ports_table *t, const struct port_binder *binder)
{
	t->binder = *binder;
	list_for_each(pos, tmp, &t->all) {
		struct ports *p = list_entry(pos, struct ports, node);

		for (unsigned i = 0; i < PORTS_MOST; i++)
			if (p->item[i].number && p->item[i].state == PORT_ASKED)
				bind_port(&p->item[i]);
	}
}

static struct ports_record *find_record(const struct ports_table *t, uint64_t key)
{
	struct ports_record *k;

	for (uint32_t i = 0; (k = handover_next(t->handover, &ports_records, &i)); )
		if (k->key == key)
			return k;
	return NULL;
}

bool ports_are_kept(const struct ports_table *t, uint64_t key)
{
	return find_record(t, key);
}

static bool is_number(unsigned number)
{
	return number >= LIMIT_PORT_MIN && number <= LIMIT_PORT_MAX;
}

/* Opens the ports of a record, which a compromised server may have written. */
static void adopt(struct ports *p, struct ports_record *k)
{
	p->no = k->no;
	p->record = k;
	for (unsigned i = 0; i < PORTS_MOST; i++)
		if (is_number(k->port[i]) && !find(p, k->port[i]))
			p->item[i] = (struct port){
				.owner = p, .number = k->port[i], .state = PORT_OPEN,
			};
}

static void keep(struct ports *p)
{
	struct ports_record *k;
	uint32_t place;

	p->no = ++p->table->last;
	k = p->record = handover_add(p->table->handover, &ports_records, &place);
	if (!k)
		return;
	k->no = p->no;
	k->key = p->owner.key;
	handover_publish(&k->live);
}

void ports_taken_over(struct ports_table *t)
{
	struct ports_record *k;

	for (uint32_t i = 0; (k = handover_next(t->handover, &ports_records, &i)); ) {
		const struct ports *p = ports_find(t, k->key);

		if (!p || p->record != k)
			k->live = 0;
	}
	handover_recycle(t->handover, &ports_records);
}

struct ports *ports_new(struct ports_table *t, const struct ports_owner *owner)
{
	struct ports_record *k = find_record(t, owner->key);
	struct ports *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->table = t;
	p->owner = *owner;
	list_init(&p->waiting);
	if (k)
		adopt(p, k);
	else
		keep(p);
	list_add(&t->all, &p->node);
	return p;
}

void ports_free(struct ports *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < PORTS_MOST; i++)
		close_port(&p->item[i]);
	wake(p, true);
	list_del(&p->node);
	if (p->record)
		handover_del(p->table->handover, &ports_records, p->record);
	free(p);
}

int ports_open(struct ports *p, unsigned number, struct err *err)
{
	struct port *port = find(p, number);

	if (port && port->state != PORT_FAILED)
		return 0;
	if (!is_number(number))
		return err_set(err, -EINVAL, "the port %u is not one that a program "
			       "can listen to: allowed are %u to %u", number,
			       LIMIT_PORT_MIN, LIMIT_PORT_MAX);
	if (!port)
		port = find(p, 0);
	if (!port)
		return err_set(err, -EMFILE, "%u ports are open, and there may be "
			       "no more at a time", PORTS_MOST);
	*port = (struct port){ .owner = p, .number = (uint16_t)number };
	bind_port(port);
	return 0;
}

void ports_close(struct ports *p, unsigned number)
{
	struct port *port = find(p, number);

	if (!port)
		return;
	note(port, 0);
	close_port(port);
	*port = (struct port){ .number = 0 };
	wake(p, false);
}

int ports_ask(struct ports *p, unsigned number, struct err *err)
{
	struct waiter w = { .fiber = fiber_self() };
	const struct port *port = find(p, number);
	int r;

	if (!port && !p->owner.any)
		return err_set(err, -EACCES, "ctl: \"ports\" of the config does not have "
			       "%u; true allows any", number);
	r = ports_open(p, number, err);
	if (r < 0)
		return r;
	for (port = find(p, number); port && port->state < PORT_OPEN && w.fiber;
	     port = find(p, number)) {
		list_add_tail(&p->waiting, &w.node);
		fiber_pause();
		if (w.gone)
			return err_set(err, -ESTALE, "ctl: the machine has ended");
	}
	return port && port->state == PORT_OPEN
		       ? 0 : err_sys(err, port && port->error ? port->error : -EAGAIN,
				     "ctl: the socket of the port");
}

struct ports *ports_find(const struct ports_table *t, uint64_t key)
{
	if (!t)
		return NULL;
	list_for_each(pos, tmp, &t->all) {
		struct ports *p = list_entry(pos, struct ports, node);

		if (p->owner.key == key)
			return p;
	}
	return NULL;
}

struct ports *ports_by_no(const struct ports_table *t, uint32_t no)
{
	list_for_each(pos, tmp, &((struct ports_table *)(uintptr_t)t)->all) {
		struct ports *p = list_entry(pos, struct ports, node);

		if (p->no == no)
			return p;
	}
	return NULL;
}

uint32_t ports_no(const struct ports *p)
{
	return p->no;
}

uid_t ports_uid(const struct ports *p)
{
	return p->owner.uid;
}

gid_t ports_gid(const struct ports *p)
{
	return p->owner.gid;
}

void ports_set_any(struct ports *p, bool any)
{
	p->owner.any = any;
}

bool ports_has(const struct ports *p, unsigned number)
{
	const struct port *port = find((struct ports *)(uintptr_t)p, number);

	return number && port && port->state == PORT_OPEN;
}

void ports_each(const struct ports *p, void (*fn)(void *arg, unsigned port), void *arg)
{
	for (unsigned i = 0; i < PORTS_MOST; i++)
		if (p->item[i].number && p->item[i].state == PORT_OPEN)
			fn(arg, p->item[i].number);
}

bool ports_take_made(struct ports *p, unsigned number)
{
	struct port *port = find(p, number);

	if (!port || port->state != PORT_BINDING)
		return false;
	port->state = PORT_MADE;
	return true;
}
