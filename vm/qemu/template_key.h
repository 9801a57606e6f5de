/* SPDX-License-Identifier: Apache-2.0 */
/* By what templates and verdicts are found again, sums of what they depend on; what
 * they are made of; and whether what was found is of use here. */
#ifndef VM_TEMPLATE_KEY_H
#define VM_TEMPLATE_KEY_H

#include "vm/os/sha.h"
#include "template.h"

/* Of a template of this class that is booted so. Return: 0 or negative errno. */
int template_key(const struct template_context *g, const struct vm_class *cls,
		 enum vm_accel accel, unsigned heat_rounds, char ret[SHA_HEX]);
/* Of the verdict whether KVM works; "" when there is no memory for it. */
void template_accel_key(const struct template_context *g, char ret[SHA_HEX]);
/* What a template of this class is made of. */
struct template_store_of template_of(const struct template_context *g,
				     const struct vm_class *cls);
/* template_store_clean() for this mount. */
void template_clean(const struct template_context *g);
/* To the log: what the guest says is not kept warm, lines "MODULE: WHY". */
void template_tell_cold(const struct vm_class *cls, const char *cold);
/* Is a verified one right for this host and for --policy? Return: 0, -EBADMSG or, if
 * another one would be no better, -ENOTSUP; with a sentence. */
int template_check(const struct template_context *g,
		   const struct template_store_meta *meta, struct err *err);

#endif
