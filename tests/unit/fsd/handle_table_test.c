/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of what is open: each is somebody's once. */
#include "fsd/fuse/handle_table.h"

#include <unistd.h>

#include "tests/unit/tap.h"

static struct handle_record *add(struct open_files *o, void *object,
				  uint64_t *ret_fh)
{
	struct handle_record *k = open_files_add(o, OPEN_FILE, 7, object,
						  ret_fh);

	if (k)
		handover_publish(&k->live);
	return k;
}

static void a_number_is_given_once(void)
{
	struct handover *in;
	struct err err;
	struct open_files *o = NULL;
	struct handle_record *a, *b;
	int one, other, fd = handover_make();
	uint64_t first, second;

	ok(handover_open(fd, &in, &err) == 0 &&
		   open_files_new(in, &o) == 0, "nothing is open");
	a = add(o, &one, &first);
	ok(a && open_files_at(o, first, OPEN_FILE) == &one,
	   "what is open is found by its number");
	ok(!open_files_at(o, first, OPEN_LISTING), "as what it is");
	open_files_del(o, a);
	ok(!open_files_at(o, first, OPEN_FILE), "until it is closed");
	b = add(o, &other, &second);
	ok(b == a && second != first, "its place gets another number");
	ok(!open_files_at(o, first, OPEN_FILE), "the old one is nobody's");
	open_files_drop(o, first);
	ok(open_files_at(o, second, OPEN_FILE) == &other,
	   "and closing it once more closes nothing");
	open_files_free(o);
	handover_close(in);

	ok(handover_open(fd, &in, &err) == 0 &&
		   open_files_new(in, &o) == 0, "the next server");
	b = handover_at(in, &handle_records, 0);
	ok(b && open_files_adopt(o, b, &one) == 0 &&
		   open_files_at(o, second, OPEN_FILE) == &one,
	   "knows it by the same number");
	open_files_drop(o, second);
	handover_recycle(in, &handle_records);
	add(o, &other, &first);
	ok(first != second, "and gives that to nobody else either");
	ok(!open_files_at(o, 0, OPEN_FILE) &&
		   !open_files_at(o, UINT64_MAX, OPEN_FILE),
	   "what is no number is nobody's");
	open_files_free(o);
	handover_close(in);
	close(fd);
}

int main(void)
{
	a_number_is_given_once();
	return done_testing();
}
