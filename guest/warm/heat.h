/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heating: a program that does nothing goes the whole way of a job, so that
 * the emulator has translated that way and memory is where it is needed.
 * Nothing of it is left for the job to see.
 */
#ifndef GUEST_HEAT_H
#define GUEST_HEAT_H

#include <stdint.h>

#include "guest/agent/agent.h"

/*
 * Heats the runners in mask, rounds times each. The first round that one has in
 * a machine is the least, later ones do what most programs do; a third one in a
 * restored machine runs what scripts start. For rounds 0 and an empty mask see
 * HEAT in wire.h. Blocks meanwhile;
 * the host waits for the answer. Return: the mask of those that answered, or
 * -ESHUTDOWN when the host has gone. A runner that does not answer is killed.
 */
int heat_runners(struct agent *a, uint32_t mask, uint32_t rounds);

#endif
