/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses between KVM and emulation (TCG). The first boot has a deadline under
 * KVM; its result is stored on the disk. All functions run on the loop and may
 * read or write a small file.
 */
#ifndef VM_ACCEL_CHOICE_H
#define VM_ACCEL_CHOICE_H

#include "template.h"

#define SCALE_TCG 10u /* factor of every wait under emulation */

/* Chooses the accelerator: the option, else what this process has found, else
 * the stored result, else KVM if the host has it. */
enum vm_accel accel_choice_make(const struct template_context *g);
/* Returns whether the accelerator is still open: KVM was not demanded, so a
 * boot that is not quick switches to TCG. */
bool accel_choice_is_open(const struct template_context *g, enum vm_accel accel);
/* Stores the accelerator that works on this host, as a boot has shown. */
void accel_choice_store(struct template_context *g, enum vm_accel accel);
/* Returns how much slower this host is than KVM on a fast processor. Under KVM this is
 * derived from boot_ms: where the processor itself is emulated KVM is as slow as TCG. */
unsigned accel_choice_scale(enum vm_accel accel, unsigned boot_ms);

#endif
