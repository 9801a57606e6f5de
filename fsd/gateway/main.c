/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd-gateway: HTTP in front of a mount. It is only a client of the mount: it
 * starts no machine, and everything that must outlive it is in the mount. `fsd
 * gateway` runs it; see fsd-gateway(8). The main thread runs the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fsd/gateway/code/running.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/envd/upload_name.h"
#include "fsd/gateway/http/http.h"
#include "fsd/gateway/jobs/follow.h"
#include "fsd/gateway/jobs/tokens.h"
#include "fsd/gateway/mcp/mcp.h"
#include "fsd/gateway/ui/ui.h"
#include "gateway.h"
#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "restrain.h"
#include "routes.h"

static int complain(int code, const char *text)
{
	fprintf(stderr, "fsd gateway: %s\n", text);
	return code;
}

static int new_key(void)
{
	char key[45];

	if (keys_new(key) < 0)
		return complain(1, "the kernel gives no random numbers");
	puts(key);
	return 0;
}

/* --- start -------------------------------------------------------------- */

/* Checks an address: if other hosts can reach it, keys are needed. */
static int check_address(const struct gateway *g, const char *address,
			 struct err *err)
{
	if (g->options.api_key_file || http_is_loopback(address))
		return 0;
	return err_set(err, -EINVAL, "--listen %.80s: others could ask there; "
		       "an address that is not loopback needs --api-key-file",
		       address);
}

static int listen_debug(struct gateway *g, struct err *err)
{
	static const struct {
		const char *address;
		unsigned service;
		bool optional;
	} ports[] = {
		{ "127.0.0.1:49983", SERVICE_ENVD, false },
		{ "127.0.0.1:49999", SERVICE_CODE, false },
		{ "[::1]:49983", SERVICE_ENVD, true },
		{ "[::1]:49999", SERVICE_CODE, true },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ports); i++) {
		r = http_listen(g, ports[i].address, ports[i].service, true,
				err);
		if (r == -EADDRNOTAVAIL && ports[i].optional)
			r = 0; /* a host without IPv6 */
	}
	return r;
}

/* Notes a name that a Host header may have besides loopback. */
static void know_host(struct gateway *g, const char *address)
{
	struct hosts *h = &g->options.hosts;
	char name[64];

	if (h->hosts < HOSTS_MAX && host_name(address, name, sizeof(name)))
		h->host[h->hosts++] = strdup(name);
}

/* Notes the ports that an Origin header may have. */
static void know_ports(struct gateway *g)
{
	struct hosts *h = &g->options.hosts;

	for (unsigned i = 0; i < g->http->listeners; i++)
		h->port[h->ports++] = (unsigned)strtoul(
			strrchr(g->http->listener[i].address, ':') + 1, NULL, 10);
}

static int listen_all(struct gateway *g, struct err *err)
{
	struct options *o = &g->options;
	int r = http_open(g);

	if (r < 0)
		return err_set(err, r, "no memory for connections");
	for (unsigned i = 0; r == 0 && i < o->listens; i++) {
		r = check_address(g, o->listen[i], err);
		if (r == 0)
			r = http_listen(g, o->listen[i], SERVICE_ALL, false,
					err);
		know_host(g, o->listen[i]);
	}
	if (!o->listens) {
		r = http_listen(g, "127.0.0.1:3000", SERVICE_ALL, false, err);
		if (r == 0 && http_listen(g, "[::1]:3000", SERVICE_ALL, false,
					  err) == -EADDRINUSE)
			r = -EADDRINUSE;
	}
	if (r == 0 && o->run_listen) {
		r = http_listen(g, o->run_listen, SERVICE_RUN, true, err);
		know_host(g, o->run_listen);
		log_warn("%s: who reaches it may run programs, without a key",
			 o->run_listen);
	}
	return r == 0 && o->debug_ports ? listen_debug(g, err) : r;
}

static int find_mount(struct gateway *g, struct err *err)
{
	const char *path = g->options.mount;

	if (!path)
		path = getenv("FSD_MOUNT");
	if (!path || !*path)
		return err_set(err, -ENOENT, "which mount? --mount or "
			       "$FSD_MOUNT names it");
	return mount_open(&g->mount, path, err);
}

/* Raises the limit of descriptors: a connection has two, a stream one more. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int prepare(struct gateway *g, struct err *err)
{
	int r = find_mount(g, err);

	if (r == 0 && g->options.api_key_file) {
		g->keys.file = g->options.api_key_file;
		r = keys_load(&g->keys, err);
	}
	if (r == 0 && !g->options.stdio)
		r = listen_all(g, err);
	if (r < 0)
		return r;
	if (!g->options.stdio)
		know_ports(g);
	raise_limit();
	if (geteuid() == 0 && !g->options.stdio)
		log_warn("it runs as root, and need not: it wants a user of "
			 "the mount");
	return gateway_restrain(g, err);
}

static int begin(struct gateway *g, struct err *err)
{
	int r = reactor_open(&g->reactor);

	if (r == 0)
		r = crew_open(&g->crew, &g->reactor,
			      (unsigned)g->options.workers);
	if (r == 0)
		r = watcher_open(&g->watcher, &g->reactor);
	if (r < 0)
		return err_sys(err, r, "starting threads");
	g->started_ms = text_now_ms();
	g->ran = ui_ran;
	if (g->options.ui) {
		g->peek = ui_peek;
		g->peeked = ui_peeked;
	}
	alones_init(&g->alones);
	if (g->options.stdio)
		return 0;
	if (tokens_open(g) < 0)
		return err_set(err, -ENOMEM, "no memory for tokens");
	if (running_open(g) < 0)
		return err_set(err, -ENOMEM, "no memory for cells");
	if (upload_names_open(g) < 0)
		return err_set(err, -ENOMEM, "no memory for uploads");
	if (g->options.ui && ui_open(g) < 0)
		return err_set(err, -ENOMEM, "no memory for the dashboard");
	follow_orphans(g);
	return http_start(g, routes, err);
}

/* --- running ------------------------------------------------------------ */

struct signals {
	struct reactor_source source;
	struct gateway *gateway;
	struct reactor_timer patience;
	bool over;
	int fd;
};

static void reload(struct gateway *g)
{
	struct err err = { 0 };

	if (!g->keys.file)
		return;
	if (keys_load(&g->keys, &err) < 0)
		log_error("the keys stay as they were: %s", err.text);
	else
		log_info("%zu keys", g->keys.count);
}

static void on_impatient(struct reactor_timer *timer)
{
	container_of(timer, struct signals, patience)->over = true;
}

static void on_signal(struct reactor_source *source, uint32_t events)
{
	struct signals *s = container_of(source, struct signals, source);
	struct gateway *g = s->gateway;
	struct signalfd_siginfo info;

	(void)events;
	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			reload(g);
		} else if (g->stopping) {
			s->over = true;
		} else {
			g->stopping = true;
			if (!g->options.stdio)
				http_quiesce(g);
			s->patience.fn = on_impatient;
			reactor_timer_set(&g->reactor, &s->patience,
					  HTTP_STOP_MS);
		}
	}
}

static int take_signals(struct signals *s, struct gateway *g)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->gateway = g;
	s->source.fn = on_signal;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}

static void serve(struct gateway *g, struct signals *s)
{
	for (unsigned i = 0; i < g->http->listeners; i++)
		log_info("listening on %s", g->http->listener[i].address);
	log_info("ready: %s, environment %s", g->mount.path,
		 gateway_environment(g));
	while (!s->over && !(g->stopping && http_is_idle(g))) {
		reactor_turn(&g->reactor, list_empty(&g->http->ready) ? -1 : 0);
		http_run(g);
	}
}

static int run(struct gateway *g)
{
	struct signals signals = { .fd = -1 };
	struct err err = { 0 };
	int r = take_signals(&signals, g);

	if (r == 0)
		r = prepare(g, &err);
	if (r == 0)
		r = begin(g, &err);
	if (r == 0)
		r = reactor_add(&g->reactor, signals.fd, EPOLLIN,
				&signals.source);
	if (r < 0)
		return complain(1, *err.text ? err.text : strerror(-r));
	if (g->options.stdio)
		r = mcp_stdio(g);
	else
		serve(g, &signals);
	/* do not wait for these workers: they wait for a mount that does not answer */
	if (!g->options.stdio && http_has_workers(g))
		_exit(0);
	if (!g->options.stdio)
		http_stop(g);
	crew_close(&g->crew);
	ui_close(g);
	upload_names_close(g);
	tokens_close(g);
	alones_done(&g->alones);
	watcher_close(&g->watcher);
	reactor_close(&g->reactor);
	keys_done(&g->keys);
	return r;
}

int main(int argc, char **argv)
{
	static struct gateway gateway;
	struct err err = { 0 };

	if (options_parse(&gateway.options, argc, argv, &err) < 0) {
		complain(2, err.text);
		fprintf(stderr, "`fsd gateway --help` tells more\n");
		return 2;
	}
	if (gateway.options.help) {
		options_help();
		return 0;
	}
	if (gateway.options.new_key)
		return new_key();
	return run(&gateway);
}
