/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes .fsd/security: the walls of machines as vm/ found them, those of the
 * guest, and those of this process. Owns no state. All functions run on the
 * loop.
 */
#include "security.h"
#include "about.h"
#include "fsd/network/network.h"

#include <time.h>

#include "vm/vm.h"

/* Prints the walls: their state, what each stops, and the remedy for a missing
 * one. */
static void text_walls(const struct walls *w, struct buf *out)
{
	for (unsigned i = 0; w && i < WALLS; i++) {
		bool bad = wall_is_missing(w, i);

		buf_fmt(out, "%s  %s  %s: %s%s%s\n", wall_infos[i].name,
			wall_state_names[w->wall[i].state], wall_infos[i].does,
			w->wall[i].detail, bad ? "; to have it: " : "",
			bad ? wall_infos[i].remedy : "");
	}
	if (!w)
		buf_str(out, "qemu  absent  there is none: these machines are "
			     "for tests\n");
}

static void text_guest_walls(const struct machines *vm, struct buf *out)
{
	uint32_t stand;
	bool seen = vm_guest_walls(vm, &stand);

	for (unsigned i = 0; vm_walls(vm) && i < WIRE_WALL_MAX; i++) {
		const struct wall_info *info = &guest_wall_infos[i];

		if (!seen)
			buf_fmt(out, "%s  not checked yet  %s: the first "
				     "machine tells\n",
				info->name, info->does);
		else if (stand & 1u << i)
			buf_fmt(out, "%s  active  %s\n", info->name,
				info->does);
		else
			buf_fmt(out, "%s  absent  %s: the guest does not have "
				"it; to have it: %s\n", info->name, info->does,
				info->remedy);
	}
}

static const char *const own_wall_names[OWN_WALLS] = {
	[OWN_CAPS] = "daemon-capabilities",
	[OWN_LANDLOCK] = "daemon-landlock",
	[OWN_SECCOMP] = "daemon-seccomp",
};

static void text_own_walls(const struct fsd *d, struct buf *out)
{
	for (unsigned i = 0; i < OWN_WALLS; i++)
		buf_fmt(out, "%s  %s  the daemon, once it serves: %s\n",
			own_wall_names[i],
			d->about->walls.wall[i].active ? "active" : "absent",
			d->about->walls.wall[i].detail);
}

static void text_qemu(const struct vm_qemu *q, struct buf *out)
{
	int64_t now = time(NULL);

	buf_fmt(out, "qemu  active  what emulates or drives the machine: QEMU "
		"%s, %s: %s; ", q->version, q->path, q->why);
	vm_qemu_age_text(q, now, out);
	buf_fmt(out, "%s\n", vm_qemu_is_old(q, now) || q->doubt[0] ?
		"; for a newer one: `fsd qemu bring`, then `fsd upgrade`" : "");
}

void security_text(const struct fsd *d, struct buf *out)
{
	const struct vm_qemu *qemu = vm_qemu(d->vm);
	struct vm_stats s;

	vm_stats(d->vm, &s);
	buf_fmt(out, "machine  %s  each job runs in a virtual machine of its "
		     "own, %s\n",
		s.accel == VM_ACCEL_AUTO ? "not checked yet" : "active",
		s.accel == VM_ACCEL_AUTO ? "kvm or tcg"
					 : vm_accel_names[s.accel]);
	if (s.accel == VM_ACCEL_TCG)
		buf_str(out, "hardware-virtualization  absent  KVM does not "
			     "work here; QEMU's maintainers do not treat "
			     "faults of TCG as security faults\n");
	if (qemu)
		text_qemu(qemu, out);
	if (qemu)
		buf_str(out, "hash-secret  degraded  no program can make dicts "
			     "of another slow by keys of its choice: the secret "
			     "of Python's hashes is the template's, the same in "
			     "all of its machines; to have an own one: \"env\": "
			     "{\"PYTHONHASHSEED\": \"random\"}\n");
	text_guest_walls(d->vm, out);
	text_walls(vm_walls(d->vm), out);
	text_own_walls(d, out);
	network_walls(d->network, out);
}
