/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by fake_guest.c (the wire's far end), fake_script.c, fake_fs.c,
 * fake_files.c and fake_lanes.c. */
#ifndef VM_FAKE_GUEST_INT_H
#define VM_FAKE_GUEST_INT_H

#include "fake_guest.h"

#include "guest/wire/wire_fs.h"
#include "layout/base/buf.h"

struct fake_file {
	struct list node, same; /* in the list `in`; of its path's hash */
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
	uint8_t lane;           /* 0: of none that is open */
	char *command;          /* owned */
};

#define FAKE_OUT_HIGH (256u << 10) /* a script waits while more is unsent */

struct fake_guest {
	struct loop *loop;
	struct loop_fd sock;    /* its fd is owned */
	struct loop_timer sleep;
	struct loop_call step;  /* the script's next lines */
	void (*crash)(void *arg);
	void *arg;
	bool paused, hung, running, ignore_term, in_cat, awaits;
	bool crashes;           /* when what it has written is sent */
	struct buf in, out;
	struct wire_job job;    /* owned when have_job */
	bool have_job, owned;
	uint32_t heated;        /* mask of runners */
	struct list inputs, outputs; /* fake_file.node */
	struct buf *open_to;    /* of the input that is coming */
	char *script, *line;    /* owned; the next line in it */
	const char *until;      /* in it: the file that is waited for */
	struct buf stdin_data;
	bool stdin_end, stdin_closed; /* by the program */
	uint32_t stdin_unacked; /* of what came by STDIN */
	uint64_t bytes_left;    /* of a `bytes` command */
	struct wire_exit exit;
	uint32_t left_out;
	uint64_t started_ns;
	struct buf memory;      /* of a session */
	bool in_session;        /* a step has come */
	bool survives;          /* the step that is killed */
	bool asked;             /* KILL_ALL has come */
	char *fs_fault;         /* owned: what FS does wrong, or NULL */
	bool mute, deaf;        /* says, hears nothing of itself */
	struct buf drops;       /* what is sent slowly, from drops_at on */
	size_t drops_at;
	uint64_t drop_ns;
	bool drops_forever;
	uint32_t pid;           /* of the program; 0: none runs */

	/* of a shared machine */
	bool shared;
	struct fake_guest *lanes[WIRE_LANE_MAX + 1]; /* owned; NULL: not open */
	struct list processes;  /* fake_process.node */
	struct list root;       /* fake_file.node: what is not the home */
	uint32_t pids;          /* there were so far */

	/* of a lane: its inputs are its program alone */
	struct fake_guest *machine; /* whose it is; NULL: it is a machine */
	uint8_t lane;
	bool unclosed;          /* CLOSE is never answered */
};

/* What has the home. */
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
/* The program has read so many bytes of its input, or closed it. */
void fake_put_ack(struct fake_guest *g, size_t len);
void fake_flush(struct fake_guest *g);
void fake_finish(struct fake_guest *g, enum wire_exit_kind kind,
		 uint32_t value);

/* fake_files.c */
struct fake_file *fake_file_new(struct list *to, const char *path,
				uint8_t kind, uint32_t mode);
struct fake_file *fake_file_find(struct list *files, const char *path);
void fake_file_move(struct fake_file *f, struct list *to);
/* path is its own from now on. */
void fake_file_rename(struct fake_file *f, char *path);
/* Out of its list, and gone. */
void fake_file_free(struct fake_file *f);
void fake_files_free(struct list *files);

/* fake_fs.c: answers FS. */
void fake_fs(struct fake_guest *g, const void *payload, size_t length);

/* A frame of a machine with one job, or of a lane. */
void fake_frame(struct fake_guest *g, const struct wire_header *h,
		const void *payload);

/* fake_lanes.c */
void fake_share(struct fake_guest *m, const void *payload, size_t length);
void fake_lane_frame(struct fake_guest *m, uint8_t number,
		     const struct wire_header *h, const void *payload);
/* Puts what the lane has said to what the machine says. */
void fake_lane_flush(struct fake_guest *l);
/* There is room again. */
void fake_lanes_run(struct fake_guest *m);
void fake_lanes_free(struct fake_guest *m);
/* One that runs in the lane, or the machine. Return: its pid. */
uint32_t fake_process_new(struct fake_guest *g, const char *command);
void fake_process_end(struct fake_guest *g, uint32_t pid);
/* All that runs in the lane is gone. */
void fake_lane_kill(struct fake_guest *l);
/* The answer to PROCESSES. */
void fake_processes(struct fake_guest *m, struct wire_writer *out);

/* The program's text, owned by the caller. */
char *fake_script_of(struct fake_guest *g);
/* Appends the bytes that the digits of text say. */
void fake_hex(struct buf *to, const char *text);
/* Goes on until there is something to wait for. */
void fake_script_run(struct fake_guest *g);

#endif
