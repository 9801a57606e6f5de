/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys under which templates and the choice of the accelerator are stored:
 * checksums of all they depend on. Also checks whether a stored template fits
 * this host.
 */
#ifndef VM_TEMPLATE_KEY_H
#define VM_TEMPLATE_KEY_H

#include "vm/os/sha.h"
#include "template.h"

/* Computes the key of a template of this class. Return: 0 or negative errno. */
int template_key(const struct template_context *g, const struct vm_class *cls,
		 enum vm_accel accel, unsigned heat_rounds, char ret[SHA_HEX]);
/* Computes the key of the stored choice between KVM and emulation; "" without
 * memory. */
void template_accel_key(const struct template_context *g, char ret[SHA_HEX]);
/* Returns the inputs of which a template of this class is made. */
struct template_store_of template_of(const struct template_context *g,
				     const struct vm_class *cls);
/* Calls template_store_clean() for this mount; waits for the disk. */
void template_clean(const struct template_context *g);
/* Logs the modules that the guest does not keep warm. cold: lines "MODULE:
 * WHY". */
void template_tell_cold(const struct vm_class *cls, const char *cold);
/*
 * Checks a verified template against this host and --policy. Return: 0,
 * -EBADMSG (make another one), or -ENOTSUP (another one would be no better);
 * with a sentence.
 */
int template_check(const struct template_context *g,
		   const struct template_store_meta *meta, struct err *err);

#endif
