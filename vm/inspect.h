/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects this host without a running room, for doctor, image and env: which QEMU
 * there is, whether KVM works, which walls stand, whether an image is whole. The
 * calls may wait for a process or for the disk; only vm_qemu_age_text() and
 * vm_qemu_is_old() may be called on the loop.
 */
#ifndef VM_INSPECT_H
#define VM_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"

struct walls; /* jail/walls.h */

/* The QEMU that machines run on; no pointers. */
#define VM_QEMU_PATH_MAX 512
struct vm_qemu {
	char path[VM_QEMU_PATH_MAX]; /* absolute */
	char version[32];            /* "10.0.13" */
	char why[160];               /* this one, for a person */
	char package[64]; /* its version: "1:10.0.13+ds-0+deb13u1"; "": unknown */
	char suite[32];   /* "trixie"; "": it was not brought */
	char doubt[160];  /* why date is 0, or what of its origin is not right */
	int64_t date;     /* its package was uploaded, or its program was made;
			     s since 1970, 0: unknown */
	int64_t asked;    /* its archive had no newer one; the same */
};

/* Where one may be. A name without a slash is looked up in PATH. */
struct vm_qemu_places {
	const char *asked;   /* by the user, or NULL */
	const char *brought; /* with the program, or NULL */
};

/*
 * Memory in bytes: what there is for us, the host's or what a control group
 * leaves us of it, and what of that is free or would be at once.
 */
struct vm_memory {
	uint64_t total, available;
};

/*
 * The part of the host that this process may use: by its affinity, and by its control
 * groups, which a batch system or a container makes for it.
 */
struct vm_allotment {
	unsigned processors; /* at least 1; a part of one counts as one */
	uint64_t memory;     /* bytes */
};

/* Reads small files of the kernel. */
void vm_allotment(struct vm_allotment *ret);

/* Is it on record in cache_dir that KVM was tried within a day, and did not
 * work? */
bool vm_kvm_fails(const char *cache_dir);

/* Verifies every part against the manifest. ret gets "kernel ..., image ..."
 * lines for a person. Return: 0 or negative errno. */
int vm_image_verify(const char *image_dir, struct buf *ret, struct err *err);
/* What an environment must fit (environment_fits()): the image's abi, "" if it
 * is of an older fsd, and its packages, "name version" a line. Return: 0 or
 * negative errno. */
int vm_image_facts(const char *image_dir, char ret_abi[96],
		   struct buf *ret_packages, struct err *err);
/* How the walls around a machine would stand here. Return: 0, or a negative
 * errno: QEMU does not run in a jail at all. */
int vm_walls_find(const char *qemu, const char *image_dir, struct walls *ret,
		  struct err *err);
/*
 * Which QEMU machines run on: what was asked for, else what was brought if it
 * runs here, else the host's. It is started once, to tell its version. Return:
 * 0, or a negative errno with a remedy in err.
 */
int vm_qemu_choose(const struct vm_qemu_places *places, struct vm_qemu *ret,
		   struct err *err);
/* For a person: its package, where that is from and how old it is. now: s since
 * 1970, as the others. */
void vm_qemu_age_text(const struct vm_qemu *q, int64_t now, struct buf *out);
/* It is older than VM_QEMU_OLD_DAYS, and its archive was not asked for a newer one
 * for VM_QEMU_ASKED_DAYS. What is of unknown age is not old. */
#define VM_QEMU_OLD_DAYS 120
#define VM_QEMU_ASKED_DAYS 30
bool vm_qemu_is_old(const struct vm_qemu *q, int64_t now);
/* Compares the files of a tree that was brought with its origin. root: without a
 * slash at its end. Return: how many there are, or a negative errno with the first
 * one that differs in err. */
int vm_qemu_verify(const char *root, struct err *err);

#endif
