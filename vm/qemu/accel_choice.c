/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses KVM or emulation, and stores the result in the cache. The sources,
 * first match wins: the option, this process's result, no /dev/kvm, the stored
 * result, else KVM.
 *
 * A stored TCG result expires after a day (template_store.c), so a repaired host is
 * tried with KVM again. The state is `accel` of struct template_context. All
 * functions run on the loop.
 */
#include "accel_choice.h"

#include "layout/base/log.h"
#include "layout/base/num.h"
#include "template_key.h"

#define QUICK_MS 1000 /* a guest that is up within this time is not slow */

static const char *cache_of(const struct template_context *g)
{
	return g->host->options->cache_dir;
}

enum vm_accel accel_choice_make(const struct template_context *g)
{
	enum vm_accel asked = g->host->options->accel, verdict;
	char what[SHA_HEX];

	if (asked != VM_ACCEL_AUTO)
		return asked;
	if (g->accel != VM_ACCEL_AUTO)
		return g->accel;
	if (!g->kvm)
		return VM_ACCEL_TCG;
	template_accel_key(g, what);
	if (template_store_accel_get(cache_of(g), what, &verdict) == 0)
		return verdict;
	return VM_ACCEL_KVM; /* the first boot has a deadline and will decide */
}

bool accel_choice_is_open(const struct template_context *g, enum vm_accel accel)
{
	return accel == VM_ACCEL_KVM &&
	       g->host->options->accel == VM_ACCEL_AUTO;
}

void accel_choice_store(struct template_context *g, enum vm_accel accel)
{
	enum vm_accel kept;
	char what[SHA_HEX];

	g->accel = accel;
	if (g->host->options->accel != VM_ACCEL_AUTO || !g->kvm)
		return;
	template_accel_key(g, what);
	if (template_store_accel_get(cache_of(g), what, &kept) == 0 && kept == accel)
		/*
		 * do not rewrite it: its age counts from the boot that decided
		 */
		return;
	if (template_store_accel_put(cache_of(g), what, accel) < 0)
		log_warn("the choice of KVM or emulation could not be stored");
}

unsigned accel_choice_scale(enum vm_accel accel, unsigned boot_ms)
{
	unsigned slow = (boot_ms + QUICK_MS - 1) / QUICK_MS;

	return accel == VM_ACCEL_KVM ? MAX(1u, MIN(slow, SCALE_TCG)) :
				       SCALE_TCG;
}
