/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a jail costs: bench_jail IMAGE [N]. A QEMU without a machine is started
 * N times in a jail and N times without one, in turn; each time to its
 * monitor's greeting. Prints both medians in ms.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "vm/jail/argv.h"
#include "vm/qemu/image.h"
#include "vm/jail/jail.h"
#include "vm/jail/jailer.h"
#include "vm/os/spawn.h"

#define QEMU "/usr/bin/qemu-system-x86_64"
#define GREETING_MS 10000
#define MOST 200

struct bench {
	struct loop *loop;
	struct jail *jail;
	struct jailed machine;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_jail: %s\n", what);
	exit(1);
}

static double ms_since(uint64_t at)
{
	return (double)(now_ns() - at) / NS_PER_MS;
}

static void await_greeting(int qmp)
{
	struct pollfd p = { .fd = qmp, .events = POLLIN };
	char text[512];

	if (poll(&p, 1, GREETING_MS) != 1 || recv(qmp, text, sizeof(text), 0) <= 0)
		die("QEMU does not greet");
}

static void on_ended(struct jailed *m, int status, const struct err *err)
{
	struct bench *b = container_of(m, struct bench, machine);

	(void)status;
	if (err->code)
		die(err->text);
	loop_quit(b->loop);
}

static double in_jail(struct bench *b)
{
	struct jail_request q = {
		.kind = JAIL_PROBE, .accel = VM_ACCEL_TCG, .memory_mib = 64,
		.cpus = 1,
	};
	int qmp[2], said[2];
	uint64_t begin;
	double spent;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) < 0 ||
	    pipe2(said, O_CLOEXEC) < 0)
		die("no descriptors");
	b->machine = (struct jailed){ .ended = on_ended };
	begin = now_ns();
	if (jail_start(b->jail, &q, (int[]){ said[1], qmp[1] }, &b->machine,
		       NULL) < 0)
		die("no jail");
	await_greeting(qmp[0]);
	spent = ms_since(begin);
	jailed_kill(&b->machine);
	loop_run(b->loop);
	for (int i = 0; i < 2; i++) {
		close(qmp[i]);
		close(said[i]);
	}
	return spent;
}

static double plain(void)
{
	struct argv argv;
	struct spawn s = { .fd_count = 1 };
	struct child c;
	int qmp[2];
	uint64_t begin;
	double spent;

	if (argv_probe((const char *const[]){ QEMU, NULL }, false, &argv) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) < 0)
		die("no descriptors");
	s.argv = argv.item;
	s.fds = &qmp[1];
	begin = now_ns();
	if (spawn(&s, &c, NULL) < 0)
		die("no QEMU");
	await_greeting(qmp[0]);
	spent = ms_since(begin);
	child_end(&c);
	close(qmp[0]);
	close(qmp[1]);
	return spent;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *times, int count)
{
	qsort(times, (size_t)count, sizeof(*times), by_value);
	return times[count / 2];
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 30;
	double with[MOST], without[MOST];
	struct bench b = { 0 };
	struct walls walls;
	struct image image;
	struct err err = { 0 };
	struct jail_options o = { .qemu = QEMU, .most = MOST, .strict = true };

	if (argc > 1 && !strcmp(argv[1], JAILER_COMMAND))
		return jailer_main(argc - 1, argv + 1);
	if (argc < 2 || n < 1 || n > MOST)
		die("usage: bench_jail IMAGE [N], at most 200");
	if (image_open(argv[1], &image, &err) < 0)
		die(err.text);
	o.image_dir = argv[1];
	o.kernel = image.fds[IMAGE_KERNEL];
	o.initrd = image.fds[IMAGE_INITRD];
	if (loop_new(&b.loop) < 0 ||
	    jail_open(b.loop, &o, &b.jail, &walls, &err) < 0)
		die(err.text);
	for (int i = 0; i < n; i++) {
		with[i] = in_jail(&b);
		without[i] = plain();
	}
	printf("%.2f %.2f\n", median(with, n), median(without, n));
	jail_close(b.jail);
	image_close(&image);
	loop_free(b.loop);
	return 0;
}
