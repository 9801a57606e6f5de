/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the keys of templates and verdicts as SHA-256 of their inputs, and checks a
 * found template against this host.
 *
 * A template's key has image, QEMU, command line, wire version, processor and
 * environment. The rate of the processor's counter is not in the key: each start
 * measures it anew, so template_check() compares it with a tolerance. There is no state.
 */
#include "template_key.h"

#include <stdio.h>

#include "layout/base/log.h"
#include "template_store.h"
#include "vm/jail/argv.h"
#include "vm/jail/jail_root.h"

void template_accel_key(const struct template_context *g, char ret[SHA_HEX])
{
	struct sha *s = sha_new();

	ret[0] = '\0';
	if (!s)
		return;
	sha_field(s, g->qemu.version);
	sha_field(s, g->qemu.package);
	sha_field(s, g->image.kernel);
	sha_field(s, g->cpu.model);
	sha_hex(s, ret);
}

/* Adds the environment's part to the key: its layers, in the order of the disks, and its
 * warm.json. */
static void add_environment(struct sha *s, const struct environment *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->layer_count; i++)
		sha_field(s, e->layers[i].sum);
	sha_field(s, e->warm_sum);
}

int template_key(const struct template_context *g, const struct vm_class *cls,
		 enum vm_accel accel, unsigned heat_rounds, char ret[SHA_HEX])
{
	auto_buf struct buf joined = { 0 };
	/* Leave out the counter's rate: each start measures it anew. */
	const struct argv_spec boot = {
		.accel = accel, .cls = *cls,
		.layers = cls->environment ? cls->environment->layer_count : 0,
		/* Leave out the path: version and package identify QEMU. */
		.qemu = (const char *const[]){ "qemu", NULL },
		.kernel = JAIL_KERNEL, .initrd = JAIL_INITRD, .boot = true,
		.plain = g->host->options->plain,
	};
	struct argv argv;
	struct sha *s;
	char number[64];

	if (argv_make(&boot, &argv) < 0)
		return -E2BIG;
	argv_join(&argv, &joined);
	s = joined.failed ? NULL : sha_new();
	if (!s)
		return -ENOMEM;
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++)
		sha_field(s, g->image.files[f]->sum);
	/* Another upload of the same version may emulate another machine. */
	sha_field(s, g->qemu.version);
	sha_field(s, g->qemu.package);
	sha_field(s, joined.data);
	snprintf(number, sizeof(number), "%u %u %u", WIRE_VERSION, heat_rounds,
		 TEMPLATE_STORE_FORMAT);
	sha_field(s, number);
	sha_field(s, vm_accel_names[accel]);
	snprintf(number, sizeof(number), "%08x", g->cpu.flags);
	sha_field(s, g->cpu.model);
	sha_field(s, accel == VM_ACCEL_KVM ? number : "");
	add_environment(s, cls->environment);
	sha_hex(s, ret);
	return 0;
}

struct template_store_of template_of(const struct template_context *g,
				     const struct vm_class *cls)
{
	const struct environment *e = cls->environment;

	return (struct template_store_of){
		.image_dir = g->host->options->image_dir, .image_id = g->image.id,
		.environment_id = e ? e->id : "",
		.environment_fd = e && e->layer_count ? e->layers[0].fd : -1,
	};
}

void template_clean(const struct template_context *g)
{
	const struct vm_options *o = g->host->options;

	template_store_clean(o->cache_dir, o->image_dir, g->image.id);
}

/* Compares the counter's rate: in a guest that booted with another rate the
 * clock would be wrong. */
static int check_tsc(unsigned then, unsigned now, struct err *err)
{
	if (!then || !now ||
	    (now > then ? now - then : then - now) <= then / 1000)
		return 0;
	return err_set(err, -EBADMSG, "it was made where the processor's "
		       "counter runs at %u kHz, here it is %u", then, now);
}

/*
 * Checks the walls inside the guest: no job may run where one is missing,
 * unless --policy allows it. Another boot would not help: it would boot the
 * same image.
 */
static int check_walls(const struct template_context *g, uint32_t walls,
		       struct err *err)
{
	bool strict = !g->host->options->permissive;
	int r = 0;

	for (unsigned i = 0; i < WIRE_WALL_MAX; i++) {
		const struct wall_info *info = &guest_wall_infos[i];

		if (walls & 1u << i)
			continue;
		log_warn("the wall %s is missing in the guest", info->name);
		*g->guest_lacks |= 1u << i;
		if (strict)
			r = err_set(err, -ENOTSUP, "the wall %s is missing in "
				    "the guest; %s; --policy permissive runs "
				    "without it", info->name, info->remedy);
	}
	return r;
}

int template_check(const struct template_context *g,
		   const struct template_store_meta *meta, struct err *err)
{
	int r = check_tsc(meta->tsc_khz, host_tsc_khz(&g->cpu), err);

	return r < 0 ? r : check_walls(g, meta->walls, err);
}

void template_tell_cold(const struct vm_class *cls, const char *cold)
{
	while (*cold) {
		int len = (int)strcspn(cold, "\n");

		log_warn("environment %s: a module is not kept warm: %.*s",
			 cls->environment ? cls->environment->name :
					    ENVIRONMENT_BASE, len, cold);
		cold += len;
		cold += *cold == '\n';
	}
}
