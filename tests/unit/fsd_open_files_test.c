/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of what is open: each is somebody's once. */
#include "fsd/fuse/open_files.h"

#include <unistd.h>

#include "tap.h"

static struct inherit_handle *add(struct fsd *d, void *object, uint64_t *ret_fh)
{
	struct inherit_handle *k = open_files_add(d, INHERIT_FILE, 7, object,
						  ret_fh);

	if (k)
		inherit_publish(&k->live);
	return k;
}

static void a_number_is_given_once(void)
{
	struct fsd d = { 0 };
	struct inherit_handle *a, *b;
	int one, other, fd = inherit_make();
	uint64_t first, second;

	ok(inherit_open(fd, &d.inherit) == 0 &&
		   open_files_new(&d.open_files) == 0, "nothing is open");
	a = add(&d, &one, &first);
	ok(a && open_files_at(&d, first, INHERIT_FILE) == &one,
	   "what is open is found by its number");
	ok(!open_files_at(&d, first, INHERIT_LISTING), "as what it is");
	open_files_del(&d, a);
	ok(!open_files_at(&d, first, INHERIT_FILE), "until it is closed");
	b = add(&d, &other, &second);
	ok(b == a && second != first, "its place gets another number");
	ok(!open_files_at(&d, first, INHERIT_FILE), "the old one is nobody's");
	open_files_drop(&d, first);
	ok(open_files_at(&d, second, INHERIT_FILE) == &other,
	   "and closing it once more closes nothing");
	open_files_free(d.open_files);
	d.open_files = NULL;
	inherit_close(d.inherit);

	ok(inherit_open(fd, &d.inherit) == 0 &&
		   open_files_new(&d.open_files) == 0, "the next server");
	b = inherit_at(d.inherit, INHERIT_HANDLES, 0);
	ok(b && open_files_adopt(&d, b, &one) == 0 &&
		   open_files_at(&d, second, INHERIT_FILE) == &one,
	   "knows it by the same number");
	open_files_drop(&d, second);
	inherit_recycle(d.inherit, INHERIT_HANDLES);
	add(&d, &other, &first);
	ok(first != second, "and gives that to nobody else either");
	ok(!open_files_at(&d, 0, INHERIT_FILE) &&
		   !open_files_at(&d, UINT64_MAX, INHERIT_FILE),
	   "what is no number is nobody's");
	open_files_free(d.open_files);
	inherit_close(d.inherit);
	close(fd);
}

int main(void)
{
	a_number_is_given_once();
	return done_testing();
}
