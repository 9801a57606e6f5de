/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a shell's interrupt reaches once more. */
#include "guest/run/interrupt.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/run/runner.h"
#include "tests/unit/tap.h"

static pid_t sleeper(pid_t group)
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, group);
		for (;;)
			pause();
	}
	setpgid(pid, group);
	return pid;
}

static int end_of(pid_t pid)
{
	int status = 0;

	kill(pid, SIGTERM); /* if nothing has ended it */
	waitpid(pid, &status, 0);
	return WTERMSIG(status);
}

static void test_times(void)
{
	struct interrupt i = {.came = 5000000000};

	ok(interrupt_due(&i, 1) == -1, "no look is due without an interrupt");
	i.next = 3000000;
	ok(interrupt_due(&i, 1000000) == 3, "the next one is");
	ok(interrupt_due(&i, 3000000) == 0, "and is now");
	ok(interrupt_is_young(&i, 500), "forked then is young");
	ok(interrupt_is_young(&i, 485), "so is a little before");
	ok(interrupt_is_young(&i, 545), "and a little after");
	ok(!interrupt_is_young(&i, 470), "long before is not");
	ok(!interrupt_is_young(&i, 560), "nor is long after");
}

static void test_look(void)
{
	struct runner shell = {.pid = sleeper(0)};
	pid_t child = sleeper(shell.pid), other = sleeper(0);
	int procs = memfd_create("procs", MFD_CLOEXEC);
	struct interrupt i;

	shell.cgroup.fd[CGROUP_PROCS] = procs;
	dprintf(procs, "%d\n%d\n%d\n", shell.pid, child, other);
	interrupt_begin(&i);
	for (int look = 0; look < 4; look++) {
		interrupt_check(&i, &shell);
		ok(i.next, "there is another look");
	}
	interrupt_check(&i, &shell);
	ok(!i.next, "and then none");
	ok(end_of(child) == SIGINT, "a young child of the group has it");
	ok(end_of(other) == SIGTERM, "one of another group has not");
	ok(end_of(shell.pid) == SIGTERM, "nor has the shell");
	close(procs);
}

int main(void)
{
	test_times();
	test_look();
	return done_testing();
}
