/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the datagrams of sd_notify(3) without its library. systemd counts a unit with
 * Type=notify as started when "READY=1" has come. The send blocks while the manager's
 * queue is full, so the socket has a timeout.
 */
#include "service_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "NOTIFY_SOCKET"
#define BOUND_S 5

char *service_manager_take(void)
{
	const char *value = getenv(VARIABLE);
	char *socket = value && *value ? strdup(value) : NULL;

	unsetenv(VARIABLE);
	return socket;
}

static int send_to(const struct sockaddr_un *to, socklen_t len, const char *what)
{
	const struct timeval bound = { .tv_sec = BOUND_S };
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound)) < 0 ||
	    sendto(fd, what, strlen(what), MSG_NOSIGNAL, (const void *)to, len) < 0)
		return -errno;
	return 0;
}

int service_manager_tell(const char *socket, const char *what, struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(socket);
	int r;

	if ((socket[0] != '/' && socket[0] != '@') || len >= sizeof(to.sun_path))
		return err_set(err, -EINVAL, "$" VARIABLE " is \"%.200s\"; it must be an "
			       "absolute path, or @ and a name, below %zu bytes",
			       socket, sizeof(to.sun_path));
	memcpy(to.sun_path, socket, len);
	if (socket[0] == '@')
		to.sun_path[0] = '\0'; /* an abstract name has no NUL behind it */
	r = send_to(&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len), what);
	return r < 0 ? err_sys(err, r, "$" VARIABLE ", %.200s", socket) : 0;
}
