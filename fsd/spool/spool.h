/* SPDX-License-Identifier: Apache-2.0 */
/* fsd spool: runs files and directories that are dropped into a directory, as jobs of a
 * mount. */
#ifndef FSD_SPOOL_H
#define FSD_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

struct run_client;

struct spool_options {
	const char *dir;
	const char *name;      /* name of this instance; NULL: the host's name */
	const char *mount;     /* --mount; NULL: as which_mount() chooses */
	const char *ready;     /* the marker of a complete entry; NULL: none */
	const char *take_over; /* another instance whose claims are taken over; NULL:
			        * serve */
	/* The program that each entry is an input of, with its options; NULL: an entry is
	 * a program. */
	const struct run_client *program;
	unsigned window;       /* most claims at a time; 0: twice the number of
			        * machines */
	unsigned settle_ms, poll_ms;
	uint64_t keep_done_s, keep_failed_s; /* 0: for ever */
	bool no_input;         /* leave the input out of done/NAME */
	bool drop_only;        /* other users may drop entries, and cannot list them */
	bool poll_only;        /* use no events of the system */
	bool no_sync;
};

#define SPOOL_WINDOW_MOST 2048u

/* Serves until a signal ends it. Return: the exit code: 0, 1 failure, 2 usage. */
int spool_client(const struct spool_options *o);

#endif
