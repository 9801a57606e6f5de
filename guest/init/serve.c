/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves the host from HELLO to the end: starts and heats the runners, says READY,
 * then takes turns of the agent or, once the machine is shared, of the mux. HEAT and
 * SHARE change the whole machine, so they are done here between two turns.
 */
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "guest/os/clone.h"
#include "guest/warm/gather.h"
#include "guest/warm/heat.h"
#include "guest/run/check_walls.h"
#include "guest/agent/mux.h"
#include "guest/os/sys.h"

#define READY_MS 300000
#define IMAGE_ID "/usr/lib/fsd/image-id"
#define ROUNDS_MAX 16u

static void send_u32(struct port *port, enum wire_type type, uint32_t value)
{
	uint8_t bytes[4];
	struct wire_writer w = {bytes, sizeof(bytes), 0};

	wire_put_u32(&w, value);
	port_send(port, (uint8_t)type, 0, bytes, w.used);
}

static void send_ready(struct port *port, uint32_t runners, uint32_t walls,
		       const struct buf *cold)
{
	struct wire_writer w = {port_room(port), WIRE_PAYLOAD_MAX, 0};

	wire_put_u32(&w, runners);
	wire_put_u32(&w, walls);
	wire_put_str(&w, cold->data ? cold->data : "");
	port_commit(port, WIRE_READY, 0, w.used);
}

void agent_hello(struct agent *a)
{
	struct wire_writer w = {port_room(&a->port), WIRE_PAYLOAD_MAX, 0};
	struct utsname kernel;
	char image[128];

	uname(&kernel);
	if (sys_read_line(IMAGE_ID, image, sizeof(image)))
		image[0] = '\0';
	wire_put_u32(&w, WIRE_VERSION);
	wire_put_str(&w, kernel.release);
	wire_put_str(&w, image);
	port_commit(&a->port, WIRE_HELLO, 0, w.used);
}

/* Starts a runner and waits until it is ready, or sys_now() is end. */
static int start_runner(struct runner *r, enum wire_runner kind, uint64_t end,
			struct buf *cold, struct err *err)
{
	char group[32];
	int e;

	snprintf(group, sizeof(group), "job-%s", runner_name(kind));
	e = runner_start(r, kind, group, err);
	return e ? e : runner_await(r, end, cold, err);
}

/*
 * Returns the runners to start. The kernel passes unknown words of its command
 * line to init as variables; with this one the host asks for a plain machine,
 * which has only the runner of EXEC.
 */
static uint32_t wanted_runners(void)
{
	return getenv("fsd_plain") ? 1u << WIRE_RUN_EXEC
				   : (1u << WIRE_RUN_MAX) - 1;
}

int agent_ready(struct agent *a, struct err *err)
{
	const uint32_t all = wanted_runners();
	uint64_t end = sys_now() + READY_MS * 1000000ull;
	auto_buf struct buf cold = {.cap = WIRE_COLD_MAX};
	uint32_t walls;
	int e = gather_programs(err);
	int mask;

	/* Start them one after the other, so that the memory of each lies
	 * together. */
	for (int i = 0; !e && i < WIRE_RUN_MAX; i++)
		if (all & 1u << i)
			e = start_runner(&a->runners[i], (enum wire_runner)i,
					 end, &cold, err);
	if (e)
		return e;
	walls = check_walls(a->runners, WIRE_RUN_MAX, a->net->helper);
	mask = heat_runners(a, all, 1);
	if (mask < 0)
		return err_sys(err, mask, "heating");
	if ((uint32_t)mask != all)
		return err_set(err, -ECHILD, "not all runners are hot, but 0x%x",
			       (unsigned)mask);
	send_ready(&a->port, (uint32_t)mask, walls, &cold);
	return 0;
}

static int on_heat(struct agent *a, const struct frame *f, struct err *err)
{
	struct wire_cursor c;
	uint32_t mask, rounds;
	int heated;

	wire_begin(&c, f->payload, f->header.length);
	mask = wire_get_u32(&c);
	rounds = wire_get_u32(&c);
	if (wire_end(&c) || rounds > ROUNDS_MAX || (!rounds && !a->owned) ||
	    a->job.phase != JOB_NONE)
		return err_set(err, -EPROTO, "a HEAT that breaks the rules");
	heated = port_drain(&a->port, true);
	if (!heated)
		heated = heat_runners(a, mask, rounds);
	if (heated < 0)
		return err_sys(err, heated, "heating");
	send_u32(&a->port, WIRE_HEATED, (uint32_t)heated);
	return 0;
}

/* Handles SHARE: the machine is a shared one from now on. */
static int on_share(struct agent *a, const struct frame *f, struct err *err)
{
	if (!a->owned || a->job.phase != JOB_NONE || a->job.again)
		return err_set(err, -EPROTO, "a SHARE that breaks the rules");
	return mux_open(a, f, err);
}

/* Handles the HEAT or SHARE that a turn has put into a->aside. */
static int on_aside(struct agent *a, struct err *err)
{
	struct frame f = a->aside;
	int r;

	a->aside = (struct frame){0};
	r = f.header.type == WIRE_HEAT ? on_heat(a, &f, err)
				       : on_share(a, &f, err);
	a->starved = true; /* frames behind it may be buffered */
	return r ? r : port_flush(&a->port);
}

int agent_serve(struct agent *a, struct err *err)
{
	int r = port_flush(&a->port);

	while (!r && !a->lost) {
		r = a->mux ? mux_turn(a, err) : agent_turn(a, UINT64_MAX, err);
		if (!r && a->aside.header.type != WIRE_NONE)
			r = on_aside(a, err);
	}
	if (!r)
		r = err_set(err, -ECHILD, "the %s runner has ended by itself",
			    runner_name(a->lost->kind));
	if (err && !err->code)
		err_sys(err, r, "the port");
	return r;
}
