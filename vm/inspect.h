/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects this host, for doctor, image and env, without vm_new(): which QEMU
 * there is, whether KVM works, which walls stand, whether an image is whole.
 * The calls may wait for a process or for the disk, so call them before the
 * loop runs; only vm_qemu_age_text() and vm_qemu_is_old() may be called on the
 * loop.
 */
#ifndef VM_INSPECT_H
#define VM_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"

struct walls; /* jail/walls.h */

/* The QEMU that runs the machines. In shared memory, so without pointers. */
#define VM_QEMU_PATH_MAX 512
struct vm_qemu {
	char path[VM_QEMU_PATH_MAX]; /* absolute */
	char version[32];            /* "10.0.13" */
	char why[160]; /* why this QEMU was chosen, for a person */
	/* version of its package: "1:10.0.13+ds-0+deb13u1"; "": unknown */
	char package[64];
	char suite[32]; /* Debian release such as "trixie"; "": the QEMU is the host's
			 * own */
	/* why date is 0, or what is wrong with its origin file */
	char doubt[160];
	/* When the package of this QEMU was uploaded, or its program was built. Seconds
	 * since 1970; 0: unknown. */
	int64_t date;
	/* When that package's archive was last searched for a newer one. Seconds since
	 * 1970; 0: never. */
	int64_t asked;
};

/* Places of a QEMU. A name without a slash is looked up in PATH. */
struct vm_qemu_places {
	const char *asked; /* the path that the user gave, or NULL */
	/* the path of the one that `fsd qemu bring` installed, or NULL */
	const char *brought;
};

/*
 * Memory in bytes that this process and its machines may use: the host's, or
 * less if a control group limits it. `available` is free, or can be freed at
 * once.
 */
struct vm_memory {
	uint64_t total, available;
};

/* The part of the host that this process may use, as its CPU affinity and its
 * control groups allow. Batch systems and containers set these. */
struct vm_allotment {
	unsigned processors; /* processors of the host, rounded up; at least 1 */
	uint64_t memory;     /* bytes */
};

/* Reads small files of /proc and /sys. */
void vm_allotment(struct vm_allotment *ret);

/* Returns whether cache_dir records that KVM was tried within a day and failed. */
bool vm_kvm_fails(const char *cache_dir);

/* Verifies the image's kernel, initramfs and root disk against its manifest. ret gets "kernel ...,
 * image ..." lines for a person. Return: 0 or negative errno. */
int vm_image_verify(const char *image_dir, struct buf *ret, struct err *err);
/*
 * Reads what an environment must fit (environment_fits()). ret_abi: the image's
 * abi, "" if an older fsd made it. ret_packages: its packages, a line "name
 * version" each. Return: 0 or negative errno.
 */
int vm_image_facts(const char *image_dir, char ret_abi[96],
		   struct buf *ret_packages, struct err *err);
/* Finds which walls a machine would have on this host. Return: 0, or a negative
 * errno if QEMU cannot run in a jail at all. */
int vm_walls_find(const char *qemu, const char *image_dir, struct walls *ret,
		  struct err *err);
/*
 * Chooses the QEMU for machines: the one asked for, else the brought one if it
 * runs here, else the host's. Starts it once to read its version. Return: 0, or
 * a negative errno with a remedy in err.
 */
int vm_qemu_choose(const struct vm_qemu_places *places, struct vm_qemu *ret,
		   struct err *err);
/* Describes the package for a person: where it is from and how old it is. now:
 * seconds since 1970. */
void vm_qemu_age_text(const struct vm_qemu *q, int64_t now, struct buf *out);
/*
 * Returns whether q is older than VM_QEMU_OLD_DAYS and its archive was not
 * searched for a newer one for VM_QEMU_ASKED_DAYS. Unknown age: false. now:
 * seconds since 1970.
 */
#define VM_QEMU_OLD_DAYS 120
#define VM_QEMU_ASKED_DAYS 30
bool vm_qemu_is_old(const struct vm_qemu *q, int64_t now);
/*
 * Compares the files below root with the SHA-256s in its origin file. root has
 * no slash at its end. Return: the number of files, or a negative errno with
 * the first file that differs in err.
 */
int vm_qemu_verify(const char *root, struct err *err);

#endif
