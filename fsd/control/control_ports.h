/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of ports: the directory `ports` of a job, session or sandbox, and the sockets in
 * it. The number above the field is that of the owner (fsd/network/ports.h), and the
 * two fields below it are the port; port 0: the directory. Number 0: .fsd/ports, where the
 * sockets are bound. All functions run on the loop.
 */
#ifndef FSD_CONTROL_PORTS_H
#define FSD_CONTROL_PORTS_H

#include "fsd/fsd.h"
#include "fsd/network/ports.h"

#define CONTROL_PORTS "ports" /* the directory's name; it is in no listing */

/* Finds the directory of that owner's ports. Return: 0, or -ENOENT: it has no ports
 * now. */
int control_ports_dir(const struct fsd *d, enum port_owner owner, uint64_t no,
		      uint64_t *ret_entry);
/* Like control_find() and the others, for entries whose row is FSD_VFILE_PORTS. */
int control_ports_find(const struct fsd *d, uint64_t dir, const char *name,
		       uint64_t *ret_entry);
int control_ports_check(const struct fsd *d, uid_t uid, uint64_t entry);
bool control_ports_is_dir(uint64_t entry);
mode_t control_ports_mode(uint64_t entry);
void control_ports_list(const struct fsd *d, uint64_t dir,
			void (*fn)(void *arg, const char *name, uint64_t entry),
			void *arg);
/* Return: the ports that the entry belongs to; NULL: they are gone, or the entry is
 * elsewhere. */
const struct ports *control_ports(const struct fsd *d, uint64_t entry);
/* Allows a bind(2) of the server's own uid to make the socket `name` of a port that the
 * server is about to bind, once. *ret_entry: the socket's entry. Return: 0 or -EPERM. */
int control_ports_make(const struct fsd *d, uid_t uid, uint64_t dir, const char *name,
		       uint64_t *ret_entry);

#endif
