/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job on a machine: what the caller gives, what the caller hears. Types only;
 * vm/lease.h has the calls. All events come on the loop's thread. The strings and
 * bytes of an event are borrowed until the event returns.
 */
#ifndef VM_JOB_H
#define VM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/wire/wire_fs.h"

struct vm_tape; /* channel/tape.h */

/* One input of a job. Directories come before what is in them. */
struct vm_input {
	const char *path; /* borrowed until vm_end(); wire_path_ok() */
	uint32_t kind;    /* enum wire_file_kind; WIRE_FILE_STDIN: it is the
			     program's standard input, and stdin_size is 0 */
	uint32_t mode;    /* 07777 */
	uint64_t size;    /* bytes that are sent; a shorter file fails the job */
	uint64_t skip;    /* bytes left out at the file's start */
	struct wire_time mtime; /* not known: now */
	const char *target; /* borrowed; of a link; wire_link_ok() */
};

struct vm_job {
	struct wire_job wire; /* realtime_ns is filled by vm */
	const struct vm_input *inputs;
	unsigned input_count;
	uint64_t stdin_size; /* bytes of standard input */
	bool stdin_open;     /* or it is a pipe, and its end is its end */
	struct vm_tape *tape; /* or NULL: what is said of it goes on there, */
};                            /* so that another process can go on */

enum vm_failure {
	VM_FAILED_START, /* no machine could be had: nothing has run */
	VM_FAILED_GUEST, /* the guest refused before the program's start */
	VM_FAILED_ENDED, /* the session's interpreter had: nothing has run */
	VM_FAILED_LOST,  /* the machine died, was silent or spoke wrongly after
			    RUN was sent: the outcome is unknown */
	VM_FAILED_INPUT, /* an input could not be read: nothing has run */
	VM_FAILED_MAX
};

enum vm_stream { VM_OUT, VM_ERR, VM_RESULT, VM_STREAM_MAX };

struct vm_events {
	/* A machine is there, paused. Call vm_run() now or later. */
	void (*granted)(void *arg);
	/*
	 * Opens input i (i == input_count: standard input) for reading when its
	 * turn comes; vm closes it. Standard input that is open is a pipe's end,
	 * nonblocking, and closed when the program has closed its own. Return: fd
	 * or negative errno.
	 */
	int (*open_input)(void *arg, unsigned i);
	/* The program has read so many bytes of its open standard input; after
	 * vm_adopt() an earlier figure may come once more. May be NULL. */
	void (*input_read)(void *arg, uint64_t bytes);
	/* The program has closed its open standard input. May be NULL. */
	void (*input_closed)(void *arg);
	/* pid: of the program in its machine, or 0: it is not known. */
	void (*started)(void *arg, uint32_t pid);
	/* Return < 0 (disk full ...): vm ends the job with failed(LOST). */
	int (*output)(void *arg, enum vm_stream stream, const void *data,
		      size_t len);
	/* The program has ended; all its output was delivered before. */
	void (*exited)(void *arg, const struct wire_exit *exit);
	/*
	 * One entry of the output tree; path passed wire_path_ok(), a link's
	 * target wire_link_ok(), and nothing else about them may be believed.
	 * Of WIRE_FILE_LEFT mode is an enum wire_left and path is any text; at
	 * most WIRE_LEFT_TOLD come. Return < 0: the entry is skipped.
	 */
	int (*file)(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		    const char *path, const char *target);
	int (*file_data)(void *arg, const void *data, size_t len);
	/* Before its end, if the guest tells it: when it was changed. May be NULL. */
	void (*file_time)(void *arg, struct wire_time mtime);
	int (*file_end)(void *arg);
	/* The tape is full. Return: will vm_settle() come soon, or has it? Else
	 * the tape is given up, and no other process can go on. */
	bool (*behind)(void *arg);
	/* The machine has nothing more to give. left_out: entries not sent. */
	void (*finished)(void *arg, uint32_t files, uint32_t left_out);
	void (*failed)(void *arg, enum vm_failure why, const char *sentence);
	/* It waits, and machines cannot be had now: once for each failure of
	 * theirs. May be NULL. */
	void (*waits)(void *arg, const char *sentence);
	/* It waits for a template, which is made: one more step of that. May be
	 * NULL. */
	void (*making)(void *arg, const char *sentence);
	/* vm_watch's broken was called: no machine comes, or no other one after
	 * one that died before it heard of the job. Nothing has run. May be NULL. */
	void (*stranded)(void *arg);
};

/* The answer to vm_fs(). */
typedef void vm_fs_done(void *arg, int r, const uint8_t *data, size_t size);

#endif
