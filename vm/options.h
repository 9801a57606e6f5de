/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of vm_new(): options, the findings of the previous
 * server, and callbacks that store descriptors. Types only.
 */
#ifndef VM_OPTIONS_H
#define VM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect.h"
#include "vm/jail/walls.h"
#include "vm/os/accel.h"

struct vm_backend; /* backend.h; vm_backend_qemu, vm_backend_fake (tests) */

/* Findings of a server before its first machine. The next server reads it
 * instead of finding out again. In shared memory, so without pointers. */
struct vm_known {
	uint32_t valid;
	struct vm_qemu qemu;
	struct walls walls;
};

/* Callbacks that store descriptors in the supervisor for the next server. Each
 * key is used once, also by later servers. */
struct vm_keep {
	void (*keep)(void *arg, uint64_t key, int fd); /* fd borrowed */
	void (*drop)(void *arg, uint64_t key);
	void *arg;
};

/* The stored descriptors of one machine. Owned; -1: the supervisor does not
 * have it. */
struct vm_sockets {
	int jail, wire, monitor, account;
};

struct vm_options {
	const struct vm_backend *backend;
	/* directory of templates and of accel_choice's findings */
	const char *cache_dir;
	/* Directories of templates that others have made; strings are borrowed.
	 * NULL: none. */
#define VM_SHARED_MAX 2
	const char *shared[VM_SHARED_MAX];
	const char *image_dir; /* vmlinux, initramfs.cpio, rootfs.erofs, manifest */
	struct vm_qemu_places qemu;
	enum vm_accel accel;
	unsigned pool; /* warm machines to keep ready; 0: none */
	/* Most bytes that idle machines and zygotes may use together; 0: the
	 * total memory divided by VM_IDLE_SHARE. */
#define VM_IDLE_SHARE 4
	uint64_t idle_memory;
	unsigned max_machines; /* most machines that may live at once, >= 1 */
	bool permissive; /* start even if a required wall is missing */
	bool no_fork; /* never fork a machine off a zygote */
	/* Heat idle machines and zygotes less. Templates get all rounds. */
	bool quick_heat;
	bool no_renewal; /* use a template also if it is old */
	/* Keep no interpreter ready in a machine. It runs only programs with
	 * #!, and boots in a quarter of the time. */
	bool plain;
	/* user ids for machines; 0: the default range */
	uint32_t uid_first, uid_count;
	/* NULL, or facts that were found before. If `valid`, vm_new() uses them and
	 * starts no process to find out; otherwise vm_new() fills them in. */
	struct vm_known *known;
	/* copied; NULL: machines end with this process */
	const struct vm_keep *keep;
};

#endif
