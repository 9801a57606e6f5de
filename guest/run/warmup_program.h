/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_WARMUP_PROGRAM_H
#define GUEST_WARMUP_PROGRAM_H

/*
 * A program inside init, for heating. It does what interpreters do and a short
 * C program does not, and ends as they end: with a second thread, with events,
 * with shared memory. So the emulator has translated these parts of the kernel
 * before a job needs them.
 */
_Noreturn void warmup_program_run(void);

#endif
