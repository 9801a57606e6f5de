/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job on a machine: its inputs and the events that report on it. Types
 * only; the calls are in vm/lease.h. All events are called on the loop's
 * thread. Strings and bytes that an event gets are borrowed until the event
 * returns.
 */
#ifndef VM_JOB_H
#define VM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/wire/wire_fs.h"

struct vm_replay; /* channel/replay.h */

/* One input of a job. A directory comes before its files. */
struct vm_input {
	const char *path; /* borrowed until vm_end(); wire_path_ok() */
	/* enum wire_file_kind. WIRE_FILE_STDIN: this input is the program's
	 * standard input, and stdin_size is 0. */
	uint32_t kind;
	uint32_t mode;    /* 07777 */
	uint64_t size; /* bytes to send; if the file is shorter the job fails */
	uint64_t skip; /* bytes to skip at the start of the file */
	struct wire_time mtime; /* if not known, the guest uses its present time */
	/* a link's target; borrowed; passes wire_link_ok() */
	const char *target;
};

struct vm_job {
	struct wire_job wire; /* realtime_ns is filled by vm */
	const struct vm_input *inputs;
	unsigned input_count;
	uint64_t stdin_size; /* bytes of standard input */
	/* standard input is a pipe, and ends when the pipe ends */
	bool stdin_open;
	/* Borrowed or NULL. Gets all that the machine sends about the job, so
	 * that the next server can adopt it. */
	struct vm_replay *replay;
};

enum vm_failure {
	VM_FAILED_START, /* no machine could be started; the job has not run */
	/* the guest refused the job before its program started */
	VM_FAILED_GUEST,
	/* the session's interpreter had already ended; the job has not run */
	VM_FAILED_ENDED,
	/* The machine died, went silent or broke the protocol after RUN was
	 * sent. The outcome is unknown. */
	VM_FAILED_LOST,
	VM_FAILED_INPUT, /* an input could not be read; the job has not run */
	VM_FAILED_MAX
};

enum vm_stream { VM_OUT, VM_ERR, VM_RESULT, VM_STREAM_MAX };

struct vm_events {
	/* The lease has its machine, which is paused. Call vm_run() now or
	 * later. */
	void (*granted)(void *arg);
	/*
	 * Opens input i for reading; i == input_count is standard input. vm
	 * calls it when it is about to send that input, and closes the
	 * descriptor. For open standard input the descriptor is a nonblocking
	 * pipe; vm closes it when the program has closed its end. Return: fd or
	 * negative errno.
	 */
	int (*open_input)(void *arg, unsigned i);
	/*
	 * The program has read so many bytes of its open standard input in
	 * total. After vm_adopt() an earlier total may be reported again. May
	 * be NULL.
	 */
	void (*input_read)(void *arg, uint64_t bytes);
	/* The program has closed its open standard input. May be NULL. */
	void (*input_closed)(void *arg);
	/* pid: the program's in its machine; 0: not known. */
	void (*started)(void *arg, uint32_t pid);
	/* Return: 0, or < 0 (disk full ...): vm then calls
	 * failed(VM_FAILED_LOST). */
	int (*output)(void *arg, enum vm_stream stream, const void *data,
		      size_t len);
	/* The program has ended. All its output was delivered before. */
	void (*exited)(void *arg, const struct wire_exit *exit);
	/*
	 * One entry of the output tree. path passed wire_path_ok() and a link's
	 * target wire_link_ok(); trust no other property of them. For
	 * WIRE_FILE_OMITTED mode is an enum wire_omitted and path is any text; at
	 * most WIRE_OMITTED_TOLD of these come. Return: < 0 to skip the entry.
	 */
	int (*file)(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		    const char *path, const char *target);
	int (*file_data)(void *arg, const void *data, size_t len);
	/* The entry's mtime, before its file_end(), if the guest sends one. May
	 * be NULL. */
	void (*file_time)(void *arg, struct wire_time mtime);
	int (*file_end)(void *arg);
	/*
	 * The replay buffer is full. Return true if vm_commit_checkpoint() was called or
	 * will be soon. On false vm drops the buffer, and the next server
	 * cannot adopt the job.
	 */
	bool (*behind)(void *arg);
	/* The machine has sent everything. left_out: entries that it did not
	 * send. */
	void (*finished)(void *arg, uint32_t files, uint32_t left_out);
	void (*failed)(void *arg, enum vm_failure why, const char *sentence);
	/* The lease waits, and no machine can start now. Called once for each
	 * failed attempt. May be NULL. */
	void (*waits)(void *arg, const char *sentence);
	/* The lease waits for a template; called for each step of making it.
	 * May be NULL. */
	void (*making)(void *arg, const char *sentence);
	/*
	 * The jailer has ended, so the lease will get no machine: vm_watch's broken()
	 * was called before it had one, or its machine died before the job was sent.
	 * The job has not run. May be NULL.
	 */
	void (*lost_jailer)(void *arg);
};

/* The answer to vm_fs(); see there. */
typedef void vm_fs_done(void *arg, int r, const uint8_t *data, size_t size);

#endif
