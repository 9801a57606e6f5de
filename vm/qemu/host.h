/* SPDX-License-Identifier: Apache-2.0 */
/* What this host is: its QEMU, its processor, whether it offers KVM. */
#ifndef VM_HOST_H
#define VM_HOST_H

#include "vm/inspect.h"

struct host_cpu {
	char model[128]; /* "" if unknown */
	uint32_t flags;  /* a sum of its feature list */
	uint64_t tsc, at_ns; /* the time stamp counter at some moment */
};

void host_cpu(struct host_cpu *ret);
/*
 * The counter's rate, measured from host_cpu() until now; 0 while that is too
 * short to tell, or where there is no such counter. The rate that the system
 * lists as the processor's is another one as soon as it saves power.
 */
unsigned host_tsc_khz(const struct host_cpu *cpu);
/*
 * The host's memory, and that of the control groups that we are in. The files
 * are opened once: later we have no right to. What cannot be read is no limit.
 */
#define HOST_GROUPS 12
struct host_memory {
	int meminfo;                 /* owned, or -1 */
	unsigned groups;
	struct {
		int limit, used, stat; /* owned */
	} group[HOST_GROUPS];
};

void host_memory_open(struct host_memory *ret);
void host_memory_close(struct host_memory *m);
void host_memory_get(const struct host_memory *m, struct vm_memory *ret);
/* Processes that the kernel has killed for lack of memory since its start. */
uint64_t host_oom_kills(void);
/* /dev/kvm can be opened: it may work. */
bool host_has_kvm(void);

#endif
