/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a run. It checks what the config asks for, gives it to the machine, and
 * writes the connections into the log and result.json. See "network" in jobtree(5). On
 * the loop.
 */
#ifndef FSD_RUN_NETWORK_H
#define FSD_RUN_NETWORK_H

#include "fsd/fsd.h"

struct machine_network;
struct run;

/*
 * Checks whether the operator allows the network and the ports that config asks for.
 * config: of a job, or of a sandbox's machine. Return: 0; -EINVAL with a sentence.
 */
int run_check_network(const struct fsd *d, uid_t uid, const struct job_config *config,
		      struct err *err);

/* Functions of run_events.c that run_network.c calls. */
struct run_network_hooks {
	/* All data of the network was delivered, so the run can end. Called only if
	 * run_network_waits() has returned true. */
	void (*complete)(struct run *run);
	/* The machine broke the network's protocol. */
	void (*broke)(struct run *run, const char *sentence);
};
extern const struct run_network_hooks run_network_hooks;

/* Gives the run's own machine, which was just granted, its network; no-op for a job without
 * one. Return: 0, or negative errno with a sentence. */
int run_network_begin(struct run *run, const struct run_network_hooks *hooks,
		      struct err *err);
/* Gives the run the network of a session's machine from now on; n NULL: it has none. */
void run_network_join(struct run *run, const struct run_network_hooks *hooks,
		      struct machine_network *n);
/* Call it when the machine of a killed server's run was adopted: adopts its network. If
 * that is lost, the job's log says so. No-op for a job without a network, and for a run in
 * a session or sandbox. */
void run_network_adopt(struct run *run, const struct run_network_hooks *hooks);
/* Call it after the last run was adopted: drops the records of networks that belong to no
 * run and no machine. */
void run_networks_adopted(struct fsd *d);
/* Call it when the program has ended: begins to deliver the bytes that are under way, if
 * the machine is the run's own. */
void run_network_exited(struct run *run);
/* Return: true if that delivery is not finished; complete() is called when it is. */
bool run_network_waits(struct run *run);
/* Call it when the run is about to end: stops the events of its network, so its figures
 * do not change any more. */
void run_network_stop(struct run *run);
/* Frees the network of the run's own machine; call it when that machine has ended. */
void run_network_leave(struct run *run);
/* Fills the ports and the network of the result; they are borrowed from the run. */
void run_network_fill(const struct run *run, struct job_result *res);
void run_network_done(struct run *run);

#endif
