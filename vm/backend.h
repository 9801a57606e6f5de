/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of functions that make machines: implemented by qemu/, and by fake/
 * for tests. vm/pool, the machine and the channel are the same for both. Every
 * method and event runs on the loop's thread. No event is called from inside a
 * method.
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

struct vm_reach; /* channel/replay.h */

/* A template from which machines can be restored. */
struct backend_template {
	/* interpreters that wait warm in it; bits 1 << enum wire_runner */
	uint32_t runners;
	uint32_t walls; /* walls inside the guest; bits 1 << enum wire_wall */
	enum vm_accel accel;
	/* the host has KVM, but a machine with KVM failed to run */
	bool kvm_fails;
	unsigned scale; /* factor of every timeout: 1 on a fast host with KVM, to 10 */
	char id[17];      /* first 16 hex digits of the template's key */
	bool made; /* made just now, not found on the disk */
	/* Modules that are not kept warm; a line "MODULE: WHY" each. */
	char cold[WIRE_COLD_MAX + 1];
};

/* The zygote of a class: a process that new machines are forked off. See
 * zygotes.h of qemu/. */
struct backend_prepared {
	bool possible; /* machines of this class can be forked off a zygote */
	/* ready: machines can be forked off it now. thorough: it had all rounds of heat,
	 * so prepare() could make no better one. */
	bool ready, thorough;
	bool making; /* a zygote or its successor is being made */
	uint64_t bytes; /* memory that a zygote takes; 0: not known yet */
};

/* Given by vm/pool to a backend at open(); borrowed until close(). */
struct backend_host {
	struct loop *loop;
	const struct vm_options *options;
	/* The end of template_get(). err->code 0: t is set. Else err says why
	 * there is no template. */
	void (*template_done)(void *arg, const struct vm_class *cls,
			      const struct backend_template *t,
			      const struct err *err);
	/* One step in making a template. accel: of the boot under way; AUTO: no
	 * boot, the template is still searched for. */
	void (*progress)(void *arg, const struct vm_class *cls,
			 const char *sentence, enum vm_accel accel);
	void (*boot_failed)(void *arg); /* a boot failed; for the statistics */
	/* The backend cannot start machines any more. */
	void (*broken)(void *arg);
	/* the zygote that prepare() began is ready */
	void (*prepared)(void *arg);
	void (*freed)(void *arg); /* the memory of an unprepare() is free */
	void (*renewed)(void *arg); /* a newer template has replaced one */
	void *arg;
};

struct backend {
	const struct vm_backend *ops;
	const struct backend_host *host; /* borrowed */
	/* Walls that were missing in a guest (bits 1 << enum wire_wall). Unless
	 * options->permissive, the backend then refuses the template. */
	uint32_t guest_lacks;
};

struct backend_machine {
	struct backend *backend;
	uint32_t hot; /* runners that are warm at once; set by start() */
	/* forked off a zygote and shares its memory; set by start() */
	bool forked;
};

struct backend_machine_events {
	/* The guest runs and reads its wire. At most once. */
	void (*up)(void *arg);
	/* The guest has answered a probe(). */
	void (*alive)(void *arg);
	/* The answer to cost(): bytes of memory that this machine shares with
	 * no other process. 0: the host does not report it. */
	void (*cost)(void *arg, uint64_t bytes);
	/*
	 * The machine has ended and its process is reaped. Exactly once, after
	 * kill() or after its own death; the backend frees the machine
	 * afterwards. taken: a process outside killed it, or the host ran out
	 * of memory. Then neither the machine nor its template is at fault.
	 */
	void (*gone)(void *arg, const char *why, bool taken);
};

struct vm_backend {
	const char *name;

	/*
	 * Checks what can be checked at once (the program, files); starts no
	 * slow work.
	 * Return: 0, or a negative errno with a remedy in *err.
	 */
	int (*open)(const struct backend_host *host, struct backend **ret,
		    struct err *err);

	/* Kills and reaps every machine and helper process. Calls no event.
	 * Returns within a bounded time. */
	void (*close)(struct backend *b);

	/* Makes or verifies the template of a class; template_done() follows
	 * exactly once. Do not call it again for the class before that. */
	void (*template_get)(struct backend *b, const struct vm_class *cls);

	/* Marks a template as broken: the next template_get() makes it anew.
	 * why: for the log. */
	void (*template_drop)(struct backend *b, const struct vm_class *cls,
			      const char *why);

	/*
	 * Makes a zygote for the class if it has none, with at least these
	 * runners warm (bits 1 << enum wire_runner). thorough: no job waits, so
	 * it may take longer.
	 * Return: the time (now_ns()) to call it again; 0: no such time, the
	 * pool calls it again when it next runs.
	 * NULL: the backend has no zygotes.
	 */
	uint64_t (*prepare)(struct backend *b, const struct vm_class *cls,
			    uint32_t runners, bool thorough);
	/* Describes the class's zygote. Classes with the same template share
	 * one. NULL: the backend has no zygotes. */
	struct backend_prepared (*prepared)(struct backend *b,
					    const struct vm_class *cls);
	/* Returns whether a new machine would be better: since this one started, its
	 * class got another zygote or template. NULL: never. */
	bool (*is_dated)(struct backend_machine *m);
	/* Ends the class's zygote because memory is needed. Return: whether
	 * freed() will follow. NULL: never. */
	bool (*unprepare)(struct backend *b, const struct vm_class *cls);

	/*
	 * Starts a machine from the class's template. *ret_wire: the host's end
	 * of its wire, nonblocking, owned by the caller; bytes written before
	 * up() wait there. The backend bounds the time to up(). hot: no job
	 * waits, so all memory may be copied ahead; else the guest copies each
	 * page as it needs it.
	 */
	int (*start)(struct backend *b, const struct vm_class *cls, bool hot,
		     const struct backend_machine_events *ev, void *arg,
		     struct backend_machine **ret, int *ret_wire,
		     struct err *err);

	/* Fills in how the next server reaches the machine. NULL: machines end
	 * with this process. */
	void (*sign)(struct backend_machine *m, struct vm_reach *ret);
	/* Takes over the jailer of a dead server. sock: the connected socket to it;
	 * consumed. jail: the key of that socket. */
	void (*survivors)(struct backend *b, uint64_t jail, int sock);
	/*
	 * Adopts a machine of a dead server that sign() described; call survivors()
	 * for its jailer before. The machine may be paused or running. scale: factor
	 * of its timeouts. Consumes monitor. Return: 0 or negative errno.
	 */
	int (*adopt)(struct backend *b, const struct vm_reach *reach,
		     unsigned scale, int monitor,
		     const struct backend_machine_events *ev, void *arg,
		     struct backend_machine **ret);
	/* Call it after the last adopt(): kills the machines that were not
	 * adopted. */
	void (*adopted)(struct backend *b);

	/*
	 * pause() stops the guest's processors, so the machine uses no CPU
	 * until resume(). resume() of a running machine does nothing. Call both
	 * only after up(). Neither waits; a failure shows as gone(), and so
	 * does a resume() that is not answered within limit_ns (0: the
	 * backend's own limit).
	 */
	void (*pause)(struct backend_machine *m);
	void (*resume)(struct backend_machine *m, uint64_t limit_ns);
	/* Asks a machine that is up whether it still answers: alive() follows,
	 * or gone(). */
	void (*probe)(struct backend_machine *m, uint64_t limit_ns);

	/*
	 * Measures the memory that a paused machine shares with no other process: the
	 * event cost() follows, unless the machine ends before. NULL: the backend cannot
	 * measure.
	 */
	void (*cost)(struct backend_machine *m);

	/*
	 * Starts the machine's relay; call it once. The relay gets the host's end of the
	 * machine's second port, and `theirs`. ours, theirs: the two ends of the account,
	 * a socket; borrowed. The relay exits when the machine ends, or when no process
	 * holds `ours`, which the next server needs.
	 * Return: 0, or negative errno with a sentence. NULL: machines have no second
	 * port.
	 */
	int (*relay)(struct backend_machine *m, int ours, int theirs, struct err *err);

	/* Kills the machine at once; gone() follows soon. Idempotent. */
	void (*kill)(struct backend_machine *m);

	/* Replaces the figures of the host's memory, in tests. NULL: does not. */
	void (*memory)(struct backend *b, struct vm_memory *memory);

	/* Returns the walls around each machine. NULL: machines have none. */
	const struct walls *(*walls)(struct backend *b);
	/* Returns the QEMU that runs the machines. NULL: they have none. */
	const struct vm_qemu *(*qemu)(struct backend *b);
};

extern const struct vm_backend vm_backend_qemu;
extern const struct vm_backend vm_backend_fake;

#endif
