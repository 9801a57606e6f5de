/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds the sockets of ports in the mount, through the broker. Implements struct
 * port_binder of fsd/network/ports.h. On the loop.
 */
#ifndef FSD_PORT_BIND_H
#define FSD_PORT_BIND_H

#include "fsd/fsd.h"

/* Call it once the mount is served: until then sockets wait. */
void port_bind_start(struct fsd *d);

#endif
