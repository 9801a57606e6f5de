/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about this host: its processor, its memory, whether it offers KVM. The
 * functions read files of /proc, /sys and /dev; they may run on any thread.
 */
#ifndef VM_HOST_H
#define VM_HOST_H

#include "vm/inspect.h"

struct host_cpu {
	char model[128]; /* "" if unknown */
	uint32_t flags; /* a checksum of its list of features */
	/* The time stamp counter at CLOCK_MONOTONIC at_ns. */
	uint64_t tsc, at_ns;
};

void host_cpu(struct host_cpu *ret);
/*
 * Returns the rate of the time stamp counter in kHz, measured since host_cpu().
 * 0: too little time has passed, or there is no such counter. The rate that
 * /proc/cpuinfo lists for the processor is different as soon as the processor
 * saves power.
 */
unsigned host_tsc_khz(const struct host_cpu *cpu);
/*
 * Files with the host's memory and that of our control groups. They are opened
 * once: after the server has confined itself it may not open them. A file that
 * cannot be read sets no limit.
 */
#define HOST_GROUPS 12
struct host_memory {
	int meminfo;                 /* owned, or -1 */
	unsigned groups;
	struct {
		int limit, used, stat; /* owned; the files of one group */
	} group[HOST_GROUPS];
};

void host_memory_open(struct host_memory *ret);
void host_memory_close(struct host_memory *m);
void host_memory_get(const struct host_memory *m, struct vm_memory *ret);
/* Returns how many processes the kernel has killed for lack of memory since it
 * started. */
uint64_t host_oom_kills(void);
/* Returns whether /dev/kvm can be opened. KVM may still not work. */
bool host_has_kvm(void);

#endif
