/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1. The same static binary is /init in the initramfs, where it loads
 * modules and moves into the root image, and /sbin/fsd-init there, where it
 * stays. It owns the port to the host, the control groups, the mounts, and the
 * end of every process. It parses no JSON and has no options. One thread.
 */
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/os/clone.h"
#include "guest/os/environment.h"
#include "guest/os/filter.h"
#include "layout/base/cleanup.h"
#include "guest/os/modules.h"
#include "guest/os/mounts.h"
#include "serve.h"
#include "guest/os/sys.h"

#define FIRST_NAME "/init"
#define SECOND_NAME "/sbin/fsd-init"
#define HOST_NAME "fsd"

/* Runs in the initramfs; returns only on failure. */
static int enter_root(struct err *err)
{
	static char name[] = SECOND_NAME;
	char *argv[] = {name, NULL};
	int r = mounts_early(err);

	if (!r)
		r = modules_load(err);
	if (!r)
		r = mounts_switch_root(err);
	if (r)
		return r;
	execv(SECOND_NAME, argv);
	return err_sys(err, -errno, "cannot run %s", SECOND_NAME);
}

static int catch_children(struct agent *a, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return err_sys(err, -errno, "sigprocmask");
	signal(SIGPIPE, SIG_IGN);
	a->children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return a->children < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

/*
 * Makes init a batch process. Every line of a program's output wakes init. A
 * batch process does not interrupt the program for that, which would cost both
 * their cached address translations; it runs at the next tick at the latest.
 */
static int yield_to_programs(struct err *err)
{
	struct sched_param none = {0};

	if (sched_setscheduler(0, SCHED_BATCH, &none))
		return err_sys(err, -errno, "sched_setscheduler");
	return 0;
}

/* Sets the host name, and starts the loopback interface, the only one. */
static int set_network(struct err *err)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (sethostname(HOST_NAME, sizeof(HOST_NAME) - 1))
		return err_sys(err, -errno, "sethostname");
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		return err_sys(err, -errno, "cannot bring lo up");
	return 0;
}

static int start(struct agent *a, struct net *net, struct err *err)
{
	int r = mounts_system(err);

	if (!r)
		r = sys_write("/proc/self/oom_score_adj", "-1000");
	if (!r)
		r = yield_to_programs(err);
	if (!r)
		r = catch_children(a, err);
	if (!r)
		r = port_open(&a->port, err);
	if (!r)
		r = net_open(net, err);
	if (r)
		return r;
	agent_hello(a);
	r = port_greet(&a->port);
	if (r)
		return err_sys(err, r, "the host does not listen");
	a->current = &a->job;
	a->net = net;
	r = mounts_reduce_dev(err);
	if (!r)
		r = set_network(err);
	if (!r)
		r = net_prepare(net, err);
	if (!r)
		r = mounts_settings(err);
	if (!r)
		r = environment_open(err);
	if (!r)
		r = mounts_seal(err);
	if (!r)
		r = filter_make(err);
	if (!r)
		r = clone_stop_clock(err);
	if (!r)
		r = cgroup_setup(err);
	if (!r)
		r = net_start(net, err);
	if (!r)
		r = job_open(&a->job, err);
	return r ? r : agent_ready(a, err);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct agent agent = {0};
	static struct net net; /* holds a link that must stay open as long as PID 1
			        * lives */
	int r;

	if (getpid() != 1)
		return 2;
	if (argc > 0 && !strcmp(argv[0], FIRST_NAME))
		r = enter_root(&err);
	else
		r = start(&agent, &net, &err);
	if (!r)
		r = agent_serve(&agent, &err);
	if (r && !err.code)
		err_sys(&err, r, "init");
	/* tell the host the reason, if it still reads the port */
	if (agent.current && !agent.mux && r != -EPIPE)
		port_say_last(&agent.port, err.text);
	sys_power_off(err.text);
}
