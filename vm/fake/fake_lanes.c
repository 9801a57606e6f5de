/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a shared fake machine. Each lane is a fake guest of its own,
 * whose frames go over the machine's wire. The machine owns the home, the root,
 * and the list of processes. The real guest has processes for this. All
 * functions run on the loop.
 */
#include "fake_guest_int.h"

#include <string.h>


#define PID_FIRST 100

/* --- processes ------------------------------------------------------------ */

static void process_free(struct fake_process *p)
{
	list_del(&p->node);
	free(p->command);
	free(p);
}

uint32_t fake_process_new(struct fake_guest *g, const char *command)
{
	struct fake_guest *m = fake_machine(g);
	struct fake_process *p = calloc(1, sizeof(*p));

	if (!p)
		abort(); /* test code: nothing sensible is left to do */
	p->pid = PID_FIRST + m->pids++;
	p->lane = g->lane;
	p->command = strdup(command);
	list_add_tail(&m->processes, &p->node);
	return p->pid;
}

void fake_process_end(struct fake_guest *g, uint32_t pid)
{
	list_for_each(pos, tmp, &fake_machine(g)->processes) {
		struct fake_process *p =
			list_entry(pos, struct fake_process, node);

		if (p->pid == pid)
			process_free(p);
	}
}

/* Ends all processes of a lane (kill), or makes them belong to no lane. */
static void leave_lane(struct fake_guest *m, uint8_t lane, bool kill)
{
	list_for_each(pos, tmp, &m->processes) {
		struct fake_process *p =
			list_entry(pos, struct fake_process, node);

		if (p->lane != lane)
			continue;
		p->lane = 0;
		if (kill)
			process_free(p);
	}
}

void fake_lane_kill(struct fake_guest *l)
{
	leave_lane(l->machine, l->lane, true);
	l->pid = 0;
}

void fake_processes(struct fake_guest *m, struct wire_writer *out)
{
	auto_buf struct buf text = { 0 };

	list_for_each(pos, tmp, &m->processes) {
		struct fake_process *p =
			list_entry(pos, struct fake_process, node);
		size_t before = text.len;

		buf_fmt(&text, "%u %u %.200s\n", p->pid, p->lane, p->command);
		for (size_t i = before; i + 1 < text.len; i++)
			if (text.data[i] < ' ' || text.data[i] > '~')
				text.data[i] = '?';
		if (text.len > WIRE_FS_CHUNK)
			text.len = before;
	}
	wire_put_bytes(out, text.data, text.len);
}

/* --- the machine ------------------------------------------------------------ */

/* Makes directories beside the home: a base that cannot be changed, and some
 * that users may write (fake_fs.c). */
static void make_root(struct fake_guest *m)
{
	static const char *const dirs[] = { "etc", "home", "tmp", "home/user",
					    "workspace", "code" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		fake_file_new(&m->root, dirs[i], WIRE_FILE_DIR,
			      i == 2 ? 0777 : 0755);
	buf_str(&fake_file_new(&m->root, "etc/os-release", WIRE_FILE_REG, 0644)
			 ->data,
		"NAME=fake\n");
}

void fake_share(struct fake_guest *m, const void *payload, size_t length)
{
	struct wire_share share;

	if (m->shared || m->have_job || !m->owned ||
	    wire_share_get(payload, length, &share) < 0) {
		m->crash(m->arg);
		return;
	}
	m->shared = true;
	make_root(m);
}

static void open_lane(struct fake_guest *m, uint8_t number)
{
	struct fake_guest *l = fake_guest_new(m->loop, -1, m->crash, m->arg);

	if (!l)
		abort();
	l->machine = m;
	l->lane = number;
	l->paused = false;
	l->owned = true;
	m->lanes[number] = l;
}

static void close_lane(struct fake_guest *m, uint8_t number, bool kill)
{
	struct fake_guest *l = m->lanes[number];
	bool closes = !l->unclosed;
	size_t at;

	leave_lane(m, number, kill || l->running);
	fake_guest_free(l);
	m->lanes[number] = NULL;
	at = m->out.len;
	if (closes)
		fake_put(m, WIRE_CLOSED, 0, NULL, 0);
	if (closes)
		wire_lane_put((uint8_t *)m->out.data + at, number);
	fake_flush(m);
}

void fake_lane_frame(struct fake_guest *m, uint8_t number,
		     const struct wire_header *h, const void *payload)
{
	/* Crash, so that a test notices a host that breaks the protocol. */
	if (!m->shared || number > WIRE_LANE_MAX ||
	    (!m->lanes[number] && h->type != WIRE_JOB)) {
		m->crash(m->arg);
		return;
	}
	if (!m->lanes[number])
		open_lane(m, number);
	if (h->type == WIRE_CLOSE)
		close_lane(m, number, h->arg == WIRE_CLOSE_KILL);
	else
		fake_frame(m->lanes[number], h, payload);
}

void fake_lane_flush(struct fake_guest *l)
{
	struct fake_guest *m = l->machine;

	while (l->out.len && !l->hung && m->out.len <= FAKE_OUT_HIGH) {
		uint8_t *p = (uint8_t *)l->out.data;
		struct wire_header h;
		size_t n = l->out.len;

		/* Bytes that are no frame are passed on unchanged. */
		if (n >= WIRE_HEADER_SIZE && wire_header_get(p, &h) == 0 &&
		    n >= WIRE_HEADER_SIZE + h.length) {
			n = WIRE_HEADER_SIZE + h.length;
			wire_lane_put(p, l->lane);
		}
		buf_add(&m->out, p, n);
		buf_eat(&l->out, n);
	}
	fake_flush(m);
}

void fake_lanes_run(struct fake_guest *m)
{
	for (unsigned i = 1; m->shared && i <= WIRE_LANE_MAX; i++)
		if (m->lanes[i])
			fake_script_run(m->lanes[i]);
}

void fake_lanes_free(struct fake_guest *m)
{
	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		fake_guest_free(m->lanes[i]);
	list_for_each(pos, tmp, &m->processes)
		process_free(list_entry(pos, struct fake_process, node));
}
