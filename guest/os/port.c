/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the virtio port by its name, fills and empties its two buffers. A port has one
 * process: PID 1 for the machine's port, the agent of a lane for its socket to PID 1,
 * which has the same frames.
 */
#include "port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "sys.h"

#define CLASS_DIR "/sys/class/virtio-ports"
#define WAIT_MS 10000
#define RECHECK_MS 20
#define GREET_SECONDS 60
#define LAST_MS 1000

/* Opens /dev/NODE if sysfs says that this is the port. */
static int try_port(const char *node, const char *name)
{
	char path[512], value[64];

	snprintf(path, sizeof(path), CLASS_DIR "/%s/name", node);
	if (sys_read_line(path, value, sizeof(value)) ||
	    strcmp(value, name) != 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "/dev/%s", node);
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int look_for(const char *name)
{
	DIR *dir = opendir(CLASS_DIR);
	struct dirent *entry;
	int fd = -ENOENT;

	if (!dir)
		return -errno;
	while (fd < 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			fd = try_port(entry->d_name, name);
	closedir(dir);
	return fd;
}

/*
 * Waits for the port. The node and the name come in any order, and sysfs sends
 * no event for the name. So it checks at every new node, and again at short
 * intervals.
 */
int port_find(const char *name)
{
	auto_close int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	uint64_t end = sys_now() + WAIT_MS * 1000000ull;
	struct pollfd p = {.fd = watch, .events = POLLIN};
	char events[1024];

	if (watch < 0 || inotify_add_watch(watch, "/dev", IN_CREATE) < 0)
		return -errno;
	for (;;) {
		int fd = look_for(name);

		if (fd >= 0 || sys_now() > end)
			return fd;
		poll(&p, 1, RECHECK_MS);
		while (read(watch, events, sizeof(events)) > 0)
			;
	}
}

int port_open(struct port *port, struct err *err)
{
	memset(port, 0, sizeof(*port));
	port->in_size = 2 * (WIRE_HEADER_SIZE + (size_t)WIRE_JOB_MAX);
	port->in = malloc(port->in_size);
	port->out = malloc(PORT_OUT_SIZE);
	if (!port->in || !port->out)
		return err_set(err, -ENOMEM, "no memory for the port");
	port->fd = port_find(WIRE_PORT_NAME);
	if (port->fd < 0)
		return err_sys(err, port->fd, "no port named %s",
			       WIRE_PORT_NAME);
	return 0;
}

int port_fill(struct port *port)
{
	if (port->in_at == port->in_end)
		port->in_at = port->in_end = 0;
	if (port->in_at > port->in_size / 2) {
		port->in_end -= port->in_at;
		memmove(port->in, port->in + port->in_at, port->in_end);
		port->in_at = 0;
	}
	while (port->in_end < port->in_size) {
		ssize_t n = read(port->fd, port->in + port->in_end,
				 port->in_size - port->in_end);

		if (n == 0)
			return -EPIPE;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		port->in_end += (size_t)n;
	}
	return 0;
}

int port_next(struct port *port, struct frame *ret_frame)
{
	size_t have = port->in_end - port->in_at;
	const uint8_t *p = port->in + port->in_at;
	int r;

	if (have < WIRE_HEADER_SIZE)
		return 0;
	r = wire_header_get(p, &ret_frame->header);
	if (r)
		return r;
	if (have - WIRE_HEADER_SIZE < ret_frame->header.length)
		return 0;
	ret_frame->payload = p + WIRE_HEADER_SIZE;
	port->in_at += WIRE_HEADER_SIZE + ret_frame->header.length;
	return 1;
}

int port_next_lane(struct port *port, struct frame *ret_frame,
		   uint8_t *ret_lane)
{
	uint8_t *header = port->in + port->in_at;
	int r;

	if (port->in_end - port->in_at < WIRE_HEADER_SIZE)
		return 0;
	*ret_lane = wire_lane_take(header);
	r = port_next(port, ret_frame);
	if (!r) /* the frame is not complete: put the lane back for the next call */
		wire_lane_put(header, *ret_lane);
	return r;
}

bool port_has_room(const struct port *port)
{
	return port->out_end - port->out_at <= PORT_BULK - WIRE_PAYLOAD_MAX;
}

bool port_can_answer(const struct port *port)
{
	return port->out_end - port->out_at <= PORT_BULK + WIRE_PAYLOAD_MAX;
}

uint8_t *port_room(struct port *port)
{
	size_t need = WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX;

	if (PORT_OUT_SIZE - port->out_end < need) {
		port->out_end -= port->out_at;
		memmove(port->out, port->out + port->out_at, port->out_end);
		port->out_at = 0;
	}
	return port->out + port->out_end + WIRE_HEADER_SIZE;
}

void port_commit(struct port *port, uint8_t type, uint8_t arg, size_t length)
{
	wire_header_put(port->out + port->out_end, (uint32_t)length, type, arg);
	port->out_end += WIRE_HEADER_SIZE + length;
}

void port_commit_lane(struct port *port, uint8_t lane, uint8_t type, uint8_t arg,
		      size_t length)
{
	port_commit(port, type, arg, length);
	wire_lane_put(port->out + port->out_end - length - WIRE_HEADER_SIZE,
		      lane);
}

void port_send(struct port *port, uint8_t type, uint8_t arg,
	       const void *payload, size_t length)
{
	uint8_t *room = port_room(port);

	if (length)
		memcpy(room, payload, length);
	port_commit(port, type, arg, length);
}

void port_send_text(struct port *port, uint8_t type, uint8_t arg,
		    const char *text)
{
	struct wire_writer w = {port_room(port), WIRE_PAYLOAD_MAX, 0};

	wire_put_str(&w, text);
	port_commit(port, type, arg, w.used);
}

bool port_is_pending(const struct port *port)
{
	return port->out_at < port->out_end;
}

int port_flush(struct port *port)
{
	while (port_is_pending(port)) {
		ssize_t n = write(port->fd, port->out + port->out_at,
				  port->out_end - port->out_at);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		port->out_at += (size_t)n;
	}
	port->out_at = port->out_end = 0;
	return 0;
}

static void on_alarm(int number)
{
	(void)number; /* the handler exists only to cause EINTR */
}

int port_greet(struct port *port)
{
	struct sigaction wake = {.sa_handler = on_alarm};
	int r;

	sigaction(SIGALRM, &wake, NULL);
	if (fcntl(port->fd, F_SETFL, 0))
		return -errno;
	alarm(GREET_SECONDS);
	ssize_t n = write(port->fd, port->out + port->out_at,
			  port->out_end - port->out_at);
	r = n < 0 ? -errno : 0;
	alarm(0);
	if (!r) {
		port->out_at += (size_t)n;
		r = fcntl(port->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
	}
	return r ? r : port_drain(port, true);
}

static bool is_too_full(const struct port *port, bool all)
{
	return all ? port_is_pending(port) : !port_has_room(port);
}

int port_drain(struct port *port, bool all)
{
	struct pollfd p = {.fd = port->fd, .events = POLLOUT};

	while (is_too_full(port, all)) {
		int r = port_flush(port);

		if (r < 0)
			return r;
		if (!is_too_full(port, all))
			break;
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return -errno;
		if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
			return -EPIPE;
	}
	return 0;
}

void port_say_last(struct port *port, const char *text)
{
	struct pollfd p = {.fd = port->fd, .events = POLLOUT};
	char said[WIRE_SAID_MAX];

	snprintf(said, sizeof(said), "%s", text);
	port_send_text(port, WIRE_FAILED, WIRE_FAILED_INIT, said);
	/* the port stays full until the host's side reads */
	if (port_flush(port) == 0)
		poll(&p, 1, LAST_MS);
}

void port_forget(struct port *port)
{
	port->out_at = port->out_end = 0;
}
