/* SPDX-License-Identifier: Apache-2.0 */
/* Whether machines run with KVM or are emulated. A boot with a deadline has told
 * it, and that is kept on the disk. */
#ifndef VM_ACCEL_CHOICE_H
#define VM_ACCEL_CHOICE_H

#include "template.h"

#define SCALE_TCG 10u /* how much longer all takes under emulation */

/* What was asked for, what this process knows, what is kept; else KVM, if there
 * is any. */
enum vm_accel accel_choice_make(const struct template_context *g);
/* KVM that nobody insists on has to be quick; else it is TCG. */
bool accel_choice_is_open(const struct template_context *g, enum vm_accel accel);
/* What a boot has told. */
void accel_choice_store(struct template_context *g, enum vm_accel accel);
/* How much longer all takes than with KVM on a fast processor. KVM is as slow as
 * TCG where the processor itself is emulated: the boot has told. */
unsigned accel_choice_scale(enum vm_accel accel, unsigned boot_ms);

#endif
