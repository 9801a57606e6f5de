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

/* One kind of machine. */
struct vm_class {
	uint32_t memory_mib; /* that the host lets its guest take */
	uint32_t cpus;
	/* Whoever keeps a class has a reference of its own. NULL: base. */
	struct environment *environment;
};

/*
 * The guest's RAM. All classes up to VM_RAM_MIB have this much, and so one template:
 * a job that needs more memory than most waits for no other boot. What a guest does
 * not touch costs nothing but its kernel's table of pages, 16 bytes a KiB, of which
 * a machine touches little, too; the host's control group is what bounds it. Other
 * ways to give a guest more memory do not exist here: a microvm has neither slots
 * for it nor virtio-mem.
 */
#define VM_RAM_MIB 4480u /* memory_mb of 4096, and what the guest itself has */
static inline uint32_t vm_class_ram(const struct vm_class *cls)
{
	return cls->memory_mib > VM_RAM_MIB ? cls->memory_mib : VM_RAM_MIB;
}
/* A copy with a reference of its own. */
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
/* Have machines of both the same template? */
static inline bool vm_class_shares(const struct vm_class *a,
				   const struct vm_class *b)
{
	return vm_class_ram(a) == vm_class_ram(b) && a->cpus == b->cpus &&
	       vm_environment_same(a->environment, b->environment);
}

/* Are both the same class? */
static inline bool vm_class_is(const struct vm_class *a,
			       const struct vm_class *b)
{
	return a->memory_mib == b->memory_mib && vm_class_shares(a, b);
}

/* How much longer than the base's its guest may take to begin: it imports what
 * the environment has, in a time that follows what that takes of memory. */
static inline unsigned vm_class_patience(const struct vm_class *cls)
{
	uint64_t heap = cls->environment ? cls->environment->heap : 0;

	return 1 + (unsigned)MIN((heap + (64u << 20) - 1) >> 26, 15u);
}

#endif
