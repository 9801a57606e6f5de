/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a relay's account from hostile bytes, each way. The first byte is the
 * number of descriptors. What passes has texts that end, and numbers in their range.
 */
#include <stdlib.h>
#include <string.h>

#include "vm/net/relay_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct relay_order order;
	struct relay_said said;
	unsigned fds = size ? *data % 3 : 0;

	if (!size)
		return 0;
	if (relay_order_check(data + 1, size - 1, fds, &order, NULL) == 0)
		check(fds <= 1 && order.op < RELAY_ORDERS && order.port <= UINT16_MAX &&
		      order.connections <= (order.op == RELAY_START ?
			      RELAY_CONNECTIONS_MAX : UINT32_MAX));
	if (relay_said_check(data + 1, size - 1, fds, &said, NULL) == 0)
		check(said.op >= RELAY_ORDERS && said.op < RELAY_OPS &&
		      said.told < NET_TOLD_MAX && strlen(said.text) < sizeof(said.text));
	return 0;
}
