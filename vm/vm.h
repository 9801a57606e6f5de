/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines' door: lease a machine, run one job in it, give it up. The room
 * behind it knows machines and frames; it knows nothing of FUSE, job files or
 * JSON. Single-threaded: every call and every event happens on the loop's
 * thread, and no event is delivered from inside a call of this header.
 *
 *   vm_new -> (template made or verified, pool filled, all in the background)
 *   vm_lease -> granted -> vm_run -> started, output*, exited,
 *               (file, file_data*, file_end)*, finished -> vm_end
 *
 * Instead of any event after vm_lease there may come one `failed`, after which
 * only vm_end() is allowed. vm_end() is allowed at any time, also from inside
 * an event; the machine dies and no further event is delivered. A machine
 * serves one job and is destroyed; but when the job was a session's step and
 * `exited` said that its interpreter lives, vm_run() may be called again. A
 * shared machine (vm_share()) serves many.
 */
#ifndef VM_VM_H
#define VM_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "guest/wire_fs.h"
#include "layout/base/buf.h"
#include "layout/base/err.h"
#include "vm/os/accel.h"
#include "vm/os/loop.h"
#include "vm/jail/walls.h"

struct environment; /* environment/environment.h */
struct vm;
struct vm_lease;
struct vm_tape; /* tape.h */
struct vm_mux;  /* mux.h */
struct vm_tape_flow;
struct vm_backend; /* backend.h; vm_backend_qemu, vm_backend_fake (tests) */

enum vm_source { VM_WARM, VM_RESTORED, VM_BOOTED, VM_SOURCE_MAX };

extern const char *const vm_source_names[VM_SOURCE_MAX]; /* "warm" ... */

/* The QEMU that machines run on; no pointers. */
#define VM_QEMU_PATH_MAX 512
struct vm_qemu {
	char path[VM_QEMU_PATH_MAX]; /* absolute */
	char version[32];            /* "10.0.13" */
	char why[160];               /* this one, for a person */
	char package[64]; /* its version: "1:10.0.13+ds-0+deb13u1"; "": unknown */
	char suite[32];   /* "trixie"; "": it was not brought */
	char doubt[160];  /* why date is 0, or what of its origin is not right */
	int64_t date;     /* its package was uploaded, or its program was made;
			     s since 1970, 0: unknown */
	int64_t asked;    /* its archive had no newer one; the same */
};

/* Where one may be. A name without a slash is looked up in PATH. */
struct vm_qemu_places {
	const char *asked;   /* by the user, or NULL */
	const char *brought; /* with the program, or NULL */
};

/* A file whose sum was right while it was so (qemu/verified.h). */
struct vm_verified {
	uint32_t valid;
	uint64_t dev, ino, size;
	struct timespec mtime, ctime;
	char sum[65]; /* 64 digits and a NUL */
};

/* What a daemon finds out before its first machine and need not a second time,
 * when it takes over from one that was killed; no pointers. */
struct vm_known {
	uint32_t valid; /* qemu and walls are */
	uint32_t recalled;   /* what mounts before have verified is here, too */
	uint32_t unrecorded; /* some of it is not there for the next mount */
	struct vm_qemu qemu;
	struct walls walls;
#define VM_VERIFIED_MAX 16u /* 3 of the image, 2 of each template */
	struct vm_verified verified[VM_VERIFIED_MAX];
};

/*
 * Who has descriptors that outlive this process, and gives them to the one that
 * goes on. Each key is given once, whatever process asks.
 */
struct vm_keep {
	void (*keep)(void *arg, uint64_t key, int fd); /* fd borrowed */
	void (*drop)(void *arg, uint64_t key);
	void *arg;
};

/* What it gives back for a machine's keys: owned, -1: nobody has it. */
struct vm_sockets {
	int jail, wire, monitor;
};

struct vm_options {
	const struct vm_backend *backend;
	const char *cache_dir; /* templates and the accelerator's verdict */
	/* Where templates are that others made; not copied. NULL: none. */
#define VM_SHARED_MAX 2
	const char *shared[VM_SHARED_MAX];
	const char *image_dir; /* vmlinux, initramfs.cpio, rootfs.erofs, manifest */
	struct vm_qemu_places qemu;
	enum vm_accel accel;
	unsigned pool; /* warm machines to keep, 0: none */
	/* Bytes that idle machines and zygotes may take together; 0: a share of
	 * the memory there is. */
#define VM_IDLE_SHARE 4
	uint64_t idle_memory;
	unsigned max_machines;         /* most machines alive at once, >= 1 */
	bool permissive;               /* a required wall may be missing */
	bool no_fork;                  /* no machine is forked off another */
	bool quick_heat;               /* no third round of heat for anything */
	bool no_renewal;               /* a template serves however old it is */
	bool plain;                    /* no interpreter waits in a machine: it runs
					  programs with #! alone, and boots in a
					  quarter of the time */
	uint32_t uid_first, uid_count; /* user ids of machines; 0: default */
	struct vm_known *known; /* or NULL; filled in, or believed if valid:
				   then vm_new() does not wait for processes */
	const struct vm_keep *keep;  /* copied; NULL: no machine outlives us */
};

/* What the room tells its owner without being asked. */
struct vm_watch {
	/* Health or readiness changed; read them with vm_health(). */
	void (*changed)(void *arg);
	/* No machine can be started any more, by this process. */
	void (*broken)(void *arg);
	/* One step of a template's making, for a person: "booting", ... */
	void (*progress)(void *arg, const char *sentence);
	/* A machine is gone, and what it took is free. May be NULL. */
	void (*freed)(void *arg);
	/* May one be made that nobody waits for? May be NULL. */
	bool (*may_warm)(void *arg);
	/* The environment that a spec (environment_open()) names, NULL: the one
	 * of jobs that ask for none. *ret is the caller's. Return: 0, or negative
	 * errno: it is not there, or does not fit. May be NULL: there are none. */
	int (*environment)(void *arg, const char *spec,
			   struct environment **ret);
	void *arg;
};

/*
 * Starts the room: checks QEMU and the image now (their absence is an error
 * here, with a remedy), makes or verifies the template in the background.
 * The strings and *options are copied. Return: 0 or negative errno.
 */
int vm_new(struct loop *loop, const struct vm_options *options,
	   const struct vm_watch *watch, struct vm **ret_vm, struct err *err);
/* Kills every machine and waits until they are gone (bounded). Every lease is
 * to be ended before. NULL is fine. */
void vm_free(struct vm *vm);

/*
 * 0 when jobs can run; -EAGAIN while the template is being made, or they can
 * though all is not well; else a negative errno. *ret always gets one sentence, "ok" when 0.
 */
int vm_health(const struct vm *vm, struct err *ret);

/*
 * Memory in bytes: what there is for us, the host's or what a control group
 * leaves us of it, and what of that is free or would be at once.
 */
struct vm_memory {
	uint64_t total, available;
};
void vm_memory(struct vm *vm, struct vm_memory *ret);
/*
 * Measured (PSS, QEMU 7.2 under TCG): a machine comes to what its program may
 * take and some 70 to 100 MiB: QEMU, translated code, the guest's kernel and
 * runners. An idle one has those alone. One of an environment has its heap
 * besides.
 */
#define VM_MACHINE_BYTES (128ull << 20)
/* Ends an idle machine, for its memory. False if there is none; else freed
 * follows. */
bool vm_give_way(struct vm *vm);

/* The template cannot be had; it is tried again, whether anybody waits or not. */
bool vm_has_no_template(const struct vm *vm);
/* That, or machines have failed to start and none has served since. */
bool vm_is_failing(const struct vm *vm);

/* How far the template of an environment's machines is; NULL: of base. */
enum vm_made { VM_MADE_NOT, VM_MADE_MAKING, VM_MADE_READY, VM_MADE_FAILED };
/* ret: why it FAILED, or NULL. */
enum vm_made vm_template_state(const struct vm *vm,
			       const struct environment *e, struct err *ret);
/* Modules that its template does not keep warm: lines "MODULE: WHY"; "": none that
 * is known. Borrowed until the loop runs. */
const char *vm_template_cold(const struct vm *vm, const struct environment *e);
/* Has it made although nobody waits for it. On the loop, once it runs. Return: 0
 * or -ENOMEM; vm_template_state() tells what becomes of it. */
int vm_make_template(struct vm *vm, struct environment *e);

/* What a job needs of a machine. */
struct vm_need {
	uint32_t runner;      /* enum wire_runner: which path should be hot */
	uint64_t memory_bytes; /* the program's memory and its files together */
	unsigned cpus;        /* >= 1 */
	/* What its machine has besides the image; NULL: nothing. Borrowed. */
	struct environment *environment;
};

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

/*
 * A lease for the runner (enum wire_runner) may come within a second: somebody
 * writes a program. One warm machine is woken, and stopped again if none does.
 * environment_id: of that which is likely, or "base"; "": what jobs have that
 * ask for none.
 */
void vm_expect(struct vm *vm, uint32_t runner, const char *environment_id);
/*
 * Asks for a machine. Those that the same kind of machine can serve are granted
 * in the order of the asking. *events is borrowed, and arg, until vm_end().
 * NULL only without memory.
 */
struct vm_lease *vm_lease(struct vm *vm, const struct vm_need *need,
			  const struct vm_events *events, void *arg);
/* Does it wait for the first machine of its template, which is looked for or made?
 * Then *ret_mib and *ret_cpus are what its machines have at most for a program. */
bool vm_lease_is_first(const struct vm_lease *lease, uint32_t *ret_mib,
		       uint32_t *ret_cpus);
/* How far its template is that is being made, and how long that takes. */
void vm_making(const struct vm_lease *lease, char *ret, size_t size);
/* After granted. *job and what it points at are borrowed until vm_end(). */
void vm_run(struct vm_lease *lease, const struct vm_job *job);

/* What all that a shared machine runs may use together. */
struct vm_share {
	uint64_t memory_bytes;
	uint32_t processes, cpus;
	/* Borrowed until vm_end(): what is on its way lies there, so that another
	 * process can go on with the machine. NULL: none can. */
	struct vm_mux *mux;
};
/*
 * After granted, instead of vm_run(), once: the machine serves several jobs at
 * once from now on, each by a lease that vm_join() gives. This lease has its
 * files, and hears only of its death: failed. vm_end() of it ends the machine;
 * leases that are joined still fail.
 */
void vm_share(struct vm_lease *lease, const struct vm_share *share);
/* Of a shared machine: it stops and takes no time of a processor, or goes on. What is
 * said to it meanwhile waits. */
void vm_pause(struct vm_lease *machine, bool pause);
/*
 * A lease on a lane of a shared machine. granted follows; then all that is said
 * of a lease holds, but for the machine's life: vm_run() may follow a step whose
 * interpreter lives, vm_fs() asks the machine, and vm_end() ends the lane alone.
 * It kills what still runs of it; what a program left that has ended lives on.
 * If the machine dies it fails. Return: NULL, and
 * *ret_error is -ENOMEM, -EMFILE (WIRE_LANE_MAX are open) or -ESTALE: the
 * machine is not shared, or has died.
 */
struct vm_lease *vm_join(struct vm_lease *machine,
			 const struct vm_events *events, void *arg,
			 int *ret_error);
/* The number of its lane, as WIRE_FS_PROCESSES tells it; 0: it has none now. */
unsigned vm_lane(const struct vm_lease *lease);
/* From now on ev hears of the lease, not who asked for it. */
void vm_hear(struct vm_lease *lease, const struct vm_events *events, void *arg);
/* After vm_run(). Signal 9 to WIRE_KILL_ALL ends the job (exited follows). */
void vm_kill(struct vm_lease *lease, enum wire_kill_scope scope, unsigned sig);
/*
 * Asks for a file of a session's machine, from vm_run() of its first step on,
 * whether a step runs or none; or of a shared one, from vm_share() on. *fs is copied; its id is chosen here. Return: 0,
 * then done comes exactly once; -ESTALE: there is no such machine; -EBUSY: too
 * much was asked for already; -ENOMEM.
 *
 * r is 0 with what the operation gives (wire_fs.h, checked, but what it says
 * is the guest's), an errno of the guest, or -EIO: the machine has ended. Only
 * then done may come from inside vm_end() and vm_free(). It may ask again, but
 * not end the lease.
 */
typedef void vm_fs_done(void *arg, int r, const uint8_t *data, size_t size);
int vm_fs(struct vm_lease *lease, const struct wire_fs *fs, vm_fs_done *done,
	  void *arg);
/*
 * A point on the job's tape: all that was delivered before is stored when
 * vm_settle() says so, of the last vm_mark(). There is none where the tape must
 * be heard whole: from the first RESULT on, and from the program's end on.
 */
void vm_mark(struct vm_lease *lease, const struct vm_tape_flow *flow);
void vm_settle(struct vm_lease *lease);
/*
 * Goes on with the job of a process that is dead, where its tape's last point
 * is; the tape was recovered. sockets are those of its keys, and are consumed.
 * job needs no input, and of its wire only mode and limits; it has the tape.
 * Events follow as after vm_run(). Return: NULL if it cannot be: without memory,
 * or the machine is gone and has not said all.
 * vm_adopted() when there are no more: what was not adopted dies.
 */
struct vm_lease *vm_adopt(struct vm *vm, const struct vm_sockets *sockets,
			  const struct vm_job *job,
			  const struct vm_events *events, void *arg);
void vm_adopted(struct vm *vm);
/*
 * The same of a shared machine; its mux was recovered. environment: as it was leased
 * with. Return: a lease as after vm_share(), or NULL: the machine is gone, or no
 * memory.
 */
struct vm_lease *vm_adopt_shared(struct vm *vm,
				 const struct vm_sockets *sockets,
				 struct vm_mux *mux,
				 struct environment *environment, bool paused,
				 const struct vm_events *events, void *arg);
/*
 * A lane of it, before vm_adopted(). With a job it goes on with that, whose RUN was
 * sent and whose tape was recovered; events follow as after vm_run(). Without one
 * vm_run() may follow: an interpreter lives there, and no job runs. aborts: it may
 * have been given one that has not begun. Return: NULL: it is not so, or no memory.
 * What nobody has asked for until vm_adopted() is killed.
 */
struct vm_lease *vm_rejoin(struct vm_lease *machine, unsigned lane,
			   const struct vm_job *job, bool aborts,
			   const struct vm_events *events, void *arg);
/* Stops (true) or resumes reading what the guest sends: back-pressure. */
void vm_hold(struct vm_lease *lease, bool hold);
void vm_end(struct vm_lease *lease);

/* How this lease was served; valid from granted on. */
struct vm_lease_info {
	enum vm_source source;
	enum vm_accel accel;
	const char *template_id; /* 16 hex digits, borrowed */
	uint64_t granted_ns;     /* CLOCK_MONOTONIC */
};
void vm_lease_info(const struct vm_lease *lease, struct vm_lease_info *ret);

struct vm_stats {
	unsigned warm, starting, leased; /* machines now */
	unsigned zygotes;                /* that machines are forked off, */
	unsigned zygotes_wanted;         /* to be made when there is time */
	unsigned lukewarm;               /* warm ones that want more heat */
	uint64_t idle_bytes; /* that idle machines and zygotes take, */
	uint64_t idle_limit; /* and that they may take */
	unsigned waiting;    /* leases not granted yet */
	uint64_t machines_made, machines_failed, jobs_warm, jobs_restored,
		jobs_booted, templates_made, boots_failed;
	enum vm_accel accel; /* VM_ACCEL_AUTO while undecided */
};
void vm_stats(struct vm *vm, struct vm_stats *ret);
/* One class of machines, as the pool sees it. */
struct vm_class_stats {
	char environment[84];    /* "base", NAME, or NAME@ID if two have NAME */
	uint32_t memory_mib, cpus;
	unsigned idle, wanted;  /* machines that are idle; that should be */
	uint64_t machine_bytes; /* that an idle one takes, as far as is known */
	bool zygote;            /* there is one; of classes that share it one
				   tells */
};
void vm_each_class(struct vm *vm,
		   void (*each)(void *arg, const struct vm_class_stats *s),
		   void *arg);
/* The walls around each machine as they were found; NULL: there are none
 * (machines of tests). Borrowed. */
const struct walls *vm_walls(const struct vm *vm);
/* The QEMU of the machines; NULL: they have none (machines of tests). Borrowed. */
const struct vm_qemu *vm_qemu(const struct vm *vm);
/* Those inside the guest, as it saw them when its template was made: *ret are
 * the bits (1 << enum wire_wall) that stand in machines of every class. Return:
 * false while there was no machine to look at, and then *ret has all. */
bool vm_guest_walls(const struct vm *vm, uint32_t *ret);

/* --- without a running room: doctor, image ------------------------------ */

/* Is it on record in cache_dir that KVM was tried within a day, and did not
 * work? */
bool vm_kvm_fails(const char *cache_dir);

/* Verifies every part against the manifest. ret gets "kernel ..., image ..."
 * lines for a person. Return: 0 or negative errno. */
int vm_image_verify(const char *image_dir, struct buf *ret, struct err *err);
/* What an environment must fit (environment_fits()): the image's abi, "" if it
 * is of an older fsd, and its packages, "name version" a line. Return: 0 or
 * negative errno. */
int vm_image_facts(const char *image_dir, char ret_abi[96],
		   struct buf *ret_packages, struct err *err);
/* How the walls around a machine would stand here. Return: 0, or a negative
 * errno: QEMU does not run in a jail at all. */
int vm_walls_find(const char *qemu, const char *image_dir, struct walls *ret,
		  struct err *err);
/*
 * Which QEMU machines run on: what was asked for, else what was brought if it
 * runs here, else the host's. It is started once, to tell its version. Return:
 * 0, or a negative errno with a remedy in err.
 */
int vm_qemu_choose(const struct vm_qemu_places *places, struct vm_qemu *ret,
		   struct err *err);
/* For a person: its package, where that is from and how old it is. now: s since
 * 1970, as the others. */
void vm_qemu_age_text(const struct vm_qemu *q, int64_t now, struct buf *out);
/* It is older than VM_QEMU_OLD_DAYS, and its archive was not asked for a newer one
 * for VM_QEMU_ASKED_DAYS. What is of unknown age is not old. */
#define VM_QEMU_OLD_DAYS 120
#define VM_QEMU_ASKED_DAYS 30
bool vm_qemu_is_old(const struct vm_qemu *q, int64_t now);
/* Compares the files of a tree that was brought with its origin. root: without a
 * slash at its end. Return: how many there are, or a negative errno with the first
 * one that differs in err. */
int vm_qemu_verify(const char *root, struct err *err);

#endif
