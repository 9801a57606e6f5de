/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay's start and end. It owns struct relay; relay_int.h says which file does what.
 *
 * relay_main() is called in a process that has its walls already (vm/jail/jail_relay.c),
 * or, in tests, on a thread. So it keeps no state outside of struct relay.
 */
#include "relay.h"

#include <stdlib.h>

#include "layout/base/cleanup.h"
#include "relay_int.h"

static int run(struct relay *r)
{
	int e = loop_new(&r->loop);

	if (e == 0)
		e = account_open(r);
	if (e == 0)
		e = port_open(r);
	if (e == 0)
		e = loop_run(r->loop);
	return e < 0 ? 1 : r->status;
}

static void close_all(struct relay *r)
{
	streams_close(r);
	listen_close(r);
	ask_close(r);
	port_close(r);
	account_close(r);
	loop_free(r->loop);
}

void relay_init(struct relay *r)
{
	r->door = -1;
	r->ids.side = WIRE_NET_HOST;
	list_init(&r->turns);
	for (unsigned i = 0; i < RELAY_BUCKETS; i++)
		list_init(&r->streams[i]);
	ask_open(r);
}

int relay_main(int account, int port)
{
	auto_free struct relay *r = calloc(1, sizeof(*r));
	int status;

	if (!r) {
		close(account);
		close(port);
		return 1;
	}
	r->account = account;
	r->port = port;
	relay_init(r);
	status = run(r);
	close_all(r);
	return status;
}
