/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's program is the received file whose name is argv[0]'s last component
 * (or argv[1]'s, when that begins with "code"), else argv joined by blanks.
 * One command a line; an unknown line does nothing; the end is exit 0.
 *
 *   out TEXT, err TEXT   a line           outn TEXT       without the newline
 *   bytes N              N bytes          result TEXT     to the RESULT stream
 *   sleep MS             cat              standard input to standard output
 *   args  env  files     what was sent    show PATH       an input's bytes
 *   write PATH TEXT      an output file   link PATH       one left out
 *   exit N  signal N  oom  failed TEXT    how it ends
 *   badfile PATH         FILE with this very path, then the end
 *   crash  garbage       the machine dies, or sends bytes that are no frame
 *   hang                 never answers again, not even KILL
 *   ignoreterm           signals but 9 do nothing from here on
 */
#include "fake_guest.h"

#include <string.h>
#include <sys/socket.h>

#include "../guest/wire.h"
#include "../layout/base/buf.h"
#include "../layout/base/cleanup.h"

#define OUT_HIGH (256u << 10) /* the script waits while more is unsent */

struct fake_file {
	struct list node;
	char *path;             /* owned */
	uint8_t kind;
	uint32_t mode;
	struct buf data;        /* owned */
};

struct fake_guest {
	struct loop *loop;
	struct loop_fd sock;    /* its fd is owned */
	struct loop_timer sleep;
	struct loop_call step;  /* the script's next lines */
	void (*crash)(void *arg);
	void *arg;
	bool paused, hung, running, ignore_term, in_cat;
	struct buf in, out;
	struct wire_job job;    /* owned when have_job */
	bool have_job, owned;
	struct list inputs, outputs; /* fake_file.node */
	struct fake_file *open; /* the input that is coming */
	char *script, *line;    /* owned; the next line in it */
	struct buf stdin_data;
	bool stdin_end;
	uint64_t bytes_left;    /* of a `bytes` command */
	struct wire_exit exit;
	uint32_t left_out;
	uint64_t started_ns;
};

/* --- frames out ---------------------------------------------------------- */

static void flush(struct fake_guest *g)
{
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

static void put(struct fake_guest *g, enum wire_type type, uint8_t arg,
		const void *data, size_t len)
{
	uint8_t h[WIRE_HEADER_SIZE];

	wire_header_put(h, (uint32_t)len, (uint8_t)type, arg);
	buf_add(&g->out, h, sizeof(h));
	buf_add(&g->out, data, len);
}

static void put_u32s(struct fake_guest *g, enum wire_type type, unsigned count,
		     uint32_t a, uint32_t b)
{
	uint8_t room[8];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, a);
	if (count > 1)
		wire_put_u32(&w, b);
	put(g, type, 0, room, w.used);
}

/* Output of the program, cut at the job's limit as the real guest does. */
static void put_output(struct fake_guest *g, enum wire_type type,
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

		put(g, type, 0, p, n);
		p += n;
		send_len -= n;
	}
}

/* --- the end of a job ---------------------------------------------------- */

static void put_file(struct fake_guest *g, const char *path, uint32_t mode,
		     const struct buf *data)
{
	uint8_t room[WIRE_PATH_MAX + 64];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, mode);
	wire_put_u64(&w, data->len);
	wire_put_str(&w, path);
	put(g, WIRE_FILE, WIRE_FILE_REG, room, w.used);
	for (size_t at = 0; at < data->len; at += WIRE_PAYLOAD_MAX)
		put(g, WIRE_FILE_DATA, 0, data->data + at,
		    MIN(data->len - at, (size_t)WIRE_PAYLOAD_MAX));
	put(g, WIRE_FILE_END, 0, NULL, 0);
}

static void put_outputs(struct fake_guest *g)
{
	uint64_t left = g->job.output_limit;
	uint32_t files = 0;

	list_for_each(pos, tmp, &g->outputs) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);

		if (files == g->job.output_files || f->data.len > left) {
			g->left_out++;
			continue;
		}
		left -= f->data.len;
		files++;
		put_file(g, f->path, f->mode, &f->data);
	}
	put_u32s(g, WIRE_OUTPUT_END, 2, files, g->left_out);
}

static void finish(struct fake_guest *g, enum wire_exit_kind kind,
		   uint32_t value)
{
	uint8_t room[256];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	if (!g->running)
		return;
	g->running = false;
	loop_timer_del(&g->sleep);
	loop_call_del(&g->step);
	g->exit.kind = kind;
	g->exit.value = value;
	g->exit.wall_ns = now_ns() - g->started_ns;
	g->exit.user_us = 1000;
	g->exit.system_us = 500;
	g->exit.peak_memory_bytes = 4u << 20;
	g->exit.peak_processes = 1;
	wire_exit_put(&w, &g->exit);
	put(g, WIRE_EXIT, 0, room, w.used);
	if (g->job.output_limit)
		put_outputs(g);
	flush(g);
}

/* --- the script ---------------------------------------------------------- */

static struct fake_file *find(struct list *files, const char *path)
{
	list_for_each(pos, tmp, files) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);

		if (!strcmp(f->path, path))
			return f;
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *script_of(struct fake_guest *g)
{
	auto_buf struct buf joined = { 0 };

	for (uint32_t i = 0; i < MIN(g->job.argv.count, 2u); i++) {
		const char *name = base_name(g->job.argv.item[i]);
		struct fake_file *f = find(&g->inputs, name);

		if (f && (i == 0 || !strncmp(name, "code", 4)))
			return strdup(f->data.data ? f->data.data : "");
	}
	for (uint32_t i = 0; i < g->job.argv.count; i++) {
		buf_str(&joined, i ? " " : "");
		buf_str(&joined, g->job.argv.item[i]);
	}
	return take_ptr(joined.data);
}

static void cmd_strings(struct fake_guest *g, const struct wire_strings *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		put_output(g, WIRE_OUT, list->item[i], strlen(list->item[i]));
		put_output(g, WIRE_OUT, "\n", 1);
	}
}

static void cmd_files(struct fake_guest *g)
{
	auto_buf struct buf b = { 0 };

	list_for_each(pos, tmp, &g->inputs) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);

		buf_fmt(&b, "%s%s %zu %o\n", f->path,
			f->kind == WIRE_FILE_DIR ? "/" : "", f->data.len,
			f->mode);
	}
	if (b.len)
		put_output(g, WIRE_OUT, b.data, b.len);
}

static struct fake_file *file_new(struct list *to, const char *path,
				  uint8_t kind, uint32_t mode)
{
	struct fake_file *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->path = strdup(path);
	f->kind = kind;
	f->mode = mode;
	f->data.cap = 1u << 30;
	list_add_tail(to, &f->node);
	return f;
}

static void cmd_write(struct fake_guest *g, char *rest)
{
	char *text = strchr(rest, ' ');
	struct fake_file *f;

	if (text)
		*text++ = '\0';
	f = find(&g->outputs, rest);
	if (!f)
		f = file_new(&g->outputs, rest, WIRE_FILE_REG, 0644);
	buf_clear(&f->data);
	buf_str(&f->data, text ? text : "");
	buf_str(&f->data, "\n");
}

static void cmd_failed(struct fake_guest *g, const char *text)
{
	uint8_t room[512];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_str(&w, text);
	put(g, WIRE_FAILED, 0, room, MIN(w.used, sizeof(room)));
	g->running = false;
}

static void cmd_line(struct fake_guest *g, enum wire_type type,
		     const char *text)
{
	put_output(g, type, text, strlen(text));
	put_output(g, type, "\n", 1);
}

/* Commands that write something. Return: true if word was one. */
static bool run_output(struct fake_guest *g, const char *word, char *rest)
{
	if (!strcmp(word, "out"))
		cmd_line(g, WIRE_OUT, rest);
	else if (!strcmp(word, "err"))
		cmd_line(g, WIRE_ERR, rest);
	else if (!strcmp(word, "outn"))
		put_output(g, WIRE_OUT, rest, strlen(rest));
	else if (!strcmp(word, "result"))
		put(g, WIRE_RESULT, 0, rest, strlen(rest));
	else if (!strcmp(word, "args"))
		cmd_strings(g, &g->job.argv);
	else if (!strcmp(word, "env"))
		cmd_strings(g, &g->job.envp);
	else if (!strcmp(word, "files"))
		cmd_files(g);
	else if (!strcmp(word, "show") && find(&g->inputs, rest))
		put_output(g, WIRE_OUT, find(&g->inputs, rest)->data.data,
			   find(&g->inputs, rest)->data.len);
	else if (!strcmp(word, "write"))
		cmd_write(g, rest);
	else if (!strcmp(word, "link"))
		g->left_out++;
	else if (!strcmp(word, "badfile"))
		buf_str(&file_new(&g->outputs, rest, WIRE_FILE_REG, 0644)->data,
			"x");
	else
		return false;
	return true;
}

static void run_end(struct fake_guest *g, const char *word, const char *rest)
{
	uint64_t n = strtoull(rest, NULL, 10);

	if (!strcmp(word, "exit"))
		finish(g, WIRE_EXIT_CODE, (uint32_t)(n & 255));
	else if (!strcmp(word, "signal"))
		finish(g, WIRE_EXIT_SIGNAL, (uint32_t)n);
	else if (!strcmp(word, "oom")) {
		g->exit.oom_kills = 1;
		finish(g, WIRE_EXIT_SIGNAL, 9);
	} else if (!strcmp(word, "failed"))
		cmd_failed(g, rest);
	else if (!strcmp(word, "crash")) {
		g->running = false;
		flush(g);
		g->crash(g->arg);
	} else if (!strcmp(word, "garbage"))
		buf_add(&g->out, "this is no frame at all", 23);
	else if (!strcmp(word, "hang"))
		flush(g), g->hung = true;
	else if (!strcmp(word, "ignoreterm"))
		g->ignore_term = true;
	else if (!strcmp(word, "sleep"))
		loop_timer_set(g->loop, &g->sleep, n * NS_PER_MS);
	else if (!strcmp(word, "cat"))
		g->in_cat = true;
	else if (!strcmp(word, "bytes"))
		g->bytes_left = n;
}

static void more_bytes(struct fake_guest *g)
{
	char block[WIRE_PAYLOAD_MAX];
	size_t n = (size_t)MIN(g->bytes_left, (uint64_t)sizeof(block));

	for (size_t i = 0; i < n; i++)
		block[i] = (char)('a' + i % 26);
	g->bytes_left -= n;
	put_output(g, WIRE_OUT, block, n);
}

static void more_cat(struct fake_guest *g)
{
	size_t len = g->stdin_data.len;

	if (len) {
		put_output(g, WIRE_OUT, g->stdin_data.data, len);
		buf_clear(&g->stdin_data);
		put_u32s(g, WIRE_STDIN_ACK, 1, (uint32_t)len, 0);
	} else if (g->stdin_end) {
		g->in_cat = false;
	}
}

static void next_line(struct fake_guest *g)
{
	char *word = g->line, *end, *rest;

	if (!word || !*word)
		return finish(g, WIRE_EXIT_CODE, 0);
	end = strchr(word, '\n');
	g->line = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	rest = strchr(word, ' ');
	if (rest)
		*rest++ = '\0';
	else
		rest = word + strlen(word);
	if (!run_output(g, word, rest))
		run_end(g, word, rest);
}

/* Nothing can go on before something happens. */
static bool waits(const struct fake_guest *g)
{
	return !g->running || g->paused || g->hung || g->sleep.loop ||
	       (g->in_cat && !g->stdin_data.len && !g->stdin_end) ||
	       g->out.len > OUT_HIGH;
}

static void run_script(struct fake_guest *g)
{
	while (!waits(g)) {
		if (g->bytes_left)
			more_bytes(g);
		else if (g->in_cat)
			more_cat(g);
		else
			next_line(g);
		if (g->out.len > OUT_HIGH / 2)
			flush(g);
	}
	flush(g);
}

static void on_step(struct loop_call *c)
{
	run_script(c->arg);
}

static void on_slept(struct loop_timer *t)
{
	run_script(t->arg);
}

/* --- frames in ----------------------------------------------------------- */

static void on_file(struct fake_guest *g, const struct wire_header *h,
		    struct wire_cursor *c)
{
	uint32_t mode = wire_get_u32(c);
	__attribute__((unused)) uint64_t size = wire_get_u64(c);
	auto_free char *path = wire_get_str(c, WIRE_PATH_MAX);

	if (path)
		g->open = file_new(&g->inputs, path, h->arg, mode);
}

static void on_run(struct fake_guest *g)
{
	put(g, WIRE_STARTED, 0, NULL, 0);
	g->started_ns = now_ns();
	g->running = true;
	g->script = script_of(g);
	g->line = g->script;
	loop_defer(g->loop, &g->step);
}

static void on_kill(struct fake_guest *g, struct wire_cursor *c)
{
	uint32_t sig = wire_get_u32(c);

	if (g->hung || (g->ignore_term && sig != 9))
		return;
	finish(g, WIRE_EXIT_SIGNAL, sig);
}

static void on_frame(struct fake_guest *g, const struct wire_header *h,
		     const void *payload)
{
	struct wire_cursor c;

	wire_begin(&c, payload, h->length);
	if (h->type == WIRE_HEAT) {
		put_u32s(g, WIRE_HEATED, 1, wire_get_u32(&c), 0);
	} else if (h->type == WIRE_PING) {
		put(g, WIRE_PONG, 0, payload, h->length);
	} else if (h->type == WIRE_OWN) {
		g->owned = true;
	} else if (h->type == WIRE_JOB && g->owned) {
		g->have_job = wire_job_get(payload, h->length, &g->job) == 0;
	} else if (h->type == WIRE_FILE) {
		on_file(g, h, &c);
	} else if (h->type == WIRE_FILE_DATA && g->open) {
		buf_add(&g->open->data, payload, h->length);
	} else if (h->type == WIRE_RUN && g->have_job) {
		on_run(g);
	} else if (h->type == WIRE_STDIN) {
		buf_add(&g->stdin_data, payload, h->length);
	} else if (h->type == WIRE_STDIN_END) {
		g->stdin_end = true;
	} else if (h->type == WIRE_KILL) {
		on_kill(g, &c);
	}
}

static void parse(struct fake_guest *g)
{
	size_t at = 0;

	while (g->in.len - at >= WIRE_HEADER_SIZE) {
		const uint8_t *p = (const uint8_t *)g->in.data + at;
		struct wire_header h;

		if (wire_header_get(p, &h) < 0) {
			g->crash(g->arg);
			return;
		}
		if (g->in.len - at < WIRE_HEADER_SIZE + h.length)
			break;
		on_frame(g, &h, p + WIRE_HEADER_SIZE);
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
		loop_fd_del(&g->sock); /* the host is gone: kill follows */
		return;
	}
	run_script(g);
}

/* --- life ---------------------------------------------------------------- */

struct fake_guest *fake_guest_new(struct loop *loop, int fd,
				  void (*crash)(void *arg), void *arg)
{
	struct fake_guest *g = calloc(1, sizeof(*g));

	if (!g) {
		close(fd);
		return NULL;
	}
	g->loop = loop;
	g->crash = crash;
	g->arg = arg;
	g->paused = true;
	g->out.cap = g->in.cap = 1u << 30;
	g->sock = (struct loop_fd){
		.fd = fd, .events = EPOLLIN, .fn = on_socket, .arg = g,
	};
	g->sleep = (struct loop_timer){ .fn = on_slept, .arg = g };
	g->step = (struct loop_call){ .fn = on_step, .arg = g };
	list_init(&g->inputs);
	list_init(&g->outputs);
	return g;
}

static void files_free(struct list *files)
{
	list_for_each(pos, tmp, files) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);

		list_del(pos);
		free(f->path);
		buf_done(&f->data);
		free(f);
	}
}

void fake_guest_free(struct fake_guest *g)
{
	if (!g)
		return;
	loop_fd_del(&g->sock);
	loop_timer_del(&g->sleep);
	loop_call_del(&g->step);
	fd_close(&g->sock.fd);
	files_free(&g->inputs);
	files_free(&g->outputs);
	buf_done(&g->in);
	buf_done(&g->out);
	buf_done(&g->stdin_data);
	if (g->have_job)
		wire_job_done(&g->job);
	free(g->script);
	free(g);
}

void fake_guest_pause(struct fake_guest *g)
{
	g->paused = true;
	loop_fd_del(&g->sock);
}

void fake_guest_resume(struct fake_guest *g)
{
	if (!g->paused)
		return;
	g->paused = false;
	if (loop_fd_add(g->loop, &g->sock) < 0)
		g->crash(g->arg);
}
