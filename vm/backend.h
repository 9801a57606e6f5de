/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes machines: QEMU, or a script in tests. The room above (pool,
 * machine, channel) is the same for both. Everything happens on the loop's
 * thread, and no event is delivered from inside a method.
 *
 *   open -> template_get -> template_done -> start -> up -> pause/resume*
 *        -> kill (or its own death) -> gone
 */
#ifndef VM_BACKEND_H
#define VM_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "class.h"
#include "guest/wire/wire.h"
#include "options.h"
#include "vm/os/accel.h"
#include "vm/os/loop.h"

struct vm_reach; /* channel/tape.h */

/* A template that is ready to be restored from. */
struct backend_template {
	uint32_t runners; /* mask of 1 << enum wire_runner that are warm */
	uint32_t walls;   /* in the guest; bits of 1 << enum wire_wall */
	enum vm_accel accel;
	bool kvm_fails;   /* there is one, which was tried and does not work */
	unsigned scale;   /* how much slower than KVM waits are to be: 1, 10 */
	char id[17];      /* first 16 hex digits of its key */
	bool made;        /* just now, not found */
	/* Modules that are not kept warm: lines "MODULE: WHY". */
	char cold[WIRE_COLD_MAX + 1];
};

/* The zygote of a class: what its machines are made from, beside the template.
 */
struct backend_prepared {
	bool possible; /* it can have one */
	bool ready, thorough;
	bool making;    /* one, or its successor */
	uint64_t bytes; /* of memory that one takes; 0: not known yet */
};

/* What the room gives a backend; borrowed until close. */
struct backend_host {
	struct loop *loop;
	const struct vm_options *options;
	/* code 0: t is set. Else err says why there is no template. */
	void (*template_done)(void *arg, const struct vm_class *cls,
			      const struct backend_template *t,
			      const struct err *err);
	/* One step of a template. accel: of the boot that goes on; AUTO: none,
	 * it is looked for. */
	void (*progress)(void *arg, const struct vm_class *cls,
			 const char *sentence, enum vm_accel accel);
	void (*boot_failed)(void *arg); /* for the statistics */
	void (*broken)(void *arg); /* no machine can be started any more */
	void (*prepared)(void *arg); /* what prepare() has begun is ready */
	void (*freed)(void *arg);  /* what unprepare() gave back is free */
	void (*renewed)(void *arg); /* a template has been replaced by a younger */
	void *arg;
};

struct backend {
	const struct vm_backend *ops;
	const struct backend_host *host; /* borrowed */
	/* Walls that a guest lacked, which was refused for it. */
	uint32_t guest_lacks;
};

struct backend_machine {
	struct backend *backend;
	uint32_t hot; /* runners that need no heat; set by start(), */
	bool forked;  /* as is this: it shares its memory with a zygote */
};

struct backend_machine_events {
	/* The guest runs and hears its wire. At most once. */
	void (*up)(void *arg);
	/* After probe: it has answered. */
	void (*alive)(void *arg);
	/* After cost: the bytes of memory that it shares with no other process.
	 * 0: this host does not tell. */
	void (*cost)(void *arg, uint64_t bytes);
	/*
	 * The machine does not exist any more: its process is reaped. Exactly
	 * once, after kill or by itself. The backend frees it afterwards.
	 * taken: somebody outside has killed it, or the host had no memory for
	 * it: neither it nor its template is to blame.
	 */
	void (*gone)(void *arg, const char *why, bool taken);
};

struct vm_backend {
	const char *name;

	/*
	 * Checks what can be checked at once (a program, files), starts
	 * nothing slow. Return: 0, or a negative errno with a remedy in *err.
	 */
	int (*open)(const struct backend_host *host, struct backend **ret,
		    struct err *err);

	/*
	 * Kills and reaps every machine and helper that is left, without
	 * further events; returns within a bounded time.
	 */
	void (*close)(struct backend *b);

	/*
	 * Makes or verifies the template of a class; template_done follows
	 * exactly once. Not called again for the class before that.
	 */
	void (*template_get)(struct backend *b, const struct vm_class *cls);

	/* The template does not answer: the next template_get makes it anew. */
	void (*template_drop)(struct backend *b, const struct vm_class *cls,
			      const char *why);

	/*
	 * Whatever makes further machines of the class cheaper is made now, if
	 * it is not there: for these runners (1 << enum wire_runner) at least;
	 * thorough: there is time. Return: when it is to be asked again
	 * (now_ns()), 0: as it comes. NULL: nothing does.
	 */
	uint64_t (*prepare)(struct backend *b, const struct vm_class *cls,
			    uint32_t runners, bool thorough);
	/* What is being made so, which takes a processor, and what is there.
	 * Classes with the same template have it together. NULL: never
	 * anything. */
	struct backend_prepared (*prepared)(struct backend *b,
					    const struct vm_class *cls);
	/* Was it made from what has been replaced by now, so that it shares its
	 * memory with nobody any more? NULL: never. */
	bool (*is_dated)(struct backend_machine *m);
	/* Its memory is needed: gives back what prepare has made for the class.
	 * Return: will `freed` follow? NULL: never. */
	bool (*unprepare)(struct backend *b, const struct vm_class *cls);

	/*
	 * Starts a machine from the class's template. *ret_wire is the host's
	 * end of its wire, nonblocking, owned by the caller; bytes written
	 * before `up` wait there. The time to `up` is bounded by the backend.
	 * hot: there is time to have it hot at once, if it can be; else a job
	 * waits, and takes what it needs as it goes.
	 */
	int (*start)(struct backend *b, const struct vm_class *cls, bool hot,
		     const struct backend_machine_events *ev, void *arg,
		     struct backend_machine **ret, int *ret_wire,
		     struct err *err);

	/* Says how another process reaches it. NULL: no machine outlives this
	 * one. */
	void (*sign)(struct backend_machine *m, struct vm_reach *ret);
	/* What the jailer of a process that is dead is reached by; sock is
	 * consumed. */
	void (*left)(struct backend *b, uint64_t jail, int sock);
	/* One that was signed so by that process, or is about to be woken by it; its
	 * jailer is known. scale: of its waits. monitor is consumed. Return: 0 or
	 * negative errno. */
	int (*adopt)(struct backend *b, const struct vm_reach *reach,
		     unsigned scale, int monitor,
		     const struct backend_machine_events *ev, void *arg,
		     struct backend_machine **ret);
	/* All have been: those that were not are to die. */
	void (*adopted)(struct backend *b);

	/* Stops the guest's processors: no CPU is used until resume, which does
	 * nothing to one that runs. Both only after up; neither waits; failure
	 * shows as gone, and so does a resume that is not answered in time
	 * (limit_ns 0: the backend's own). */
	void (*pause)(struct backend_machine *m);
	void (*resume)(struct backend_machine *m, uint64_t limit_ns);
	/* After up: does it still answer? alive follows, or gone. */
	void (*probe)(struct backend_machine *m, uint64_t limit_ns);

	/* Of one that is paused: `cost` follows, unless it ends before. NULL:
	 * the backend cannot tell. */
	void (*cost)(struct backend_machine *m);

	/* Kills it without ceremony; gone follows soon. Idempotent. */
	void (*kill)(struct backend_machine *m);

	/* Tests: another host's memory than this one's. NULL: there is none. */
	void (*memory)(struct backend *b, struct vm_memory *memory);

	/* How the walls around each machine stand; NULL: there are none. */
	const struct walls *(*walls)(struct backend *b);
	/* Names the QEMU that runs the machines; NULL: there is none. */
	const struct vm_qemu *(*qemu)(struct backend *b);
};

extern const struct vm_backend vm_backend_qemu;
extern const struct vm_backend vm_backend_fake;

#endif
