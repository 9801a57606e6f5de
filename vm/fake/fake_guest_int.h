/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the fake guest: shared by fake_guest.c (the other end of the
 * wire), fake_script.c, fake_fs.c, fake_files.c, fake_lanes.c and fake_net.c.
 */
#ifndef VM_FAKE_GUEST_INT_H
#define VM_FAKE_GUEST_INT_H

#include "fake_guest.h"

#include "guest/wire/wire_fs.h"
#include "layout/base/buf.h"

struct fake_file {
	/* nodes in the list `in`; in the chain of its path's hash */
	struct list node, same;
	struct list *in;        /* borrowed */
	char *path;             /* owned */
	uint8_t kind;
	uint32_t mode;
	struct wire_time mtime;
	struct buf data;        /* owned */
};

struct fake_process {
	struct list node;
	uint32_t pid;
	uint8_t lane; /* number of the lane; 0: the lane is closed */
	char *command;          /* owned */
};

struct fake_net;
struct fake_guest;

/* ready() says whether the wait is over; then done() runs once, and may wait anew. */
struct fake_wait {
	bool (*ready)(struct fake_guest *g);
	void (*done)(struct fake_guest *g);
	uint64_t number; /* a port, or bytes */
	uint32_t sum;    /* of these bytes */
	char text[300];
};

#define FAKE_OUT_HIGH (256u << 10) /* bytes not sent at which a script waits */

struct fake_guest {
	struct loop *loop;
	struct loop_fd sock;    /* the guest owns its fd */
	struct loop_timer sleep;
	struct loop_call step; /* runs the script's next lines */
	void (*crash)(void *arg);
	void *arg;
	bool paused, hung, running, ignore_term, in_cat, awaits;
	bool crashes; /* calls crash() once all output is sent */
	struct buf in, out;
	struct wire_job job;    /* owned when have_job */
	bool have_job, owned;
	uint32_t heated;        /* mask of runners */
	struct list inputs, outputs; /* lists of struct fake_file, by node */
	struct buf *open_to; /* where the input that is coming is stored */
	char *script, *line; /* owned; `line`: the next line in script */
	const char *until; /* the path in script that `until` waits for */
	struct buf stdin_data;
	/* ended by the host; closed by the program */
	bool stdin_end, stdin_closed;
	uint32_t stdin_unacked; /* bytes of STDIN frames not acknowledged */
	uint64_t bytes_left; /* still to send, of a `bytes` command */
	struct wire_exit exit;
	uint32_t left_out;
	uint64_t started_ns;
	struct buf memory; /* texts of `remember`, in a session */
	bool in_session; /* the lane has run a step */
	bool survives; /* KILL ends only the step */
	bool asked;             /* KILL_ALL has come */
	char *fs_fault; /* owned: how FS fails, or NULL */
	bool mute, deaf; /* sends nothing; ignores KILL */
	struct buf drops; /* bytes sent slowly, from drops_at on */
	size_t drops_at;
	uint64_t drop_ns;
	bool drops_forever;
	uint32_t pid; /* pid of the running program; 0: none runs */
	struct fake_wait net_waits; /* what the command `net` waits for */
	uint32_t net_stream; /* number of the program's stream; 0: none */

	/* --- of a machine ------------------------------------------------ */
	struct fake_net *net; /* owned; NULL: it has no second port */

	/* --- of a shared machine ---------------------------------------- */
	bool shared;
	struct fake_guest *lanes[WIRE_LANE_MAX + 1]; /* owned; NULL: not open */
	struct list processes;  /* list of struct fake_process, by node */
	struct list root; /* files outside the home: list of struct fake_file, by node */
	uint32_t pids; /* pids given so far */

	/* --- of a lane: its inputs are only its program's file ---------- */
	/* the lane's machine; NULL: this is a machine */
	struct fake_guest *machine;
	uint8_t lane;
	bool unclosed;          /* CLOSE is never answered */
};

/* Returns the guest that owns the home. */
static inline struct fake_guest *fake_machine(struct fake_guest *g)
{
	return g->machine ? g->machine : g;
}

void fake_put(struct fake_guest *g, enum wire_type type, uint8_t arg,
	      const void *data, size_t len);
void fake_put_u32s(struct fake_guest *g, enum wire_type type, unsigned count,
		   uint32_t a, uint32_t b);
/* Output of the program, cut at the job's limit as the real guest does. */
void fake_put_output(struct fake_guest *g, enum wire_type type,
		     const void *data, size_t len);
/* Acknowledges bytes that the program has read; or reports that it has closed
 * its input. */
void fake_put_ack(struct fake_guest *g, size_t len);
void fake_flush(struct fake_guest *g);
void fake_finish(struct fake_guest *g, enum wire_exit_kind kind,
		 uint32_t value);

/* functions of fake_files.c */
struct fake_file *fake_file_new(struct list *to, const char *path,
				uint8_t kind, uint32_t mode);
struct fake_file *fake_file_find(struct list *files, const char *path);
void fake_file_move(struct fake_file *f, struct list *to);
/* Takes ownership of path. */
void fake_file_rename(struct fake_file *f, char *path);
/* Removes the file from its list and frees it. */
void fake_file_free(struct fake_file *f);
void fake_files_free(struct list *files);

/* fake_fs.c: answers a frame FS */
void fake_fs(struct fake_guest *g, const void *payload, size_t length);

/* Handles a frame of a machine with one job, or of a lane. */
void fake_frame(struct fake_guest *g, const struct wire_header *h,
		const void *payload);

/* functions of fake_lanes.c */
void fake_share(struct fake_guest *m, const void *payload, size_t length);
void fake_lane_frame(struct fake_guest *m, uint8_t number,
		     const struct wire_header *h, const void *payload);
/* Moves the lane's output to the machine's. */
void fake_lane_flush(struct fake_guest *l);
/* Continues lanes that waited for room in the output. */
void fake_lanes_run(struct fake_guest *m);
void fake_lanes_free(struct fake_guest *m);
/* Adds a process of the lane, or of the machine. Return: its pid. */
uint32_t fake_process_new(struct fake_guest *g, const char *command);
void fake_process_end(struct fake_guest *g, uint32_t pid);
/* Ends all processes of the lane. */
void fake_lane_kill(struct fake_guest *l);
/* Puts the answer to PROCESSES. */
void fake_processes(struct fake_guest *m, struct wire_writer *out);

/* --- fake_net.c */

/* Handles NET of the wire. */
void fake_net_told(struct fake_guest *g, const void *payload, size_t length);
/* Runs the command `net`. */
void fake_net_command(struct fake_guest *g, char *rest);
/* Ends the wait of a command, which is over. */
void fake_net_continue(struct fake_guest *g);
/* Ends the streams of the program, as the end of a process does. */
void fake_net_end(struct fake_guest *g);
void fake_net_pause(struct fake_guest *m);
void fake_net_resume(struct fake_guest *m);
void fake_net_free(struct fake_guest *m);

/* Returns the program's text, owned by the caller. */
char *fake_script_of(struct fake_guest *g);
/* Appends bytes given as hexadecimal digits. */
void fake_hex(struct buf *to, const char *text);
/* Runs the script until it must wait. */
void fake_script_run(struct fake_guest *g);

#endif
