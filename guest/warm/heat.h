/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heating: runs a program without effect through all steps of a job, so that
 * the emulator has translated that code and the memory is in place. A job sees
 * no trace of it. Runs in init.
 */
#ifndef GUEST_HEAT_H
#define GUEST_HEAT_H

#include <stdint.h>

#include "guest/agent/agent.h"

/*
 * Heats the runners in mask, rounds times each. A runner's first round in a
 * machine does the least; later ones do what most programs do; a third one in a
 * restored machine starts the programs that scripts start. For rounds 0 and an
 * empty mask see HEAT in wire.h. The kernel's code for a network's addresses is heated, too.
 * Blocks; the host waits for the answer. Return: the mask of the runners that answered;
 * -ESHUTDOWN when the host has closed the port; another negative errno when lo
 * may have the network's address. A runner that does not answer is killed.
 */
int heat_runners(struct agent *a, uint32_t mask, uint32_t rounds);

#endif
