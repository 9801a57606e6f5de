/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's relay in its jail (vm/net/relay.h). */
#ifndef VM_JAIL_RELAY_H
#define VM_JAIL_RELAY_H

#include "jail_child.h"

/* Waits for a byte on status, enters the jail, and is a relay until that ends. It dies
 * with its parent from its first moment. Runs in a process of its own. */
_Noreturn void jail_relay_main(struct jail_child *c);

#endif
