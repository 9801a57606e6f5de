/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire between the host (vm/channel) and the guest's init, compiled by
 * both sides. One virtio-serial port, both directions, a stream of frames:
 *
 *   0               3      4        6      7     8
 *   +---------------+------+--------+------+-----+=====================+
 *   | length (le24) | lane | magic  | type | arg | payload, length bytes|
 *   +---------------+------+--------+------+-----+=====================+
 *
 * All integers are little-endian and unsigned. length counts the payload only
 * and is checked against WIRE_PAYLOAD_MAX before anything is allocated. lane is
 * 0 except on the wire of a shared machine (below). A peer that knows no lanes
 * reads it as the highest byte of the length, which is then too large. magic
 * holds the protocol version, so a peer of another version, or a stream that
 * lost its place, is noticed at the first frame. Everything that comes from
 * the guest is hostile; a frame that breaks a rule below ends the machine.
 *
 * A machine's life on the wire (H host, G guest):
 *
 *   G HELLO            once, when init runs; READY once every runner waits
 *   H HEAT   G HEATED  any number of times before the job
 *   H OWN              once, before the job: this clone is one machine now and
 *                      shares no secret with another
 *   H NET              at most once, after OWN and before the job; on lane 0 of a
 *   G NET_ENDED        shared wire any number of times
 *   H PING   G PONG    any time; PONG echoes the payload. A payload of 8 bytes is
 *                      the host's CLOCK_REALTIME (u64, ns): the guest's clock goes
 *                      forward to it. A machine gets one when it was stopped
 *   H JOB, H FILE*     one job: its fields, then its files, in order
 *   H RUN              everything was sent: start the program
 *   G STARTED          the program's first instruction is about to run; it
 *                      may come some milliseconds late
 *   H STDIN*, H STDIN_END   at most WIRE_STDIN_WINDOW bytes beyond what
 *   G STDIN_ACK        the program has read
 *   H KILL             any time after JOB
 *   G OUT* ERR* RESULT*
 *   G EXIT             after the last byte of OUT, ERR and RESULT, and when no
 *                      process lingers (see guest/run/job.h)
 *   G FILE* OUTPUT_END the output tree, if the job asked for it
 *   G FAILED           instead of STARTED/EXIT: the guest could not run it. Or,
 *                      at any time from HELLO to SHARE: init ends
 *   H FS   G FS_REPLY  any number of times from a session's first JOB on, or
 *                      from SHARE on, to the machine's end; see wire_fs.h
 *
 * A job whose mode is SESSION or CELL is a step: the interpreter lives on when
 * EXIT says so, and after OUTPUT_END the next JOB may come, with the same
 * runner. Its files replace those of the same name.
 *
 * A shared machine runs several jobs at once:
 *
 *   H SHARE            once, after OWN and instead of JOB
 *   H JOB ...          opens a lane of 1..WIRE_LANE_MAX that is not open. All
 *                      frames of the job, as above, name that lane; then comes
 *                      the next JOB, if an interpreter lives. The frames of two
 *                      lanes come in any order. Lane 0 has no job
 *   H JOB ... ABORT    the host cannot send the rest of the job, nor RUN
 *   H CLOSE  G CLOSED  the host closes a lane. CLOSED is the lane's last
 *                      frame; after it the lane may be opened again
 *
 * Processes that a lane's program leaves live on until the machine ends, or
 * until CLOSE with WIRE_CLOSE_KILL. An EXIT counts only its own lane's processes.
 *
 * The payloads, their fields in order:
 *   HELLO      u32 version, str kernel release, str image id
 *   READY      u32 mask of warm runners (1 << enum wire_runner), u32 mask of
 *              the walls that stand around them (1 << enum wire_wall), str:
 *              the modules of the environment that are not kept warm, a line
 *              "NAME: WHY" each, wire_text_ok() but for the line's end,
 *              WIRE_COLD_MAX bytes in all.
 *   HEAT       u32 mask of runners, u32 rounds (0..16). 0 rounds, only after
 *              OWN: each runner itself runs its no-op, as a job's program, and
 *              ends. Empty mask, only after OWN: all runners draw their secrets.
 *   HEATED     u32 mask of runners that answered
 *   OWN        64 bytes from the host's CSPRNG. The guest mixes them into its
 *              kernel's random numbers and draws its machine id; a runner
 *              draws its own secrets at the next HEAT, or else at RUN.
 *   JOB        see struct wire_job
 *   FILE       arg = enum wire_file_kind; u32 mode (07777), u64 size, from the
 *              host time of change (unknown: now), str path, and of a link str target.
 *              path is relative, "/"-separated, no empty, "." or ".."
 *              component, no leading "/". Directories come before what is in
 *              them. A regular file is followed by FILE_DATA frames with
 *              exactly size bytes in all, then FILE_END: the commit. Its payload
 *              is empty, or from the guest the file's time of change.
 *              A link's target is what wire_link_ok() takes.
 *              WIRE_FILE_OMITTED, from the guest only, names an entry that the guest
 *              does not send: mode is an enum wire_omitted, path is any text of
 *              1..WIRE_PATH_MAX bytes. At most WIRE_OMITTED_TOLD come.
 *              WIRE_FILE_STDIN, from the host only, is a regular file: it is the
 *              program's standard input. Its path is not used.
 *   SHARE      see struct wire_share
 *   CLOSE      empty; arg = enum wire_close
 *   CLOSED     empty
 *   NET        see wire_network.h: the job may have connections. After OWN, before JOB
 *              or SHARE; on a shared wire later, too, on lane 0. There is no answer
 *   NET_ENDED  empty: the machine's network helper has ended, after or before NET
 *   ABORT      empty; on a lane: cancels the step whose JOB has come. RUN does not
 *              follow; another JOB may. The interpreter lives on. There is no answer.
 *   STARTED    u32 pid of the program in the machine, or empty: not known
 *   STDIN_ACK  u32 bytes that the program has newly read; arg 1: it has closed its
 *              input and these bytes are dropped. Before EXIT all that it has read is
 *              acknowledged
 *   KILL       arg = enum wire_kill_scope; u32 signal number (1..64)
 *   OUT, ERR, RESULT   bytes
 *   EXIT       see struct wire_exit
 *   OUTPUT_END u32 files sent, u32 entries left out, reported by name or not
 *   FAILED     str, one sentence of WIRE_SAID_MAX bytes at most; arg is an enum
 *              wire_failed
 * A str is u32 length and that many bytes, no NUL inside, not terminated.
 * A time is i64 seconds since 1970 and u32 nanoseconds below 10^9; UINT32_MAX of
 * these: it is not known, and the seconds are 0.
 */
#ifndef GUEST_WIRE_H
#define GUEST_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WIRE_VERSION 15u
#define WIRE_MAGIC (0xf500u | WIRE_VERSION)
#define WIRE_HEADER_SIZE 8u
#define WIRE_PAYLOAD_MAX (64u << 10) /* except JOB */
#define WIRE_JOB_MAX (512u << 10)    /* args + env + fixed fields */
#define WIRE_STDIN_WINDOW (64u << 10)
#define WIRE_PATH_MAX 4095u
#define WIRE_STRINGS_MAX 4096u /* most strings in one list */
#define WIRE_PORT_NAME "fsd.wire"
#define WIRE_ENTROPY_SIZE 64u
#define WIRE_COLD_MAX 4096u
#define WIRE_SAID_MAX 400u /* bytes of a FAILED's sentence */
#define WIRE_LANE_MAX 96u

/* A file's time of change, in any year. Zeroed: not known. */
struct wire_time {
	int64_t s;   /* since 1970 */
	uint32_t ns; /* below 10^9 */
	bool known;
};

/* Returns the mtime of stat(2). */
struct wire_time wire_time_of(const struct timespec *ts);
/* Returns the value for utimensat(2); not known: UTIME_OMIT. */
struct timespec wire_time_to_set(struct wire_time t);

enum wire_type {
	WIRE_NONE = 0,
	/* host to guest */
	WIRE_HEAT = 1,
	WIRE_PING = 2,
	WIRE_JOB = 3,
	WIRE_RUN = 4,
	WIRE_STDIN = 5,
	WIRE_STDIN_END = 6,
	WIRE_KILL = 7,
	WIRE_OWN = 8,
	WIRE_FS = 9,
	WIRE_SHARE = 10,
	WIRE_CLOSE = 11,
	WIRE_ABORT = 12,
	WIRE_NETWORK = 13, /* see wire_network.h */
	/* sent in both directions */
	WIRE_FILE = 16,
	WIRE_FILE_DATA = 17,
	WIRE_FILE_END = 18,
	/* guest to host */
	WIRE_HELLO = 32,
	WIRE_READY = 33,
	WIRE_HEATED = 34,
	WIRE_PONG = 35,
	WIRE_STARTED = 36,
	WIRE_STDIN_ACK = 37,
	WIRE_OUT = 38,
	WIRE_ERR = 39,
	WIRE_RESULT = 40,
	WIRE_EXIT = 41,
	WIRE_OUTPUT_END = 42,
	WIRE_FAILED = 43,
	WIRE_FS_REPLY = 44,
	WIRE_CLOSED = 45,
	WIRE_NETWORK_ENDED = 46, /* NET_ENDED */
	WIRE_TYPE_MAX
};

/* The program's runner. EXEC executes argv, whatever it names. */
enum wire_runner {
	WIRE_RUN_PYTHON,     /* argv[0] is the program's path, then its args */
	WIRE_RUN_NODE,       /* the same as WIRE_RUN_PYTHON */
	WIRE_RUN_TYPESCRIPT, /* the same as WIRE_RUN_NODE; the runner first erases
			      * types */
	/* Runs WIRE_HOME/code.sh without arguments, in the environment
	 * WIRE_BASE_ENV; ignores envp. */
	WIRE_RUN_BASH,
	WIRE_RUN_EXEC,       /* argv as execvpe() takes it */
	WIRE_RUN_MAX
};

/* A wall is a restriction of programs. Init checks which ones are in force around every
 * runner, before any program has run. */
enum wire_wall {
	WIRE_WALL_USER, /* uid and gid 1000 in every field, no other group */
	WIRE_WALL_CAPS,    /* programs have no capability in any set, and no_new_privs */
	WIRE_WALL_FILTER,  /* a filter of system calls */
	WIRE_WALL_ROOT,    /* the root is read-only */
	/* /dev is mounted, and has no disk, console or port */
	WIRE_WALL_DEVICES,
	WIRE_WALL_MODULES, /* the kernel loads no module */
	WIRE_WALL_NETWORK, /* a loopback device and no other */
	WIRE_WALL_NET_HELPER, /* the network's helper has its own user, no capability, and
			       * a filter */
	WIRE_WALL_MAX
};
#define WIRE_WALLS_ALL ((1u << WIRE_WALL_MAX) - 1)

#define WIRE_HOME "/home/user" /* the directory of programs */
/* The environment of every program, unless its config says otherwise. */
#define WIRE_BASE_ENV                                                          \
	"HOME=" WIRE_HOME,                                                     \
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",           \
		"USER=user", "LOGNAME=user", "SHELL=/bin/bash",                \
		"LANG=C.UTF-8", "PWD=" WIRE_HOME

enum wire_mode {
	WIRE_MODE_SCRIPT, /* run the program */
	WIRE_MODE_CALL, /* load the file and call a function; RESULT has the value */
	WIRE_MODE_SESSION, /* run the program in a living interpreter: a step */
	WIRE_MODE_CELL,   /* a step; RESULT has the value of the last expression */
	WIRE_MODE_MAX
};

static inline bool wire_mode_is_step(uint32_t mode)
{
	return mode == WIRE_MODE_SESSION || mode == WIRE_MODE_CELL;
}

enum wire_file_kind {
	WIRE_FILE_REG, WIRE_FILE_DIR, WIRE_FILE_LINK, WIRE_FILE_OMITTED,
	WIRE_FILE_KIND_MAX,
	WIRE_FILE_STDIN = 16 /* standard input, not an entry of a tree */
};

/* Why an entry of the output tree was not sent. */
enum wire_omitted {
	WIRE_OMITTED_LIMIT, /* over output_limit */
	/* there are more entries than may be sent, or than the home may have */
	WIRE_OMITTED_MANY,
	WIRE_OMITTED_LINK, /* a link that leads outside of the home */
	WIRE_OMITTED_SPECIAL, /* a device, a socket or a fifo */
	WIRE_OMITTED_DEEP, /* its path is too long, or has too many names */
	WIRE_OMITTED_UNREAD, /* the guest cannot read the file */
	WIRE_OMITTED_MAX
};
/* entries left out that the guest reports by name */
#define WIRE_OMITTED_TOLD 100u

enum wire_failed {
	WIRE_FAILED_JOB,   /* the guest cannot run the job */
	WIRE_FAILED_ENDED, /* the session's interpreter had ended before the job */
	WIRE_FAILED_INIT,  /* init ends, whether it has a job or not */
	WIRE_FAILED_MAX
};

enum wire_kill_scope {
	WIRE_KILL_FIRST, /* the program's first process */
	WIRE_KILL_ALL, /* every process of the job; signal 9 uses cgroup.kill */
	WIRE_KILL_GROUP, /* the first process's group, as a terminal does */
	/* interrupts the present work, like Ctrl-C; a session's interpreter lives on */
	WIRE_KILL_INTERRUPT,
	WIRE_KILL_SCOPE_MAX
};

enum wire_close {
	WIRE_CLOSE_LEAVE, /* processes that a program left running live on */
	WIRE_CLOSE_KILL,  /* every process of the lane is killed */
	WIRE_CLOSE_MAX
};

/* The interpreter that ran the program: the waiting one, or why a fresh one. */
enum wire_begun {
	WIRE_BEGUN_WARM, /* the waiting one */
	WIRE_BEGUN_ASKED, /* a fresh one: JOB said so */
	WIRE_BEGUN_ENV,   /* begun_by is a variable that is obeyed at the start */
	/* begun_by is an input that would be imported in place of a loaded
	 * module, or is read at an import */
	WIRE_BEGUN_FILE,
	/* no interpreter waits for such a program: "#!", a session of bash */
	WIRE_BEGUN_ITSELF,
	WIRE_BEGUN_MAX
};
#define WIRE_BEGUN_BY_MAX 63u
#define WIRE_EXIT_MAX 384u /* bytes of an EXIT */

/*
 * Bytes of RESULT that a job may send; further ones are dropped and counted. A
 * cell first reports each display when it is shown: a line that begins with
 * WIRE_SHOWN, then JSON. The value is what follows the last such line.
 */
#define WIRE_SHOWN 0x1e /* the record separator of RFC 7464 */
#define WIRE_SHOWN_MAX (8u << 20)  /* bytes of shown lines that the host keeps */
#define WIRE_RESULT_MAX (WIRE_SHOWN_MAX + (16u << 20))

struct wire_strings {
	uint32_t count;
	const char **item; /* owned array of borrowed or owned strings */
};

/*
 * JOB. On the wire, in this order: u32 runner, u32 mode, u32 cpus,
 * u32 processes, u64 memory_bytes, u64 stdout_limit, u64 stderr_limit,
 * u64 output_limit, u32 output_files, u32 linger_ms, u32 fresh,
 * u64 realtime_ns, str call, str cwd, list argv, list envp. A list is u32 count,
 * then that many str.
 */
struct wire_job {
	uint32_t runner;       /* enum wire_runner */
	uint32_t mode;         /* enum wire_mode */
	uint32_t cpus;         /* >= 1 */
	uint32_t processes;    /* limit pids.max of the cgroup */
	uint64_t memory_bytes; /* limit memory.max of the cgroup */
	/* most bytes; the guest drops and counts further ones */
	uint64_t stdout_limit;
	uint64_t stderr_limit;
	uint64_t output_limit; /* bytes of all output files; 0: send none */
	uint32_t output_files; /* most output entries */
	uint32_t linger_ms; /* see guest/run/job.h; not for a step */
	uint32_t fresh; /* 1: do not use the waiting interpreter */
	uint64_t realtime_ns;  /* the host's CLOCK_REALTIME */
	const char *call;      /* function name for WIRE_MODE_CALL, else "" */
	/* start directory, an absolute path; "" (or NULL in put): WIRE_HOME */
	const char *cwd;
	struct wire_strings argv; /* >= 1 */
	struct wire_strings envp; /* "NAME=value" */
};

/* SHARE: limits of all lanes together. On the wire in this order. */
struct wire_share {
	uint64_t memory_bytes; /* limit memory.max of the cgroup */
	uint32_t processes;    /* limit pids.max of the cgroup */
	uint32_t cpus;         /* >= 1 */
	uint64_t realtime_ns;  /* the host's CLOCK_REALTIME */
};

enum wire_exit_kind {
	WIRE_EXIT_CODE,   /* value is the exit code, 0..255 */
	WIRE_EXIT_SIGNAL, /* value is the signal number */
	WIRE_EXIT_KIND_MAX
};

#define WIRE_UNKNOWN UINT64_MAX /* a figure that the guest could not read */

/* EXIT. On the wire: the u32 fields, then the u64 fields, in order, then
 * begun_by. */
struct wire_exit {
	uint32_t kind;  /* enum wire_exit_kind */
	uint32_t value;
	/* 1: a step's end, and its interpreter can run another */
	uint32_t lives;
	uint32_t unasked; /* 1: no KILL_ALL had come when the first process ended */
	uint32_t left;  /* processes that were killed at the end */
	uint32_t begun; /* enum wire_begun */
	uint64_t wall_ns; /* time from the program's start to waitpid() */
	uint64_t user_us, system_us; /* cgroup cpu.stat, this job's share */
	uint64_t peak_memory_bytes;  /* file memory.peak of the cgroup */
	uint64_t peak_processes;     /* file pids.peak of the cgroup */
	uint64_t oom_kills;          /* memory.events oom_kill */
	uint64_t stdout_bytes, stdout_dropped; /* bytes written; bytes of them that were
					        * dropped */
	uint64_t stderr_bytes, stderr_dropped;
	uint64_t result_dropped;
	char begun_by[WIRE_BEGUN_BY_MAX + 1]; /* wire_text_ok(); "" unless begun
						 says that there is a name */
};

struct wire_header {
	uint32_t length;
	uint8_t type;
	uint8_t arg;
};

/* Reads the 8 bytes at p. Return: 0, or -EPROTO (magic, type, length). */
int wire_header_get(const uint8_t *p, struct wire_header *ret_header);
void wire_header_put(uint8_t *p, uint32_t length, uint8_t type, uint8_t arg);

/* Returns the lane of the header at p, and sets it to 0 there. */
uint8_t wire_lane_take(uint8_t *p);
void wire_lane_put(uint8_t *p, uint8_t lane);

/* A cursor over one payload. Every getter checks the bounds. After the first
 * failure all getters return zero values and wire_end() returns -EPROTO. */
struct wire_cursor {
	const uint8_t *p, *end;
	bool failed;
};

void wire_begin(struct wire_cursor *c, const void *payload, size_t length);
uint32_t wire_get_u32(struct wire_cursor *c);
uint64_t wire_get_u64(struct wire_cursor *c);
struct wire_time wire_get_time(struct wire_cursor *c);
/* A NUL-terminated copy, owned by the caller; NULL on failure. Refuses NUL
 * inside and more than max bytes. */
char *wire_get_str(struct wire_cursor *c, size_t max);
/* Returns 0 if every getter succeeded and no byte is left, else -EPROTO. */
int wire_end(const struct wire_cursor *c);

/* A writer into a buffer of the caller. Beyond its end it counts but does not
 * write: then used > size, and used is the size needed. */
struct wire_writer {
	uint8_t *p;
	size_t size, used;
};

void wire_put_u32(struct wire_writer *w, uint32_t v);
void wire_put_u64(struct wire_writer *w, uint64_t v);
void wire_put_time(struct wire_writer *w, struct wire_time t);
void wire_put_bytes(struct wire_writer *w, const void *data, size_t length);
void wire_put_str(struct wire_writer *w, const char *text);

void wire_job_put(struct wire_writer *w, const struct wire_job *job);
/*
 * Decodes a JOB payload; the strings are copies. Free with wire_job_done().
 * Return: 0, -EPROTO or -ENOMEM; on failure *ret_job needs no release.
 */
int wire_job_get(const void *payload, size_t length, struct wire_job *ret_job);
void wire_job_done(struct wire_job *job);
/* Frees a list of heap copies, as a decoded JOB has. */
void wire_strings_done(struct wire_strings *s);

void wire_share_put(struct wire_writer *w, const struct wire_share *share);
/* Return: 0 or -EPROTO (bounds, a figure that is 0). */
int wire_share_get(const void *payload, size_t length, struct wire_share *ret);

/* Decodes STARTED. Return: 0 and a pid (0: not known), or -EPROTO. */
int wire_pid_get(const void *payload, size_t length, uint32_t *ret_pid);

void wire_exit_put(struct wire_writer *w, const struct wire_exit *e);
/* Return: 0 or -EPROTO (bounds, kind, code over 255, signal not 1..64, begun). */
int wire_exit_get(const void *payload, size_t length, struct wire_exit *ret);

/*
 * Returns true if path may name a file inside a tree: relative,
 * 1..WIRE_PATH_MAX bytes, at most 64 components of 1..255 bytes, none of them
 * "." or "..".
 */
bool wire_path_ok(const char *path);

/*
 * Returns true if a link in a directory `depth` levels below the top may have
 * this target: relative, 1..WIRE_PATH_MAX bytes, and no ".." leads above the
 * top. Checks only the text: a name in it may be another link.
 */
bool wire_link_ok(unsigned depth, const char *target);
/* Returns how many names path, which passed wire_path_ok(), has before the last
 * one. */
unsigned wire_path_depth(const char *path);

/* Returns true if text is printable ASCII; the guest escapes other bytes. */
bool wire_text_ok(const char *text);
/* The same for READY's lines, which each end with a newline. */
bool wire_cold_ok(const char *text);

/* A type's name for messages, "?" if it has none. */
const char *wire_type_name(unsigned type);

#endif
