/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "verified.h"
#include "vm/vm.h"

#define MANIFEST_MAX (64u << 10)
#define REMEDY "build the guest image again"

static const char *const file_names[IMAGE_FILE_MAX] = {
	[IMAGE_KERNEL] = "vmlinux",
	[IMAGE_INITRD] = "initramfs.cpio",
	[IMAGE_ROOTFS] = "rootfs.erofs",
};

/* --- the manifest's text ------------------------------------------------ */

static bool is_sum(const char *text)
{
	return strlen(text) == SHA_HEX - 1 &&
	       strspn(text, "0123456789abcdef") == SHA_HEX - 1;
}

static bool is_name(const char *text)
{
	return text[0] && text[0] != '.' &&
	       strlen(text) < sizeof(((struct image_part *)0)->name) &&
	       !strchr(text, '/');
}

static int parse_part(struct image *im, char *const word[4])
{
	struct image_part *p = &im->parts[im->part_count];

	if (im->part_count == IMAGE_PARTS_MAX || !is_name(word[1]) ||
	    !is_sum(word[3]) || parse_u64(word[2], 0, INT64_MAX, &p->size) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < im->part_count; i++)
		if (!strcmp(im->parts[i].name, word[1]))
			return -EINVAL;
	snprintf(p->name, sizeof(p->name), "%s", word[1]);
	snprintf(p->sum, sizeof(p->sum), "%s", word[3]);
	im->part_count++;
	return 0;
}

static int parse_line(struct image *im, char *line, bool *formatted)
{
	char *word[4] = { NULL }, *save = NULL;
	unsigned n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n < 4;
	     w = strtok_r(NULL, " ", &save))
		word[n++] = w;
	if (n == 2 && !strcmp(word[0], "format")) {
		*formatted = true;
		return strcmp(word[1], "1") ? -EINVAL : 0;
	}
	if (n == 2 && !strcmp(word[0], "image")) {
		snprintf(im->id, sizeof(im->id), "%s", word[1]);
		return is_sum(word[1]) ? 0 : -EINVAL;
	}
	if (n == 2 && !strcmp(word[0], "kernel")) {
		snprintf(im->kernel, sizeof(im->kernel), "%s", word[1]);
		return 0;
	}
	if (n && !strcmp(word[0], "part"))
		return n == 4 ? parse_part(im, word) : -EINVAL;
	return 0;
}

static int find_files(struct image *im, struct err *err)
{
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++) {
		for (unsigned i = 0; i < im->part_count; i++)
			if (!strcmp(im->parts[i].name, file_names[f]))
				im->files[f] = &im->parts[i];
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
	auto_free char *copy = strndup(text, len);
	char *save = NULL;
	bool formatted = false;
	unsigned number = 0;

	*ret = (struct image){ .fds = { -1, -1, -1 } };
	if (!copy)
		return err_sys(err, -ENOMEM, "manifest");
	for (char *line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		number++;
		if (parse_line(ret, line, &formatted) < 0)
			return err_set(err, -EINVAL,
				       "manifest: line %u is not understood; "
				       REMEDY, number);
	}
	if (!formatted || !ret->id[0] || !ret->kernel[0])
		return err_set(err, -EINVAL,
			       "manifest: no format, image or kernel line; "
			       REMEDY);
	return find_files(ret, err);
}

/* --- the directory ------------------------------------------------------ */

static int open_part(int dir, const struct image_part *p, int *ret_fd,
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
		ret->files[f] = &ret->parts[im.files[f] - im.parts];
	return 0;
}

void image_close(struct image *im)
{
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++)
		fd_close(&im->fds[f]);
}

int image_verify(const struct image *im, struct vm_known *known,
		 const atomic_bool *cancel, struct err *err)
{
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++) {
		int r = verified_compare(known, im->fds[f], im->files[f]->sum,
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
	for (unsigned i = 0; i < im.part_count; i++)
		buf_fmt(ret, "part %s, %llu bytes\n", im.parts[i].name,
			(unsigned long long)im.parts[i].size);
	return ret->failed;
}
