/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of fake machines, in a list for each machine or lane. Tests make
 * thousands of files, so a hash table finds them by path. All functions run on
 * the loop.
 */
#include "fake_guest_int.h"

#include <string.h>

#define CHAINS 8192 /* a power of two */

/* buckets of all files, by fake_file.same; older files first */
static struct list chains[CHAINS];

static struct list *chain_of(const struct list *in, const char *path)
{
	uint64_t h = (uintptr_t)in / sizeof(*in);
	struct list *chain;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001b3ull;
	chain = &chains[(h ^ h >> 32) & (CHAINS - 1)];
	if (!chain->next)
		list_init(chain);
	return chain;
}

struct fake_file *fake_file_find(struct list *files, const char *path)
{
	list_for_each(pos, tmp, chain_of(files, path)) {
		struct fake_file *f = list_entry(pos, struct fake_file, same);

		if (f->in == files && !strcmp(f->path, path))
			return f;
	}
	return NULL;
}

static void put(struct fake_file *f)
{
	list_del(&f->same);
	list_add_tail(chain_of(f->in, f->path), &f->same);
}

struct fake_file *fake_file_new(struct list *to, const char *path,
				uint8_t kind, uint32_t mode)
{
	struct fake_file *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->path = strdup(path);
	f->kind = kind;
	f->mode = mode;
	f->data.cap = 1u << 30;
	f->in = to;
	list_add_tail(to, &f->node);
	list_init(&f->same);
	put(f);
	return f;
}

void fake_file_move(struct fake_file *f, struct list *to)
{
	list_del(&f->node);
	list_add_tail(to, &f->node);
	f->in = to;
	put(f);
}

void fake_file_rename(struct fake_file *f, char *path)
{
	free(f->path);
	f->path = path;
	put(f);
}

void fake_file_free(struct fake_file *f)
{
	list_del(&f->node);
	list_del(&f->same);
	free(f->path);
	buf_done(&f->data);
	free(f);
}

void fake_files_free(struct list *files)
{
	list_for_each(pos, tmp, files)
		fake_file_free(list_entry(pos, struct fake_file, node));
}
