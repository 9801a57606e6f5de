/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder: a second process on the interpreter's memory. It sleeps until it
 * is killed and owns nothing else: no descriptor, no signal but SIGKILL.
 *
 * An interpreter that ends would have its memory taken apart page by page
 * before anybody is told of its end; under emulation that takes a third of a
 * short program's time, and is for nothing, because the machine goes with it.
 * As long as there is a second owner the kernel only counts one down.
 *
 * init is its parent (CLONE_PARENT) and knows it by the control group.
 * The program could make no more of it than of any child.
 */
#ifndef RUNNERS_HOLD_H
#define RUNNERS_HOLD_H

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* By hand: errno is the interpreter's, at the same address. */
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
	/* Where init is somebody who may end, as in a test. */
	hold_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	/* When it dies, nobody is to wait for that. */
	hold_call(SYS_sched_setscheduler, 0, SCHED_IDLE, (long)&priority, 0);
	for (;;)
		hold_call(SYS_ppoll, 0, 0, 0, 0);
	return 0;
}

/* Starts the holder. Without one everything works, and ends more slowly.
 * whose: CLONE_PARENT, or 0 for a child of the caller that dies with it. */
static inline void hold_memory(int whose)
{
	static _Alignas(64) char stack[4096];

	clone(hold_sleep, stack + sizeof(stack), CLONE_VM | whose, NULL);
}

#endif
