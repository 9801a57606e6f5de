/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to a program in a sandbox, by the socket that the mount has for its port. The
 * verb "port N" opens the port if it is not open; then ports/N is there, whether a program
 * listens or not. If none does, the connection ends without a byte, and tunnel.c tells the
 * client so. On workers; the loop gets the connected socket (tunnel.h).
 */
#include "port_traffic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fsd/gateway/jobs/sandbox.h"
#include "layout/base/cleanup.h"
#include "sandbox_guard.h"

static void free_way(void *state)
{
	struct tunnel_way *way = state;

	fd_close(&way->fd);
	free(way->host);
	free(way);
}

/* Opens the port in the sandbox's machine. Return: 0 or negative errno. */
static int open_port(struct request *r, struct err *err)
{
	char path[128], verb[16];
	auto_close int ctl = mount_file(&r->gateway->mount,
					sandbox_path(r->sandbox->name, "ctl", path),
					O_WRONLY, err);
	int n = snprintf(verb, sizeof(verb), "port %u", r->port);

	if (ctl < 0)
		return ctl;
	return write(ctl, verb, (size_t)n) == n
		       ? 0 : mount_why(&r->gateway->mount, path, -errno, err);
}

static int connect_port(struct request *r, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char path[128];
	auto_close int dir = mount_file(&r->gateway->mount,
					sandbox_path(r->sandbox->name, "ports", path),
					O_PATH | O_DIRECTORY, err);
	auto_close int fd = -1;

	if (dir < 0)
		return dir;
	/* a path of the mount may be too long for an address */
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%u", dir, r->port);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const void *)&at, sizeof(at)) < 0)
		return err_sys(err, -errno, "port %u", r->port);
	return take_fd(&fd);
}

/* Replaces ${PORT} in the sandbox's maskRequestHost. NULL: the Host stays. */
static char *masked_host(const struct request *r)
{
	const char *mask = text_member(r->sandbox->meta, "mask_host");
	const char *at = mask ? strstr(mask, "${PORT}") : NULL;
	char *host = NULL;

	if (!at)
		return mask ? strdup(mask) : NULL;
	return asprintf(&host, "%.*s%u%s", (int)(at - mask), mask, r->port,
			at + strlen("${PORT}")) < 0 ? NULL : host;
}

/* Replies 502 in the form of E2B's proxy. */
static void refuse(struct request *r, const char *why)
{
	reply_json(r, 502, json_pack("{s:s, s:s, s:i, s:i}", "sandboxId",
				     r->sandbox_id, "message", why, "port",
				     (int)r->port, "code", 502));
}

bool port_guard(struct request *r)
{
	struct tunnel_way *way;
	struct err err = { 0 };
	int code;

	if (!sandbox_traffic_guard(r))
		return false;
	code = connect_port(r, &err);
	if (code == -ENOENT) {
		code = open_port(r, &err);
		code = code < 0 ? code : connect_port(r, &err);
	}
	if (code < 0) {
		refuse(r, err.text);
		return false;
	}
	way = calloc(1, sizeof(*way));
	if (!way) {
		close(code);
		reply_error(r, 503, "no memory for a connection");
		return false;
	}
	*way = (struct tunnel_way){ .fd = code, .host = masked_host(r) };
	r->state = way;
	r->state_free = free_way;
	return true;
}
