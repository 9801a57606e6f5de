/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest image directory and its manifest:
 *
 *   format 1
 *   image SHA256            over the parts
 *   kernel RELEASE
 *   abi WORD...             what environments must fit, as "debian-13-amd64"
 *   part NAME SIZE SHA256   any number of them
 *
 * Lines that begin with another word are for people. The parts are opened
 * once; what was verified is what machines get, whatever happens to the names.
 */
#ifndef VM_IMAGE_H
#define VM_IMAGE_H

#include "layout/base/buf.h"
#include "layout/base/err.h"
#include "vm/environment/manifest.h"


enum image_file { IMAGE_KERNEL, IMAGE_INITRD, IMAGE_ROOTFS, IMAGE_FILE_MAX };

struct image {
	char id[SHA_HEX];
	char kernel[64];
	char abi[96]; /* what environments are made for; "": it is older */
	struct manifest_parts parts;
	int fds[IMAGE_FILE_MAX]; /* owned; -1 when not open */
	const struct manifest_part *files[IMAGE_FILE_MAX]; /* in parts */
};

/* Reads a manifest's text. Return: 0 or -EINVAL with the line in *err. */
int image_parse(const char *text, size_t len, struct image *ret,
		struct err *err);
/* Reads the manifest of dir, opens its parts, compares their sizes. */
int image_open(const char *dir, struct image *ret, struct err *err);
void image_close(struct image *im);
/* Compares the sums of the open parts; slow. cache_dir: see verified.h. Return: 0,
 * -EBADMSG, -ECANCELED, ... */
int image_verify(const struct image *im, const char *cache_dir,
		 const atomic_bool *cancel, struct err *err);

#endif
