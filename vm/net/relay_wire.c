/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the messages of a relay's account. Each check copies the struct first, so that
 * the values which it has read are those that the caller uses. There is no state.
 *
 * The relay is the side that a guest attacks. Its texts go into logs and results, so each
 * must end within its array and be printable.
 */
#include "relay_wire.h"

#include <errno.h>
#include <string.h>

static int wrong(struct err *err, const char *why)
{
	return err_set(err, -EINVAL, "a message of a relay's account: %s", why);
}

static int check_order(const struct relay_order *o, unsigned fd_count, struct err *err)
{
	bool has_port = o->op == RELAY_PORT || o->op == RELAY_CLOSE;

	if (o->version != RELAY_VERSION || !o->op || o->op >= RELAY_ORDERS)
		return wrong(err, "no such order");
	if (fd_count != (o->op == RELAY_DOOR || o->op == RELAY_PORT))
		return wrong(err, "DOOR and PORT come with one socket, others with none");
	if (has_port ? !o->port || o->port > UINT16_MAX : o->port)
		return wrong(err, "the port is wrong");
	if (o->op == RELAY_START &&
	    (!o->connections || o->connections > RELAY_CONNECTIONS_MAX || !o->rate ||
	     o->rate > RELAY_RATE_MAX || !o->bytes))
		return wrong(err, "a limit is out of its range");
	return 0;
}

int relay_order_check(const void *bytes, size_t size, unsigned fd_count,
		      struct relay_order *ret, struct err *err)
{
	if (size != sizeof(*ret))
		return wrong(err, "its size is wrong");
	memcpy(ret, bytes, size);
	return check_order(ret, fd_count, err);
}

int relay_said_check(const void *bytes, size_t size, unsigned fd_count,
		     struct relay_said *ret, struct err *err)
{
	if (size != sizeof(*ret) || fd_count)
		return wrong(err, "its size is wrong");
	memcpy(ret, bytes, size);
	if (ret->version != RELAY_VERSION || ret->op < RELAY_ORDERS ||
	    ret->op >= RELAY_OPS)
		return wrong(err, "the relay does not say such a thing");
	if (ret->told >= NET_TOLD_MAX || ret->port > UINT16_MAX)
		return wrong(err, "a number is out of its range");
	if (!memchr(ret->text, '\0', sizeof(ret->text)) || !wire_text_ok(ret->text))
		return wrong(err, "its text is none");
	return 0;
}
