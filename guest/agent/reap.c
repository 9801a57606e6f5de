/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the ends of processes in init and in each lane's agent, and gives each end to
 * the job whose runner it was. A process that is no runner was an orphan.
 */
#include "reap.h"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void reaped(struct agent *a, struct runner *r, int status)
{
	r->pid = 0;
	if (a->current->runner == r)
		job_reaped(a->current, status);
}

void agent_ended(struct agent *a, pid_t pid, int status)
{
	if (a->warmup_program[WIRE_RUN_EXEC].pid == pid)
		reaped(a, &a->warmup_program[WIRE_RUN_EXEC], status);
	for (int i = 0; i < WIRE_RUN_MAX; i++)
		if (a->runners[i].pid == pid) {
			reaped(a, &a->runners[i], status);
			if (!a->end && !a->mux && !a->spends &&
			    !a->job.received)
				a->lost = &a->runners[i];
		}
}

bool agent_net_ended(struct agent *a, pid_t pid)
{
	if (a->end || pid != a->net->helper)
		return false;
	a->net->helper = 0;
	port_send(&a->port, WIRE_NETWORK_ENDED, 0, NULL, 0);
	return true;
}

void agent_reap(struct agent *a)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(a->children, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!agent_net_ended(a, pid))
			agent_ended(a, pid, status);
}
