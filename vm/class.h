/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of machines: memory, processors, environment. Two machines of one class
 * are alike; two classes may have the same template.
 */
#ifndef VM_CLASS_H
#define VM_CLASS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "layout/base/num.h"
#include "vm/environment/environment.h"

/* A class: machines with equal values of these can replace each other. */
struct vm_class {
	uint32_t memory_mib; /* MiB; the host's limit for the guest's memory */
	uint32_t cpus;
	/* Refcounted: each copy of a class owns a reference. NULL: the base. */
	struct environment *environment;
};

/*
 * MiB of RAM that a guest boots with, even if its class may use less. So all
 * classes up to VM_RAM_MIB share one template, and a job that needs much memory
 * does not wait for another boot. Untouched RAM costs only the guest kernel's
 * page descriptors, 16 bytes a KiB, and a machine touches little of that. The host's
 * control group enforces memory_mib. A guest cannot get more memory later: a
 * microvm has no memory slots and no virtio-mem.
 */
#define VM_RAM_MIB 4480u /* memory_mb of 4096, plus the guest's own need */
static inline uint32_t vm_class_ram(const struct vm_class *cls)
{
	return cls->memory_mib > VM_RAM_MIB ? cls->memory_mib : VM_RAM_MIB;
}
/* Returns a copy that owns a reference to the environment. */
static inline struct vm_class vm_class_ref(const struct vm_class *cls)
{
	struct vm_class copy = *cls;

	environment_ref(copy.environment);
	return copy;
}
static inline bool vm_environment_same(const struct environment *a,
				       const struct environment *b)
{
	return a == b || (a && b && !strcmp(a->id, b->id));
}
/* Returns whether machines of both classes use the same template. */
static inline bool vm_class_shares(const struct vm_class *a,
				   const struct vm_class *b)
{
	return vm_class_ram(a) == vm_class_ram(b) && a->cpus == b->cpus &&
	       vm_environment_same(a->environment, b->environment);
}

/* Returns whether both are the same class. */
static inline bool vm_class_is(const struct vm_class *a,
			       const struct vm_class *b)
{
	return a->memory_mib == b->memory_mib && vm_class_shares(a, b);
}

/* Returns by how much to multiply the boot's timeouts. A guest imports its
 * environment's packages at boot; that takes longer the more heap they need. */
static inline unsigned vm_class_patience(const struct vm_class *cls)
{
	uint64_t heap = cls->environment ? cls->environment->heap : 0;

	return 1 + (unsigned)MIN((heap + (64u << 20) - 1) >> 26, 15u);
}

#endif
