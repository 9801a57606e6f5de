/* SPDX-License-Identifier: Apache-2.0 */
/* The guest of the fake backend: the far end of the wire, run by a script. */
#ifndef VM_FAKE_GUEST_H
#define VM_FAKE_GUEST_H

#include "vm/os/loop.h"

struct fake_guest;

/* Consumes fd. It is paused at first. crash: it wants to die at once. */
struct fake_guest *fake_guest_new(struct loop *loop, int fd,
				  void (*crash)(void *arg), void *arg);
void fake_guest_free(struct fake_guest *g);
void fake_guest_pause(struct fake_guest *g);
void fake_guest_resume(struct fake_guest *g);
/* Opens FSD_FAKE_WITNESS, if there is one. Return: 0 or negative errno. */
int fake_witness_open(void);

#endif
