/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend whose machines are QEMU processes (the table vm_backend_qemu):
 * restores machines from a template, forks them off its zygote, adopts those of
 * a dead server. Owns struct qemu and its machines. All functions run on the
 * loop.
 */
#include "vm/backend.h"

#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "survivors.h"
#include "process.h"
#include "restore.h"
#include "vm/channel/replay.h"
#include "templates.h"

/* Slots in the jailer beyond those of machines: for a template in the making,
 * zygotes, and machines that are killed but not yet reaped. */
#define JAILS_MORE 16
#define UP_S 2 /* seconds from exec to a running guest, times the scale */
#define MONITOR_S 2 /* seconds that an answer of the monitor may take, times the scale */

struct qemu {
	struct backend base;
	struct template_context context;
	struct templates templates;
	struct list machines; /* owned: list of struct qemu_machine, by node */
	struct walls walls;        /* around each machine */
	struct survivors survivors; /* jailers of dead servers */
};

struct qemu_machine {
	struct backend_machine base;
	struct list node;
	struct qemu *q;
	const struct backend_machine_events *ev;
	void *arg;
	struct process *process;   /* owned */
	struct loop_timer limit; /* time to up() */
	unsigned scale;
	bool up, killed;
	struct own_template *of;  /* NULL: the machine was adopted */
	unsigned number; /* value of template_number() when this machine was started */
	/* number of the zygote it was forked off; 0: restored */
	uint32_t zygote;
	struct vm_keys keys;
};

static struct qemu *qemu_of(struct backend *b)
{
	return container_of(b, struct qemu, base);
}

/* --- templates ---------------------------------------------------------- */

static void qemu_template_get(struct backend *b, const struct vm_class *cls)
{
	templates_get(&qemu_of(b)->templates, cls);
}

static void qemu_template_drop(struct backend *b, const struct vm_class *cls,
			       const char *why)
{
	templates_drop(&qemu_of(b)->templates, cls, why);
}

static uint64_t qemu_prepare(struct backend *b, const struct vm_class *cls,
			     uint32_t runners, bool thorough)
{
	return templates_prepare(&qemu_of(b)->templates, cls, runners,
				 thorough);
}

static struct backend_prepared qemu_prepared(struct backend *b,
					     const struct vm_class *cls)
{
	return templates_prepared(&qemu_of(b)->templates, cls);
}

static bool qemu_unprepare(struct backend *b, const struct vm_class *cls)
{
	return templates_unprepare(&qemu_of(b)->templates, cls);
}

/* --- machines ----------------------------------------------------------- */

static void machine_free(struct qemu_machine *m)
{
	loop_timer_del(&m->limit);
	list_del(&m->node);
	process_free(m->process);
	survivors_drop_machine(&m->q->survivors, &m->keys);
	if (m->keys.jail != m->q->survivors.key)
		survivors_check(&m->q->survivors);
	free(m);
}

static void on_gone(void *arg, const char *why, bool taken)
{
	struct qemu_machine *m = arg;

	loop_timer_del(&m->limit);
	/* A forked machine that never ran is the zygote's fault, not the
	 * template's. */
	if (m->zygote && !m->up && !m->killed) {
		zygotes_blame(&m->of->zygotes, m->zygote, why);
		taken = true;
	}
	m->ev->gone(m->arg, why, taken);
	machine_free(m);
}

static void on_limit(struct loop_timer *t)
{
	struct qemu_machine *m = t->arg;
	char text[80];

	snprintf(text, sizeof(text), "it was not restored within %u s",
		 UP_S * m->scale);
	process_kill(m->process, text);
}

static void on_reply(void *arg, const struct qmp_reply *reply)
{
	struct qemu_machine *m = arg;

	/* -EPIPE: QEMU is ending; gone() will report why. */
	if (reply->code < 0 && reply->code != -EPIPE)
		process_kill(m->process, reply->text);
}

/* Sends a command to the machine's monitor. limit_ns 0: the usual timeout. */
static void send_within(struct qemu_machine *m, const char *command,
			const char *arguments, uint64_t limit_ns,
			qmp_reply_fn *fn)
{
	if (!limit_ns)
		limit_ns = (uint64_t)MONITOR_S * m->scale * NS_PER_S;
	/*
	 * On -EPIPE do nothing: the monitor is closed, so gone() will follow.
	 */
	if (qmp_send(process_qmp(m->process), command, arguments, limit_ns, fn,
		     m) == -ENOBUFS)
		process_kill(m->process, "QEMU's monitor does not keep up");
}

static void send_command(void *arg, const char *command, const char *arguments)
{
	send_within(arg, command, arguments, 0, on_reply);
}

static void on_probed(void *arg, const struct qmp_reply *reply)
{
	struct qemu_machine *m = arg;

	on_reply(arg, reply);
	if (reply->code == 0)
		m->ev->alive(m->arg);
}

static void on_event(void *arg, const char *name, const char *status)
{
	struct qemu_machine *m = arg;

	if (m->up)
		return;
	if (restore_is_complete(name, status)) {
		send_command(m, "cont", NULL);
	} else if (!strcmp(name, "RESUME")) {
		m->up = true;
		if (m->zygote)
			zygotes_praise(&m->of->zygotes);
		loop_timer_del(&m->limit);
		m->ev->up(m->arg);
	}
}

static void on_cost(void *arg, uint64_t bytes)
{
	struct qemu_machine *m = arg;

	m->ev->cost(m->arg, bytes);
}

static const struct process_events process_events = {
	.event = on_event,
	.cost = on_cost,
	.gone = on_gone,
};

static int start_process(struct qemu_machine *m, struct own_template *own,
			 const struct vm_class *cls, bool hot, int *ret_wire,
			 struct err *err)
{
	struct template_context *g = &m->q->context;
	uint32_t zygote = zygotes_id(&own->zygotes);
	int r = zygote ? restore_fork(g, own->t, cls, zygote, hot,
				      &process_events, m, &m->process, ret_wire,
				      err) :
			 restore_start(g, own->t, cls, JAIL_RESTORE,
				       &process_events, m, &m->process,
				       ret_wire, err);

	m->of = own;
	m->number = template_number(own->t);
	m->zygote = zygote;
	m->base.hot = zygote && hot ? own->zygotes.hot : 0;
	m->base.forked = zygote;
	if (r == 0 && zygote)
		send_command(m, "cont", NULL);
	else if (r == 0)
		restore_send(send_command, m);
	return r;
}

static int qemu_start(struct backend *b, const struct vm_class *cls, bool hot,
		      const struct backend_machine_events *ev, void *arg,
		      struct backend_machine **ret, int *ret_wire,
		      struct err *err)
{
	struct qemu *q = qemu_of(b);
	struct own_template *own = templates_find(&q->templates, cls);
	struct backend_template info;
	struct qemu_machine *m;
	int r;

	if (!own || template_dir(own->t) < 0)
		return err_set(err, -ENOENT, "there is no template");
	m = calloc(1, sizeof(*m));
	if (!m)
		return err_sys(err, -ENOMEM, "a machine");
	template_describe(own->t, &info);
	m->base.backend = b;
	m->q = q;
	m->ev = ev;
	m->arg = arg;
	m->scale = info.scale;
	m->limit = (struct loop_timer){ .fn = on_limit, .arg = m };
	r = start_process(m, own, cls, hot, ret_wire, err);
	if (r < 0) {
		free(m);
		return r;
	}
	survivors_keep_machine(&q->survivors, *ret_wire, qmp_fd(process_qmp(m->process)),
			       &m->keys);
	list_add_tail(&q->machines, &m->node);
	loop_timer_set(b->host->loop, &m->limit,
		       (uint64_t)UP_S * m->scale * NS_PER_S);
	*ret = &m->base;
	return 0;
}

static struct qemu_machine *machine_of(struct backend_machine *m)
{
	return container_of(m, struct qemu_machine, base);
}

static bool qemu_is_dated(struct backend_machine *machine)
{
	const struct qemu_machine *m = machine_of(machine);
	/* A machine of an older zygote, or a restored one, shares less memory with others
	 * and is less hot than one forked off the present zygote. */
	uint32_t now = m->of ? zygotes_id(&m->of->zygotes) : 0;

	return (now && now != m->zygote) ||
	       (m->of && m->number != template_number(m->of->t));
}

static int qemu_relay(struct backend_machine *machine, int ours, int theirs,
		      struct err *err)
{
	struct qemu_machine *m = machine_of(machine);
	int r = process_relay(m->process, m->q->context.jail, theirs, err);

	if (r == 0)
		survivors_keep_account(&m->q->survivors, ours, &m->keys);
	return r;
}

static void qemu_sign(struct backend_machine *machine, struct vm_reach *ret)
{
	const struct qemu_machine *m = machine_of(machine);

	ret->keys = m->keys;
	ret->slot = process_id(m->process);
	ret->relay = process_relay_id(m->process);
}

static void qemu_survivors(struct backend *b, uint64_t jail, int sock)
{
	survivors_add(&qemu_of(b)->survivors, jail, sock);
}

static int qemu_adopt(struct backend *b, const struct vm_reach *reach,
		      unsigned scale, int monitor,
		      const struct backend_machine_events *ev, void *arg,
		      struct backend_machine **ret)
{
	struct qemu *q = qemu_of(b);
	struct jail *theirs = survivors_jail(&q->survivors, reach->keys.jail);
	struct qemu_machine *m = theirs ? calloc(1, sizeof(*m)) : NULL;
	int r;

	if (!m) {
		close(monitor);
		return -ENOMEM;
	}
	*m = (struct qemu_machine){
		.base.backend = b, .q = q, .ev = ev, .arg = arg,
		.limit = { .fn = on_limit, .arg = m }, .scale = scale,
		.up = true, .keys = reach->keys,
	};
	r = process_adopt(b->host->loop, theirs, reach->slot, reach->relay, monitor,
			  &process_events, m, &m->process);
	if (r < 0) {
		free(m);
		return r;
	}
	list_add_tail(&q->machines, &m->node);
	*ret = &m->base;
	return 0;
}

static void qemu_adopted(struct backend *b)
{
	survivors_sweep(&qemu_of(b)->survivors);
}

static void qemu_pause(struct backend_machine *m)
{
	send_command(machine_of(m), "stop", NULL);
}

static void qemu_resume(struct backend_machine *m, uint64_t limit_ns)
{
	send_within(machine_of(m), "cont", NULL, limit_ns, on_reply);
}

static void qemu_probe(struct backend_machine *m, uint64_t limit_ns)
{
	send_within(machine_of(m), "query-status", NULL, limit_ns, on_probed);
}

static void qemu_cost(struct backend_machine *m)
{
	process_ask_cost(machine_of(m)->process);
}

static void qemu_kill(struct backend_machine *m)
{
	machine_of(m)->killed = true;
	loop_timer_del(&machine_of(m)->limit);
	process_kill(machine_of(m)->process, NULL);
}

/* --- start and end ------------------------------------------------------ */

static void on_jailer_gone(void *arg)
{
	struct qemu *q = arg;

	q->base.host->broken(q->base.host->arg);
}

/* Finds out which QEMU there is, unless options->known has it. Return: 0 or
 * negative errno. */
static int know_qemu(struct qemu *q, struct err *err)
{
	const struct vm_options *o = q->base.host->options;
	struct vm_qemu *ours = &q->context.qemu;

	if (!o->known || !o->known->valid)
		return vm_qemu_choose(&o->qemu, ours, err);
	*ours = o->known->qemu;
	ours->path[sizeof(ours->path) - 1] = '\0';
	ours->version[sizeof(ours->version) - 1] = '\0';
	ours->why[sizeof(ours->why) - 1] = '\0';
	ours->package[sizeof(ours->package) - 1] = '\0';
	ours->suite[sizeof(ours->suite) - 1] = '\0';
	ours->doubt[sizeof(ours->doubt) - 1] = '\0';
	return 0;
}

static void keep_known(const struct qemu *q, struct vm_known *known)
{
	if (!known)
		return;
	known->qemu = q->context.qemu;
	known->walls = q->walls;
	known->valid = 1;
}

/* Fails at once if KVM was demanded and cannot work, instead of after several
 * boots. */
static int check_kvm(const struct qemu *q, struct err *err)
{
	if (q->context.kvm || q->base.host->options->accel != VM_ACCEL_KVM)
		return 0;
	return err_set(err, -ENODEV, "there is no /dev/kvm that can be opened; "
		       "`fsd doctor` says more, --accel auto does without");
}

static int open_jail(struct qemu *q, struct err *err)
{
	const struct vm_options *o = q->base.host->options;
	struct jail_options jo = {
		.qemu = q->context.qemu.path, .image_dir = o->image_dir,
		.kernel = q->context.image.fds[IMAGE_KERNEL],
		.initrd = q->context.image.fds[IMAGE_INITRD],
		.most = 2 * o->max_machines + JAILS_MORE, /* each with a relay */
		.kvm = q->context.kvm && o->accel != VM_ACCEL_TCG,
		.strict = !o->permissive, .uid_first = o->uid_first,
		.uid_count = o->uid_count,
		.known = o->known && o->known->valid ? &o->known->walls : NULL,
		.gone = on_jailer_gone, .arg = q,
	};

	return jail_open(q->base.host->loop, &jo, &q->context.jail, &q->walls,
			 err);
}

static int qemu_open(const struct backend_host *host, struct backend **ret,
		     struct err *err)
{
	struct qemu *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return err_sys(err, -ENOMEM, "the QEMU backend");
	q->base = (struct backend){ .ops = &vm_backend_qemu, .host = host };
	templates_init(&q->templates, &q->context, &q->walls);
	list_init(&q->machines);
	survivors_init(&q->survivors, host->loop, host->options->keep);
	q->context.host = host;
	q->context.guest_lacks = &q->base.guest_lacks;
	host_cpu(&q->context.cpu);
	q->context.kvm = host_has_kvm();
	r = check_kvm(q, err);
	if (r == 0)
		r = know_qemu(q, err);
	if (r == 0)
		r = image_open(host->options->image_dir, &q->context.image, err);
	if (r == 0)
		r = open_jail(q, err);
	if (r < 0) {
		image_close(&q->context.image);
		free(q);
		return r;
	}
	keep_known(q, host->options->known);
	survivors_keep_jail(&q->survivors, jail_socket(q->context.jail));
	*ret = &q->base;
	return 0;
}

int vm_walls_find(const char *qemu, const char *image_dir, struct walls *ret,
		  struct err *err)
{
	struct jail_options o = {
		.qemu = qemu, .image_dir = image_dir,
		.most = JAILS_MORE,
		.kvm = host_has_kvm(),
	};
	struct jail *jail = NULL;
	struct loop *loop = NULL;
	struct image image;
	int r = image_open(image_dir, &image, err);

	if (r < 0)
		return r;
	o.kernel = image.fds[IMAGE_KERNEL];
	o.initrd = image.fds[IMAGE_INITRD];
	r = loop_new(&loop);
	r = r < 0 ? err_sys(err, r, "an event loop") :
		    jail_open(loop, &o, &jail, ret, err);
	jail_close(jail);
	if (loop)
		loop_free(loop);
	image_close(&image);
	return r;
}

static void qemu_close(struct backend *b)
{
	struct qemu *q = qemu_of(b);

	/*
	 * Kill all before waiting for any, so that they end at the same time.
	 */
	list_for_each(pos, tmp, &q->machines)
		process_kill(list_entry(pos, struct qemu_machine, node)
				     ->process, NULL);
	list_for_each(pos2, tmp2, &q->machines)
		machine_free(list_entry(pos2, struct qemu_machine, node));
	templates_free(&q->templates);
	survivors_done(&q->survivors);
	jail_close(q->context.jail);
	image_close(&q->context.image);
	free(q);
}

static const struct walls *qemu_walls(struct backend *b)
{
	return &qemu_of(b)->walls;
}

static const struct vm_qemu *qemu_qemu(struct backend *b)
{
	return &qemu_of(b)->context.qemu;
}

const struct vm_backend vm_backend_qemu = {
	.name = "qemu",
	.open = qemu_open,
	.close = qemu_close,
	.template_get = qemu_template_get,
	.template_drop = qemu_template_drop,
	.prepare = qemu_prepare,
	.prepared = qemu_prepared,
	.is_dated = qemu_is_dated,
	.unprepare = qemu_unprepare,
	.start = qemu_start,
	.sign = qemu_sign,
	.survivors = qemu_survivors,
	.adopt = qemu_adopt,
	.adopted = qemu_adopted,
	.pause = qemu_pause,
	.resume = qemu_resume,
	.probe = qemu_probe,
	.cost = qemu_cost,
	.relay = qemu_relay,
	.kill = qemu_kill,
	.walls = qemu_walls,
	.qemu = qemu_qemu,
};
