/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inode numbers of files in machines. This is a table of paths only: the machine
 * alone knows which files exist. A lookup makes a number, which lives until the kernel
 * forgets it. The path of a number may change meanwhile. The number has no path after
 * the file was removed, or after its session has ended.
 */
#ifndef FSD_REMOTE_H
#define FSD_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

struct remotes;

/* A sandbox has a second tree, its root: its number with this bit. */
#define REMOTE_ROOT (1ull << 62)

/* inherit: borrowed, or NULL: no other server is to know. Return: 0 or -ENOMEM. */
struct inherit;
int remotes_new(struct inherit *inherit, struct remotes **ret);
/* Those of the server before, of sessions (with REMOTE_ROOT or without) that are
 * there. */
void remotes_adopt(struct remotes *all,
		   bool (*is_there)(void *arg, uint64_t session), void *arg);
void remotes_free(struct remotes *all);

/* The path of a number below its session's files/, borrowed until the next
 * call here, and the session's number; NULL: it has none any more. */
const char *remote_path(struct remotes *all, uint64_t ino,
			uint64_t *ret_session);
/* False also: it is not known. */
bool remote_is_dir(struct remotes *all, uint64_t ino);
/* One more lookup of what is there. Return: its number, 0 without memory. */
uint64_t remote_found(struct remotes *all, uint64_t session, const char *path,
		      bool is_dir);
void remote_forget(struct remotes *all, uint64_t ino, uint64_t count);
/* The file at path was removed or replaced: its number has no path any more. */
void remote_gone(struct remotes *all, uint64_t session, const char *path);
/* It and what is below it are at another path. */
void remote_moved(struct remotes *all, uint64_t session, const char *from,
		  const char *to);
/* The session has ended. No-op on NULL. */
void remote_drop(struct remotes *all, uint64_t session);

#endif
