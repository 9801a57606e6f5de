/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server gives these to the machines' room at its start (vm_new()): the options,
 * the findings of an earlier server, and a keeper of descriptors. Types only.
 */
#ifndef VM_OPTIONS_H
#define VM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect.h"
#include "vm/jail/walls.h"
#include "vm/os/accel.h"

struct vm_backend; /* backend.h; vm_backend_qemu, vm_backend_fake (tests) */

/* What a daemon finds out before its first machine and need not a second time,
 * when it takes over from one that was killed; no pointers. */
struct vm_known {
	uint32_t valid;
	struct vm_qemu qemu;
	struct walls walls;
};

/*
 * Who has descriptors that outlive this process, and gives them to the one that
 * goes on. Each key is given once, whatever process asks.
 */
struct vm_keep {
	void (*keep)(void *arg, uint64_t key, int fd); /* fd borrowed */
	void (*drop)(void *arg, uint64_t key);
	void *arg;
};

/* What it gives back for a machine's keys: owned, -1: nobody has it. */
struct vm_sockets {
	int jail, wire, monitor;
};

struct vm_options {
	const struct vm_backend *backend;
	const char *cache_dir; /* templates and the accelerator's verdict */
	/* Where templates are that others made; not copied. NULL: none. */
#define VM_SHARED_MAX 2
	const char *shared[VM_SHARED_MAX];
	const char *image_dir; /* vmlinux, initramfs.cpio, rootfs.erofs, manifest */
	struct vm_qemu_places qemu;
	enum vm_accel accel;
	unsigned pool; /* warm machines to keep, 0: none */
	/* Bytes that idle machines and zygotes may take together; 0: a share of
	 * the memory there is. */
#define VM_IDLE_SHARE 4
	uint64_t idle_memory;
	unsigned max_machines;         /* most machines alive at once, >= 1 */
	bool permissive;               /* a required wall may be missing */
	bool no_fork;                  /* no machine is forked off another */
	bool quick_heat;               /* no third round of heat for anything */
	bool no_renewal;               /* a template serves however old it is */
	bool plain;                    /* no interpreter waits in a machine: it runs
					  programs with #! alone, and boots in a
					  quarter of the time */
	uint32_t uid_first, uid_count; /* user ids of machines; 0: default */
	struct vm_known *known; /* or NULL; filled in, or believed if valid:
				   then vm_new() does not wait for processes */
	const struct vm_keep *keep;  /* copied; NULL: no machine outlives us */
};

#endif
