/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of a process that is dead, through the whole room on the fake backend:
 * what its replay buffer tells, with a machine behind it and without one. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "vm/backend.h"
#include "vm/channel/channel.h"
#include "vm/channel/replay.h"
#include "vm/vm.h"
#include "tests/unit/tap.h"

struct room {
	uint64_t dropped; /* the sum of keys */
	struct loop *loop;
	struct machines *vm;
	struct vm_replay *replay;
	struct vm_job job;
	struct vm_lease *lease;
	struct loop_timer guard;
	struct buf out;
	unsigned starts, exits, finishes, failures, freed;
	bool end_in_output, late;
	char sentence[300];
};

/* A process that is adopted, as far as a machine sees. */
static struct {
	struct backend_machine base;
	const struct backend_machine_events *ev;
	void *arg;
	struct loop_call gone;
	unsigned adopted, killed, woken;
} process;

static struct vm_backend adopting;
static const struct vm_backend *backend = &vm_backend_fake;

static void on_started(void *arg, uint32_t pid)
{
	(void)pid;
	((struct room *)arg)->starts++;
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct room *r = arg;

	(void)s;
	buf_add(&r->out, data, len);
	if (r->end_in_output) {
		vm_end(r->lease);
		r->lease = NULL;
	}
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	(void)e;
	((struct room *)arg)->exits++;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct room *r = arg;

	(void)files;
	(void)left_out;
	r->finishes++;
	vm_end(r->lease);
	r->lease = NULL;
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct room *r = arg;

	r->failures += why == VM_FAILED_LOST;
	snprintf(r->sentence, sizeof(r->sentence), "%s", sentence);
	vm_end(r->lease);
	r->lease = NULL;
}

static const struct vm_events events = {
	.started = on_started, .output = on_output, .exited = on_exited,
	.finished = on_finished, .failed = on_failed,
};

/* The last thing that is heard of a machine. */
static void on_freed(void *arg)
{
	struct room *r = arg;

	r->freed++;
	loop_quit(r->loop);
}

static void on_keep(void *arg, uint64_t key, int fd)
{
	(void)arg;
	(void)key;
	(void)fd;
}

static void on_drop(void *arg, uint64_t key)
{
	((struct room *)arg)->dropped += key;
}

static void open_room(struct room *r)
{
	const struct vm_keep keep = { on_keep, on_drop, r };
	struct vm_options o = {
		.backend = backend, .cache_dir = "/dev/null/none",
		.image_dir = "/nonexistent", .max_machines = 2, .keep = &keep,
	};
	struct vm_watch watch = { .freed = on_freed, .arg = r };
	struct err err;

	*r = (struct room){ 0 };
	r->replay = mmap(NULL, sizeof(*r->replay), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->replay == MAP_FAILED || loop_new(&r->loop) < 0 ||
	    vm_new(r->loop, &o, &watch, &r->vm, &err) < 0)
		exit(1);
	r->replay->origin.scale = r->replay->origin.cpus = 1;
	r->replay->origin.memory_mib = 1024;
	r->replay->origin.source = VM_WARM;
	r->replay->origin.accel = VM_ACCEL_TCG;
	r->replay->granted_ns = 77;
	snprintf(r->replay->origin.template_id,
		 sizeof(r->replay->origin.template_id), "abc");
	r->job.replay = r->replay;
	r->job.wire = (struct wire_job){
		.stdout_limit = 100, .stderr_limit = 100, .output_limit = 100,
		.output_files = 5,
	};
}

/* The room first: nothing of it may be left in the loop. */
static void close_room(struct room *r)
{
	vm_end(r->lease);
	vm_free(r->vm);
	loop_free(r->loop);
	munmap(r->replay, sizeof(*r->replay));
	buf_done(&r->out);
	ok(!r->late, "nobody is waited for in vain");
}

static void on_late(struct loop_timer *t)
{
	((struct room *)t->arg)->late = true;
	loop_quit(((struct room *)t->arg)->loop);
}

static void on_once(struct loop_timer *t)
{
	loop_quit(((struct room *)t->arg)->loop);
}

/* Until a machine is gone. */
static void turn(struct room *r)
{
	r->guard = (struct loop_timer){ .fn = on_late, .arg = r };
	loop_timer_set(r->loop, &r->guard, 10 * NS_PER_S);
	loop_run(r->loop);
	loop_timer_del(&r->guard);
}

/* What is there now is dealt with. */
static void round_once(struct room *r)
{
	r->guard = (struct loop_timer){ .fn = on_once, .arg = r };
	loop_timer_set(r->loop, &r->guard, 0);
	loop_run(r->loop);
	loop_timer_del(&r->guard);
}

static size_t add(uint8_t *to, enum wire_type type, const void *data,
		  size_t len)
{
	wire_header_put(to, (uint32_t)len, (uint8_t)type, 0);
	if (len)
		memcpy(to + WIRE_HEADER_SIZE, data, len);
	return WIRE_HEADER_SIZE + len;
}

static size_t add_end(uint8_t *to, bool output_end)
{
	uint8_t room[256];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE };
	struct wire_writer w = { .p = room, .size = sizeof(room) };
	size_t n;

	wire_exit_put(&w, &e);
	n = add(to, WIRE_EXIT, room, w.used);
	return n + (output_end ? add(to + n, WIRE_OUTPUT_END,
				     (const char[8]){ 0 }, 8) : 0);
}

enum said { SAID_OUTPUT, SAID_EXIT, SAID_ALL };

static void put_in_replay(struct room *r, enum said said)
{
	static const struct vm_checkpoint none;
	uint8_t data[4096];
	size_t n = add(data, WIRE_STARTED, NULL, 0);

	n += add(data + n, WIRE_OUT, "one", 3);
	n += add(data + n, WIRE_OUT, "two", 3);
	if (said > SAID_OUTPUT)
		n += add_end(data + n, said == SAID_ALL);
	replay_begin(r->replay, &none, data, n);
}

static int some_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		exit(1);
	return fd;
}

static void adopt(struct room *r, int jail, int wire, int monitor)
{
	const struct vm_sockets sockets = { jail, wire, monitor, -1 };

	r->lease = vm_adopt(r->vm, &sockets, &r->job, &events, r);
}

static unsigned leased(struct room *r)
{
	struct vm_stats stats;

	vm_stats(r->vm, &stats);
	return stats.leased;
}

/* --- without a machine ------------------------------------------------------- */

static void test_whole(void)
{
	struct vm_lease_info info;
	struct room r;

	open_room(&r);
	put_in_replay(&r, SAID_ALL);
	r.replay->reach.keys = (struct vm_keys){
		.jail = 1, .wire = 20, .monitor = 300,
	};
	adopt(&r, -1, -1, some_fd());
	ok(r.lease && !r.starts, "what has said all needs no machine");
	is_int(r.dropped, 320, "what was left of that is dropped");
	is_int(leased(&r), 1, "it counts as one");
	vm_lease_info(r.lease, &info);
	ok(info.source == VM_WARM && info.accel == VM_ACCEL_TCG &&
		   info.granted_ns == 77 && !strcmp(info.template_id, "abc"),
	   "its lease is what it was");
	turn(&r);
	ok(r.starts == 1 && r.exits == 1 && r.finishes == 1 && !r.failures,
	   "all is delivered, to its end");
	is_str(r.out.data, "onetwo", "with its output");
	ok(r.freed == 1 && leased(&r) == 0, "then the machine goes away");
	close_room(&r);

	open_room(&r);
	put_in_replay(&r, SAID_EXIT);
	adopt(&r, -1, -1, -1);
	ok(!r.lease, "without its output tree it has not said all");
	r.job.wire.output_limit = 0;
	adopt(&r, -1, -1, -1);
	turn(&r);
	is_int(r.finishes, 1, "unless none was asked for");
	close_room(&r);
}

/* Its last word is there, and one before it is none. */
static void test_broken(void)
{
	static const struct vm_checkpoint none;
	uint8_t data[4096];
	struct room r;
	size_t n;

	open_room(&r);
	n = add(data, WIRE_STARTED, NULL, 0);
	n += add(data + n, WIRE_READY, "12345678", 8);
	n += add_end(data + n, true);
	replay_begin(r.replay, &none, data, n);
	adopt(&r, -1, -1, -1);
	turn(&r);
	ok(r.failures == 1 && !r.finishes && r.freed == 1,
	   "a tape that speaks wrongly ends the run: %s", r.sentence);
	close_room(&r);
}

static bool is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

static void test_refused(void)
{
	static const char *const missing[] = {
		"whose jailer is not there", "whose wire is not",
		"whose monitor is not",
	};
	struct room r;

	open_room(&r);
	put_in_replay(&r, SAID_OUTPUT);
	adopt(&r, -1, -1, -1);
	ok(!r.lease, "who has not said all and is gone cannot be gone on with");
	r.replay->sent = 1;
	for (int i = 0; i < 4; i++) { /* 3: all are there */
		int fd[3];

		for (int j = 0; j < 3; j++)
			fd[j] = i == j ? -1 : some_fd();
		adopt(&r, fd[0], fd[1], fd[2]);
		ok(!r.lease && is_closed(fd[0]) && is_closed(fd[1]) &&
			   is_closed(fd[2]),
		   "nor %s", i == 3 ? "one of a backend that cannot"
				    : missing[i]);
	}
	is_int(leased(&r), 0, "nothing is left of them");
	close_room(&r);
}

static void test_insane(void)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *name;
	} bad[] = {
		{ offsetof(struct vm_replay, origin.source), VM_SOURCE_MAX, "source" },
		{ offsetof(struct vm_replay, origin.accel), UINT32_MAX, "accelerator" },
		{ offsetof(struct vm_replay, origin.scale), 0, "scale" },
		{ offsetof(struct vm_replay, origin.scale), 101, "larger scale" },
		{ offsetof(struct vm_replay, origin.memory_mib), 0, "memory" },
		{ offsetof(struct vm_replay, origin.cpus), 0, "number of processors" },
	};
	struct room r;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		open_room(&r);
		put_in_replay(&r, SAID_ALL);
		memcpy((uint8_t *)r.replay + bad[i].at, &bad[i].value, 4);
		adopt(&r, -1, -1, -1);
		ok(!r.lease, "the %s %u is not believed", bad[i].name,
		   bad[i].value);
		close_room(&r);
	}
}

static void test_ended(void)
{
	struct room r;

	open_room(&r);
	put_in_replay(&r, SAID_ALL);
	r.end_in_output = true;
	adopt(&r, -1, -1, -1);
	turn(&r);
	is_str(r.out.data, "one", "ended in an event: no other follows");
	ok(!r.finishes && !r.failures && r.freed == 1, "and it goes away");
	close_room(&r);

	open_room(&r);
	put_in_replay(&r, SAID_ALL);
	adopt(&r, -1, -1, -1);
	vm_end(take_ptr(r.lease));
	turn(&r);
	ok(!r.out.len && r.freed == 1, "so it does before the first");
	close_room(&r);
}

/* The room ends while there are such machines, in each state. */
static void test_free(void)
{
	struct room r;
	unsigned freed;

	for (int i = 0; i < 3; i++) {
		open_room(&r);
		put_in_replay(&r, SAID_ALL);
		adopt(&r, -1, -1, -1);
		if (i == 1) /* it was heard, and has ended its lease */
			round_once(&r);
		if (i == 2) /* nothing of it was, and another has ended */
			vm_end(take_ptr(r.lease));
		if (i == 2)
			adopt(&r, -1, -1, -1);
		vm_end(take_ptr(r.lease));
		freed = r.freed;
		vm_free(take_ptr(r.vm));
		round_once(&r);
		ok(r.freed == freed, "with the room all its machines are gone");
		close_room(&r);
	}
}

/* --- with one ----------------------------------------------------------------- */

static void on_gone(struct loop_call *c)
{
	(void)c;
	process.ev->gone(process.arg, "killed", false);
}

static void on_left(struct backend *b, uint64_t jail, int sock)
{
	(void)b;
	(void)jail;
	close(sock);
}

static int on_adopt(struct backend *b, const struct vm_reach *reach,
		    unsigned scale, int monitor,
		    const struct backend_machine_events *ev, void *arg,
		    struct backend_machine **ret)
{
	(void)reach;
	(void)scale;
	close(monitor);
	process.base.backend = b;
	process.ev = ev;
	process.arg = arg;
	process.adopted++;
	*ret = &process.base;
	return 0;
}

static void on_resume(struct backend_machine *m, uint64_t limit_ns)
{
	(void)m;
	(void)limit_ns;
	process.woken++;
}

static void on_kill(struct backend_machine *m)
{
	process.killed++;
	loop_defer(m->backend->host->loop, &process.gone);
}

static int open_adopting(const struct backend_host *host, struct backend **ret,
			 struct err *err)
{
	int r = vm_backend_fake.open(host, ret, err);

	if (r == 0)
		(*ret)->ops = &adopting;
	return r;
}

/* Return: the machine's end of its wire. */
static int adopt_living(struct room *r, bool started)
{
	int pair[2];

	open_room(r);
	put_in_replay(r, SAID_OUTPUT);
	r->replay->started_ns = started;
	r->replay->sent = 1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	process.killed = process.woken = 0;
	adopt(r, some_fd(), pair[0], some_fd());
	return pair[1];
}

static void say(int fd, const uint8_t *data, size_t n)
{
	if (send(fd, data, n, MSG_NOSIGNAL) != (ssize_t)n)
		ok(false, "the machine can speak");
}

static void test_living(void)
{
	uint8_t data[4096];
	struct room r;
	size_t n;
	int fd;

	fd = adopt_living(&r, true);
	ok(r.lease != NULL, "a machine that lives is gone on with");
	is_int(process.woken, 0, "and let alone: it runs");
	n = add(data, WIRE_OUT, "three", 5);
	n += add_end(data + n, true);
	say(fd, data, n);
	turn(&r);
	is_str(r.out.data, "onetwothree", "the tape first, then what it says");
	ok(r.finishes == 1 && process.killed == 1 && r.freed == 1,
	   "when it has served it is killed");
	close(fd);
	close_room(&r);

	fd = adopt_living(&r, false);
	is_int(process.woken, 1, "one whose program has not begun may sleep");
	vm_end(take_ptr(r.lease));
	turn(&r);
	ok(process.killed == 1 && r.freed == 1, "so it is with its lease");
	close(fd);
	close_room(&r);

	fd = adopt_living(&r, true);
	say(fd, data, add(data, WIRE_OUT, "three", 5));
	close(fd);
	process.ev->gone(process.arg, "it died", false);
	while (!r.failures && !r.late)
		turn(&r);
	ok(r.failures == 1 && !strcmp(r.sentence, "it died"),
	   "one that dies loses its run: %s", r.sentence);
	is_str(r.out.data, "onetwothree", "its last words are heard before");
	close_room(&r);
}

/* --- between two steps -------------------------------------------------------- */

/* Return: the machine's end of its wire. */
static int adopt_resting(struct room *r, bool lives)
{
	static const struct vm_checkpoint idle = { .phase = PHASE_IDLE };
	struct vm_sockets sockets = { some_fd(), -1, some_fd(), -1 };
	int pair[2];

	open_room(r);
	replay_begin(r->replay, &idle, (const uint8_t *)"", 0);
	r->replay->sent = 1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	process.killed = process.woken = 0;
	if (lives)
		sockets.wire = pair[0];
	else
		close(pair[0]);
	r->lease = vm_adopt_idle(r->vm, &sockets, r->replay, &events, r);
	return pair[1];
}

static void test_resting(void)
{
	uint8_t data[4096];
	struct room r;
	size_t n;
	int fd;

	fd = adopt_resting(&r, false);
	ok(!r.lease, "a machine between two steps whose wire is gone is none");
	close(fd);
	close_room(&r);

	fd = adopt_resting(&r, true);
	ok(r.lease && leased(&r) == 1, "one that lives is gone on with");
	is_int(process.woken, 0, "and let alone");
	r.job.wire.mode = WIRE_MODE_SESSION;
	r.job.wire.call = "";
	vm_run(r.lease, &r.job);
	n = add(data, WIRE_STARTED, NULL, 0);
	n += add(data + n, WIRE_OUT, "one", 3);
	n += add_end(data + n, true);
	say(fd, data, n);
	turn(&r);
	is_str(r.out.data, "one", "it takes another step");
	ok(r.starts == 1 && r.exits == 1 && r.finishes == 1 && r.freed == 1,
	   "to its end");
	close(fd);
	close_room(&r);

	fd = adopt_resting(&r, true);
	process.ev->gone(process.arg, "it died", false);
	for (int i = 0; i < 100 && r.lease; i++)
		round_once(&r);
	ok(!r.lease && !strcmp(r.sentence, "it died"),
	   "when it dies its lease hears that: %s", r.sentence);
	close(fd);
	close_room(&r);
}

int main(void)
{
	log_set_level(LOG_ERROR);
	test_whole();
	test_broken();
	test_refused();
	test_insane();
	test_ended();
	test_free();
	process.gone = (struct loop_call){ .fn = on_gone };
	list_init(&process.gone.node);
	adopting = vm_backend_fake;
	adopting.open = open_adopting;
	adopting.survivors = on_left;
	adopting.adopt = on_adopt;
	adopting.resume = on_resume;
	adopting.kill = on_kill;
	backend = &adopting;
	test_living();
	test_resting();
	return done_testing();
}
