/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of ports: numbers, modes and who may use them. A socket has one number in
 * .fsd/ports, where a process of fsd binds it, and in its owner's directory, where users
 * connect to it: so both are one inode, and the kernel finds the socket by either.
 * Owns no state. All functions run on the loop.
 */
#include "control_ports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control_entry.h"
#include "fsd/network/network.h"

#define PORT_OF(entry) ((unsigned)((entry) >> 8 & 0xffff))

static uint64_t entry_of(const struct ports *p, unsigned port)
{
	return FSD_VFILE_PORTS | (uint64_t)port << 8 | (uint64_t)ports_no(p) << 24;
}

const struct ports *control_ports(const struct fsd *d, uint64_t entry)
{
	return ENTRY_VFILE(entry) == FSD_VFILE_PORTS && ENTRY_SESSION(entry)
		       ? ports_by_no(network_ports(d->network),
				     (uint32_t)ENTRY_SESSION(entry)) : NULL;
}

int control_ports_dir(const struct fsd *d, enum port_owner owner, uint64_t no,
		      uint64_t *ret_entry)
{
	const struct ports *p = ports_find(network_ports(d->network),
					   PORTS_KEY(owner, no));

	if (p)
		*ret_entry = entry_of(p, 0);
	return p ? 0 : -ENOENT;
}

int control_ports_find(const struct fsd *d, uint64_t dir, const char *name,
		       uint64_t *ret_entry)
{
	const struct ports *p = control_ports(d, dir);
	uint64_t port;

	if (!p || PORT_OF(dir) || name[0] == '0' ||
	    parse_u64(name, LIMIT_PORT_MIN, LIMIT_PORT_MAX, &port) < 0 ||
	    !ports_has(p, (unsigned)port))
		return -ENOENT;
	*ret_entry = dir | port << 8;
	return 0;
}

int control_ports_check(const struct fsd *d, uid_t uid, uint64_t entry)
{
	const struct ports *p = control_ports(d, entry);

	if (!ENTRY_SESSION(entry))
		return uid == geteuid() ? 0 : -EACCES;
	return !p ? -ESTALE : uid == ports_uid(p) || uid == 0 ? 0 : -EACCES;
}

bool control_ports_is_dir(uint64_t entry)
{
	return !PORT_OF(entry);
}

mode_t control_ports_mode(uint64_t entry)
{
	return control_ports_is_dir(entry) ? S_IFDIR | 0500 : S_IFSOCK | 0600;
}

struct lister {
	void (*fn)(void *arg, const char *name, uint64_t entry);
	void *arg;
	uint64_t dir;
};

static void list_port(void *arg, unsigned port)
{
	const struct lister *l = arg;
	char name[8];

	snprintf(name, sizeof(name), "%u", port);
	l->fn(l->arg, name, l->dir | (uint64_t)port << 8);
}

void control_ports_list(const struct fsd *d, uint64_t dir,
			void (*fn)(void *arg, const char *name, uint64_t entry),
			void *arg)
{
	const struct ports *p = control_ports(d, dir);

	if (p)
		ports_each(p, list_port, &(struct lister){ fn, arg, dir });
}

int control_ports_make(const struct fsd *d, uid_t uid, uint64_t dir, const char *name,
		       uint64_t *ret_entry)
{
	unsigned port;
	uint32_t no;
	struct ports *p;

	if (dir != FSD_VFILE_PORTS || uid != geteuid() ||
	    !ports_name_read(name, &no, &port))
		return -EPERM;
	p = ports_by_no(network_ports(d->network), no);
	if (!p || !ports_take_made(p, port))
		return -EPERM;
	*ret_entry = entry_of(p, port);
	return 0;
}
