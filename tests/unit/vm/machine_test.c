/* SPDX-License-Identifier: Apache-2.0 */
/* Leases and jobs on the fake backend, through the whole room. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "vm/backend.h"
#include "vm/vm.h"
#include "tests/unit/clock.h"
#include "tests/unit/tap.h"

struct run {
	struct loop *loop;
	struct machines *vm;
	struct vm_lease *lease;
	struct vm_job job;
	struct vm_input inputs[4];
	const char *argv[4], *text[5]; /* text[i]: input i; the last: stdin */
	struct buf out, err, result, files;
	struct wire_exit exit;
	struct vm_lease_info info;
	bool started, exited, finished, failed, timed_out;
	unsigned kill_at_start;        /* signal, 0: none */
	uint32_t left_out;
	enum vm_failure why;
	char sentence[300];
	bool quit_when_done;
	unsigned *left;                /* runs that are still going */
	unsigned turn;                 /* the how manieth grant it got */
	uint64_t templates;            /* that were made until the end */
};

static unsigned grants;
/* Of a backend that can be prepared; how often it was asked. */
static unsigned prepared, unprepared;
static const struct vm_backend *backend = &vm_backend_fake;

static int text_fd(const char *text)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		return -errno;
	return fd;
}

static void over(struct run *r)
{
	vm_end(r->lease);
	r->lease = NULL;
	if (--*r->left == 0)
		loop_quit(r->loop);
}

static void on_granted(void *arg)
{
	struct run *r = arg;

	r->turn = ++grants;
	vm_lease_info(r->lease, &r->info);
	vm_run(r->lease, &r->job);
}

static int on_open(void *arg, unsigned i)
{
	struct run *r = arg;

	return r->text[i] ? text_fd(r->text[i]) : -ENOENT;
}

static void on_started(void *arg, uint32_t pid)
{
	struct run *r = arg;

	(void)pid;
	r->started = true;
	if (r->kill_at_start)
		vm_kill(r->lease, WIRE_KILL_ALL, r->kill_at_start);
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct run *r = arg;

	return buf_add(s == VM_OUT ? &r->out : s == VM_ERR ? &r->err :
							     &r->result,
		       data, len);
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct run *r = arg;

	r->exited = true;
	r->exit = *e;
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	struct run *r = arg;

	(void)target;
	return buf_fmt(&r->files, "%u %o %llu %s:", kind, mode,
		       (unsigned long long)size, path);
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	return buf_add(&((struct run *)arg)->files, data, len);
}

static int on_file_end(void *arg)
{
	return buf_str(&((struct run *)arg)->files, ";");
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct run *r = arg;

	(void)files;
	r->finished = true;
	r->left_out = left_out;
	over(r);
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct run *r = arg;

	r->failed = true;
	r->why = why;
	snprintf(r->sentence, sizeof(r->sentence), "%s", sentence);
	over(r);
}

static const struct vm_events events = {
	.granted = on_granted, .open_input = on_open, .started = on_started,
	.output = on_output, .exited = on_exited, .file = on_file,
	.file_data = on_file_data, .file_end = on_file_end,
	.finished = on_finished, .failed = on_failed,
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

static void run_init(struct run *r, const char *script)
{
	*r = (struct run){ 0 };
	r->argv[0] = "/home/user/code.py";
	r->argv[1] = "arg one";
	r->text[0] = script;
	r->inputs[0] = (struct vm_input){
		.path = "code.py", .kind = WIRE_FILE_REG, .mode = 0644,
		.size = strlen(script),
	};
	r->job = (struct vm_job){
		.wire = { .runner = WIRE_RUN_PYTHON, .cpus = 1,
			  .processes = 64, .memory_bytes = 64 << 20,
			  .stdout_limit = 64 << 20, .stderr_limit = 1 << 20,
			  .output_limit = 1 << 20, .output_files = 100,
			  .call = "", .argv = { 2, r->argv } },
		.inputs = r->inputs, .input_count = 1,
	};
	r->out.cap = 128u << 20;
}

static void run_done(struct run *r)
{
	buf_done(&r->out);
	buf_done(&r->err);
	buf_done(&r->result);
	buf_done(&r->files);
}

static void on_late(struct loop_timer *t)
{
	((struct run *)t->arg)->timed_out = true;
	loop_quit(((struct run *)t->arg)->loop);
}

static void on_again(struct loop_timer *t)
{
	loop_quit(t->arg);
}

/* Until nothing is left that could be ended; bounded. */
static void give_way(struct loop *loop, struct machines *vm)
{
	struct loop_timer again = { .fn = on_again, .arg = loop };

	for (int i = 0; i < 1000 && vm_give_way(vm) && !unprepared; i++) {
		loop_timer_set(loop, &again, NS_PER_MS);
		loop_run(loop);
	}
}

/* Runs all of them on one room. */
static void go(struct run *runs, unsigned count, unsigned pool, unsigned most)
{
	struct vm_options o = {
		.backend = backend, .cache_dir = "/dev/null/none",
		.image_dir = "/nonexistent", .pool = pool, .max_machines = most,
	};
	struct loop_timer late = { .fn = on_late, .arg = runs };
	struct vm_need need = {
		.runner = WIRE_RUN_PYTHON, .memory_bytes = 64 << 20, .cpus = 1,
	};
	struct vm_stats stats;
	struct loop *loop;
	struct machines *vm;
	struct err err;
	unsigned left = count;

	if (loop_new(&loop) < 0 || vm_new(loop, &o, &watch, &vm, &err) < 0)
		exit(ok(false, "the room opens") ? 0 : 1);
	loop_timer_set(loop, &late, 20 * NS_PER_S);
	for (unsigned i = 0; i < count; i++) {
		runs[i].loop = loop;
		runs[i].vm = vm;
		runs[i].left = &left;
		runs[i].lease = vm_lease(vm, &need, &events, &runs[i]);
	}
	loop_run(loop);
	ok(!runs->timed_out, "the runs ended in time");
	for (unsigned i = 0; i < count; i++)
		vm_end(runs[i].lease);
	vm_stats(vm, &stats);
	runs->templates = stats.templates_made;
	if (backend != &vm_backend_fake)
		give_way(loop, vm);
	vm_free(vm);
	loop_free(loop);
}

static void one(struct run *r)
{
	go(r, 1, 1, 4);
}

static void test_plain(void)
{
	struct run r;

	run_init(&r, "out hello\nerr oops\noutn x\nargs\nresult 42\n"
		     "write a/b.txt some text\nlink l\nexit 3\n");
	one(&r);
	ok(r.started && r.exited && r.finished && !r.failed, "it ran");
	is_int(r.exit.kind, WIRE_EXIT_CODE, "by exit");
	is_int(r.exit.value, 3, "with its code");
	is_str(r.out.data, "hello\nx/home/user/code.py\narg one\n", "stdout");
	is_str(r.err.data, "oops\n", "stderr");
	is_str(r.result.data, "42", "the value");
	is_str(r.files.data, "0 644 10 a/b.txt:some text\n;3 2 0 l:",
	       "the file, and a link that is left out");
	is_int(r.left_out, 1, "a link is left out");
	run_done(&r);
}

static uint64_t on_prepare(struct backend *b, const struct vm_class *cls,
			   uint32_t runners, bool thorough)
{
	(void)b, (void)cls;
	prepared += runners == 1u << WIRE_RUN_PYTHON && !thorough;
	return 0;
}

static struct backend_prepared on_prepared(struct backend *b,
					   const struct vm_class *cls)
{
	(void)b, (void)cls;
	return (struct backend_prepared){
		.possible = true,
		.ready = prepared && !unprepared,
	};
}

static bool on_unprepare(struct backend *b, const struct vm_class *cls)
{
	(void)b, (void)cls;
	return ++unprepared == 1;
}

static struct vm_backend preparing;

static int open_preparing(const struct backend_host *host,
			  struct backend **ret, struct err *err)
{
	int r = vm_backend_fake.open(host, ret, err);

	if (r == 0)
		(*ret)->ops = &preparing;
	return r;
}

static void test_prepare(void)
{
	struct run runs[6];

	preparing = vm_backend_fake;
	preparing.open = open_preparing;
	preparing.prepare = on_prepare;
	preparing.prepared = on_prepared;
	preparing.unprepare = on_unprepare;
	backend = &preparing;
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++)
		run_init(&runs[i], "out x\n");
	go(runs, ARRAY_SIZE(runs), 0, 2);
	ok(prepared > 0, "when many machines are needed more are prepared for");
	ok(unprepared > 0, "that is given back when no machine can be");
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++)
		run_done(&runs[i]);
	backend = &vm_backend_fake;
	prepared = unprepared = 0;
}

static void test_stdin(void)
{
	struct run r;
	size_t size = 1 << 20;
	char *big = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		big[i] = (char)('a' + i % 23);
	big[size] = '\0';
	run_init(&r, "cat\nout end\n");
	r.text[1] = big;
	r.job.stdin_size = size;
	one(&r);
	ok(r.finished && r.out.len == size + 4 &&
		   !memcmp(r.out.data, big, size),
	   "a megabyte through the window of 64 KiB");
	run_done(&r);
	free(big);
}

static void test_inputs(void)
{
	struct run r;

	run_init(&r, "files\nshow d/x\n");
	r.inputs[1] = (struct vm_input){ .path = "d", .kind = WIRE_FILE_DIR,
					 .mode = 0755 };
	r.inputs[2] = (struct vm_input){ .path = "d/x", .kind = WIRE_FILE_REG,
					 .mode = 0600, .size = 3, .skip = 2 };
	r.text[2] = "12abc";
	r.job.input_count = 3;
	one(&r);
	is_str(r.out.data, "code.py 15 644\nd/ 0 755\nd/x 3 600\nabc",
	       "inputs arrive in order, without the skipped bytes");
	run_done(&r);
	run_init(&r, "files\n");
	r.inputs[0].size += 5;
	one(&r);
	ok(r.failed && r.why == VM_FAILED_INPUT && !r.started,
	   "an input that became shorter fails the job: %s", r.sentence);
	run_done(&r);
	run_init(&r, "files\n");
	r.text[0] = NULL;
	one(&r);
	ok(r.failed && r.why == VM_FAILED_INPUT,
	   "an input that cannot be opened fails the job: %s", r.sentence);
	run_done(&r);
}

static void test_ends(void)
{
	struct run r;

	run_init(&r, "out a\nsignal 11\n");
	one(&r);
	ok(r.finished && r.exit.kind == WIRE_EXIT_SIGNAL &&
		   r.exit.value == 11, "a signal");
	run_done(&r);
	run_init(&r, "oom\n");
	one(&r);
	ok(r.finished && r.exit.oom_kills == 1, "out of memory");
	run_done(&r);
	run_init(&r, "failed no such interpreter\n");
	one(&r);
	ok(r.failed && !strcmp(r.sentence, "no such interpreter"),
	   "the guest's own sentence");
	run_done(&r);
	run_init(&r, "out before\ncrash\n");
	one(&r);
	ok(r.failed && r.why == VM_FAILED_LOST, "a crash: %s", r.sentence);
	is_str(r.out.data, "before\n", "what came before it is there");
	run_done(&r);
	run_init(&r, "garbage\nsleep 5000\n");
	one(&r);
	ok(r.failed && r.why == VM_FAILED_LOST, "garbage: %s", r.sentence);
	run_done(&r);
	run_init(&r, "badfile ../../etc/passwd\n");
	one(&r);
	ok(r.failed && r.exited && !r.files.len, "a bad path: %s", r.sentence);
	run_done(&r);
}

static void test_kill(void)
{
	struct run r;

	run_init(&r, "out a\nsleep 60000\n");
	r.kill_at_start = 9;
	one(&r);
	ok(r.finished && r.exit.value == 9, "kill 9 ends a sleeper");
	run_done(&r);
	run_init(&r, "ignoreterm\nsleep 300\nout b\n");
	r.kill_at_start = 15;
	one(&r);
	ok(r.finished && r.exit.kind == WIRE_EXIT_CODE && r.out.len == 2,
	   "a program that ignores TERM runs on");
	run_done(&r);
	run_init(&r, "hang\n");
	r.kill_at_start = 9;
	r.argv[0] = "hang";
	one(&r);
	ok(r.exited || r.failed, "kill of a machine that may hang is bounded");
	run_done(&r);
}

static void test_bytes(void)
{
	struct run r;

	run_init(&r, "bytes 20000000\n");
	r.job.wire.stdout_limit = 10000000;
	one(&r);
	ok(r.finished && r.out.len == 10000000 &&
		   r.exit.stdout_dropped == 10000000,
	   "output beyond the limit is dropped and counted");
	run_done(&r);
}

static void test_many(void)
{
	static struct run runs[200];
	unsigned good = 0, warm = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++)
		run_init(&runs[i], "out hi\nsleep 5\n");
	go(runs, ARRAY_SIZE(runs), 4, 8);
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++) {
		good += runs[i].finished && runs[i].out.len == 3;
		warm += runs[i].info.source == VM_WARM;
		run_done(&runs[i]);
	}
	is_int(good, 200, "200 jobs on at most 8 machines");
	printf("# %u of them on warm machines\n", warm);
}

static void test_order(void)
{
	struct run runs[8];

	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++)
		run_init(&runs[i], "out hi\n");
	grants = 0;
	go(runs, ARRAY_SIZE(runs), 1, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++) {
		is_int(runs[i].turn, i + 1, "run %u has its turn", i);
		run_done(&runs[i]);
	}
}

/* The first machines have that fate. Return: templates that a few of them have
 * cost. */
static int starts(const char *fate, const char *few, const char *sentence)
{
	struct run r;
	int templates;

	setenv(fate, few, 1);
	run_init(&r, "out hi\n");
	one(&r);
	ok(r.finished && r.out.len == 3, "%s bad machines are survived", few);
	templates = (int)r.templates;
	run_done(&r);
	setenv(fate, "1000", 1);
	run_init(&r, "out hi\n");
	one(&r);
	ok(r.failed && r.why == VM_FAILED_START && strstr(r.sentence, sentence),
	   "machines that never start fail the lease: %s", r.sentence);
	run_done(&r);
	unsetenv(fate);
	return templates;
}

static void test_bad_starts(void)
{
	is_int(starts("FSD_FAKE_FAIL_STARTS", "3", "failed to start"), 2,
	       "after two that fail the template is made anew");
	is_int(starts("FSD_FAKE_TAKEN_STARTS", "5", "killed from outside"), 1,
	       "it is not to blame for those that are killed");
}

int main(void)
{
	log_set_level(LOG_ERROR);
	test_plain();
	test_prepare();
	test_stdin();
	test_inputs();
	test_ends();
	test_kill();
	test_bytes();
	test_many();
	test_order();
	test_bad_starts();
	return done_testing();
}
