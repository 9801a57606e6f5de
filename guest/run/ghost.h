/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_GHOST_H
#define GUEST_GHOST_H

/*
 * For heating: does what interpreters do that a short C program does not, and
 * ends as they end, with a second thread, with events and shared memory. So the
 * kernel's way there is translated before a job has to go it.
 */
_Noreturn void ghost_live_and_end(void);

#endif
