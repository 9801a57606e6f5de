/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the process of a runner, waits for its "ready", sends it messages, closes its
 * descriptors. The waits block the caller. child.c has what the new process itself does.
 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/buf.h"
#include "layout/base/cleanup.h"
#include "child.h"
#include "guest/os/sys.h"
#include "runner_kind.h"

#define PIPE_SIZE (256 << 10)
#define MESSAGE_MAX (2u * WIRE_JOB_MAX)
#define SEND_WAIT_MS 10000

static const char *const modes[WIRE_MODE_MAX] = {
	[WIRE_MODE_SCRIPT] = "script",
	[WIRE_MODE_CALL] = "call",
	[WIRE_MODE_SESSION] = "session",
	[WIRE_MODE_CELL] = "cell",
};

const char *runner_mode(uint32_t mode)
{
	return modes[mode];
}

const char *runner_name(enum wire_runner kind)
{
	return runner_kinds[kind].name;
}

uint64_t runner_plain_heap(enum wire_runner kind)
{
	uint64_t heap = runner_kinds[kind].plain_heap;

	return heap ? heap : UINT64_MAX;
}

static int set_nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

/*
 * Makes the four pipes; all ends are close-on-exec, and init's are nonblocking.
 */
static int make_pipes(struct runner *r, struct err *err)
{
	for (int i = 0; i < PIPE_MAX; i++) {
		int ends[2];
		int mine = i == PIPE_IN ? 1 : 0;

		if (pipe2(ends, O_CLOEXEC))
			return err_sys(err, -errno, "cannot make a pipe");
		r->pipe[i] = ends[mine];
		r->theirs[i] = ends[!mine];
		/* the program may open /dev/stdout */
		if (fchown(r->theirs[i], USER_ID, USER_ID) ||
		    set_nonblocking(r->pipe[i]) ||
		    fcntl(r->pipe[i], F_SETPIPE_SZ, PIPE_SIZE) < 0)
			return err_sys(err, -errno, "cannot prepare a pipe");
	}
	return 0;
}

static pid_t start_process(struct runner *r, int *ret_control,
			   struct err *err)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_sys(err, -errno, "cannot make a control socket");
	pid = fork();
	if (pid == 0)
		child_become_runner(r, ends[1]);
	if (pid < 0)
		err_sys(err, -errno, "cannot fork the %s runner",
			runner_name(r->kind));
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err ? err->code : -EAGAIN;
	}
	*ret_control = ends[0];
	return pid;
}

void runner_clear(struct runner *r, enum wire_runner kind)
{
	*r = (struct runner){.kind = kind, .control = -1};
	for (int i = 0; i < PIPE_MAX; i++)
		r->pipe[i] = r->theirs[i] = -1;
	for (int i = 0; i < CGROUP_FILE_MAX; i++)
		r->cgroup.fd[i] = -1;
}

int runner_start(struct runner *r, enum wire_runner kind, const char *group,
		 struct err *err)
{
	int e;

	const struct wire_strings *fresh = r->fresh;

	runner_clear(r, kind);
	r->fresh = fresh;
	e = cgroup_open(&r->cgroup, group, runner_kinds[kind].own_task, err);
	if (!e)
		e = make_pipes(r, err);
	if (e)
		return e;
	r->pid = start_process(r, &r->control, err);
	if (r->pid < 0)
		return r->pid;
	/* Close them, so that the pipes end when the program's last process has
	 * ended. */
	for (int i = 0; i < PIPE_MAX; i++)
		fd_close(&r->theirs[i]);
	return 0;
}

static int read_byte(int control, int timeout_ms, char *ret)
{
	struct pollfd p = {.fd = control, .events = POLLIN};
	int n = poll(&p, 1, timeout_ms);

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	return read(control, ret, 1) == 1 ? 0 : -EPIPE;
}

int runner_wait(int control, int timeout_ms)
{
	char byte;

	return read_byte(control, timeout_ms, &byte);
}

static int ms_until(uint64_t end)
{
	uint64_t now = sys_now();

	return now < end ? (int)((end - now) / 1000000u) + 1 : 0;
}

int runner_wait_ready(int control, uint64_t end, struct buf *cold)
{
	char line[256], said;
	bool text = false;
	size_t n = 0;

	for (;;) {
		int r = read_byte(control, ms_until(end), &said);

		if (r || (!text && said == 'R'))
			return r;
		if (!text) {
			text = said == 'L';
			n = 0;
		} else if (!said) {
			text = false;
			line[n++] = '\n';
			if (n > 1)
				buf_add(cold, line, n);
		} else if (said >= ' ' && said <= '~' && n + 1 < sizeof(line)) {
			line[n++] = said;
		}
	}
}

/* Reads the last output of a runner that did not get ready, as the reason. */
static int describe_failure(struct runner *r, int e, struct err *err)
{
	char said[256];
	ssize_t n = read(r->pipe[PIPE_ERR], said, sizeof(said) - 1);

	said[n > 0 ? n : 0] = '\0';
	return err_sys(err, e, "the %s runner is not ready (%s)",
		       runner_name(r->kind), said);
}

int runner_await(struct runner *r, uint64_t end, struct buf *cold,
		 struct err *err)
{
	int e = runner_wait_ready(r->control, end, cold);

	if (e)
		return describe_failure(r, e, err);
	/* So far only the runner's own code has run in the group: what the group has used
	 * until now is not the job's. */
	cgroup_take_holder(&r->cgroup, r->pid);
	cgroup_mark(&r->cgroup);
	cgroup_mark_code(&r->cgroup, runner_plain_heap(r->kind));
	return 0;
}

/* Adds a field with its NUL. */
static void add_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text) + 1);
}

static int build_message(struct buf *b, const char *verb,
			 const struct wire_job *job)
{
	uint8_t length[4] = {0};
	struct wire_writer w = {length, sizeof(length), 0};

	b->cap = MESSAGE_MAX;
	buf_add(b, length, sizeof(length));
	add_text(b, verb);
	add_text(b, modes[job->mode]);
	add_text(b, job->call);
	add_text(b, job->fresh ? "fresh" : "");
	add_text(b, job->cwd ? job->cwd : "");
	buf_fmt(b, "%u", job->argv.count);
	buf_add(b, "", 1);
	for (uint32_t i = 0; i < job->argv.count; i++)
		add_text(b, job->argv.item[i]);
	for (uint32_t i = 0; i < job->envp.count; i++)
		add_text(b, job->envp.item[i]);
	if (b->failed)
		return b->failed;
	wire_put_u32(&w, (uint32_t)(b->len - sizeof(length)));
	memcpy(b->data, length, sizeof(length));
	return 0;
}

int runner_send(const struct runner *runner, const char *verb,
		const struct wire_job *job)
{
	auto_buf struct buf b = {0};
	int control = runner->control;
	struct pollfd p = {.fd = control, .events = POLLOUT};
	/* A shell reads slowly, and needs only the verb. */
	int r = runner_kinds[runner->kind].verb_only
			? buf_add(&b, verb, 1) : build_message(&b, verb, job);

	/* A message may be larger than the socket's buffer. The runner is
	 * waiting for it; but one that does not read must not block PID 1. */
	for (size_t at = 0; !r && at < b.len;) {
		ssize_t n = send(control, b.data + at, b.len - at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0)
			at += (size_t)n;
		else if (errno != EAGAIN)
			r = -errno;
		else if (poll(&p, 1, SEND_WAIT_MS) == 0)
			r = -ETIMEDOUT;
	}
	return r;
}

void runner_close(struct runner *r)
{
	fd_close(&r->control);
	for (int i = 0; i < PIPE_MAX; i++) {
		fd_close(&r->pipe[i]);
		fd_close(&r->theirs[i]);
	}
	cgroup_close(&r->cgroup);
}
