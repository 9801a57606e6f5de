/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds QEMU's command line from struct argv_spec. The macros at the top hold the
 * kernel's and the processor's options, each with its reason.
 *
 * The items and their text lie in the caller's struct argv: there is no allocation. The
 * jailer calls it for machines, and template_key() hashes the same line.
 */
#include "argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "guest/wire/wire_net.h"
#include "layout/base/num.h"

/*
 * The guest kernel's options. Console lines cost time, and idle states do not
 * help a guest. A panic or a reboot must end the machine instead of letting it
 * hang. The counter's rate is an argument, because measuring it can hang a boot
 * under TCG on a busy host, and the kernel might distrust the clock after a
 * restore. A lockup watchdog wakes an idle guest, and reports a lockup after
 * every pause.
 */
#define KERNEL_ARGS "quiet loglevel=0 reboot=t panic=-1 cpuidle.off=1 " \
		    "tsc=reliable nowatchdog"
/* A guest starts no virtual machines and counts no events. So an attacker who
 * controls its kernel can reach less of the host's KVM. */
#define CPU_KVM "host,vmx=off,svm=off,pmu=off"
/*
 * Every feature that can be emulated, except two: those say that rep movsb and
 * rep stosb are fast. Under emulation they are slow, a round for each byte.
 * Without them the guest's kernel and C library copy words: filling memory and
 * files takes half the time.
 */
#define CPU_TCG "max,-erms,-fsrm"
/* By default translated code reserves a GiB of addresses. A machine whose
 * memory no control group limits has less than that (RLIMIT_AS). */
#define ACCEL_TCG "tcg,tb-size=64"
/* For zygotes and boots: they run the code of all languages. When the buffer is
 * full QEMU drops all of it, and would translate it again and again. */
#define ACCEL_ROOMY "tcg,tb-size=256"
/* TCG does not speculate, so no mitigation is needed. */
#define KERNEL_ARGS_TCG KERNEL_ARGS " mitigations=off"

static void add(struct argv *a, const char *item)
{
	if (a->count < ARGV_MAX - 1)
		a->item[a->count] = item;
	a->count++;
}

__attribute__((format(printf, 2, 3))) static void
add_fmt(struct argv *a, const char *fmt, ...)
{
	size_t room = sizeof(a->text) - MIN(a->used, sizeof(a->text));
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(a->text + sizeof(a->text) - room, room, fmt, ap);
	va_end(ap);
	add(a, a->text + sizeof(a->text) - room);
	a->used += (unsigned)n + 1;
}

/* Appends to the text of the last item. */
__attribute__((format(printf, 2, 3))) static void
append(struct argv *a, const char *fmt, ...)
{
	size_t room;
	va_list ap;
	int n;

	a->used--; /* overwrite its NUL */
	room = sizeof(a->text) - MIN(a->used, sizeof(a->text));
	va_start(ap, fmt);
	n = vsnprintf(a->text + sizeof(a->text) - room, room, fmt, ap);
	va_end(ap);
	a->used += (unsigned)n + 1;
}

static void add_ram(struct argv *a, const struct argv_spec *s)
{
	/* A template's RAM is written to the file. A restored machine copies on
	 * write, and reserves no memory for pages that it does not write. */
	add(a, "-object");
	add_fmt(a, "memory-backend-file,id=ram,size=%uM,mem-path=" ARGV_RAM
		   ",share=%s", vm_class_ram(&s->cls),
		s->boot ? "on" : "off,reserve=off");
}

static void add_boot(struct argv *a, const struct argv_spec *s)
{
	add(a, "-kernel");
	add(a, s->kernel);
	add(a, "-initrd");
	add(a, s->initrd);
	add(a, "-append");
	add_fmt(a, "%s", s->accel == VM_ACCEL_KVM ? KERNEL_ARGS :
						    KERNEL_ARGS_TCG);
	if (s->tsc_khz && s->accel != VM_ACCEL_KVM)
		append(a, " tsc_early_khz=%u", s->tsc_khz);
	if (s->layers)
		append(a, " fsd_layers=%u", s->layers);
	if (s->plain)
		append(a, " fsd_plain=1");
}

static void add_monitor(struct argv *a)
{
	add(a, "-chardev");
	add_fmt(a, "socket,id=qmp,fd=%d", ARGV_FD_QMP);
	add(a, "-mon");
	add(a, "chardev=qmp,mode=control");
}

/*
 * Adds the disks of an environment, its own layer first. Each has a serial
 * number by which the guest finds it: the kernel's names of disks depend on
 * their order.
 */
static void add_layers(struct argv *a, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		add(a, "-add-fd");
		add_fmt(a, "fd=%u,set=%u", ARGV_FD_LAYER + i, 2 + i);
		add(a, "-blockdev");
		add_fmt(a, "driver=file,node-name=layer%u,"
			   "filename=/dev/fdset/%u,read-only=on,"
			   "auto-read-only=off,locking=off", i, 2 + i);
		add(a, "-device");
		add_fmt(a, "virtio-blk-device,drive=layer%u,serial=layer%u", i,
			i);
	}
}

static void add_devices(struct argv *a, unsigned layers)
{
	add(a, "-add-fd");
	add_fmt(a, "fd=%d,set=1", ARGV_FD_ROOTFS);
	add(a, "-blockdev");
	add(a, "driver=file,node-name=root,filename=/dev/fdset/1,"
	       "read-only=on,auto-read-only=off,locking=off");
	add(a, "-device");
	add(a, "virtio-blk-device,drive=root");
	add_layers(a, layers);
	add(a, "-device");
	add(a, "virtio-serial-device,max_ports=3");
	add(a, "-chardev");
	add_fmt(a, "socket,id=wire,fd=%d", ARGV_FD_WIRE);
	add(a, "-device");
	add(a, "virtserialport,chardev=wire,name=" WIRE_PORT_NAME);
	add(a, "-chardev");
	add_fmt(a, "socket,id=net,fd=%d", ARGV_FD_NET);
	add(a, "-device");
	add(a, "virtserialport,chardev=net,name=" WIRE_NET_PORT_NAME);
}

static void add_common(struct argv *a, const char *const *qemu, bool zygote)
{
	a->count = a->used = 0;
	while (*qemu)
		add(a, *qemu++);
	add(a, "-nodefaults");
	add(a, "-no-user-config");
	add(a, "-nographic");
	add(a, "-no-reboot");
	add(a, "-nic");
	add(a, "none");
	add(a, "-sandbox");
	/* A zygote must be able to fork, so QEMU does not deny spawn there. Its forked
	 * machines get a filter of their own, which denies it. */
	add(a, zygote ? "on,obsolete=deny,resourcecontrol=deny" :
			"on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
			"resourcecontrol=deny");
}

static int finish(struct argv *a)
{
	if (a->count >= ARGV_MAX || a->used > sizeof(a->text))
		return -E2BIG;
	a->item[a->count] = NULL;
	return 0;
}

int argv_probe(const char *const *qemu, bool zygote, struct argv *a)
{
	add_common(a, qemu, zygote);
	add(a, "-machine");
	add(a, "none");
	add(a, "-accel");
	add(a, ACCEL_TCG);
	add(a, "-S");
	add_monitor(a);
	return finish(a);
}

int argv_make(const struct argv_spec *s, struct argv *a)
{
	add_common(a, s->qemu, s->zygote);
	add(a, "-machine");
	add(a, "microvm,pit=on,pic=on,rtc=on,isa-serial=off,"
	       "x-option-roms=off,memory-backend=ram,mem-merge=off,"
	       "dump-guest-core=off");
	add(a, "-accel");
	add(a, s->accel == VM_ACCEL_KVM ? "kvm" :
	       s->zygote || s->boot ? ACCEL_ROOMY : ACCEL_TCG);
	add(a, "-cpu");
	add(a, s->accel == VM_ACCEL_KVM ? CPU_KVM : CPU_TCG);
	add(a, "-smp");
	add_fmt(a, "%u", s->cls.cpus);
	add(a, "-m");
	add_fmt(a, "%uM", vm_class_ram(&s->cls));
	add_ram(a, s);
	add_devices(a, s->layers);
	add_monitor(a);
	if (s->boot) {
		add_boot(a, s);
	} else {
		add(a, "-incoming");
		add(a, "defer");
	}
	return finish(a);
}

void argv_join(const struct argv *a, struct buf *out)
{
	for (unsigned i = 0; i < a->count; i++)
		buf_fmt(out, "%s%s", i ? " " : "", a->item[i]);
}
