/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the home after the program's end and sends what it has made. The walk is a
 * recursion of bounded depth over sorted names. An entry that cannot be sent is
 * reported as left out, with the reason, and does not end the walk.
 */
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define DEPTH_MAX 64

struct walk {
	struct port *port;
	struct files *files;
	uint64_t room; /* bytes that may still be sent */
	uint32_t entries;   /* entries that may still be sent */
	uint32_t sent, left_out;
	uint32_t told; /* entries left out that were reported by name */
	uint32_t names; /* names that may still be read */
	char path[WIRE_PATH_MAX + 1];
	size_t path_len;
};

struct names {
	char **item; /* owned, as is each string in it */
	size_t count, size;
	uint32_t *room; /* the `names` of the walk */
};

static void names_done(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->item[i]);
	free(n->item);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_add(void *arg, int dir, const char *name)
{
	struct names *n = arg;

	(void)dir;
	if (!*n->room)
		return -E2BIG;
	--*n->room;
	if (n->count == n->size) {
		size_t size = n->size ? 2 * n->size : 32;
		void *item = realloc(n->item, size * sizeof(*n->item));

		if (!item)
			return -ENOMEM;
		n->item = item;
		n->size = size;
	}
	n->item[n->count] = strdup(name);
	if (!n->item[n->count])
		return -ENOMEM;
	n->count++;
	return 0;
}

/* Reads and sorts the names of a directory. Consumes fd. */
static int names_read(struct names *n, int fd)
{
	int r = beneath_each(fd, names_add, n);

	if (!r && n->count)
		qsort(n->item, n->count, sizeof(*n->item), by_text);
	return r;
}

/* Sends a FILE header for w->path. target: where a link points to; else NULL. */
static int send_header(struct walk *w, enum wire_file_kind kind,
		       const struct stat *st, const char *target)
{
	int r = port_drain(w->port, false);
	struct wire_writer out = {port_room(w->port), WIRE_PAYLOAD_MAX, 0};

	if (r)
		return r;
	wire_put_u32(&out, st->st_mode & 07777);
	wire_put_u64(&out, kind == WIRE_FILE_REG ? (uint64_t)st->st_size : 0);
	wire_put_str(&out, w->path);
	if (target)
		wire_put_str(&out, target);
	port_commit(w->port, WIRE_FILE, (uint8_t)kind, out.used);
	w->entries--;
	w->sent++;
	return 0;
}

/* Counts an entry that is not sent, and reports the first ones by name
 * (w->path). Return: 0, or the port's error. */
static int leave_out(struct walk *w, enum wire_omitted why, uint64_t size)
{
	int r = port_drain(w->port, false);
	struct wire_writer out = {port_room(w->port), WIRE_PAYLOAD_MAX, 0};

	w->left_out++;
	if (r || w->told >= WIRE_OMITTED_TOLD)
		return r;
	w->told++;
	wire_put_u32(&out, why);
	wire_put_u64(&out, size);
	wire_put_str(&out, w->path[0] ? w->path : ".");
	port_commit(w->port, WIRE_FILE, WIRE_FILE_OMITTED, out.used);
	return 0;
}

static uint64_t size_of(const struct stat *st)
{
	return S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
}

static void send_end(struct walk *w, const struct timespec *changed)
{
	uint8_t bytes[12];
	struct wire_writer out = {bytes, sizeof(bytes), 0};

	wire_put_time(&out, wire_time_of(changed));
	port_send(w->port, WIRE_FILE_END, 0, bytes, out.used);
}

/* Sends exactly size bytes, as the header said: if the file has become shorter,
 * zeroes replace the rest. */
static int send_bytes(struct walk *w, int fd, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;

	while (size) {
		int r = port_drain(w->port, false);
		uint8_t *room = port_room(w->port);
		size_t want = MIN(size, (uint64_t)WIRE_PAYLOAD_MAX);
		ssize_t n;

		if (r)
			return r;
		n = read(fd, room, want);
		if (n <= 0) {
			n = (ssize_t)want;
			memset(room, 0, want);
		}
		port_commit(w->port, WIRE_FILE_DATA, 0, (size_t)n);
		size -= (uint64_t)n;
	}
	send_end(w, &st->st_mtim);
	return 0;
}

static int visit_file(struct walk *w, int dir, const char *name,
		      const struct stat *seen)
{
	struct stat st;

	if (files_is_untouched(w->files, dir, name, seen))
		return 0;
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW |
					      O_NONBLOCK | O_NOCTTY |
					      O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return leave_out(w, WIRE_OMITTED_UNREAD, size_of(seen));
	if (!w->entries)
		return leave_out(w, WIRE_OMITTED_MANY, size_of(&st));
	if ((uint64_t)st.st_size > w->room)
		return leave_out(w, WIRE_OMITTED_LIMIT, size_of(&st));
	if (!wire_path_ok(w->path))
		return leave_out(w, WIRE_OMITTED_DEEP, size_of(&st));
	w->room -= (uint64_t)st.st_size;
	int r = send_header(w, WIRE_FILE_REG, &st, NULL);

	return r ? r : send_bytes(w, fd, &st);
}

static int visit_tree(struct walk *w, int dir, unsigned depth);

static int visit_dir(struct walk *w, int dir, const char *name,
		     const struct stat *st, unsigned depth)
{
	int r = 0;

	if (depth >= DEPTH_MAX || !wire_path_ok(w->path))
		return leave_out(w, WIRE_OMITTED_DEEP, 0);
	if (!files_is_untouched(w->files, dir, name, st)) {
		if (!w->entries)
			return leave_out(w, WIRE_OMITTED_MANY, 0);
		r = send_header(w, WIRE_FILE_DIR, st, NULL);
	}
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				   O_CLOEXEC);

	if (fd < 0)
		r = r ? r : leave_out(w, WIRE_OMITTED_UNREAD, 0);
	else if (!r)
		r = visit_tree(w, fd, depth + 1);
	else
		close(fd);
	return r;
}

static int visit_link(struct walk *w, int dir, const char *name,
		      const struct stat *st)
{
	char target[WIRE_PATH_MAX + 1];
	ssize_t n;

	if (files_is_untouched(w->files, dir, name, st))
		return 0;
	n = readlinkat(dir, name, target, sizeof(target));
	if (n < 0)
		return leave_out(w, WIRE_OMITTED_UNREAD, 0);
	if (!w->entries)
		return leave_out(w, WIRE_OMITTED_MANY, 0);
	if (!wire_path_ok(w->path))
		return leave_out(w, WIRE_OMITTED_DEEP, 0);
	target[MIN((size_t)n, sizeof(target) - 1)] = '\0';
	if ((size_t)n == sizeof(target) ||
	    !wire_link_ok(wire_path_depth(w->path), target))
		return leave_out(w, WIRE_OMITTED_LINK, 0);
	return send_header(w, WIRE_FILE_LINK, st, target);
}

static int visit(struct walk *w, int dir, const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return leave_out(w, WIRE_OMITTED_UNREAD, 0);
	if (S_ISDIR(st.st_mode))
		return visit_dir(w, dir, name, &st, depth);
	if (S_ISREG(st.st_mode))
		return visit_file(w, dir, name, &st);
	if (S_ISLNK(st.st_mode))
		return visit_link(w, dir, name, &st);
	if (files_is_untouched(w->files, dir, name, &st))
		return 0;
	return leave_out(w, WIRE_OMITTED_SPECIAL, 0);
}

/* Sends the entries of dir, which it consumes. */
static int visit_tree(struct walk *w, int dir, unsigned depth)
{
	auto_close int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	struct names __attribute__((cleanup(names_done))) names = {
		.room = &w->names};
	size_t base = w->path_len;
	int r = names_read(&names, dir);

	if (at < 0 || r)
		return leave_out(w, r == -E2BIG ? WIRE_OMITTED_MANY
						: WIRE_OMITTED_UNREAD, 0);
	for (size_t i = 0; !r && i < names.count; i++) {
		size_t room = sizeof(w->path) - base;
		int n = snprintf(w->path + base, room, "%s%s",
				 base ? "/" : "", names.item[i]);

		/* report the part of the path that fits */
		if ((size_t)n >= room) {
			r = leave_out(w, WIRE_OMITTED_DEEP, 0);
			w->path[base] = '\0';
			continue;
		}
		w->path_len = base + (size_t)n;
		r = visit(w, at, names.item[i], depth);
		w->path_len = base;
		w->path[base] = '\0';
	}
	return r;
}

int collect_send(struct port *port, struct files *files,
		 const struct wire_job *job)
{
	struct walk w = {
		.port = port,
		.files = files,
		.room = job->output_limit,
		.entries = job->output_files,
		.names = FILES_MAX,
	};
	uint8_t bytes[8];
	struct wire_writer out = {bytes, sizeof(bytes), 0};
	int r = 0;

	if (!files_are_as_sealed(files)) {
		int home = openat(files->home, ".",
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		r = home < 0 ? -errno : visit_tree(&w, home, 0);
	}
	if (!r)
		r = port_drain(port, false);
	if (r)
		return r;
	wire_put_u32(&out, w.sent);
	wire_put_u32(&out, w.left_out);
	port_send(port, WIRE_OUTPUT_END, 0, bytes, sizeof(bytes));
	return 0;
}
