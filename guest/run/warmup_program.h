/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_WARMUP_PROGRAM_H
#define GUEST_WARMUP_PROGRAM_H

/*
 * For heating: does what interpreters do that a short C program does not, and
 * ends as they end, with a second thread, with events and shared memory. So the
 * kernel's way there is translated before a job has to go it.
 */
_Noreturn void warmup_program_run(void);

#endif
