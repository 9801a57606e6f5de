/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the guest's half of the wire protocol without a machine: parses frames,
 * runs a job's script (fake_script.c), and sends its output, exit and files.
 *
 * A fake_guest owns its socket, its buffers and the files of its job. A lane of a shared
 * machine is a fake_guest without a socket (fake_lanes.c). All functions run on the
 * loop.
 */
#include "fake_guest_int.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"

/* --- frames out ---------------------------------------------------------- */

void fake_flush(struct fake_guest *g)
{
	if (g->machine) {
		fake_lane_flush(g);
		return;
	}
	while (g->out.len && !g->hung) {
		ssize_t n = send(g->sock.fd, g->out.data, g->out.len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			break;
		buf_eat(&g->out, (size_t)n);
	}
	if (!g->paused)
		loop_fd_mod(&g->sock, EPOLLIN | (g->out.len ? EPOLLOUT : 0));
}

void fake_put(struct fake_guest *g, enum wire_type type, uint8_t arg,
		const void *data, size_t len)
{
	uint8_t h[WIRE_HEADER_SIZE];

	wire_header_put(h, (uint32_t)len, (uint8_t)type, arg);
	buf_add(&g->out, h, sizeof(h));
	buf_add(&g->out, data, len);
}

void fake_put_u32s(struct fake_guest *g, enum wire_type type, unsigned count,
		     uint32_t a, uint32_t b)
{
	uint8_t room[8];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, a);
	if (count > 1)
		wire_put_u32(&w, b);
	fake_put(g, type, 0, room, w.used);
}

void fake_put_ack(struct fake_guest *g, size_t len)
{
	uint8_t room[4];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, (uint32_t)len);
	fake_put(g, WIRE_STDIN_ACK, g->stdin_closed, room, w.used);
}

/*
 * Sends output of the program, cut at the job's limit as the real guest does.
 */
void fake_put_output(struct fake_guest *g, enum wire_type type,
		       const void *data, size_t len)
{
	const char *p = data;
	uint64_t *bytes = type == WIRE_OUT ? &g->exit.stdout_bytes :
					     &g->exit.stderr_bytes;
	uint64_t *dropped = type == WIRE_OUT ? &g->exit.stdout_dropped :
					       &g->exit.stderr_dropped;
	uint64_t limit = type == WIRE_OUT ? g->job.stdout_limit :
					    g->job.stderr_limit;
	uint64_t kept = *bytes - *dropped;
	size_t send_len = (size_t)MIN((uint64_t)len, limit - kept);

	*bytes += len;
	*dropped += len - send_len;
	while (send_len) {
		size_t n = MIN(send_len, (size_t)WIRE_PAYLOAD_MAX);

		fake_put(g, type, 0, p, n);
		p += n;
		send_len -= n;
	}
}

/* --- the end of a job ---------------------------------------------------- */

static void put_file(struct fake_guest *g, const struct fake_file *f)
{
	const struct buf *data = &f->data;
	uint8_t room[WIRE_PATH_MAX + 64];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, f->mode);
	wire_put_u64(&w, data->len);
	wire_put_str(&w, f->path);
	fake_put(g, WIRE_FILE, WIRE_FILE_REG, room, w.used);
	for (size_t at = 0; at < data->len; at += WIRE_PAYLOAD_MAX)
		fake_put(g, WIRE_FILE_DATA, 0, data->data + at,
		    MIN(data->len - at, (size_t)WIRE_PAYLOAD_MAX));
	w.used = 0;
	wire_put_time(&w, f->mtime);
	fake_put(g, WIRE_FILE_END, 0, room, f->mtime.known ? w.used : 0);
}

static void put_link(struct fake_guest *g, const struct fake_file *f)
{
	uint8_t room[2 * WIRE_PATH_MAX + 64];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, 0777);
	wire_put_u64(&w, 0);
	wire_put_str(&w, f->path);
	wire_put_str(&w, f->data.data);
	fake_put(g, WIRE_FILE, WIRE_FILE_LINK, room, w.used);
}

static void put_left(struct fake_guest *g, const char *path, uint64_t size,
		     enum wire_omitted why)
{
	uint8_t room[WIRE_PATH_MAX + 64];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, why);
	wire_put_u64(&w, size);
	wire_put_str(&w, path);
	fake_put(g, WIRE_FILE, WIRE_FILE_OMITTED, room, w.used);
}

static void put_outputs(struct fake_guest *g)
{
	uint64_t left = g->job.output_limit;
	uint32_t files = 0, told = 0;

	list_for_each(pos, tmp, &g->outputs) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);

		if (f->kind == WIRE_FILE_OMITTED) {
			g->left_out++;
			put_left(g, f->path, 0, (enum wire_omitted)f->mode);
			fake_file_free(f);
			continue;
		}
		if (files == g->job.output_files || f->data.len > left) {
			g->left_out++;
			if (told++ < WIRE_OMITTED_TOLD)
				put_left(g, f->path, f->data.len,
					 f->data.len > left ? WIRE_OMITTED_LIMIT
							    : WIRE_OMITTED_MANY);
			continue;
		}
		files++;
		if (f->kind == WIRE_FILE_LINK) {
			put_link(g, f);
			continue;
		}
		left -= f->data.len;
		put_file(g, f);
	}
	fake_put_u32s(g, WIRE_OUTPUT_END, 2, files, g->left_out);
}

/* Ends a session's step: its files stay, all else is reset. */
static void begin_anew(struct fake_guest *g)
{
	struct list *home = &fake_machine(g)->inputs;

	list_for_each(pos, tmp, &g->outputs) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);
		struct fake_file *old = fake_file_find(home, f->path);

		if (old)
			fake_file_free(old);
		fake_file_move(f, home);
	}
	buf_clear(&g->stdin_data);
	g->stdin_closed = false;
	g->stdin_unacked = 0;
	g->stdin_end = g->in_cat = g->awaits = g->ignore_term = g->survives =
		false;
	g->asked = false;
	g->bytes_left = 0;
	g->left_out = 0;
	memset(&g->exit, 0, sizeof(g->exit));
	wire_job_done(&g->job);
	g->have_job = false;
	free(take_ptr(g->script));
	g->line = NULL;
	g->until = NULL;
}

void fake_finish(struct fake_guest *g, enum wire_exit_kind kind,
		   uint32_t value)
{
	uint8_t room[WIRE_EXIT_MAX];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	if (!g->running)
		return;
	g->running = false;
	loop_timer_del(&g->sleep);
	loop_call_del(&g->step);
	g->net_waits.ready = NULL;
	g->exit.kind = kind;
	g->exit.value = value;
	g->exit.lives = kind == WIRE_EXIT_CODE &&
			wire_mode_is_step(g->job.mode);
	g->exit.unasked = !g->asked;
	g->exit.begun = g->job.fresh ? WIRE_BEGUN_ASKED
			: g->job.runner == WIRE_RUN_EXEC ? WIRE_BEGUN_ITSELF
			: WIRE_BEGUN_WARM;
	g->exit.wall_ns = now_ns() - g->started_ns;
	g->exit.user_us = 1000;
	g->exit.system_us = 500;
	g->exit.peak_memory_bytes = 4u << 20;
	g->exit.peak_processes = 1;
	wire_exit_put(&w, &g->exit);
	fake_put(g, WIRE_EXIT, 0, room, w.used);
	if (g->job.output_limit)
		put_outputs(g);
	fake_flush(g);
	if (g->exit.lives) {
		begin_anew(g);
		return;
	}
	fake_net_end(g);
	fake_process_end(g, g->pid);
	g->pid = 0;
}

/* --- the script's turns ----------------------------------------------------- */

static void on_step(struct loop_call *c)
{
	fake_script_run(c->arg);
}

static void on_slept(struct loop_timer *t)
{
	fake_script_run(t->arg);
}

/* --- frames in ----------------------------------------------------------- */

static void on_file(struct fake_guest *g, const struct wire_header *h,
		    struct wire_cursor *c)
{
	uint32_t mode = wire_get_u32(c);
	__attribute__((unused)) uint64_t size = wire_get_u64(c);
	__attribute__((unused)) struct wire_time mtime = wire_get_time(c);
	auto_free char *path = wire_get_str(c, WIRE_PATH_MAX);
	auto_free char *target = h->arg == WIRE_FILE_LINK
					 ? wire_get_str(c, WIRE_PATH_MAX)
					 : NULL;

	/* Keep code files per lane: programs of two lanes may have the same
	 * name. */
	struct list *to = path && !strncmp(path, "code.", 5)
				  ? &g->inputs
				  : &fake_machine(g)->inputs;
	struct fake_file *old = path ? fake_file_find(to, path) : NULL;

	g->open_to = &g->stdin_data;
	if (!path || h->arg == WIRE_FILE_STDIN)
		return;
	if (old) /* the file is from an earlier step */
		fake_file_free(old);
	g->open_to = &fake_file_new(to, path, h->arg, mode)->data;
	if (target)
		buf_str(g->open_to, target);
}

static void on_job(struct fake_guest *g, const void *payload, size_t length)
{
	static const char lie[] = "FAKE_AT_JOB=";

	g->have_job = wire_job_get(payload, length, &g->job) == 0;
	g->in_session |= wire_mode_is_step(g->job.mode);
	for (uint32_t i = 0; i < g->job.envp.count; i++)
		if (!strncmp(g->job.envp.item[i], lie, strlen(lie)))
			fake_hex(&g->out, g->job.envp.item[i] + strlen(lie));
}

/*
 * Gives the program a pid; a living interpreter keeps that of its first step.
 */
static void begin_process(struct fake_guest *g)
{
	auto_buf struct buf command = { 0 };

	if (g->pid)
		return;
	for (uint32_t i = 0; i < g->job.argv.count; i++)
		buf_fmt(&command, "%s%s", i ? " " : "", g->job.argv.item[i]);
	g->pid = fake_process_new(g, command.data ? command.data : "");
}

static void on_run(struct fake_guest *g)
{
	g->script = fake_script_of(g);
	begin_process(g);
	if (!g->script || strncmp(g->script, "nostart\n", 8) != 0)
		fake_put_u32s(g, WIRE_STARTED, 1, g->pid, 0);
	g->started_ns = now_ns();
	g->running = true;
	g->line = g->script;
	loop_defer(g->loop, &g->step);
}

static void on_kill(struct fake_guest *g, unsigned scope, struct wire_cursor *c)
{
	uint32_t sig = wire_get_u32(c);

	g->asked |= scope == WIRE_KILL_ALL;

	if (g->hung || g->deaf)
		return;
	if (g->awaits && sig == SIGUSR1) {
		/* the caller runs the script after the frame */
		g->awaits = false;
		return;
	}
	if (g->ignore_term && sig != 9)
		return;
	if (g->machine && scope == WIRE_KILL_ALL && sig == 9)
		fake_lane_kill(g);
	if (g->survives)
		fake_finish(g, WIRE_EXIT_CODE, 0);
	else if (scope == WIRE_KILL_INTERRUPT &&
		 wire_mode_is_step(g->job.mode))
		fake_finish(g, WIRE_EXIT_CODE, 128 + sig);
	else
		fake_finish(g, WIRE_EXIT_SIGNAL, sig);
}

void fake_frame(struct fake_guest *g, const struct wire_header *h,
		const void *payload)
{
	struct wire_cursor c;

	wire_begin(&c, payload, h->length);
	if (h->type == WIRE_HEAT) {
		uint32_t runners = wire_get_u32(&c);

		g->heated |= runners;
		fake_put_u32s(g, WIRE_HEATED, 1, runners, 0);
	} else if (h->type == WIRE_PING) {
		fake_put(g, WIRE_PONG, 0, payload, h->length);
	} else if (h->type == WIRE_OWN) {
		g->owned = true;
	} else if (h->type == WIRE_NETWORK && g->owned) {
		fake_net_told(g, payload, h->length);
	} else if (h->type == WIRE_SHARE) {
		fake_share(g, payload, h->length);
	} else if (h->type == WIRE_JOB && g->owned && !g->shared) {
		on_job(g, payload, h->length);
	} else if (h->type == WIRE_FS && (g->in_session || g->shared)) {
		fake_fs(g, payload, h->length);
	} else if (h->type == WIRE_FILE) {
		on_file(g, h, &c);
	} else if (h->type == WIRE_FILE_DATA && g->open_to) {
		buf_add(g->open_to, payload, h->length);
	} else if (h->type == WIRE_RUN && g->have_job) {
		on_run(g);
	} else if (h->type == WIRE_STDIN) {
		if (g->stdin_closed) {
			fake_put_ack(g, h->length);
		} else {
			buf_add(&g->stdin_data, payload, h->length);
			g->stdin_unacked += h->length;
		}
	} else if (h->type == WIRE_STDIN_END) {
		g->stdin_end = true;
	} else if (h->type == WIRE_KILL) {
		on_kill(g, h->arg, &c);
	}
}

static void parse(struct fake_guest *g)
{
	size_t at = 0;

	while (g->in.len - at >= WIRE_HEADER_SIZE) {
		const uint8_t *p = (const uint8_t *)g->in.data + at;
		uint8_t head[WIRE_HEADER_SIZE], lane;
		struct wire_header h;

		memcpy(head, p, sizeof(head));
		lane = wire_lane_take(head);
		if (wire_header_get(head, &h) < 0) {
			g->crash(g->arg);
			return;
		}
		if (g->in.len - at < WIRE_HEADER_SIZE + h.length)
			break;
		if (lane)
			fake_lane_frame(g, lane, &h, p + WIRE_HEADER_SIZE);
		else
			fake_frame(g, &h, p + WIRE_HEADER_SIZE);
		at += WIRE_HEADER_SIZE + h.length;
	}
	buf_eat(&g->in, at);
}

static void on_socket(struct loop_fd *src, uint32_t events)
{
	struct fake_guest *g = src->arg;
	char block[65536];
	ssize_t n;

	(void)events;
	n = recv(src->fd, block, sizeof(block), MSG_DONTWAIT);
	if (n > 0) {
		buf_add(&g->in, block, (size_t)n);
		parse(g);
	} else if (n == 0) {
		/* the host has closed the wire; a kill follows */
		loop_fd_del(&g->sock);
		return;
	}
	fake_script_run(g);
	fake_lanes_run(g);
}

/* --- start and end ------------------------------------------------------ */

struct fake_guest *fake_guest_new(struct loop *loop, int fd,
				  void (*crash)(void *arg), void *arg)
{
	struct fake_guest *g = calloc(1, sizeof(*g));

	if (!g) {
		fd_close(&fd);
		return NULL;
	}
	g->loop = loop;
	g->crash = crash;
	g->arg = arg;
	g->paused = true;
	g->out.cap = g->in.cap = g->drops.cap = 1u << 30;
	g->sock = (struct loop_fd){
		.fd = fd, .events = EPOLLIN, .fn = on_socket, .arg = g,
	};
	g->sleep = (struct loop_timer){ .fn = on_slept, .arg = g };
	g->step = (struct loop_call){ .fn = on_step, .arg = g };
	list_init(&g->inputs);
	list_init(&g->outputs);
	list_init(&g->processes);
	list_init(&g->root);
	return g;
}

void fake_guest_free(struct fake_guest *g)
{
	if (!g)
		return;
	fake_net_end(g);
	fake_lanes_free(g);
	fake_net_free(g);
	loop_fd_del(&g->sock);
	loop_timer_del(&g->sleep);
	loop_call_del(&g->step);
	fd_close(&g->sock.fd);
	fake_files_free(&g->inputs);
	fake_files_free(&g->outputs);
	fake_files_free(&g->root);
	buf_done(&g->in);
	buf_done(&g->out);
	buf_done(&g->stdin_data);
	buf_done(&g->memory);
	buf_done(&g->drops);
	if (g->have_job)
		wire_job_done(&g->job);
	free(g->script);
	free(g->fs_fault);
	free(g);
}

void fake_guest_pause(struct fake_guest *g)
{
	g->paused = true;
	loop_fd_del(&g->sock);
	fake_net_pause(g);
}

void fake_guest_resume(struct fake_guest *g)
{
	if (!g->paused)
		return;
	g->paused = false;
	fake_net_resume(g);
	if (loop_fd_add(g->loop, &g->sock) < 0)
		g->crash(g->arg);
	else
		fake_lanes_run(g);
}
