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
 * Lines that begin with another word are for people. The parts are opened once.
 * Machines get these descriptors, so they use the verified files even if the
 * names are replaced.
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
	/*
	 * the abi that environments must have; "": an older fsd made the image
	 */
	char abi[96];
	struct manifest_parts parts;
	int fds[IMAGE_FILE_MAX]; /* owned; -1 when not open */
	/* pointers into parts */
	const struct manifest_part *files[IMAGE_FILE_MAX];
};

/* Parses the text of a manifest. Return: 0 or -EINVAL with the line in *err. */
int image_parse(const char *text, size_t len, struct image *ret,
		struct err *err);
/* Reads the manifest of dir, opens its parts and compares their sizes. Return:
 * 0 or negative errno. */
int image_open(const char *dir, struct image *ret, struct err *err);
void image_close(struct image *im);
/*
 * Compares the checksums of the open parts. Slow: reads hundreds of MB, unless
 * cache_dir has the result (verified.h). Return: 0, -EBADMSG, -ECANCELED, or
 * another negative errno.
 */
int image_verify(const struct image *im, const char *cache_dir,
		 const atomic_bool *cancel, struct err *err);

#endif
