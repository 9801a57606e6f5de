/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a run: what its machine is sent before the program begins, and standard
 * input. inputs.c alone writes struct run_inputs. All calls: on the loop or in a fiber.
 */
#ifndef FSD_RUN_INPUTS_H
#define FSD_RUN_INPUTS_H

#include "fsd/fsd.h"
#include "fsd/files/node.h"

struct run;

struct run_inputs {
	struct vm_input *list;   /* owned; their paths are in run->texts */
	struct node **nodes;     /* owned array, until they are sent; references;
				  * NULL: not a file of the job */
	unsigned count, room;
	struct node *dir;        /* borrowed: it is listed now, or NULL */
	struct list_cursor cursor; /* in dir */
	unsigned next_dir;       /* the input that may be listed next */
	bool root_listed;
	struct node *stdin_node; /* a reference, or NULL */
	bool collected;          /* vm_job has all of them */
};

/*
 * Lists inputs, until now_ns() has reached until. Return: 0: vm_job has all of them; 1:
 * there are more; negative errno with a sentence.
 */
int run_collect(struct run *run, uint64_t until, struct err *err);
/* Gives up the inputs, also those that are still to be listed. */
void run_inputs_done(struct run *run);
/* The machine has all but standard input: gives up the references to other files. */
void run_sent_inputs(struct run *run);
/* i: below the count, or the count for standard input. Return: fd, the caller's, or
 * negative errno. */
int run_open_input(struct run *run, unsigned i);
/* For a run of another server, whose machine has all inputs, but for a standard input
 * that is not whole: has_stdin. Return: 0; -ESRCH: that file is not there. */
int run_take_inputs(struct run *run, bool has_stdin);
/* Bytes: the program's memory and its inputs. UINT64_MAX: more than can be said. */
uint64_t run_memory_need(const struct run *run);
/* The same, and the environment's share of memory: all that its machine may take. */
uint64_t run_room_need(const struct run *run);

#endif
