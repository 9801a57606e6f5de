/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder: a second process on the interpreter's memory. It sleeps until it
 * is killed and has no descriptor and no signal handler.
 *
 * When an interpreter ends, the kernel frees its memory page by page before
 * init gets the end. Under emulation that takes a third of a short program's
 * time, without use, because the machine ends too. While the memory has a
 * second owner, the kernel only decrements a counter.
 *
 * init is the holder's parent (CLONE_PARENT) and finds it by the control group.
 * A program can do no more with it than with any child.
 */
#ifndef RUNNERS_HOLD_H
#define RUNNERS_HOLD_H

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Calls the kernel directly: the C library would set errno, which is the
 * interpreter's, at the same address. */
static inline long hold_call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r = number;

	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}

__attribute__((no_stack_protector)) static int hold_sleep(void *unused)
{
	static const unsigned long all = ~0ul;
	static const int priority;

	(void)unused;
	hold_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, 0, sizeof(all));
	hold_call(SYS_close_range, 0, ~0u, 0, 0);
	/* In a test, init is an ordinary process: end when that ends. */
	hold_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	/* At the lowest priority: no other process waits while the kernel frees its
	 * memory. */
	hold_call(SYS_sched_setscheduler, 0, SCHED_IDLE, (long)&priority, 0);
	for (;;)
		hold_call(SYS_ppoll, 0, 0, 0, 0);
	return 0;
}

/* Starts the holder. Without it everything works, but ends more slowly. whose:
 * CLONE_PARENT; or 0 for a child of the caller, which dies with it. */
static inline void hold_memory(int whose)
{
	static _Alignas(64) char stack[4096];

	clone(hold_sleep, stack + sizeof(stack), CLONE_VM | whose, NULL);
}

#endif
