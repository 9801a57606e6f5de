/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes what the helper needs, as PID 1, and then the helper. The listener is bound to
 * 127.0.0.53 port 53: a wildcard would take a port of the ephemeral range from programs,
 * the same one in each clone, and programs cannot listen below 1024.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/os/port.h"
#include "guest/os/sys.h"
#include "guest/wire/wire_net.h"
#include "layout/base/cleanup.h"
#include "net_helper.h"

#define GROUP "/sys/fs/cgroup/net"
#define GROUP_BYTES "25165824" /* 24 MiB */
#define BACKLOG 1024
/* A program that does not read must not cost megabytes. */
#define BUFFERS "4096 65536 262144"

int net_open(struct net *n, struct err *err)
{
	*n = (struct net){ .listener = -1, .dns = -1 };
	n->port = port_find(WIRE_NET_PORT_NAME);
	return n->port < 0 ? err_sys(err, n->port, "no port named %s",
				     WIRE_NET_PORT_NAME) : 0;
}

/* IPv6 has its own spelling of 127.0.0.53, so that the socket takes both families. */
static int make_listener(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_port = htons(NET_HELPER_PORT) };
	auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   0);
	int both = 0;

	if (fd < 0 || inet_pton(AF_INET6, "::ffff:127.0.0.53", &at.sin6_addr) != 1 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, BACKLOG))
		return -errno;
	return take_fd(&fd);
}

static int make_dns(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(NET_HELPER_PORT),
				  .sin_addr = { htonl(NET_HELPER_ADDRESS) } };
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return -errno;
	return take_fd(&fd);
}

static int set_buffers(void)
{
	int r = sys_write("/proc/sys/net/ipv4/tcp_rmem", BUFFERS);

	return r ? r : sys_write("/proc/sys/net/ipv4/tcp_wmem", BUFFERS);
}

int net_prepare(struct net *n, struct err *err)
{
	int r = set_buffers();

	if (r)
		return err_sys(err, r, "cannot bound the buffers of sockets");
	n->listener = make_listener();
	if (n->listener < 0)
		return err_sys(err, n->listener, "the network's listener");
	n->dns = make_dns();
	if (n->dns < 0)
		return err_sys(err, n->dns, "the resolver's socket");
	return net_lookup_open(n->listener, &n->lookup, err);
}

static int make_group(void)
{
	int r = mkdir(GROUP, 0700) ? -errno : sys_write(GROUP "/memory.max", GROUP_BYTES);

	return r ? r : sys_write(GROUP "/pids.max", "1");
}

/* In the child. */
_Noreturn static void run_helper(struct net_helper_fds fds)
{
	if (sys_write(GROUP "/cgroup.procs", "0"))
		_exit(1);
	_exit(net_helper_main(&fds));
}

int net_start(struct net *n, struct err *err)
{
	auto_close int ours = -1, theirs = -1;
	int r = make_group(), ends[2];
	char ready;

	if (r)
		return err_sys(err, r, "cannot make %s", GROUP);
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, -errno, "a pipe");
	ours = ends[0];
	theirs = ends[1];
	n->helper = fork();
	if (n->helper == 0)
		run_helper((struct net_helper_fds){ n->port, n->listener, n->dns,
						    theirs, -1 });
	if (n->helper < 0)
		return err_sys(err, -errno, "cannot start the network's helper");
	fd_close(&theirs);
	fd_close(&n->port);
	fd_close(&n->listener);
	fd_close(&n->dns);
	if (read(ours, &ready, 1) != 1) /* if the helper has ended, its end of the pipe is
					 * closed */
		return err_set(err, -ECHILD, "the network's helper has ended");
	return 0;
}
