/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon and the jailer say to each other, over a SOCK_SEQPACKET pair
 * of one machine: one struct a message, in the host's order.
 *
 *   daemon -> jailer   START(id, numbers) with descriptors    KILL(id)
 *                      ADOPT, KEEP(id)*, SWEEP: who takes over from a daemon
 *                      that is dead says which it goes on with; others die
 *                      TEACH(id, zygote): what that one has written is what the
 *                      zygote's next children will
 *                      COST(id): how much memory is its own alone
 *   jailer -> daemon   ENDED(id, wait status | -errno, step)
 *                      COSTS(id, KiB | -errno)
 *                      WALLS(struct walls), first of all
 *
 * The jailer believes nothing of a message beyond what jail_request_check()
 * has let pass.
 */
#ifndef VM_JAIL_WIRE_H
#define VM_JAIL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"

#define JAIL_VERSION 4u
#define JAIL_LAYERS_MAX 8u
#define JAIL_FDS_MAX (JAIL_FD_LAYER + JAIL_LAYERS_MAX)
#define JAIL_MEMORY_MIB_MAX (1u << 20)
#define JAIL_CPUS_MAX 256u

enum jail_op {
	JAIL_START = 1, JAIL_KILL, JAIL_ADOPT, JAIL_KEEP, JAIL_SWEEP,
	JAIL_TEACH, JAIL_COST, JAIL_OPS
};

enum jail_kind {
	JAIL_BOOT,    /* makes a template: RAM and the root image shared */
	JAIL_RESTORE, /* from one: RAM copied on write, the file read-only */
	JAIL_PROBE,   /* no machine at all: shows that the walls stand */
	JAIL_ZYGOTE,  /* as RESTORE, emulated; it is heated, and then forked */
	JAIL_FORK,    /* off a zygote, which has the disk and the RAM */
	JAIL_KINDS,
	/* The jailer's own, never asked for: a zygote without a machine. */
	JAIL_PROBE_ZYGOTE = JAIL_KINDS,
};

/* The descriptors that go with START, in this order. */
enum jail_fd {
	JAIL_FD_ERR,    /* a pipe: QEMU's standard error */
	JAIL_FD_QMP,    /* a socket */
	JAIL_FD_WIRE,   /* a socket */
	JAIL_FD_ROOTFS,
	JAIL_FD_RAM,    /* RESTORE, ZYGOTE: read-only */
	JAIL_FD_STATE,  /* RESTORE, ZYGOTE only */
	JAIL_FD_LAYER,  /* the layers, after the last of the above */
};

struct jail_request {
	uint32_t version, op, id;
	uint32_t kind;        /* enum jail_kind */
	uint32_t accel;       /* enum vm_accel, KVM or TCG */
	uint32_t memory_mib;  /* that the guest may take (struct vm_class) */
	uint32_t cpus;
	union {
		uint32_t tsc_khz; /* BOOT: 0 or what the guest is told */
		uint32_t copies;  /* FORK: 1: of what it will write, at once */
	};
	union {
		uint32_t zygote; /* FORK, TEACH: its id */
		uint32_t layers; /* BOOT, RESTORE, ZYGOTE: further disks */
	};
	uint32_t plain;      /* BOOT: 1: no interpreter is to wait in it */
};

enum jail_said { JAIL_ENDED = 1, JAIL_COSTS, JAIL_SAID };

struct jail_answer {
	uint32_t version, said, id;
	uint32_t step;  /* enum jail_step: where it failed */
	int32_t code;   /* ENDED < 0: never started, an errno; else a wait status */
};

/* A child's way down, in this order. */
enum jail_step {
	JAIL_STEP_NONE, JAIL_STEP_UID, JAIL_STEP_CLONE, JAIL_STEP_CGROUP,
	JAIL_STEP_FDS, JAIL_STEP_NAMES, JAIL_STEP_LIMITS, JAIL_STEP_LANDLOCK,
	JAIL_STEP_IDS, JAIL_STEP_CAPS, JAIL_STEP_PARENT, JAIL_STEP_SECCOMP,
	JAIL_STEP_EXEC, JAIL_STEP_MOST, JAIL_STEP_ZYGOTE, JAIL_STEPS
};

extern const char *const jail_step_names[JAIL_STEPS];

/* Of a START: how many layers it has, */
unsigned jail_layers(const struct jail_request *q);
/* and how many descriptors go with it. */
unsigned jail_fd_count(const struct jail_request *q);

/*
 * Looks at size bytes that came with fd_count descriptors; *ret gets a copy.
 * Return: 0, or -EINVAL with what is wrong in *err.
 */
int jail_request_check(const void *bytes, size_t size, unsigned fd_count,
		       struct jail_request *ret, struct err *err);
/* Is each descriptor of a START that has passed what its place is for: a pipe,
 * a socket, a file that is open as it is to be? Return: 0 or -EINVAL. */
int jail_fds_check(const struct jail_request *q, const int *fds,
		   struct err *err);

#endif
