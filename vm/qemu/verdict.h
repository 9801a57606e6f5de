/* SPDX-License-Identifier: Apache-2.0 */
/* Whether machines run with KVM or are emulated. A boot with a deadline has told
 * it, and that is kept on the disk. */
#ifndef VM_VERDICT_H
#define VM_VERDICT_H

#include "template.h"

#define SCALE_TCG 10u /* how much longer all takes under emulation */

/* What was asked for, what this process knows, what is kept; else KVM, if there
 * is any. */
enum vm_accel verdict_choose(const struct template_ground *g);
/* KVM that nobody insists on has to be quick; else it is TCG. */
bool verdict_is_open(const struct template_ground *g, enum vm_accel accel);
/* What a boot has told. */
void verdict_keep(struct template_ground *g, enum vm_accel accel);
/* How much longer all takes than with KVM on a fast processor. KVM is as slow as
 * TCG where the processor itself is emulated: the boot has told. */
unsigned verdict_scale(enum vm_accel accel, unsigned boot_ms);

#endif
