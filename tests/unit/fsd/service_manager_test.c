/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager hears: one datagram on the socket that it named, and the name goes
 * to no child. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fsd/server/service_manager.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/fsd-test.XXXXXX";

/* A manager's socket of that name, as $NOTIFY_SOCKET has it. */
static int listen_at(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	if (fd < 0 || bind(fd, (const void *)&at,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				       strlen(name))) < 0)
		abort();
	return fd;
}

static void test_told(const char *name, const char *sentence)
{
	auto_close int fd = listen_at(name);
	char text[64] = "";
	struct err err = { 0 };

	is_int(service_manager_tell(name, "READY=1", &err), 0, "%s is told", sentence);
	if (recv(fd, text, sizeof(text) - 1, 0) < 0)
		text[0] = '\0';
	is_str(text, "READY=1", "and hears it");
}

static void test_take(void)
{
	setenv("NOTIFY_SOCKET", "/run/x", 1);
	{
		auto_free char *socket = service_manager_take();

		is_str(socket, "/run/x", "the socket is the environment's");
	}
	ok(!getenv("NOTIFY_SOCKET"), "no child sees it");
	ok(!service_manager_take(), "without it no manager waits");
	setenv("NOTIFY_SOCKET", "", 1);
	ok(!service_manager_take(), "nor with an empty one");
}

static void test_wrong(void)
{
	struct err err = { 0 };
	char name[200] = "/", path[100];

	is_int(service_manager_tell("vsock:2:1", "READY=1", &err), -EINVAL,
	       "a socket of another kind is refused");
	ok(strstr(err.text, "is \"vsock:2:1\"; it must be an absolute path"),
	   "with what it must be: %s", err.text);
	memset(name + 1, 'a', sizeof(name) - 2);
	is_int(service_manager_tell(name, "READY=1", &err), -EINVAL,
	       "so is a path that no socket can have");
	snprintf(path, sizeof(path), "%s/gone", dir);
	is_int(service_manager_tell(path, "READY=1", &err), -ENOENT,
	       "a manager that has gone is an error");
}

int main(void)
{
	char path[100], name[100];

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/notify", dir);
	snprintf(name, sizeof(name), "@fsd-test-%d", (int)getpid());
	test_take();
	test_told(path, "a socket with a path");
	test_told(name, "one with an abstract name");
	test_wrong();
	unlink(path);
	rmdir(dir);
	return done_testing();
}
