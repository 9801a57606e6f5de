/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest of the fake backend: the other end of the wire, run by a script.
 * For tests. All functions run on the loop.
 */
#ifndef VM_FAKE_GUEST_H
#define VM_FAKE_GUEST_H

#include "vm/os/loop.h"

struct fake_guest;

/* Makes a guest, paused at first. Consumes fd. crash: called when the script
 * wants the machine to die. */
struct fake_guest *fake_guest_new(struct loop *loop, int fd,
				  void (*crash)(void *arg), void *arg);
void fake_guest_free(struct fake_guest *g);
void fake_guest_pause(struct fake_guest *g);
void fake_guest_resume(struct fake_guest *g);
/* Gives the guest its end of the second port, once. Consumes fd. Return: 0 or negative
 * errno. */
int fake_guest_network(struct fake_guest *g, int fd);
/* Opens FSD_FAKE_WITNESS, if there is one. Return: 0 or negative errno. */
int fake_witness_open(void);

#endif
