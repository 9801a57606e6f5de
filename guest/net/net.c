/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 makes what the helper needs, then starts the helper. The listener is bound to
 * port 53 of 127.0.0.53. With port 0 the kernel would choose one of the ephemeral
 * range, the same in each clone, and programs could not use it. Programs have no right
 * to ports below 1024, so they miss none.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/os/port.h"
#include "guest/os/sys.h"
#include "guest/wire/wire_net.h"
#include "layout/base/cleanup.h"
#include "net_helper.h"
#include "net_route.h"
#include "net_trust.h"

#define GROUP "/sys/fs/cgroup/net"
#define GROUP_BYTES "25165824" /* 24 MiB */
#define BACKLOG 1024
/* Least, default and largest size of a socket's buffer, for tcp_rmem and tcp_wmem: the
 * kernel's own would let a program that does not read cost megabytes. */
#define BUFFERS "4096 65536 262144"

int net_open(struct net *n, struct err *err)
{
	*n = (struct net){ .listener = -1, .dns = -1 };
	n->port = port_find(WIRE_NET_PORT_NAME);
	return n->port < 0 ? err_sys(err, n->port, "no port named %s",
				     WIRE_NET_PORT_NAME) : 0;
}

/* The address is 127.0.0.53 mapped to IPv6, so that one socket takes connections of
 * both families. */
static int make_listener(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_port = htons(NET_HELPER_PORT) };
	auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   0);
	int both = 0, yes = 1, unsent = NET_HELPER_UNSENT;

	if (fd < 0 || inet_pton(AF_INET6, "::ffff:127.0.0.53", &at.sin6_addr) != 1 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both)) ||
	    /* each connection that it accepts inherits these two options */
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
		       sizeof(unsent)) ||
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

/* The kernel keeps the table as long as it is mapped, so its descriptor can be closed. */
static int map_table(struct net *n)
{
	size_t size = NET_LOOKUP_ROWS * sizeof(struct net_lookup_row);

	n->table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			n->lookup.table, 0);
	if (n->table == MAP_FAILED)
		return -errno;
	fd_close(&n->lookup.table);
	return 0;
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
	r = net_lookup_open(n->listener, &n->lookup, err);
	if (r)
		return r;
	r = map_table(n);
	return r ? err_sys(err, r, "cannot map the table of names") : 0;
}

static int make_group(void)
{
	int r = mkdir(GROUP, 0700) ? -errno : sys_write(GROUP "/memory.max", GROUP_BYTES);

	return r ? r : sys_write(GROUP "/pids.max", "1");
}

/* Runs in the child. */
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
		run_helper((struct net_helper_fds){
			.port = n->port, .listener = n->listener, .dns = n->dns,
			.ready = theirs, .epoll = -1, .table = n->table });
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

/* Gives lo its address, which makes the addresses that stand for names local, and
 * routes the blocks of the NET frame, to which the policy permits connections by
 * number. */
static int add_routes(struct net *n, const struct wire_network *net, struct err *err)
{
	int r = n->on ? 0 : net_route_own_address();

	if (r)
		return err_sys(err, r, "cannot give lo its address");
	for (uint32_t i = 0; i < net->route_count; i++) {
		r = net_route_local(&net->route[i]);
		if (r)
			return err_sys(err, r, "cannot route block %u of NET", i);
	}
	/* the sk_lookup program gives connections to these blocks to the listener now */
	n->table[NET_LOOKUP_NAMES].range[0].low = net->route_count > 0 ||
		n->table[NET_LOOKUP_NAMES].range[0].low;
	return 0;
}

static int make_mark(struct err *err)
{
	auto_close int fd = open(NET_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);

	return fd < 0 ? err_sys(err, -errno, "cannot make %s", NET_MARK) : 0;
}

int net_apply(struct net *n, const struct wire_network *net, struct err *err)
{
	bool first = !n->on;
	int r = 0;

	if (net->flags & WIRE_NETWORK_NAMES) {
		r = add_routes(n, net, err);
		if (!r && first)
			r = make_mark(err);
	}
	if (!r && first && net->ca[0])
		r = net_trust(net->ca, err);
	n->on = true;
	return r;
}
