/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the manifest of a guest image, opens its parts and verifies their checksums. A
 * struct image owns the descriptors of the kernel, the initramfs and the root disk.
 *
 * image_verify() reads several hundred MB if there is no stored result, so a worker
 * thread runs it. The vm_image_*() functions are for commands and doctor, which have no
 * loop.
 */
#include "image.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "verified.h"
#include "vm/inspect.h"

#define REMEDY "build the guest image again"

static const char *const file_names[IMAGE_FILE_MAX] = {
	[IMAGE_KERNEL] = "vmlinux",
	[IMAGE_INITRD] = "initramfs.cpio",
	[IMAGE_ROOTFS] = "rootfs.erofs",
};

/* --- the manifest ------------------------------------------------------- */

/* Copies a value of one word; a second line of the same name replaces the
 * first. */
static int take_word(char *ret, size_t size, const char *value)
{
	if (!value[0] || strchr(value, ' '))
		return -EINVAL;
	snprintf(ret, size, "%s", value);
	return 0;
}

static int take_line(void *arg, const char *key, const char *value)
{
	struct image *im = arg;

	if (!strcmp(key, "image") && !manifest_is_sum(value))
		return -EINVAL;
	if (!strcmp(key, "image"))
		return take_word(im->id, sizeof(im->id), value);
	if (!strcmp(key, "kernel"))
		return take_word(im->kernel, sizeof(im->kernel), value);
	if (!strcmp(key, "abi"))
		snprintf(im->abi, sizeof(im->abi), "%s", value);
	return 0;
}

static int find_files(struct image *im, struct err *err)
{
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++) {
		im->files[f] = manifest_part(&im->parts, file_names[f]);
		if (!im->files[f])
			return err_set(err, -EINVAL,
				       "manifest: no part %s; " REMEDY,
				       file_names[f]);
	}
	return 0;
}

int image_parse(const char *text, size_t len, struct image *ret,
		struct err *err)
{
	int r;

	*ret = (struct image){ .fds = { -1, -1, -1 } };
	r = manifest_read(text, len, &ret->parts, take_line, ret, REMEDY, err);
	if (r < 0)
		return r;
	if (!ret->id[0] || !ret->kernel[0])
		return err_set(err, -EINVAL,
			       "manifest: no image or kernel line; " REMEDY);
	return find_files(ret, err);
}

/* --- the directory ------------------------------------------------------ */

static int open_part(int dir, const struct manifest_part *p, int *ret_fd,
		     struct err *err)
{
	auto_close int fd = openat(dir, p->name,
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "guest image: %s", p->name);
	if ((uint64_t)st.st_size != p->size)
		return err_set(err, -EBADMSG,
			       "guest image: %s has %llu bytes, its manifest "
			       "says %llu; " REMEDY, p->name,
			       (unsigned long long)st.st_size,
			       (unsigned long long)p->size);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int read_manifest(int dir, const char *path, struct image *ret,
			 struct err *err)
{
	auto_close int fd = openat(dir, "manifest", O_RDONLY | O_CLOEXEC);
	char text[MANIFEST_MAX];
	ssize_t n;

	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n < 0)
		return err_sys(err, -errno, "guest image: %s/manifest", path);
	return image_parse(text, (size_t)n, ret, err);
}

int image_open(const char *path, struct image *ret, struct err *err)
{
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct image im = { .fds = { -1, -1, -1 } };
	int r;

	if (dir < 0 && errno == EACCES)
		return err_sys(err, -errno,
			       "the guest image in %s cannot be read by this "
			       "user (chmod -R a+rX, or --image or FSD_IMAGE "
			       "names another)", path);
	if (dir < 0)
		return err_sys(err, -errno,
			       "there is no guest image in %s (`make image` "
			       "makes one, --image or FSD_IMAGE names it)",
			       path);
	r = read_manifest(dir, path, &im, err);
	for (unsigned f = 0; r == 0 && f < IMAGE_FILE_MAX; f++)
		r = open_part(dir, im.files[f], &im.fds[f], err);
	if (r < 0) {
		image_close(&im);
		return r;
	}
	*ret = im;
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++)
		ret->files[f] = &ret->parts.part[im.files[f] - im.parts.part];
	return 0;
}

void image_close(struct image *im)
{
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++)
		fd_close(&im->fds[f]);
}

int image_verify(const struct image *im, const char *cache_dir,
		 const atomic_bool *cancel, struct err *err)
{
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++) {
		int r = verified_compare(cache_dir, im->fds[f], im->files[f]->sum,
					 false, cancel);

		if (r == -EBADMSG)
			return err_set(err, r, "guest image: %s is not what "
				       "its manifest says; " REMEDY,
				       file_names[f]);
		if (r < 0)
			return err_sys(err, r, "guest image: %s",
				       file_names[f]);
	}
	return 0;
}

/* Reads the list of packages. Nothing compares its checksum: image_verify() compares
 * those of the files that a machine starts with. */
static int read_packages(const char *image_dir, struct buf *out,
			 struct err *err)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	ssize_t n = 1;

	if (asprintf(&path, "%s/packages.list", image_dir) < 0) {
		path = NULL;
		return err_sys(err, -ENOMEM, "guest image");
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0) {
		char part[4096];

		n = read(fd, part, sizeof(part));
		buf_add(out, part, (size_t)(n > 0 ? n : 0));
	}
	if (fd < 0 || n < 0)
		return err_sys(err, -errno, "guest image: packages.list");
	return out->failed ? err_sys(err, out->failed, "packages.list") :
			     buf_str(out, "");
}

int vm_image_facts(const char *image_dir, char ret_abi[96],
		   struct buf *ret_packages, struct err *err)
{
	struct image im = { .fds = { -1, -1, -1 } };
	int r = image_open(image_dir, &im, err);

	if (r < 0)
		return r;
	memcpy(ret_abi, im.abi, sizeof(im.abi));
	image_close(&im);
	return read_packages(image_dir, ret_packages, err);
}

int vm_image_verify(const char *image_dir, struct buf *ret, struct err *err)
{
	struct image im = { .fds = { -1, -1, -1 } };
	int r = image_open(image_dir, &im, err);

	if (r < 0)
		return r;
	r = image_verify(&im, NULL, NULL, err);
	image_close(&im);
	if (r < 0)
		return r;
	buf_fmt(ret, "kernel %s\nimage %s\n", im.kernel, im.id);
	for (unsigned i = 0; i < im.parts.count; i++)
		buf_fmt(ret, "part %s, %llu bytes\n", im.parts.part[i].name,
			(unsigned long long)im.parts.part[i].size);
	return ret->failed;
}
