/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a sandbox each session and each program has a lane, which is a fake guest of
 * its own; files, processes, `crash`, `close`, `fsfault` and `plant` are the
 * machine's. A job's program is the received file whose name is argv[0]'s last component
 * (or argv[1]'s, when that begins with "code"), else argv joined by blanks.
 * One command a line; an unknown line does nothing; the end is exit 0.
 *
 *   out TEXT, err TEXT   a line           outn TEXT       without the newline
 *   bytes N              N bytes          result TEXT     to the RESULT stream
 *   sleep MS             cat              standard input to standard output
 *   closein              the guest reports standard input as closed
 *   heated               "yes" if the job's runner was heated, else "no"
 *   await                until the signal USR1, by ctl, which then ends nothing
 *   until PATH           until the host has that file, whatever holds the job
 *   shown JSON           what a cell shows, at once
 *   args  env  files     what was sent    show PATH       an input's bytes
 *   pwd                  where it starts
 *   write PATH TEXT      an output file, in a sandbox one of the home
 *   touch PATH SECONDS   that output file was changed so long after 1970
 *   link PATH            one that is left out of the output
 *   symlink PATH TARGET  a link in the output
 *   exit N  signal N  oom  failed TEXT    how it ends
 *   leave N              N processes, killed at the end; in a sandbox they live
 *                        on, each as "left"
 *   badfile PATH         FILE with this very path, then the end
 *   crash  garbage       the machine dies, or sends bytes that are no frame
 *   hang                 never answers again, not even KILL
 *   ignoreterm           signals but 9 do nothing from here on; a step ends of an
 *                        interrupt with 130, and its interpreter lives on
 *   remember TEXT        for the session's later steps
 *   recall               what was remembered, a line each
 *   plant NAME           a file that only FS finds, whatever its name is
 *   fsfault HOW          FS goes wrong: silent, garbage, long, number, endless
 *                        (a listing), kind (of what is made), errno N (but of
 *                        a stat), or OP HEX: the reply's bytes behind its id
 *   survive              KILL ends the step, and its interpreter lives on
 *   net COMMAND          connections, see fake_net_script.c
 *   witness TEXT         the line "TEXT NONCE", whose NONCE is this run's own, to
 *                        both streams, an output file "witness" and the host's
 *                        file FSD_FAKE_WITNESS: how often it ran is seen there
 *
 * What a guest does that was taken over:
 *
 *   raw HEX              these bytes, and no frame around them
 *   flood N HEX          the same N times
 *   trickle MS HEX       one of the bytes every MS
 *   drip MS HEX          all of them every MS, for ever
 *   close                closes the wire
 *   mute                 says nothing of itself any more: it has no end
 *   deaf                 KILL is not heard
 *   unclosed             CLOSE of this lane is never answered
 *   nostart              on the first line: STARTED is not sent
 *
 * and, since a program comes late, in the job's environment:
 *
 *   FAKE_AT_JOB=HEX      these bytes when JOB comes
 */
#include "fake_guest_int.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Finds an input in the lane's own files, else in the home. */
static struct fake_file *find_input(struct fake_guest *g, const char *name)
{
	struct fake_file *f = fake_file_find(&g->inputs, name);

	return f ? f : fake_file_find(&fake_machine(g)->inputs, name);
}

char *fake_script_of(struct fake_guest *g)
{
	auto_buf struct buf joined = { 0 };

	for (uint32_t i = 0; i < MIN(g->job.argv.count, 2u); i++) {
		const char *path = g->job.argv.item[i];
		struct fake_file *f = find_input(g, base_name(path));

		/* an interpreter's argument; otherwise a command's */
		if (f && (i == 0 || !strncmp(path, WIRE_HOME "/",
					     sizeof(WIRE_HOME))))
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
		fake_put_output(g, WIRE_OUT, list->item[i], strlen(list->item[i]));
		fake_put_output(g, WIRE_OUT, "\n", 1);
	}
}

static void cmd_files(struct fake_guest *g)
{
	auto_buf struct buf b = { 0 };

	list_for_each(pos, tmp, &fake_machine(g)->inputs) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);

		if (f->kind == WIRE_FILE_LINK)
			buf_fmt(&b, "%s -> %s\n", f->path, f->data.data);
		else
			buf_fmt(&b, "%s%s %zu %o\n", f->path,
				f->kind == WIRE_FILE_DIR ? "/" : "",
				f->data.len, f->mode);
	}
	if (b.len)
		fake_put_output(g, WIRE_OUT, b.data, b.len);
}

static void cmd_write(struct fake_guest *g, char *rest)
{
	struct list *to = g->machine ? &g->machine->inputs : &g->outputs;
	char *text = strchr(rest, ' ');
	struct fake_file *f;

	if (text)
		*text++ = '\0';
	f = fake_file_find(to, rest);
	if (!f)
		f = fake_file_new(to, rest, WIRE_FILE_REG, 0644);
	buf_clear(&f->data);
	buf_str(&f->data, text ? text : "");
	buf_str(&f->data, "\n");
}

static void cmd_touch(struct fake_guest *g, char *rest)
{
	char *seconds = strchr(rest, ' ');
	struct fake_file *f;

	if (!seconds)
		return;
	*seconds++ = '\0';
	f = fake_file_find(&g->outputs, rest);
	if (f)
		f->mtime = (struct wire_time){ strtoll(seconds, NULL, 10), 0,
					       true };
}

static void cmd_failed(struct fake_guest *g, const char *text)
{
	uint8_t room[512];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_str(&w, text);
	fake_put(g, WIRE_FAILED, 0, room, MIN(w.used, sizeof(room)));
	g->running = false;
}

static void cmd_line(struct fake_guest *g, enum wire_type type,
		     const char *text)
{
	fake_put_output(g, type, text, strlen(text));
	fake_put_output(g, type, "\n", 1);
}

/* --- a record of runs, outside of the tree ------------------------------ */

static int witness_fd = -1;

/* Opens the record; call it before the daemon closes descriptors that it did
 * not open. */
int fake_witness_open(void)
{
	const char *path = getenv("FSD_FAKE_WITNESS");

	if (!path || witness_fd >= 0)
		return 0;
	witness_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			  0600);
	return witness_fd < 0 ? -errno : 0;
}

static void cmd_symlink(struct fake_guest *g, char *rest)
{
	char *target = strchr(rest, ' ');

	if (!target)
		return;
	*target++ = '\0';
	buf_str(&fake_file_new(&g->outputs, rest, WIRE_FILE_LINK, 0777)->data,
		target);
}

static void cmd_witness(struct fake_guest *g, const char *text)
{
	auto_buf struct buf line = { 0 };
	unsigned long long nonce;

	if (getrandom(&nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
		abort();
	buf_fmt(&line, "%s %016llx\n", text, nonce);
	/* abort: a run that is missing in the record would hide a second run */
	if (witness_fd >= 0 &&
	    write(witness_fd, line.data, line.len) != (ssize_t)line.len)
		abort();
	fake_put_output(g, WIRE_OUT, line.data, line.len);
	fake_put_output(g, WIRE_ERR, line.data, line.len);
	buf_add(&fake_file_new(&g->outputs, "witness", WIRE_FILE_REG, 0644)->data,
		line.data, line.len);
}

static void cmd_fsfault(struct fake_guest *m, const char *how)
{
	free(m->fs_fault);
	m->fs_fault = strdup(how);
}

/* The command `leave`: leaves processes; in a shared machine they live on. */
static void cmd_leave(struct fake_guest *g, uint32_t n)
{
	if (!g->machine)
		g->exit.left = n;
	while (g->machine && n--)
		fake_process_new(g, "left");
}

static void cmd_shown(struct fake_guest *g, const char *text)
{
	auto_buf struct buf line = { 0 };

	buf_fmt(&line, "%c%s\n", WIRE_SHOWN, text);
	fake_put(g, WIRE_RESULT, 0, line.data, line.len);
}

/* Runs a command that writes something. Return: true if word was one. */
static bool run_output(struct fake_guest *g, const char *word, char *rest)
{
	if (!strcmp(word, "out"))
		cmd_line(g, WIRE_OUT, rest);
	else if (!strcmp(word, "err"))
		cmd_line(g, WIRE_ERR, rest);
	else if (!strcmp(word, "outn"))
		fake_put_output(g, WIRE_OUT, rest, strlen(rest));
	else if (!strcmp(word, "result"))
		fake_put(g, WIRE_RESULT, 0, rest, strlen(rest));
	else if (!strcmp(word, "shown"))
		cmd_shown(g, rest);
	else if (!strcmp(word, "args"))
		cmd_strings(g, &g->job.argv);
	else if (!strcmp(word, "env"))
		cmd_strings(g, &g->job.envp);
	else if (!strcmp(word, "files"))
		cmd_files(g);
	else if (!strcmp(word, "heated"))
		cmd_line(g, WIRE_OUT, g->heated & 1u << g->job.runner ? "yes"
								    : "no");
	else if (!strcmp(word, "pwd"))
		cmd_line(g, WIRE_OUT, g->job.cwd[0] ? g->job.cwd : WIRE_HOME);
	else if (!strcmp(word, "show") && find_input(g, rest))
		fake_put_output(g, WIRE_OUT, find_input(g, rest)->data.data,
				find_input(g, rest)->data.len);
	else if (!strcmp(word, "write"))
		cmd_write(g, rest);
	else if (!strcmp(word, "touch"))
		cmd_touch(g, rest);
	else if (!strcmp(word, "witness"))
		cmd_witness(g, rest);
	else if (!strcmp(word, "remember"))
		buf_fmt(&g->memory, "%s\n", rest);
	else if (!strcmp(word, "recall") && g->memory.len)
		fake_put_output(g, WIRE_OUT, g->memory.data, g->memory.len);
	else if (!strcmp(word, "plant"))
		fake_file_new(&fake_machine(g)->inputs, rest, WIRE_FILE_REG,
			      0644);
	else if (!strcmp(word, "fsfault"))
		cmd_fsfault(fake_machine(g), rest);
	else if (!strcmp(word, "link"))
		fake_file_new(&g->outputs, rest, WIRE_FILE_OMITTED, WIRE_OMITTED_LINK);
	else if (!strcmp(word, "symlink"))
		cmd_symlink(g, rest);
	else if (!strcmp(word, "leave"))
		cmd_leave(g, (uint32_t)strtoul(rest, NULL, 10));
	else if (!strcmp(word, "badfile"))
		buf_str(&fake_file_new(&g->outputs, rest, WIRE_FILE_REG, 0644)->data,
			"x");
	else
		return false;
	return true;
}

/* --- breaking the protocol ---------------------------------------------- */

static unsigned hex_digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

void fake_hex(struct buf *to, const char *text)
{
	for (; text[0] && text[1]; text += 2) {
		char byte = (char)(hex_digit(text[0]) << 4 |
				   hex_digit(text[1]));

		buf_add(to, &byte, 1);
	}
}

/* Parses "MS HEX". */
static void cmd_slowly(struct fake_guest *g, char *rest, bool forever)
{
	g->drop_ns = strtoull(rest, &rest, 10) * NS_PER_MS;
	buf_clear(&g->drops);
	fake_hex(&g->drops, rest + strspn(rest, " "));
	g->drops_at = 0;
	g->drops_forever = forever;
}

/* Sends the bytes that are due now. */
static void more_drops(struct fake_guest *g)
{
	size_t n = g->drops_forever ? g->drops.len : 1;

	buf_add(&g->out, g->drops.data + g->drops_at, n);
	g->drops_at = g->drops_forever ? 0 : g->drops_at + n;
	if (g->drops_at == g->drops.len)
		buf_clear(&g->drops);
	loop_timer_set(g->loop, &g->sleep, g->drop_ns);
}

/* Runs a command that breaks the protocol. Return: true if word was one. */
static bool run_lie(struct fake_guest *g, const char *word, char *rest)
{
	auto_buf struct buf bytes = { 0 };
	uint64_t n = 1;

	if (!strcmp(word, "raw") || !strcmp(word, "flood")) {
		if (word[0] == 'f')
			n = strtoull(rest, &rest, 10);
		fake_hex(&bytes, rest + strspn(rest, " "));
		while (n--)
			buf_add(&g->out, bytes.data, bytes.len);
	} else if (!strcmp(word, "trickle") || !strcmp(word, "drip"))
		cmd_slowly(g, rest, word[0] == 'd');
	else if (!strcmp(word, "close")) {
		fake_flush(g);
		shutdown(fake_machine(g)->sock.fd, SHUT_RDWR);
		g->mute = true;
	} else if (!strcmp(word, "mute"))
		g->mute = true;
	else if (!strcmp(word, "deaf"))
		g->deaf = true;
	else if (!strcmp(word, "unclosed"))
		g->unclosed = true;
	else
		return false;
	return true;
}

static void run_end(struct fake_guest *g, const char *word, const char *rest)
{
	uint64_t n = strtoull(rest, NULL, 10);

	if (!strcmp(word, "exit"))
		fake_finish(g, WIRE_EXIT_CODE, (uint32_t)(n & 255));
	else if (!strcmp(word, "signal"))
		fake_finish(g, WIRE_EXIT_SIGNAL, (uint32_t)n);
	else if (!strcmp(word, "oom")) {
		g->exit.oom_kills = 1;
		fake_finish(g, WIRE_EXIT_SIGNAL, 9);
	} else if (!strcmp(word, "failed"))
		cmd_failed(g, rest);
	else if (!strcmp(word, "crash")) {
		fake_flush(g);
		g->crashes = true;
	} else if (!strcmp(word, "garbage"))
		buf_add(&g->out, "this is no frame at all", 23);
	else if (!strcmp(word, "hang"))
		fake_flush(g), g->hung = true;
	else if (!strcmp(word, "ignoreterm"))
		g->ignore_term = true;
	else if (!strcmp(word, "survive"))
		g->survives = true;
	else if (!strcmp(word, "sleep"))
		loop_timer_set(g->loop, &g->sleep, n * NS_PER_MS);
	else if (!strcmp(word, "cat"))
		g->in_cat = true;
	else if (!strcmp(word, "await"))
		g->awaits = true;
	else if (!strcmp(word, "until"))
		g->until = rest;
	else if (!strcmp(word, "closein"))
		g->stdin_closed = true;
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
	fake_put_output(g, WIRE_OUT, block, n);
}

static void more_cat(struct fake_guest *g)
{
	size_t len = g->stdin_data.len;

	if (len) {
		fake_put_output(g, WIRE_OUT, g->stdin_data.data, len);
		buf_clear(&g->stdin_data);
		if (g->stdin_unacked)
			fake_put_ack(g, g->stdin_unacked);
		g->stdin_unacked = 0;
	} else if (g->stdin_end) {
		g->in_cat = false;
	}
}

static void look_again(struct fake_guest *g)
{
	if (access(g->until, F_OK) == 0)
		g->until = NULL;
	else
		loop_timer_set(g->loop, &g->sleep, 10 * NS_PER_MS);
}

static void next_line(struct fake_guest *g)
{
	char *word = g->line, *end, *rest;

	if (!word || !*word)
		return g->mute ? (void)0 : fake_finish(g, WIRE_EXIT_CODE, 0);
	end = strchr(word, '\n');
	g->line = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	rest = strchr(word, ' ');
	if (rest)
		*rest++ = '\0';
	else
		rest = word + strlen(word);
	if (!strcmp(word, "net"))
		fake_net_command(g, rest);
	else if (!run_output(g, word, rest) && !run_lie(g, word, rest))
		run_end(g, word, rest);
}

/* Returns whether the script must wait for an event. */
static bool waits(struct fake_guest *g)
{
	return !g->running || g->paused || (g->machine && g->machine->paused) ||
	       g->hung || g->sleep.loop || g->awaits ||
	       (g->net_waits.ready && !g->net_waits.ready(g)) ||
	       (g->in_cat && !g->stdin_data.len && !g->stdin_end) ||
	       (g->mute && !g->drops.len && !(g->line && *g->line)) ||
	       g->out.len > FAKE_OUT_HIGH || (g->crashes && g->out.len);
}

void fake_script_run(struct fake_guest *g)
{
	fake_flush(g); /* the script may have waited for this */
	while (!waits(g)) {
		if (g->crashes) {
			g->running = false;
			g->crash(g->arg);
		} else if (g->bytes_left)
			more_bytes(g);
		else if (g->in_cat)
			more_cat(g);
		else if (g->until)
			look_again(g);
		else if (g->net_waits.ready)
			fake_net_continue(g);
		else if (g->drops.len)
			more_drops(g);
		else
			next_line(g);
		if (g->out.len > FAKE_OUT_HIGH / 2)
			fake_flush(g);
	}
	fake_flush(g);
}
