/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines measured: bench_vm IMAGE CACHE [COMMAND [N]]
 *   jobs N      N python jobs one after another, with warm machines
 *   rate N      N python jobs at once on few machines: jobs a second
 *   boots N     N templates made anew, one after another
 *   idle SEC    what the warm pool costs while nothing happens
 * Prints TAP, with the figures as comments.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "vm/backend.h"
#include "vm/jail/jailer.h"
#include "vm/vm.h"
#include "tests/unit/tap.h"

#define RUNNERS 4

struct bench;

struct one {
	struct bench *b;
	struct vm_lease *lease;
	struct vm_job job;
	struct vm_input input;
	const char *argv[3], *envp[2], *text;
	char path[64];
	uint64_t asked_ns, granted_ns, started_ns, first_ns, exited_ns;
	enum vm_source source;
	bool good;
	char out[64];
	size_t out_len;
	char sentence[200];
};

struct bench {
	struct loop *loop;
	struct machines *vm;
	struct loop_call health;
	struct loop_timer timer;
	struct one *ones;
	unsigned count, next, over, parallel, runner;
	bool ready;
};

static const struct {
	const char *name, *text, *command;
	uint32_t runner;
} programs[RUNNERS] = {
	{ "code.py", "print(1+1)\n", NULL, WIRE_RUN_PYTHON },
	{ "code.js", "console.log(1+1)\n", NULL, WIRE_RUN_NODE },
	{ "code.ts", "console.log(1+1 as number)\n", NULL,
	  WIRE_RUN_TYPESCRIPT },
	{ "code.sh", "echo $((1+1))\n", "bash", WIRE_RUN_EXEC },
};

static void more(struct bench *b);

static void over(struct one *o)
{
	vm_end(o->lease);
	o->lease = NULL;
	o->b->over++;
	more(o->b);
}

static void on_granted(void *arg)
{
	struct one *o = arg;
	struct vm_lease_info info;

	vm_lease_info(o->lease, &info);
	o->source = info.source;
	o->granted_ns = now_ns();
	vm_run(o->lease, &o->job);
}

static int on_open(void *arg, unsigned i)
{
	struct one *o = arg;
	int fd = memfd_create("input", MFD_CLOEXEC);

	(void)i;
	if (fd >= 0 && write(fd, o->text, strlen(o->text)) < 0)
		return -errno;
	return fd;
}

static void on_started(void *arg, uint32_t pid)
{
	(void)pid;
	((struct one *)arg)->started_ns = now_ns();
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct one *o = arg;

	if (s == VM_ERR)
		printf("# stderr: %.*s\n", (int)MIN(len, (size_t)200),
		       (const char *)data);
	if (s != VM_OUT)
		return 0;
	if (!o->first_ns)
		o->first_ns = now_ns();
	len = MIN(len, sizeof(o->out) - 1 - o->out_len);
	memcpy(o->out + o->out_len, data, len);
	o->out_len += len;
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct one *o = arg;

	o->exited_ns = now_ns();
	o->good = e->kind == WIRE_EXIT_CODE && e->value == 0;
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	(void)target;
	(void)arg;
	(void)kind;
	(void)mode;
	(void)size;
	(void)path;
	return -ENOSPC;
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	return len ? 0 : -1;
}

static int on_file_end(void *arg)
{
	(void)arg;
	return 0;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	(void)files;
	(void)left_out;
	over(arg);
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct one *o = arg;

	printf("# failed (%d): %s\n", why, sentence);
	o->good = false;
	over(o);
}

static const struct vm_events events = {
	.granted = on_granted, .open_input = on_open, .started = on_started,
	.output = on_output, .exited = on_exited, .file = on_file,
	.file_data = on_file_data, .file_end = on_file_end,
	.finished = on_finished, .failed = on_failed,
};

static void ask(struct bench *b, unsigned i)
{
	struct one *o = &b->ones[i];
	unsigned p = b->runner == RUNNERS ? i % RUNNERS : b->runner;
	struct vm_need need = {
		.runner = programs[p].runner, .memory_bytes = 256u << 20,
		.cpus = 1,
	};
	unsigned n = 0;

	*o = (struct one){ .b = b, .text = programs[p].text };
	snprintf(o->path, sizeof(o->path), "/home/user/%s", programs[p].name);
	if (programs[p].command)
		o->argv[n++] = programs[p].command;
	o->argv[n++] = o->path;
	o->envp[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
	o->envp[1] = "HOME=/home/user";
	o->input = (struct vm_input){
		.path = programs[p].name, .kind = WIRE_FILE_REG, .mode = 0644,
		.size = strlen(o->text),
	};
	o->job = (struct vm_job){
		.wire = { .runner = need.runner, .cpus = 1, .processes = 256,
			  .memory_bytes = 256u << 20, .stdout_limit = 1 << 20,
			  .stderr_limit = 1 << 20, .output_limit = 1 << 20,
			  .output_files = 100, .call = "",
			  .argv = { n, o->argv }, .envp = { 2, o->envp } },
		.inputs = &o->input, .input_count = 1,
	};
	o->asked_ns = now_ns();
	o->lease = vm_lease(b->vm, &need, &events, o);
}

static bool pool_full(struct bench *b)
{
	struct vm_stats s;

	vm_stats(b->vm, &s);
	return s.warm > 0 && s.starting == 0;
}

static void on_timer(struct loop_timer *t)
{
	more(t->arg);
}

static void more(struct bench *b)
{
	if (!b->ready)
		return;
	if (b->over == b->count) {
		loop_quit(b->loop);
		return;
	}
	/* One after another: each finds the pool as a quiet host has it. */
	if (b->parallel == 1 && b->next == b->over && !pool_full(b)) {
		loop_timer_set(b->loop, &b->timer, 5 * NS_PER_MS);
		return;
	}
	while (b->next < b->count && b->next - b->over < b->parallel)
		ask(b, b->next++);
}

static void on_changed(void *arg)
{
	struct bench *b = arg;
	struct err err;
	int r = vm_health(b->vm, &err);

	printf("# health: %s\n", err.text);
	if (r == 0) {
		b->ready = true;
		more(b);
	} else if (r != -EAGAIN) {
		loop_quit(b->loop);
	}
}

static void on_progress(void *arg, const char *sentence)
{
	(void)arg;
	printf("# %s\n", sentence);
}

static double ms(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / NS_PER_MS : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void figure(const struct bench *b, const char *name,
		   double (*value)(const struct one *o))
{
	double *v = calloc(b->count, sizeof(*v));
	unsigned n = 0;

	for (unsigned i = 0; i < b->count; i++)
		if (b->ones[i].good)
			v[n++] = value(&b->ones[i]);
	qsort(v, n, sizeof(*v), by_value);
	if (n)
		printf("# %-18s min %7.1f  p50 %7.1f  p95 %7.1f  max %7.1f\n",
		       name, v[0], v[n / 2], v[n * 95 / 100], v[n - 1]);
	free(v);
}

static double to_grant(const struct one *o)
{
	return ms(o->asked_ns, o->granted_ns);
}

static double to_start(const struct one *o)
{
	return ms(o->asked_ns, o->started_ns);
}

static double to_first(const struct one *o)
{
	return ms(o->asked_ns, o->first_ns);
}

static double to_exit(const struct one *o)
{
	return ms(o->asked_ns, o->exited_ns);
}

static double cpu_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void bench_open(struct bench *b, const char *image, const char *cache,
		       unsigned pool, unsigned most)
{
	struct vm_options o = {
		.backend = &vm_backend_qemu, .cache_dir = cache,
		.image_dir = image, .pool = pool, .max_machines = most,
	};
	struct vm_watch watch = {
		.changed = on_changed, .progress = on_progress, .arg = b,
	};
	const char *accel = getenv("ACCEL");
	struct err err;

	for (unsigned i = 0; accel && i < VM_ACCEL_MAX; i++)
		if (!strcmp(accel, vm_accel_names[i]))
			o.accel = i;
	b->timer = (struct loop_timer){ .fn = on_timer, .arg = b };
	if (loop_new(&b->loop) < 0 ||
	    vm_new(b->loop, &o, &watch, &b->vm, &err) < 0) {
		ok(false, "the room opens: %s", err.text);
		exit(done_testing());
	}
}

static void bench_close(struct bench *b)
{
	for (unsigned i = 0; i < b->next; i++)
		vm_end(b->ones[i].lease);
	vm_free(b->vm);
	loop_free(b->loop);
}

static void jobs(struct bench *b, unsigned count, unsigned parallel)
{
	unsigned good = 0, warm = 0;
	uint64_t begin;
	double cpu;
	struct vm_stats s;

	b->ones = calloc(count, sizeof(*b->ones));
	b->count = count;
	b->parallel = parallel;
	begin = now_ns();
	loop_run(b->loop);
	if (count && b->ones[0].asked_ns)
		begin = b->ones[0].asked_ns;
	for (unsigned i = 0; i < count; i++) {
		good += b->ones[i].good && !strcmp(b->ones[i].out, "2\n");
		warm += b->ones[i].source == VM_WARM;
	}
	is_int(good, count, "every job printed 2 and exited with 0");
	printf("# %u of %u on warm machines, %.2f jobs a second\n", warm, count,
	       count / ms(begin, now_ns()) * 1000);
	figure(b, "ms to granted", to_grant);
	figure(b, "ms to started", to_start);
	figure(b, "ms to first byte", to_first);
	figure(b, "ms to exit", to_exit);
	vm_stats(b->vm, &s);
	bench_close(b);
	cpu = cpu_s(RUSAGE_CHILDREN);
	printf("# %llu machines made, %llu failed, %llu boots failed; CPU of "
	       "all QEMUs %.2f s, ours %.2f s\n",
	       (unsigned long long)s.machines_made,
	       (unsigned long long)s.machines_failed,
	       (unsigned long long)s.boots_failed, cpu, cpu_s(RUSAGE_SELF));
	free(b->ones);
}

static void on_idle_end(struct loop_timer *t)
{
	loop_quit(((struct bench *)t->arg)->loop);
}

static void idle(struct bench *b, unsigned seconds)
{
	struct loop_timer end = { .fn = on_idle_end, .arg = b };
	char command[200];

	b->count = 1;
	b->ready = false;
	loop_timer_set(b->loop, &end, seconds * NS_PER_S);
	loop_run(b->loop);
	snprintf(command, sizeof(command),
		 "for p in $(pgrep -P $(pgrep -P %d -x fsd-jailer)); do echo \"# pid $p $(grep -h ^Pss: "
		 "/proc/$p/smaps_rollup) ticks $(cut -d' ' -f14,15 "
		 "/proc/$p/stat)\"; done", (int)getpid());
	for (int i = 0; i < 2; i++) {
		if (system(command) != 0)
			printf("# no figures\n");
		if (i == 0)
			sleep(3);
	}
	ok(true, "idle");
	b->next = 0;
	bench_close(b);
}

int main(int argc, char **argv)
{
	const char *command = argc > 3 ? argv[3] : "jobs";
	unsigned n = argc > 4 ? (unsigned)atoi(argv[4]) : 10;
	const char *runner = getenv("RUNNER");
	unsigned pool = getenv("POOL") ? (unsigned)atoi(getenv("POOL")) : 3;
	struct bench b = { .runner = runner ? (unsigned)atoi(runner) : 0 };

	if (argc > 1 && !strcmp(argv[1], JAILER_COMMAND))
		return jailer_main(argc - 1, argv + 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3) {
		fprintf(stderr, "usage: bench_vm IMAGE CACHE [COMMAND [N]]\n");
		return 2;
	}
	if (getenv("DEBUG"))
		log_set_level(LOG_DEBUG);
	bench_open(&b, argv[1], argv[2], pool, 8);
	if (!strcmp(command, "rate"))
		jobs(&b, n, 4);
	else if (!strcmp(command, "idle"))
		idle(&b, n);
	else
		jobs(&b, n, 1);
	return done_testing();
}
