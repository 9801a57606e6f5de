/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the paths of uploads under --debug-ports, and copies the files into the next
 * cell's sandbox.
 *
 * The paths lie in the meta of the debug sandbox. seed_give() takes them out first: each
 * upload is copied once, even if two cells start together. The copy runs on a worker and
 * ends when that worker's time is over.
 */
#include "seed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"
#include "layout/base/cleanup.h"

#define CHUNK (256u << 10)

bool seed_is_wanted(const struct request *r)
{
	return r->gateway->options.debug_ports == DEBUG_FRESH &&
	       !strcmp(r->sandbox->id, SANDBOX_DEBUG);
}

static bool has(const json_t *uploads, const char *path)
{
	json_t *one;
	size_t i;

	json_array_foreach(uploads, i, one)
		if (!strcmp(json_string_value(one), path))
			return true;
	return false;
}

static void note(json_t *meta, void *arg)
{
	json_t *uploads = json_object_get(meta, "uploads"), *one;
	size_t i;

	if (!uploads) {
		uploads = json_array();
		json_object_set_new(meta, "uploads", uploads);
	}
	json_array_foreach((json_t *)arg, i, one)
		if (!has(uploads, text_member(one, "path")))
			json_array_append(uploads, json_object_get(one, "path"));
}

int seed_add(struct gateway *g, const json_t *written, struct err *err)
{
	return sandbox_change(g, SANDBOX_DEBUG, note,
			      (void *)(uintptr_t)written, err);
}

static void take(json_t *meta, void *arg)
{
	json_t **ret = arg;

	*ret = json_incref(json_object_get(meta, "uploads"));
	json_object_del(meta, "uploads");
}

/* Copies. Return: 0 or negative errno; *reading: it is an error of `in`. */
static int copy_bytes(int in, int out, bool *reading)
{
	auto_free char *room = malloc(CHUNK);
	ssize_t got, n;

	if (!room)
		return -ENOMEM;
	for (;;) {
		*reading = true;
		got = read(in, room, CHUNK);
		if (got < 0 && errno == EINTR && !crew_is_late())
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		*reading = false;
		for (ssize_t at = 0; at < got; at += n) {
			n = write(out, room + at, (size_t)(got - at));
			if (n < 0 && (errno != EINTR || crew_is_late()))
				return -errno;
			n = n < 0 ? 0 : n;
		}
	}
}

static int copy(struct gateway *g, const struct envd_path *from,
		const struct envd_path *to, struct err *err)
{
	auto_close int in = mount_file(&g->mount, from->mount, O_RDONLY, err);
	auto_close int out = -1;
	bool reading = false;
	int r;

	if (in < 0)
		return in == -ENOENT ? 0 : in; /* removed meanwhile */
	r = envd_make_parents(g, to, err);
	if (r < 0)
		return r;
	out = mount_create(&g->mount, to->mount, 0644, err);
	if (out < 0)
		return out;
	r = copy_bytes(in, out, &reading);
	if (r == 0 && close(take_fd(&out)) < 0)
		r = -errno;
	return r < 0 ? mount_why(&g->mount, reading ? from->mount : to->mount,
				 r, err)
		     : 0;
}

int seed_give(struct gateway *g, const char *sandbox, struct err *err)
{
	auto_json json_t *uploads = NULL;
	struct envd_path from, to;
	char name[SANDBOX_NAME];
	json_t *one;
	size_t i;
	int r = sandbox_change(g, SANDBOX_DEBUG, take, &uploads, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the debug sandbox has ended: no uploads */
	sandbox_hash(SANDBOX_DEBUG, name);
	json_array_foreach(uploads, i, one) {
		const char *path = json_string_value(one);

		r = envd_resolve(name, path, &from);
		if (r == 0)
			r = envd_resolve(sandbox, path, &to);
		r = r < 0 ? err_set(err, r, "the path is too long")
			  : copy(g, &from, &to, err);
		if (r < 0)
			return r;
	}
	return 0;
}
