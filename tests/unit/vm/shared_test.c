/* SPDX-License-Identifier: Apache-2.0 */
/* A shared machine and its lanes on the fake backend, through the whole room. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/base/log.h"
#include "vm/backend.h"
#include "vm/vm.h"
#include "tests/unit/clock.h"
#include "tests/unit/tap.h"

#define LANES (WIRE_LANE_MAX + 1)

/* A session or a program of the machine. */
struct user {
	struct vm_lease *lease;
	struct vm_job job;
	struct vm_input input;
	const char *argv[1], *script;
	struct buf out;
	struct wire_exit exit;
	uint32_t pid;
	unsigned grants, starts, exits, finishes, fails;
	enum vm_failure why;
	char sentence[200];
	bool hold; /* at the first output */
};

static struct loop *loop;
static struct machines *vm;
static struct vm_lease *machine;
static struct loop_timer late, warm;
static unsigned grants, fails, answers;
static struct user users[LANES];
static unsigned waiting; /* for so many events */
static int answer;
static char text[WIRE_FS_CHUNK + 1];

static void happened(void)
{
	if (waiting && --waiting == 0)
		loop_quit(loop);
}

/* Runs until so many events have happened. */
static void until(unsigned events)
{
	waiting = events;
	loop_timer_set(loop, &late, 60 * NS_PER_S);
	loop_run(loop);
	loop_timer_del(&late);
}

static void on_late(struct loop_timer *t)
{
	(void)t;
	ok(waiting == 0, "it happens in time");
	loop_quit(loop);
}

static void on_warm(struct loop_timer *t)
{
	(void)t;
	loop_quit(loop);
}

static void on_granted(void *arg)
{
	struct user *u = arg;

	if (u)
		u->grants++;
	else
		grants++;
	happened();
}

static int on_open(void *arg, unsigned i)
{
	struct user *u = arg;
	int fd = memfd_create("input", MFD_CLOEXEC);

	(void)i;
	if (fd >= 0 && write(fd, u->script, strlen(u->script)) < 0)
		return -errno;
	return fd;
}

static void on_started(void *arg, uint32_t pid)
{
	struct user *u = arg;

	u->starts++;
	u->pid = pid;
	happened();
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct user *u = arg;

	if (u->hold)
		vm_hold(u->lease, true);
	return s == VM_OUT ? buf_add(&u->out, data, len) : 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct user *u = arg;

	u->exits++;
	u->exit = *e;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct user *u = arg;

	(void)files;
	(void)left_out;
	u->finishes++;
	happened();
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct user *u = arg;

	if (u) {
		u->fails++;
		u->why = why;
		snprintf(u->sentence, sizeof(u->sentence), "%s", sentence);
	} else {
		fails++;
	}
	happened();
}

static const struct vm_events events = {
	.granted = on_granted, .open_input = on_open, .started = on_started,
	.output = on_output, .exited = on_exited, .finished = on_finished,
	.failed = on_failed,
};

static void on_changed(void *arg)
{
	(void)arg;
}

static void on_progress(void *arg, const char *sentence)
{
	(void)arg;
	(void)sentence;
}

static const struct vm_watch watch = {
	.changed = on_changed, .progress = on_progress,
};

/* A shared machine that is granted. */
static void begin(void)
{
	struct vm_options o = {
		.backend = &vm_backend_fake, .cache_dir = "/dev/null/none",
		.image_dir = "/nonexistent", .max_machines = 2, .pool = 1,
	};
	struct vm_need need = {
		.runner = WIRE_RUN_PYTHON, .memory_bytes = 64 << 20, .cpus = 1,
	};
	struct vm_share share = {
		.memory_bytes = 64 << 20, .processes = 64, .cpus = 1,
	};
	struct err err;

	grants = fails = answers = 0;
	memset(users, 0, sizeof(users));
	late = (struct loop_timer){ .fn = on_late };
	warm = (struct loop_timer){ .fn = on_warm };
	if (loop_new(&loop) < 0 || vm_new(loop, &o, &watch, &vm, &err) < 0)
		exit(ok(false, "the room opens") ? 0 : 1);
	loop_timer_set(loop, &warm, 100 * NS_PER_MS);
	loop_run(loop); /* so that a machine is there, and asleep */
	machine = vm_lease(vm, &need, &events, NULL);
	until(1);
	is_int(grants, 1, "the machine is granted");
	vm_share(machine, &share);
}

static void end(void)
{
	for (unsigned i = 0; i < LANES; i++) {
		vm_end(users[i].lease);
		buf_done(&users[i].out);
	}
	vm_end(machine);
	vm_free(vm);
	loop_free(loop);
}

/* Return: 0 or what vm_join() says. */
static int join(struct user *u)
{
	int r;

	u->lease = vm_join(machine, &events, u, &r);
	return r;
}

static void run(struct user *u, uint32_t mode, const char *script)
{
	u->script = script;
	u->argv[0] = "/home/user/code.py";
	u->input = (struct vm_input){
		.path = "code.py", .kind = WIRE_FILE_REG, .mode = 0644,
		.size = strlen(script),
	};
	u->job = (struct vm_job){
		.wire = { .runner = WIRE_RUN_PYTHON, .mode = mode, .cpus = 1,
			  .processes = 64, .memory_bytes = 64 << 20,
			  .stdout_limit = 64 << 20, .stderr_limit = 1 << 20,
			  .call = "", .argv = { 1, u->argv } },
		.inputs = &u->input, .input_count = 1,
	};
	u->out.cap = 64u << 20;
	vm_run(u->lease, &u->job);
}

/* A program that is joined and has ended. */
static void whole(struct user *u, const char *script)
{
	is_int(join(u), 0, "a lane");
	run(u, WIRE_MODE_SCRIPT, script);
	until(3);
	ok(u->finishes == 1 && !u->fails, "the program ends: %s", u->sentence);
}

static void on_answer(void *arg, int r, const uint8_t *data, size_t size)
{
	(void)arg;
	answers++;
	answer = r;
	memcpy(text, data, MIN(size, sizeof(text) - 1));
	text[MIN(size, sizeof(text) - 1)] = '\0';
	happened();
}

static char *words(const char *t)
{
	return (char *)(uintptr_t)t;
}

static void ask(uint32_t op, uint32_t tree, const char *path)
{
	struct wire_fs fs = {
		.op = op, .tree = tree, .path = words(path), .to = words(""),
		.length = op == WIRE_FS_READ ? 100 : 0, .mode = 0644,
	};

	is_int(vm_fs(machine, &fs, on_answer, NULL), 0, "a file is asked for");
	until(1);
}

static void test_sessions(void)
{
	struct user *a = &users[0], *b = &users[1];
	struct vm_stats stats;

	begin();
	ok(join(a) == 0 && join(b) == 0, "two lanes");
	run(a, WIRE_MODE_SESSION, "remember one\nwrite shared.txt from a\n");
	run(b, WIRE_MODE_SESSION, "remember two\n");
	until(6);
	ok(a->finishes == 1 && b->finishes == 1, "both steps end");
	ok(a->exit.lives && b->exit.lives, "both live on");
	ok(a->pid && b->pid && a->pid != b->pid, "each has a pid");
	run(a, WIRE_MODE_SESSION, "recall\nsleep 50\n");
	run(b, WIRE_MODE_SESSION, "recall\nshow shared.txt\n");
	until(4);
	is_str(a->out.data, "one\n", "a has its own memory");
	is_str(b->out.data, "two\nfrom a\n", "b too, and they share the home");
	vm_stats(vm, &stats);
	is_int(stats.leased, 1, "they take one machine");
	vm_end(a->lease);
	a->lease = NULL;
	whole(&users[2], "show shared.txt\nexit 3\n");
	is_int(users[2].exit.value, 3, "a program beside them");
	is_str(users[2].out.data, "from a\n", "sees the home");
	run(b, WIRE_MODE_SESSION, "recall\n");
	until(2);
	is_int(b->finishes, 3, "b outlives a");
	end();
}

static void test_files(void)
{
	begin();
	ask(WIRE_FS_CREATE, WIRE_FS_HOME, "made");
	is_int(answer, 0, "a file before any job");
	whole(&users[0], "files\nleave 2\n");
	is_str(users[0].out.data, "made 0 644\n", "the program finds it");
	ask(WIRE_FS_PROCESSES, WIRE_FS_HOME, "");
	is_str(text, "101 1 left\n102 1 left\n", "what it leaves is its lane's");
	vm_end(users[0].lease);
	users[0].lease = NULL;
	ask(WIRE_FS_PROCESSES, WIRE_FS_HOME, "");
	is_str(text, "101 0 left\n102 0 left\n", "and lives on without it");
	ask(WIRE_FS_READ, WIRE_FS_ROOT, "etc/os-release");
	is_str(text, "NAME=fake\n", "the root is there");
	ask(WIRE_FS_CREATE, WIRE_FS_ROOT, "etc/other");
	is_int(answer, -EROFS, "it cannot be changed");
	ask(WIRE_FS_CREATE, WIRE_FS_ROOT, "tmp/other");
	is_int(answer, 0, "but for /tmp");
	ask(WIRE_FS_STAT, WIRE_FS_ROOT, "home/user/made");
	is_int(answer, 0, "and the home");
	end();
}

static void test_kill(void)
{
	struct user *a = &users[0], *b = &users[1];

	begin();
	ok(join(a) == 0 && join(b) == 0, "two lanes");
	run(a, WIRE_MODE_SCRIPT, "leave 1\nsleep 1000000\n");
	run(b, WIRE_MODE_SESSION, "sleep 10\nout done\n");
	until(4);
	vm_kill(a->lease, WIRE_KILL_ALL, 9);
	until(2);
	is_int(a->exit.value, 9, "one is killed");
	is_str(b->out.data, "done\n", "the other is not");
	run(b, WIRE_MODE_SESSION, "oom\n");
	until(2);
	ok(b->exit.oom_kills && !b->exit.lives, "one has no memory");
	vm_end(a->lease);
	a->lease = NULL;
	is_int(join(a), 0, "another lane");
	run(a, WIRE_MODE_SCRIPT, "leave 1\nsleep 1000000\n");
	until(2);
	vm_end(a->lease); /* while it runs */
	a->lease = NULL;
	ask(WIRE_FS_PROCESSES, WIRE_FS_HOME, "");
	is_str(text, "", "what still ran was killed");
	ok(!fails && !b->fails, "the machine lives");
	end();
}

static void test_death(void)
{
	struct user *a = &users[0], *b = &users[1];
	int r = 0;

	begin();
	ok(join(a) == 0 && join(b) == 0, "two lanes");
	run(a, WIRE_MODE_SESSION, "sleep 1000000\n");
	run(b, WIRE_MODE_SCRIPT, "out last\nsleep 20\ncrash\n");
	until(7);
	ok(fails == 1 && a->fails == 1 && b->fails == 1, "all hear of it");
	ok(a->why == VM_FAILED_LOST && b->why == VM_FAILED_LOST, "as lost");
	is_str(b->out.data, "last\n", "what was said counts");
	ok(!vm_join(machine, &events, &users[2], &r) && r == -ESTALE,
	   "none joins any more");
	is_int(vm_fs(machine, &(struct wire_fs){ .path = words("") }, on_answer,
		     NULL), -ESTALE, "nor asks for a file");
	end();
}

static void test_end(void)
{
	struct user *a = &users[0];

	begin();
	is_int(join(a), 0, "a lane");
	run(a, WIRE_MODE_SESSION, "sleep 1000000\n");
	until(2);
	vm_end(machine);
	machine = NULL;
	until(1);
	ok(a->fails == 1 && a->why == VM_FAILED_LOST, "it ends with its machine");
	vm_kill(a->lease, WIRE_KILL_ALL, 9);
	vm_hold(a->lease, true);
	run(a, WIRE_MODE_SESSION, "out too late\n");
	end();
}

static void test_many(void)
{
	unsigned n = 0;
	int r = 0;

	begin();
	while (n < LANES && (r = join(&users[n])) == 0)
		n++;
	is_int(n, WIRE_LANE_MAX, "so many lanes");
	is_int(r, -EMFILE, "and no more");
	for (unsigned i = 0; i < n; i++)
		run(&users[i], WIRE_MODE_SCRIPT, "bytes 100000\n");
	until(3 * n);
	for (unsigned i = 0; i < n; i++)
		n -= users[i].out.len != 100000;
	is_int(n, WIRE_LANE_MAX, "each has said all");
	vm_end(users[7].lease);
	users[7].lease = NULL;
	is_int(join(&users[7]), -EMFILE, "a number is the guest's until CLOSED");
	ask(WIRE_FS_STAT, WIRE_FS_HOME, "");
	is_int(join(&users[7]), 0, "then it may be used again");
	end();
}

static void test_hold(void)
{
	struct user *a = &users[0], *b = &users[1];

	begin();
	ok(join(a) == 0 && join(b) == 0, "two lanes");
	a->hold = true;
	run(a, WIRE_MODE_SCRIPT, "bytes 20000000\n");
	run(b, WIRE_MODE_SCRIPT, "sleep 200\nout last\n");
	until(3); /* what b says is behind what a says */
	loop_timer_set(loop, &late, 50 * NS_PER_S); /* longer than any wait */
	waiting = 0;
	loop_run(loop);
	ok(!a->fails && !b->fails && !fails,
	   "nobody is to blame while the host does not listen");
	a->hold = false;
	vm_hold(a->lease, false);
	until(3);
	is_int(a->out.len, 20000000, "all comes");
	is_str(b->out.data, "last\n", "of the other too");
	end();
}

static void test_unclosed(void)
{
	begin();
	whole(&users[0], "unclosed\n");
	vm_end(users[0].lease);
	users[0].lease = NULL;
	until(1);
	is_int(fails, 1, "a guest that keeps a lane breaks the machine");
	end();
}

/* Its first machine never wakes: another one has its lanes and their jobs. */
static void test_frozen(void)
{
	struct user *a = &users[0], *b = &users[1];
	struct vm_stats stats;

	setenv("FSD_FAKE_FREEZE", "1", 1);
	begin();
	unsetenv("FSD_FAKE_FREEZE");
	ok(join(a) == 0 && join(b) == 0, "two lanes");
	run(a, WIRE_MODE_SCRIPT, "out here\n");
	until(2);
	vm_end(b->lease); /* while there is no machine, or it is deaf */
	b->lease = NULL;
	until(2);
	ok(a->finishes == 1 && !fails && !a->fails, "it runs");
	is_int(a->grants, 1, "and is granted once");
	is_int(grants, 1, "as is the machine");
	is_str(a->out.data, "here\n", "it says so");
	vm_stats(vm, &stats);
	is_int(stats.machines_failed, 1, "by another machine");
	end();
}

int main(void)
{
	log_set_level(LOG_ERROR);
	test_sessions();
	test_files();
	test_kill();
	test_death();
	test_end();
	test_many();
	test_hold();
	test_unclosed();
	test_frozen();
	return done_testing();
}
