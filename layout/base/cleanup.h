/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope guards. A local declared with auto_free or auto_close gives its
 * resource back when it goes out of scope; take_ptr() and take_fd() hand the
 * resource on and disarm the guard. All guards preserve errno.
 */
#ifndef LAYOUT_BASE_CLEANUP_H
#define LAYOUT_BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define auto_free __attribute__((cleanup(cleanup_free_)))
#define auto_close __attribute__((cleanup(cleanup_close_)))
#define auto_fclose __attribute__((cleanup(cleanup_fclose_)))

static inline void cleanup_free_(void *ptr)
{
	free(*(void **)ptr);
}

/* Closes *fd unless it is negative, sets it to -1, keeps errno. */
static inline void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void cleanup_close_(int *fd)
{
	fd_close(fd);
}

static inline void cleanup_fclose_(FILE **f)
{
	int saved = errno;

	if (*f)
		fclose(*f);
	errno = saved;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Returns the pointer and leaves NULL behind: ownership moves to the caller. */
#define take_ptr(ptr)                                \
	__extension__({                              \
		__typeof__(ptr) take_ptr_ = (ptr);   \
		(ptr) = NULL;                        \
		take_ptr_;                           \
	})

#endif
