/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a clone of the template its own time, random numbers and machine id. PID 1
 * calls it when the host sends PING, OWN, JOB, RUN or SHARE, and once at the start, to
 * set the template's clock back.
 */
#include "clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "sys.h"

#define TEMPLATE_EPOCH 946684800 /* 2000-01-01 */
#define SECOND_NS 1000000000ull
#define MACHINE_ID "/run/machine-id"

static int set_clock(uint64_t ns, struct err *err)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / SECOND_NS),
			      .tv_nsec = (long)(ns % SECOND_NS)};

	if (clock_settime(CLOCK_REALTIME, &ts))
		return err_sys(err, -errno, "cannot set the clock");
	return 0;
}

int clone_answer_ping(struct port *port, const struct frame *f, struct err *err)
{
	struct timespec now;
	struct wire_cursor c;
	uint64_t ns;
	int r = 0;

	wire_begin(&c, f->payload, f->header.length);
	ns = wire_get_u64(&c);
	if (!wire_end(&c)) {
		clock_gettime(CLOCK_REALTIME, &now);
		if (ns > (uint64_t)now.tv_sec * SECOND_NS +
				 (uint64_t)now.tv_nsec)
			r = set_clock(ns, err);
	}
	port_send(port, WIRE_PONG, 0, f->payload, f->header.length);
	return r;
}

int clone_stop_clock(struct err *err)
{
	return set_clock(TEMPLATE_EPOCH * SECOND_NS, err);
}

int clone_set_time(uint64_t realtime_ns, uint64_t since, struct err *err)
{
	return set_clock(realtime_ns + (sys_now() - since), err);
}

int clone_set_clock(const struct wire_job *job, uint64_t since,
		    struct err *err)
{
	return clone_set_time(job->realtime_ns, since, err);
}

static int add_entropy(const uint8_t *bytes, struct err *err)
{
	auto_close int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	struct {
		int bits, size;
		uint8_t bytes[WIRE_ENTROPY_SIZE];
	} pool = {.bits = 8 * WIRE_ENTROPY_SIZE, .size = WIRE_ENTROPY_SIZE};

	memcpy(pool.bytes, bytes, WIRE_ENTROPY_SIZE);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) ||
	    ioctl(fd, RNDRESEEDCRNG))
		return err_sys(err, -errno, "cannot reseed the kernel's random "
					    "numbers");
	return 0;
}

static int write_machine_id(struct err *err)
{
	auto_close int fd = open(MACHINE_ID, O_WRONLY | O_CREAT | O_TRUNC |
						    O_CLOEXEC, 0444);
	uint8_t id[16];
	char text[sizeof(id) * 2 + 2];

	if (fd < 0 || getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return err_sys(err, -errno, "cannot make a machine id");
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	text[sizeof(text) - 2] = '\n';
	if (write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1)
		return err_sys(err, -errno, "cannot write the machine id");
	return 0;
}

int clone_own(const uint8_t *entropy, struct err *err)
{
	int r = add_entropy(entropy, err);

	return r ? r : write_machine_id(err);
}

int clone_set_early_clock(const struct wire_job *job, struct err *err)
{
	return set_clock(job->realtime_ns - SECOND_NS, err);
}
