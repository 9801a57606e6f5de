/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for slow work that needs nothing of the loop's: deletion of trees,
 * fsync, parsing and rendering of what is large. Tasks run in order; `done`
 * runs on the loop.
 */
#ifndef FSD_CHORES_H
#define FSD_CHORES_H

#include "../vm/loop.h"

struct chores;

struct task {
	int (*work)(struct task *t);            /* on the thread */
	void (*done)(struct task *t, int result); /* on the loop; may free t */
	struct list node;      /* the thread's own */
	struct loop_call call; /* the thread's own */
	int result;            /* what work() returned */
};

/* The thread begins when the loop runs: what the daemon gives up before that
 * (restrain.h) its threads do not have either. */
int chores_new(struct loop *loop, struct chores **ret_chores);
void chores_add(struct chores *w, struct task *t);
/* Finishes every task (their `done` is called here), then ends the thread. */
void chores_free(struct chores *w);

#endif
