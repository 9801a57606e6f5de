/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the write protection that fork() leaves on a process's memory. After
 * a fork the first write to each page is a fault, which is expensive under
 * emulation; once the child has ended the protection is useless. The same holds
 * for initialised data of programs and libraries, which is copied at its first
 * write: CPython rewrites all its frozen code when it ends. Runs in init.
 */
#ifndef GUEST_UNPROTECT_H
#define GUEST_UNPROTECT_H

#include <sys/types.h>

/*
 * Makes the private pages of the child pid writable, by writing to each the
 * bytes it has. Stops all threads of the child meanwhile. A page that cannot be
 * written stays as it is: this only saves time.
 */
void unprotect_memory(pid_t pid);
/* The same for the caller, which has one thread and so need not be stopped. */
void unprotect_self(void);

#endif
