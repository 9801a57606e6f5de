/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses KVM or emulation, and stores the result in the cache. The sources, first match
 * wins: the option, this process's result, no /dev/kvm, the stored result, else KVM.
 *
 * A stored TCG result expires after a day (store.c), so a repaired host is tried with
 * KVM again. The state is `accel` of struct template_ground. All functions run on the
 * loop.
 */
#include "verdict.h"

#include "layout/base/log.h"
#include "layout/base/num.h"
#include "template_key.h"

#define QUICK_MS 1000 /* a guest that is up within that is not slow */

static const char *cache_of(const struct template_ground *g)
{
	return g->host->options->cache_dir;
}

enum vm_accel verdict_choose(const struct template_ground *g)
{
	enum vm_accel asked = g->host->options->accel, verdict;
	char what[SHA_HEX];

	if (asked != VM_ACCEL_AUTO)
		return asked;
	if (g->accel != VM_ACCEL_AUTO)
		return g->accel;
	if (!g->kvm)
		return VM_ACCEL_TCG;
	template_verdict_key(g, what);
	if (store_verdict_get(cache_of(g), what, &verdict) == 0)
		return verdict;
	return VM_ACCEL_KVM; /* a boot with a deadline will tell */
}

bool verdict_is_open(const struct template_ground *g, enum vm_accel accel)
{
	return accel == VM_ACCEL_KVM &&
	       g->host->options->accel == VM_ACCEL_AUTO;
}

void verdict_keep(struct template_ground *g, enum vm_accel accel)
{
	enum vm_accel kept;
	char what[SHA_HEX];

	g->accel = accel;
	if (g->host->options->accel != VM_ACCEL_AUTO || !g->kvm)
		return;
	template_verdict_key(g, what);
	if (store_verdict_get(cache_of(g), what, &kept) == 0 && kept == accel)
		return; /* it gets no younger by being used */
	if (store_verdict_put(cache_of(g), what, accel) < 0)
		log_warn("the accelerator's verdict could not be kept");
}

unsigned verdict_scale(enum vm_accel accel, unsigned boot_ms)
{
	unsigned slow = (boot_ms + QUICK_MS - 1) / QUICK_MS;

	return accel == VM_ACCEL_KVM ? MAX(1u, MIN(slow, SCALE_TCG)) :
				       SCALE_TCG;
}
