/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the server and the jailer, over a SOCK_SEQPACKET pair of one
 * host: one struct a message, in the host's byte order.
 *
 *   server -> jailer   START(id, numbers) with descriptors    KILL(id)
 *                      ADOPT, KEEP(id)*, SWEEP: a new server lists the machines
 *                      that it adopts; the others are killed
 *                      TEACH(id, zygote): machines forked off the zygote will
 *                      write the pages that this one has written
 *                      COST(id): how much memory does it share with no other?
 *   jailer -> server   WALLS(struct walls), first of all
 *                      ENDED(id, wait status | -errno, step)
 *                      COSTS(id, KiB | -errno)
 *
 * The jailer does not trust a message: jail_request_check() checks every field.
 */
#ifndef VM_JAIL_WIRE_H
#define VM_JAIL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"

#define JAIL_VERSION 6u
#define JAIL_LAYERS_MAX 8u
#define JAIL_FDS_MAX (JAIL_FD_LAYER + JAIL_LAYERS_MAX)
#define JAIL_MEMORY_MIB_MAX (1u << 20)
#define JAIL_CPUS_MAX 256u

enum jail_op {
	JAIL_START = 1, JAIL_KILL, JAIL_ADOPT, JAIL_KEEP, JAIL_SWEEP,
	JAIL_TEACH, JAIL_COST, JAIL_OPS
};

enum jail_kind {
	JAIL_BOOT, /* makes a template: RAM and the root image are shared */
	/* restores a template: RAM is copied on write, its file read-only */
	JAIL_RESTORE,
	JAIL_PROBE, /* a QEMU without a machine, to test the walls */
	JAIL_ZYGOTE, /* as RESTORE, under TCG; the machine is heated, and then forked */
	JAIL_FORK, /* forked off a zygote, with its disk and RAM */
	JAIL_RELAY, /* no QEMU: a machine's relay (vm/net/relay.h); it executes nothing */
	JAIL_KINDS,
	/* Used inside the jailer only: a zygote without a machine. */
	JAIL_PROBE_ZYGOTE = JAIL_KINDS,
};

/* The descriptors of START, in this order. A RELAY has the first three: standard error,
 * its account in place of QMP, and the host's end of the machine's second port. */
enum jail_fd {
	JAIL_FD_ERR, /* the write end of a pipe: QEMU's standard error */
	JAIL_FD_QMP,    /* a socket */
	JAIL_FD_NET,    /* a socket; the port of the programs' connections */
	JAIL_FD_WIRE,   /* a socket */
	JAIL_FD_ROOTFS,
	JAIL_FD_RAM, /* RESTORE and ZYGOTE: read-only; not of a FORK */
	JAIL_FD_STATE,  /* only for RESTORE and ZYGOTE */
	JAIL_FD_LAYER, /* the layers, behind the last descriptor above */
};

struct jail_request {
	uint32_t version, op, id;
	uint32_t kind;        /* enum jail_kind */
	uint32_t accel;       /* enum vm_accel, KVM or TCG */
	uint32_t memory_mib; /* MiB that the guest may use (struct vm_class) */
	uint32_t cpus;
	union {
		/* BOOT: the counter's rate for the guest; 0: none */
		uint32_t tsc_khz;
		uint32_t copies; /* FORK: 1: copy the known pages at once */
	};
	union {
		uint32_t zygote; /* FORK, TEACH: the zygote's id */
		/* BOOT, RESTORE, ZYGOTE: number of further disks */
		uint32_t layers;
	};
	uint32_t plain; /* BOOT: 1: the guest starts no interpreter ahead */
};

enum jail_said { JAIL_ENDED = 1, JAIL_COSTS, JAIL_SAID };

struct jail_answer {
	uint32_t version, said, id;
	uint32_t step; /* enum jail_step that failed */
	/* ENDED: a wait status; < 0: it never started, an errno. COSTS: KiB, or
	 * < 0. */
	int32_t code;
};

/* Steps of a new process into its jail, in order up to EXEC. The last three are
 * refusals: too many processes, no zygote, no relay. */
enum jail_step {
	JAIL_STEP_NONE, JAIL_STEP_UID, JAIL_STEP_CLONE, JAIL_STEP_CGROUP,
	JAIL_STEP_FDS, JAIL_STEP_NAMES, JAIL_STEP_LIMITS, JAIL_STEP_LANDLOCK,
	JAIL_STEP_IDS, JAIL_STEP_CAPS, JAIL_STEP_PARENT, JAIL_STEP_SECCOMP,
	JAIL_STEP_EXEC, JAIL_STEP_MOST, JAIL_STEP_ZYGOTE, JAIL_STEP_RELAY,
	JAIL_STEPS
};

extern const char *const jail_step_names[JAIL_STEPS];

/* Returns how many layers a START has. */
unsigned jail_layers(const struct jail_request *q);
/* Returns how many descriptors a START has. */
unsigned jail_fd_count(const struct jail_request *q);

/* Checks a message of size bytes that came with fd_count descriptors; *ret gets
 * a copy. Return: 0, or -EINVAL with the reason in *err. */
int jail_request_check(const void *bytes, size_t size, unsigned fd_count,
		       struct jail_request *ret, struct err *err);
/* Checks that each descriptor of a checked START is of its type: a pipe, a
 * socket, a file with the right mode. Return: 0 or -EINVAL. */
int jail_fds_check(const struct jail_request *q, const int *fds,
		   struct err *err);

#endif
