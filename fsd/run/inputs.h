/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a run: the files that its machine gets before the program begins, and
 * standard input. inputs.c alone writes struct run_inputs. All calls: on the loop or in a
 * fiber; none waits.
 */
#ifndef FSD_RUN_INPUTS_H
#define FSD_RUN_INPUTS_H

#include "fsd/fsd.h"
#include "fsd/files/node.h"

struct run;

struct run_inputs {
	struct vm_input *list;   /* owned; the paths are in run->texts */
	struct node **nodes;     /* owned array of references, one for each input, until
				  * the inputs are sent; an entry NULL: the text comes from
				  * config.json */
	unsigned count, room;
	struct node *dir;        /* borrowed: the directory that is being listed, or NULL */
	struct list_cursor cursor; /* position in dir */
	unsigned next_dir;       /* inputs before this index need no listing any more */
	bool root_listed;
	struct node *stdin_node; /* owned reference, or NULL */
	bool collected;          /* vm_job has all inputs */
};

/*
 * Lists inputs until now_ns() reaches `until`. Return: 0: vm_job has all inputs; 1: there
 * are more; negative errno with a sentence.
 */
int run_collect(struct run *run, uint64_t until, struct err *err);
/* Frees the list of inputs, complete or not. */
void run_inputs_done(struct run *run);
/* Call it when the machine has all inputs but standard input: drops the references to the
 * files. */
void run_sent_inputs(struct run *run);
/* Opens input i for reading; i == count: standard input. Return: fd, the caller's, or
 * negative errno. */
int run_open_input(struct run *run, unsigned i);
/* For an adopted run, whose machine has all inputs: marks them as collected. has_stdin:
 * part of standard input is not sent yet. Return: 0; -ESRCH: the file `stdin` is gone. */
int run_take_inputs(struct run *run, bool has_stdin);
/* Return: bytes of memory for the program and its inputs together; UINT64_MAX: too much
 * to count. */
uint64_t run_memory_need(const struct run *run);
/* Return: run_memory_need() plus the memory for the environment: the most that the
 * machine may use. */
uint64_t run_room_need(const struct run *run);

#endif
