/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend for tests: its machines have no QEMU. The "guest" runs in this
 * process, on the same loop, and sends real frames over a socketpair to the
 * real channel. A job's program is a script of lines, see fake_script.c. Only
 * the test binary has this file. All functions run on the loop.
 *
 * FSD_FAKE_START_MS      how long a machine takes to come up (default 1)
 * FSD_FAKE_FAIL_TEMPLATES how many of the first templates fail
 * FSD_FAKE_COLD          modules that an environment's template does not keep warm
 * FSD_FAKE_FREEZE        how many of the first machines never wake once stopped
 * FSD_FAKE_IDLE_DEATHS   how many stopped machines die, a moment later
 * FSD_FAKE_MEMORY        a file: MiB that are available, MiB in all
 * FSD_FAKE_COST          MiB that an idle machine takes (default: not reported)
 * FSD_FAKE_ZYGOTE        MiB that a zygote takes (default: there are none)
 * FSD_FAKE_FAIL_STARTS   how many of the first machines die instead of starting
 * FSD_FAKE_TAKEN_STARTS  how many of the first are killed from outside instead
 * FSD_FAKE_JAILER        a FIFO: with each byte in it the jailer of a server dies
 * FSD_FAKE_WITNESS       a file that gets a line of each run that says `witness`
 */
#include "vm/backend.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "fake_guest.h"
#include "fake_relay.h"

#define FROZEN_NS (20 * NS_PER_S)
#define ZYGOTES 16u

struct fake {
	struct backend base;
	struct list machines;             /* list of struct fake_machine, by
					   * fake_machine.node */
	struct list templates;            /* list of struct fake_template that are being
					   * made */
	uint64_t cost, zygote;            /* bytes */
	struct vm_class zygotes[ZYGOTES]; /* classes that have a zygote */
	unsigned zygote_count;
	struct loop_call freed; /* reports the end of a zygote */
	uint64_t start_ns;
	uint64_t fail_starts; /* next machines that will fail */
	/* next machines that will be killed from outside */
	uint64_t taken_starts;
	uint64_t fail_templates;
	/* How many more machines will freeze, and how many will die, once they are
	 * idle. */
	uint64_t freezes, idle_deaths;
	/* the fake jailer's descriptor, owned; -1: the jailer is never ended */
	struct loop_fd jailer;
	int memory_fd; /* owned; -1: use the host's figures */
	struct fake_relays relays;
	struct vm_memory memory;   /* the figures of memory_fd when they were last read */
};

struct fake_template {
	struct list node;
	struct fake *fake;
	struct vm_class cls;
	struct loop_timer timer;
};

struct fake_machine {
	struct backend_machine base;
	struct list node;
	const struct backend_machine_events *ev;
	void *arg;
	struct fake_guest *guest; /* owned; NULL once it is dead */
	struct loop_timer timer; /* time to up() */
	struct loop_call reap, costs;
	const char *why;
	bool taken; /* a kill from outside has ended the machine */
	struct loop_timer limit; /* timeout for an answer */
	bool fails, freezes, frozen;
};

static struct fake *fake_of(struct backend *b)
{
	return container_of(b, struct fake, base);
}

static uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t v;

	return text && parse_u64(text, 0, 1000000, &v) == 0 ? v : otherwise;
}

static int open_jailer(struct fake *f);
static void on_freed(struct loop_call *call);

static int fake_open(const struct backend_host *host, struct backend **ret,
		     struct err *err)
{
	struct fake *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_sys(err, -ENOMEM, "the fake backend");
	f->base = (struct backend){ .ops = &vm_backend_fake, .host = host };
	r = fake_witness_open();
	if (r == 0)
		r = open_jailer(f);
	if (r == 0)
		r = fake_relays_start(&f->relays);
	if (r < 0) {
		free(f);
		return err_sys(err, r, "FSD_FAKE_WITNESS, FSD_FAKE_JAILER or relays");
	}
	list_init(&f->machines);
	list_init(&f->templates);
	f->start_ns = env_number("FSD_FAKE_START_MS", 1) * NS_PER_MS;
	f->fail_starts = env_number("FSD_FAKE_FAIL_STARTS", 0);
	f->taken_starts = env_number("FSD_FAKE_TAKEN_STARTS", 0);
	f->fail_templates = env_number("FSD_FAKE_FAIL_TEMPLATES", 0);
	f->freezes = env_number("FSD_FAKE_FREEZE", 0);
	f->idle_deaths = env_number("FSD_FAKE_IDLE_DEATHS", 0);
	f->cost = env_number("FSD_FAKE_COST", 0) << 20;
	f->zygote = env_number("FSD_FAKE_ZYGOTE", 0) << 20;
	f->freed = (struct loop_call){.fn = on_freed, .arg = f};
	f->memory_fd = -1;
	if (getenv("FSD_FAKE_MEMORY"))
		f->memory_fd = open(getenv("FSD_FAKE_MEMORY"),
				    O_RDONLY | O_CLOEXEC);
	*ret = &f->base;
	return 0;
}

/* A writer truncates the file first: while it is empty the last figures stay
 * valid. */
static void fake_memory(struct backend *b, struct vm_memory *memory)
{
	struct fake *f = fake_of(b);
	unsigned long long available, total;
	char text[64] = "";

	if (f->memory_fd < 0)
		return;
	if (pread(f->memory_fd, text, sizeof(text) - 1, 0) > 0 &&
	    sscanf(text, "%llu %llu", &available, &total) == 2)
		f->memory = (struct vm_memory){ .available = available << 20,
						.total = total << 20 };
	*memory = f->memory;
}

/* --- templates ----------------------------------------------------------- */

static void template_free(struct fake_template *t)
{
	loop_timer_del(&t->timer);
	list_del(&t->node);
	environment_unref(t->cls.environment);
	free(t);
}

static void on_template(struct loop_timer *timer)
{
	struct fake_template *t = timer->arg;
	const struct backend_host *host = t->fake->base.host;
	struct vm_class cls = vm_class_ref(&t->cls);
	struct backend_template made = {
		.runners = (1u << WIRE_RUN_MAX) - 1,
		.accel = VM_ACCEL_TCG,
		.scale = 1,
		.made = true,
		.id = "fa4efa4efa4efa4e",
	};

	const char *cold = getenv("FSD_FAKE_COLD");
	struct fake *f = t->fake;
	struct err err;

	if (cold && cls.environment)
		snprintf(made.cold, sizeof(made.cold), "%s\n", cold);
	template_free(t);
	if (f->fail_templates) {
		f->fail_templates--;
		err_set(&err, -EIO, "the guest did not boot (fake)");
		host->template_done(host->arg, &cls, NULL, &err);
	} else {
		host->progress(host->arg, &cls, "saved", VM_ACCEL_TCG);
		host->template_done(host->arg, &cls, &made, NULL);
	}
	environment_unref(cls.environment);
}

static void fake_template_get(struct backend *b, const struct vm_class *cls)
{
	struct fake *f = fake_of(b);
	struct fake_template *t = calloc(1, sizeof(*t));

	if (!t)
		abort(); /* test code: nothing sensible is left to do */
	t->fake = f;
	t->cls = vm_class_ref(cls);
	t->timer = (struct loop_timer){ .fn = on_template, .arg = t };
	list_add_tail(&f->templates, &t->node);
	loop_timer_set(b->host->loop, &t->timer, f->start_ns);
	b->host->progress(b->host->arg, &t->cls, "booting (fake)",
			  VM_ACCEL_TCG);
}

static void fake_template_drop(struct backend *b, const struct vm_class *cls,
			       const char *why)
{
	(void)b;
	(void)cls;
	(void)why;
}

/* --- zygotes: only names ------------------------------------------------ */

/* Returns the index of the class, or zygote_count. */
static unsigned find_zygote(const struct fake *f, const struct vm_class *cls)
{
	unsigned i = 0;

	while (i < f->zygote_count && !vm_class_shares(&f->zygotes[i], cls))
		i++;
	return i;
}

static uint64_t fake_prepare(struct backend *b, const struct vm_class *cls,
			     uint32_t runners, bool thorough)
{
	struct fake *f = fake_of(b);

	(void)runners;
	(void)thorough;
	if (f->zygote && f->zygote_count < ZYGOTES &&
	    find_zygote(f, cls) == f->zygote_count)
		f->zygotes[f->zygote_count++] = vm_class_ref(cls);
	return 0;
}

static struct backend_prepared fake_prepared(struct backend *b,
					     const struct vm_class *cls)
{
	const struct fake *f = fake_of(b);
	bool ready = find_zygote(f, cls) < f->zygote_count;

	return (struct backend_prepared){
		.possible = f->zygote,
		.ready = ready,
		.thorough = ready,
		.bytes = f->zygote,
	};
}

static void on_freed(struct loop_call *call)
{
	struct fake *f = call->arg;

	f->base.host->freed(f->base.host->arg);
}

static bool fake_unprepare(struct backend *b, const struct vm_class *cls)
{
	struct fake *f = fake_of(b);
	unsigned i = find_zygote(f, cls);

	if (i == f->zygote_count)
		return false;
	environment_unref(f->zygotes[i].environment);
	f->zygotes[i] = f->zygotes[--f->zygote_count];
	loop_defer(b->host->loop, &f->freed);
	return true;
}

/* --- machines ------------------------------------------------------------ */

static void machine_free(struct fake_machine *m)
{
	loop_timer_del(&m->timer);
	loop_timer_del(&m->limit);
	loop_call_del(&m->reap);
	loop_call_del(&m->costs);
	fake_guest_free(m->guest);
	list_del(&m->node);
	free(m);
}

static void on_reap(struct loop_call *c)
{
	struct fake_machine *m = c->arg;
	const struct backend_machine_events *ev = m->ev;
	void *arg = m->arg;
	const char *why = m->why;
	bool taken = m->taken;

	fake_guest_free(m->guest); /* closes its end, as a dead process does */
	m->guest = NULL;
	ev->gone(arg, why, taken);
	machine_free(m);
}

static void die(struct fake_machine *m, const char *why)
{
	if (m->why)
		return;
	m->why = why;
	loop_timer_del(&m->timer);
	loop_defer(m->base.backend->host->loop, &m->reap);
}

/* Ends the jailer as jail.c reports it: first `broken`, then the end of each
 * machine. */
static void on_jailer(struct loop_fd *l, uint32_t events)
{
	struct fake *f = l->arg;
	char byte;

	(void)events;
	if (read(l->fd, &byte, 1) != 1)
		return; /* another server has read that byte */
	loop_fd_del(l);
	fd_close(&l->fd);
	f->base.host->broken(f->base.host->arg);
	list_for_each(pos, tmp, &f->templates) {
		struct fake_template *t =
			list_entry(pos, struct fake_template, node);

		f->fail_templates++;
		loop_timer_set(f->base.host->loop, &t->timer, 0);
	}
	list_for_each(pos, tmp, &f->machines) {
		struct fake_machine *m =
			list_entry(pos, struct fake_machine, node);

		m->taken = true;
		die(m, "the jailer has ended (fake)");
	}
}

/* Opens both ends, because a FIFO without a writer is always readable. */
static int open_jailer(struct fake *f)
{
	const char *path = getenv("FSD_FAKE_JAILER");

	f->jailer = (struct loop_fd){ .fd = -1, .events = EPOLLIN,
				       .fn = on_jailer, .arg = f };
	if (!path)
		return 0;
	f->jailer.fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return f->jailer.fd < 0 ? -errno
				: loop_fd_add(f->base.host->loop, &f->jailer);
}

static void on_guest_crash(void *arg)
{
	die(arg, "the machine crashed (fake)");
}

static void on_start(struct loop_timer *t)
{
	struct fake_machine *m = t->arg;

	if (m->fails || m->taken) {
		die(m, m->taken ? "the machine was killed from outside (fake)" :
				  "the machine failed to start (fake)");
		return;
	}
	fake_guest_resume(m->guest);
	m->ev->up(m->arg);
}

static void on_costs(struct loop_call *call)
{
	struct fake_machine *m = call->arg;

	m->ev->cost(m->arg, fake_of(m->base.backend)->cost);
}

static void on_limit(struct loop_timer *t)
{
	die(t->arg, "the monitor did not answer (fake)");
}

static int fake_start(struct backend *b, const struct vm_class *cls, bool hot,
		      const struct backend_machine_events *ev, void *arg,
		      struct backend_machine **ret, int *ret_wire,
		      struct err *err)
{
	struct fake *f = fake_of(b);
	struct fake_machine *m = calloc(1, sizeof(*m));
	int pair[2];

	(void)hot;
	if (!m ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0) {
		free(m);
		return err_sys(err, -errno, "a fake machine's socket");
	}
	m->base.backend = b;
	m->ev = ev;
	m->arg = arg;
	m->timer = (struct loop_timer){.fn = on_start, .arg = m};
	m->reap = (struct loop_call){.fn = on_reap, .arg = m};
	m->costs = (struct loop_call){.fn = on_costs, .arg = m};
	m->base.forked = find_zygote(f, cls) < f->zygote_count;
	m->guest = fake_guest_new(b->host->loop, pair[1], on_guest_crash, m);
	if (!m->guest) {
		close(pair[0]);
		free(m);
		return err_sys(err, -ENOMEM, "a fake guest");
	}
	m->limit = (struct loop_timer){ .fn = on_limit, .arg = m };
	if (f->fail_starts) {
		f->fail_starts--;
		m->fails = true;
	} else if (f->taken_starts) {
		f->taken_starts--;
		m->taken = true;
	} else if (f->freezes) {
		f->freezes--;
		m->freezes = true;
	}
	list_add_tail(&f->machines, &m->node);
	loop_timer_set(b->host->loop, &m->timer, f->start_ns);
	*ret = &m->base;
	*ret_wire = pair[0];
	return 0;
}

static struct fake_machine *machine_of(struct backend_machine *m)
{
	return container_of(m, struct fake_machine, base);
}

static void on_idle_death(struct loop_timer *t)
{
	die(t->arg, "it died while it was idle (fake)");
}

static void fake_pause(struct backend_machine *bm)
{
	struct fake_machine *m = machine_of(bm);
	struct fake *f = fake_of(bm->backend);

	m->frozen = m->freezes;
	if (m->guest)
		fake_guest_pause(m->guest);
	if (!f->idle_deaths || m->freezes)
		return;
	f->idle_deaths--;
	m->timer.fn = on_idle_death;
	loop_timer_set(bm->backend->host->loop, &m->timer, 1);
}

/* Sends the machine's answer now; a frozen machine sends none. */
static bool answers(struct fake_machine *m, uint64_t limit_ns)
{
	if (m->frozen)
		loop_timer_set(m->base.backend->host->loop, &m->limit,
			       limit_ns ? limit_ns : FROZEN_NS);
	return !m->frozen && m->guest;
}

static void fake_resume(struct backend_machine *bm, uint64_t limit_ns)
{
	if (answers(machine_of(bm), limit_ns))
		fake_guest_resume(machine_of(bm)->guest);
}

static void on_alive(struct loop_timer *t)
{
	struct fake_machine *m = t->arg;

	m->ev->alive(m->arg);
}

static void fake_probe(struct backend_machine *bm, uint64_t limit_ns)
{
	struct fake_machine *m = machine_of(bm);

	if (!answers(m, limit_ns))
		return;
	m->timer.fn = on_alive;
	loop_timer_set(bm->backend->host->loop, &m->timer, 0);
}

static void fake_cost(struct backend_machine *m)
{
	loop_defer(m->backend->host->loop, &machine_of(m)->costs);
}

/* Makes the machine's second port. */
static int fake_network(struct backend_machine *bm, int account_ours,
			int account, struct err *err)
{
	struct fake_machine *m = machine_of(bm);
	auto_close int ours = -1, theirs = -1;
	int pair[2], r;

	(void)account_ours; /* no server adopts fake machines */
	if (!m->guest)
		return err_set(err, -ESRCH, "the machine has ended (fake)");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(err, -errno, "a fake machine's second port");
	ours = pair[0];
	theirs = pair[1];
	r = fake_guest_network(m->guest, take_fd(&ours));
	if (r == 0)
		r = fake_relay(&fake_of(bm->backend)->relays, account, theirs);
	return r < 0 ? err_sys(err, r, "a fake machine's relay") : 0;
}

static void fake_kill(struct backend_machine *m)
{
	die(machine_of(m), "killed");
}

static void fake_close(struct backend *b)
{
	struct fake *f = fake_of(b);

	list_for_each(pos, tmp, &f->machines)
		machine_free(list_entry(pos, struct fake_machine, node));
	list_for_each(pos2, tmp2, &f->templates)
		template_free(list_entry(pos2, struct fake_template, node));
	for (unsigned i = 0; i < f->zygote_count; i++)
		environment_unref(f->zygotes[i].environment);
	loop_call_del(&f->freed);
	fake_relays_end(&f->relays);
	loop_fd_del(&f->jailer);
	fd_close(&f->jailer.fd);
	fd_close(&f->memory_fd);
	free(f);
}

const struct vm_backend vm_backend_fake = {
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.template_get = fake_template_get,
	.template_drop = fake_template_drop,
	.prepare = fake_prepare,
	.prepared = fake_prepared,
	.unprepare = fake_unprepare,
	.start = fake_start,
	.pause = fake_pause,
	.resume = fake_resume,
	.probe = fake_probe,
	.cost = fake_cost,
	.relay = fake_network,
	.kill = fake_kill,
	.memory = fake_memory,
};
