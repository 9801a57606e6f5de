/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that has forked finds its own memory write-protected: its next
 * write to each page is a fault, and a fault is dear under emulation. When the
 * child has gone, the protection has no purpose any more. The same goes for the
 * initialised data of programs and libraries, which is copied at its first
 * write: CPython rewrites all its frozen code when it ends.
 */
#ifndef GUEST_UNPROTECT_H
#define GUEST_UNPROTECT_H

#include <sys/types.h>

/* Makes the private pages of the child pid writable again, by writing to each what
 * it holds. The child is stopped meanwhile, with all of its threads. A page that
 * cannot be written stays as it is: this saves time and changes nothing. */
void unprotect_memory(pid_t pid);
/* The same for the caller, which may be awake: it has one thread. */
void unprotect_self(void);

#endif
