/* SPDX-License-Identifier: Apache-2.0 */
/* Finds or makes the template of one class, from look() to finish(). look_work(),
 * seal_work() and clean_work() run on a worker thread: they read or write all of the
 * RAM. The loop reads their results after the worker has ended; all else runs on it. */
#include "template.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "vm/channel/channel.h"
#include "process.h"
#include "restore.h"
#include "template_key.h"
#include "accel_choice.h"
#include "vm/os/worker.h"

#define ATTEMPTS 5 /* boots before making it fails */
#define BOOT_KVM_S 6 /* limit until HELLO if TCG is the alternative */
#define BOOT_TCG_S 45 /* seconds from exec to HELLO, first attempt; 3 s on an idle host */
#define BOOT_MORE_S 8 /* added for every further attempt */
#define SAVE_S 30
#define HEAT_ROUNDS 3

struct template {
	struct template_context *context; /* borrowed */
	struct vm_class cls;
	template_done_fn *done;
	void *arg;
	struct loop_call tell; /* calls done(), later */
	struct err err;
	enum vm_accel accel; /* the accelerator that `key` is for */
	char key[SHA_HEX];
	struct stored_template store; /* the template in use; dir -1: not ready */
	unsigned number; /* how many times this template was renewed */

	/* --- used while it is made -------------------------------------- */
	struct worker worker;
	int result; /* result of the worker */
	struct err result_err;
	bool checked; /* the worker has verified the image */
	bool layers_checked; /* the worker has verified the environment, too */
	bool made; /* this process has made the template now */
	bool renews; /* a renewal: `store` is used meanwhile */
	struct stored_template found;
	unsigned attempt;
	uint64_t began_ns;
	struct template_store_new fresh;
	struct process *process;        /* owned */
	struct channel *ch;             /* owned */
	struct loop_timer limit;
	bool saved, taken; /* saved: the files are complete. taken: the host ended QEMU */
	uint32_t runners, walls;
	unsigned tsc_khz; /* counter's rate that this boot's guest got */
	unsigned boot_ms; /* duration of this boot */
};

static void boot(struct template *t);

__attribute__((format(printf, 2, 3))) static void
progress(struct template *t, const char *fmt, ...)
{
	const struct backend_host *host = t->context->host;
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	host->progress(host->arg, &t->cls, text,
		       t->attempt ? t->accel : VM_ACCEL_AUTO);
}

static struct loop *loop_of(const struct template *t)
{
	return t->context->host->loop;
}

static const char *cache_of(const struct template *t)
{
	return t->context->host->options->cache_dir;
}

static double seconds_since(uint64_t at)
{
	return (double)(now_ns() - at) / NS_PER_S;
}

static void on_tell(struct loop_call *c)
{
	struct template *t = c->arg;

	t->done(t->arg, t, t->err.code ? &t->err : NULL);
}

static void finish(struct template *t, const struct err *err)
{
	t->err = err ? *err : (struct err){ 0 };
	loop_defer(loop_of(t), &t->tell);
}

/* --- searching for it --------------------------------------------------- */

static void look_work(void *arg, const atomic_bool *cancel)
{
	struct template *t = arg;
	const struct vm_options *o = t->context->host->options;

	t->result = 0;
	if (!t->checked) {
		t->result = image_verify(&t->context->image, o->cache_dir, cancel,
					 &t->result_err);
		t->checked = t->result == 0;
		template_clean(t->context);
	}
	if (t->result == 0 && t->cls.environment && !t->layers_checked) {
		t->result = environment_verify(t->cls.environment, cancel,
					       &t->result_err);
		if (t->result == -EBADMSG) {
			err_wrap(&t->result_err, "environment %s is damaged",
				 t->cls.environment->name);
			t->result = -EIO; /* a new boot would not repair it */
		}
		t->layers_checked = t->result == 0;
	}
	/* EIO: making another template cannot repair a damaged image. */
	if (t->result < 0)
		t->result_err.code = -EIO;
	else
		t->result = template_store_find(o, t->context->own_only || t->renews, t->key,
						cancel, &t->found, &t->result_err);
}

/* Drops the template that was found if it was made for another host. */
static void check_meta(struct template *t)
{
	if (t->result < 0)
		return;
	t->result = template_check(t->context, &t->found.meta, &t->result_err);
	if (t->result < 0)
		fd_close(&t->found.dir);
}

/* Replaces the template in use by the one that was found. */
static void take_found(struct template *t)
{
	t->number += t->renews;
	fd_close(&t->store.dir);
	t->store = t->found;
	t->found.dir = -1;
}

static int work(struct template *t, void (*fn)(void *, const atomic_bool *),
		void (*done)(void *))
{
	t->worker.loop = loop_of(t);
	t->worker.work = fn;
	t->worker.done = done;
	t->worker.arg = t;
	return worker_start(&t->worker);
}

/* Removes the template that was replaced, unless a server has it open. */
static void clean_work(void *arg, const atomic_bool *cancel)
{
	(void)cancel;
	template_clean(((const struct template *)arg)->context);
}

static void clean_done(void *arg)
{
	finish(arg, NULL);
}

static void look_done(void *arg)
{
	struct template *t = arg;

	check_meta(t);
	t->context->image_verified = t->context->image_verified || t->checked;
	if (t->result == 0) {
		take_found(t);
		accel_choice_store(t->context, t->accel);
		if (!t->renews || work(t, clean_work, clean_done) < 0)
			finish(t, NULL);
	} else if (t->renews) {
		finish(t, &t->result_err);
	} else if (t->checked && t->result == -ENOENT && !t->made) {
		boot(t);
	} else if (t->checked && t->result == -EBADMSG && !t->made) {
		template_store_drop(cache_of(t), t->key, t->result_err.text);
		boot(t);
	} else {
		finish(t, &t->result_err);
	}
}

static void look(struct template *t)
{
	struct err err;
	int r = template_key(t->context, &t->cls, t->accel, HEAT_ROUNDS, t->key);

	t->checked = t->context->image_verified;
	if (r == 0)
		r = work(t, look_work, look_done);
	if (r < 0) {
		err_sys(&err, r, "looking for the template");
		finish(t, &err);
	}
}

void template_make(struct template *t)
{
	t->attempt = 0;
	t->made = t->renews = false;
	t->accel = accel_choice_make(t->context);
	progress(t, "checking the guest image and the template");
	look(t);
}

/* --- booting ------------------------------------------------------------ */

static void clear_guest(struct template *t)
{
	loop_timer_del(&t->limit);
	channel_free(t->ch);
	t->ch = NULL;
	process_free(t->process);
	t->process = NULL;
}

static void clear_attempt(struct template *t)
{
	clear_guest(t);
	template_store_abandon(&t->fresh);
	t->saved = false;
}

static void attempt_failed(struct template *t, const char *sentence)
{
	const struct backend_host *host = t->context->host;
	struct err err;

	clear_attempt(t);
	host->boot_failed(host->arg);
	if (t->renews) {
		err_set(&err, -EIO, "%s", sentence);
		finish(t, &err);
	} else if (accel_choice_is_open(t->context, t->accel) && !t->taken) {
		log_info("KVM does not work here (%s); TCG is used", sentence);
		progress(t, "KVM does not work here; emulating");
		accel_choice_store(t->context, VM_ACCEL_TCG);
		t->accel = VM_ACCEL_TCG;
		t->attempt = 0;
		look(t);
	} else if (t->attempt < ATTEMPTS) {
		log_warn("the guest did not boot (%u of %u): %s", t->attempt,
			 ATTEMPTS, sentence);
		boot(t);
	} else {
		err_set(&err, -EIO, "the guest did not boot in %u attempts, "
				    "the last time because %s", ATTEMPTS,
			sentence);
		finish(t, &err);
	}
}

static void on_limit(struct loop_timer *timer)
{
	struct template *t = timer->arg;
	char text[100];

	snprintf(text, sizeof(text), "it was not %s within %.0f s",
		 t->saved ? "saved" : "booted", seconds_since(t->began_ns));
	attempt_failed(t, text);
}

static void seal_work(void *arg, const atomic_bool *cancel)
{
	struct template *t = arg;
	struct template_store_meta meta = {
		.accel = t->accel, .runners = t->runners, .walls = t->walls,
		.tsc_khz = t->tsc_khz,
		.boot_ms = t->boot_ms,
	};

	memcpy(meta.key, t->key, sizeof(meta.key));
	t->result = template_store_commit(&t->fresh, &meta, t->renews, cancel,
					  &t->result_err);
}

static void seal_done(void *arg)
{
	struct template *t = arg;

	if (t->result < 0) {
		finish(t, &t->result_err);
		return;
	}
	progress(t, "saved");
	t->made = true;
	look(t);
}

static void on_gone(void *arg, const char *why, bool taken)
{
	struct template *t = arg;
	struct err err;
	int r;

	t->taken = taken;
	if (!t->saved) {
		attempt_failed(t, why);
		return;
	}
	clear_guest(t);
	r = work(t, seal_work, seal_done);
	if (r < 0) {
		clear_attempt(t);
		err_sys(&err, r, "saving the template");
		finish(t, &err);
	}
}

/* --- saving ------------------------------------------------------------- */

static void on_save_reply(void *arg, const struct qmp_reply *reply)
{
	struct template *t = arg;

	/* -EPIPE: QEMU is ending; gone() will report why. Once the files are complete,
	 * kill QEMU: at a "quit" it would close the wire first, which is a fault. */
	if (reply->code != -EPIPE && (t->saved || reply->code < 0))
		process_kill(t->process, t->saved ? NULL : reply->text);
}

static void on_event(void *arg, const char *name, const char *status)
{
	struct template *t = arg;

	if (strcmp(name, "MIGRATION") != 0)
		return;
	if (!strcmp(status, "failed")) {
		process_kill(t->process, "QEMU could not save the guest");
	} else if (!strcmp(status, "completed")) {
		t->saved = true;
		qmp_send(process_qmp(t->process), "query-migrate", NULL,
			 SAVE_S * NS_PER_S, on_save_reply, t);
	}
}

static void save(struct template *t)
{
	static const char caps[] =
		"{\"capabilities\":[{\"capability\":\"x-ignore-shared\","
		"\"state\":true},{\"capability\":\"events\",\"state\":true}]}";
	struct qmp *q = process_qmp(t->process);

	/* Keep the wire open until QEMU has ended: its end would be saved in
	 * the guest's memory, and every machine would power off. */
	t->began_ns = now_ns();
	loop_timer_set(loop_of(t), &t->limit, SAVE_S * NS_PER_S);
	qmp_send(q, "stop", NULL, SAVE_S * NS_PER_S, on_save_reply, t);
	qmp_send(q, "migrate-set-capabilities", caps, SAVE_S * NS_PER_S,
		 on_save_reply, t);
	qmp_send_fd(q, "getfd", "{\"fdname\":\"state\"}", t->fresh.state,
		    SAVE_S * NS_PER_S, on_save_reply, t);
	qmp_send(q, "migrate", "{\"uri\":\"fd:state\"}", SAVE_S * NS_PER_S, on_save_reply, t);
}

static void on_ready(void *arg, uint32_t runners, uint32_t walls, const char *cold)
{
	struct template *t = arg;

	loop_timer_del(&t->limit);
	t->runners = runners & ((1u << WIRE_RUN_MAX) - 1);
	t->walls = walls & WIRE_WALLS_ALL;
	template_tell_cold(&t->cls, cold);
	template_store_put_cold(&t->fresh, cold);
	progress(t, "guest ready after %.1f s%s; warming its runners",
		 seconds_since(t->began_ns), *cold ? ", some modules cold" : "");
	if (t->runners)
		channel_heat(t->ch, t->runners, HEAT_ROUNDS);
	else
		attempt_failed(t, "no runner was ready");
}

static void on_heated(void *arg, uint32_t runners)
{
	struct template *t = arg;

	if (~runners & t->runners) {
		attempt_failed(t, "not all of its runners have answered");
		return;
	}
	progress(t, "guest warm after %.1f s; saving it",
		 seconds_since(t->began_ns));
	save(t);
}

static void on_hello(void *arg, const char *kernel, const char *image)
{
	struct template *t = arg;

	(void)image;
	/* From now on the channel enforces the timeouts. */
	loop_timer_del(&t->limit);
	t->boot_ms = (unsigned)((now_ns() - t->began_ns) / NS_PER_MS);
	progress(t, "kernel %s up after %.1f s; starting the runners", kernel,
		 seconds_since(t->began_ns));
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct template *t = arg;

	(void)why;
	if (t->saved)
		return; /* this process is killing it; gone() comes next */
	if (eof)
		process_is_ending(t->process);
	else
		attempt_failed(t, sentence);
}

static const struct channel_events channel_events = {
	.hello = on_hello,
	.ready = on_ready,
	.heated = on_heated,
	.broken = on_broken,
};

static const struct process_events process_events = {
	.event = on_event,
	.gone = on_gone,
};

/* --- starting a boot ---------------------------------------------------- */

static int start_qemu(struct template *t, struct err *err)
{
	const struct image *im = &t->context->image;
	auto_close int ours = -1, theirs = -1;
	int fds[JAIL_FDS_MAX] = { -1, im->fds[IMAGE_ROOTFS], t->fresh.ram };
	struct jail_request what = {
		.kind = JAIL_BOOT, .layers = restore_layers(&t->cls, fds + 3), .accel = t->accel,
		.memory_mib = t->cls.memory_mib, .cpus = t->cls.cpus,
		.plain = t->context->host->options->plain,
	};
	int pair[2], r;

	t->tsc_khz = t->accel == VM_ACCEL_TCG ?
			     host_tsc_khz(&t->context->cpu) : 0;
	what.tsc_khz = t->tsc_khz;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "starting QEMU");
	ours = pair[0];
	theirs = pair[1];
	fds[0] = theirs;
	r = process_new(loop_of(t), t->context->jail, &what, fds,
			&process_events, t, &t->process, err);
	if (r < 0)
		return r;
	qmp_send(process_qmp(t->process), "qmp_capabilities", NULL,
		 SAVE_S * SCALE_TCG * NS_PER_S, on_save_reply, t);
	r = channel_new(loop_of(t), take_fd(&ours), PHASE_BOOT,
			(accel_choice_is_open(t->context, t->accel) ? 2 : 2 * SCALE_TCG) *
				vm_class_patience(&t->cls),
			&channel_events, t, &t->ch);
	return r < 0 ? err_sys(err, r, "the guest's wire") : 0;
}

static void boot(struct template *t)
{
	unsigned limit = accel_choice_is_open(t->context, t->accel) ? BOOT_KVM_S : BOOT_TCG_S;
	const struct template_store_of of = template_of(t->context, &t->cls);
	struct err err;
	int r;

	limit += t->attempt++ * BOOT_MORE_S;
	t->saved = t->taken = false; /* an earlier attempt may have set them */
	t->began_ns = now_ns();
	progress(t, "booting the guest with %s (%u of %u)",
		 vm_accel_names[t->accel], t->attempt, ATTEMPTS);
	r = template_store_begin(cache_of(t), &of, (uint64_t)vm_class_ram(&t->cls) << 20,
				 &t->fresh, &err);
	if (r == 0)
		r = start_qemu(t, &err);
	if (r < 0) {
		/* The guest is not at fault: another attempt would fail, too. */
		clear_attempt(t);
		finish(t, &err);
		return;
	}
	loop_timer_set(loop_of(t), &t->limit, limit * NS_PER_S);
}

/* --- start and end ------------------------------------------------------ */

struct template *template_new(struct template_context *context,
			      const struct vm_class *cls,
			      template_done_fn *done, void *arg)
{
	struct template *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct template){
		.context = context, .cls = vm_class_ref(cls), .done = done, .arg = arg,
		.tell = { .fn = on_tell, .arg = t },
		.limit = { .fn = on_limit, .arg = t },
		.store = { .dir = -1 }, .found = { .dir = -1 },
		.fresh = TEMPLATE_STORE_NEW_INIT,
	};
	return t;
}

void template_free(struct template *t)
{
	if (!t)
		return;
	worker_stop(&t->worker);
	clear_attempt(t);
	loop_call_del(&t->tell);
	fd_close(&t->store.dir);
	fd_close(&t->found.dir);
	environment_unref(t->cls.environment);
	free(t);
}

bool template_is_old(const struct template *t, uint64_t *ret_due_ns)
{
	return template_store_meta_is_old(&t->store.meta, ret_due_ns);
}

void template_renew(struct template *t)
{
	t->attempt = 0;
	t->made = false;
	t->renews = true;
	boot(t);
}

bool template_renew_stop(struct template *t)
{
	if (!t->renews || !t->process || t->saved)
		return false;
	clear_attempt(t);
	t->renews = false;
	return true;
}

unsigned template_number(const struct template *t)
{
	return t->number;
}

void template_drop(struct template *t, const char *why)
{
	if (t->store.dir < 0)
		return;
	/* Only its maker can replace a shared template: make our own. */
	t->context->own_only |= t->store.shared;
	template_store_drop(cache_of(t), t->key, why);
	fd_close(&t->store.dir);
}

const struct vm_class *template_class(const struct template *t)
{
	return &t->cls;
}

int template_dir(const struct template *t)
{
	return t->store.dir;
}

enum vm_accel template_accel(const struct template *t)
{
	return t->accel;
}

void template_describe(const struct template *t, struct backend_template *ret)
{
	*ret = (struct backend_template){
		.runners = t->store.meta.runners,
		.walls = t->store.meta.walls,
		.accel = t->accel,
		.kvm_fails = t->context->kvm && t->accel == VM_ACCEL_TCG &&
			     t->context->host->options->accel == VM_ACCEL_AUTO,
		.made = t->made,
		.scale = accel_choice_scale(t->accel, t->store.meta.boot_ms),
	};
	memcpy(ret->id, t->key, sizeof(ret->id) - 1);
	template_store_get_cold(t->store.dir, ret->cold);
}
