/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates on disk. One directory each under CACHE/templates, named by the
 * first 16 digits of its key, never changed once it has that name:
 *
 *   ram    sparse; what machines map copy-on-write
 *   state  of the devices, as QEMU wrote it
 *   meta   text: the whole key, the sums of both, what the guest offers
 *   cold   text: modules that are not kept warm, for people; if there are any
 *   of     text: the image and the environment that it was made of (template_store_clean.c)
 *
 * One is made under a ".new-" name whose directory its maker holds locked, so
 * that a crashed maker's leftovers can be told from a living one's work. All
 * of this may run on a worker's thread.
 */
#ifndef VM_TEMPLATE_STORE_H
#define VM_TEMPLATE_STORE_H

#include "guest/wire/wire.h"
#include "layout/base/err.h"
#include "vm/os/sha.h"
#include "vm/options.h"

#define TEMPLATE_STORE_FORMAT 4u

struct template_store_meta {
	char key[SHA_HEX];
	enum vm_accel accel;
	uint32_t runners;
	uint32_t walls;   /* bits 1 << enum wire_wall, as READY has them */
	unsigned tsc_khz; /* that the guest was told, 0: nothing */
	unsigned boot_ms; /* that its boot took */
	uint64_t made_s;  /* CLOCK_REALTIME when it was complete */
	char state_sum[SHA_HEX], ram_sum[SHA_HEX];
};

/* What a template is made of. All borrowed. */
struct template_store_of {
	const char *image_dir, *image_id;
	const char *environment_id; /* "": base */
	int environment_fd;         /* a file of its set, or -1 */
};

/* One that is being made. All descriptors owned. */
struct template_store_new {
	char name[64];  /* ".new-..." */
	int parent, dir, state;
	int ram;        /* memory; its file is written by template_store_commit() */
	uint64_t began_ns;
	char of[17];    /* the first digits of its environment's id; "": base */
};

/* A verified one; dir is owned. */
struct stored_template {
	int dir;
	struct template_store_meta meta;
	bool shared; /* it is another's to replace */
};

#define TEMPLATE_STORE_NEW_INIT { .parent = -1, .dir = -1, .ram = -1, .state = -1 }

int template_store_begin(const char *cache_dir, const struct template_store_of *of,
			 uint64_t ram_bytes, struct template_store_new *ret, struct err *err);
/* cold: lines as READY in wire.h has them; "": none. It is for people, so that it
 * cannot be kept is told in the log only. */
void template_store_put_cold(const struct template_store_new *n, const char *cold);
/* "" if there is none. */
void template_store_get_cold(int dir, char ret[WIRE_COLD_MAX + 1]);
/* Removes what was begun; a no-op on TEMPLATE_STORE_NEW_INIT. */
void template_store_abandon(struct template_store_new *n);
/* Sums, meta, the final name. Somebody else's equal one wins silently, unless
 * this one replaces it: it then stays until nobody has it open. */
int template_store_commit(struct template_store_new *n,
			  struct template_store_meta *meta, bool replaces,
			  const atomic_bool *cancel, struct err *err);
/* Return: 0, -ENOENT (none), -EBADMSG (does not verify), other. */
int template_store_open(const struct vm_options *options, const char *key,
			const atomic_bool *cancel, struct stored_template *ret,
			struct err *err);
/* An own one, or one of options->shared, unless own_only; as template_store_open(). What is
 * not to be trusted there is told in the log and passed over. */
int template_store_find(const struct vm_options *options, bool own_only, const char *key,
			const atomic_bool *cancel, struct stored_template *ret,
			struct err *err);
/* Is what the directory has whole, and of that key? cache_dir: see verified.h.
 * Return: 0 or -EBADMSG. */
int template_store_verify(int dir, const char *key, const char *cache_dir,
			  const atomic_bool *cancel, struct template_store_meta *ret,
			  struct err *err);
/*
 * Has it served for a day, or since before the host was started? Its secrets,
 * those of Python's hashes, should not serve longer. *ret_due_ns: else when that
 * will be, as now_ns().
 */
bool template_store_meta_is_old(const struct template_store_meta *m, uint64_t *ret_due_ns);
/* The text of a template's meta. Return: 0 or -EBADMSG. */
int template_store_meta_parse(const char *text, struct template_store_meta *ret);
/* Throws an own one away, and says why in the log. */
int template_store_drop(const char *cache_dir, const char *key, const char *why);
/*
 * Removes what crashed makers have left, replaced templates, those of an image or
 * environment that is gone, and those that no mount has opened for two weeks. A
 * template that some process has open stays. image_dir, image_id: of this mount.
 */
void template_store_clean(const char *cache_dir, const char *image_dir, const char *image_id);

/*
 * The accelerator's verdict, a word kept per `what` (a sum). That KVM does not
 * work holds for a day: the host may only have been busy, or was mended since.
 * Return: 0, -ENOENT: there is none, or negative errno.
 */
int template_store_accel_get(const char *cache_dir, const char *what,
			     enum vm_accel *ret);
/* How long the last template of this accelerator and environment ("": base) took
 * here, in ms, which template_store_commit() notes. Return: 0: none is known. A short read, on
 * any thread. */
unsigned template_store_took_ms(const char *cache_dir, enum vm_accel accel,
				const char *environment_id);
int template_store_accel_put(const char *cache_dir, const char *what,
			     enum vm_accel accel);
/* A small text beside the templates, cut at size - 1 bytes; put replaces it as a
 * whole, and does not wait for the disk. On any thread. Return: 0 or negative
 * errno. */
int template_store_text_get(const char *cache_dir, const char *name, char *ret,
			    size_t size);
int template_store_text_put(const char *cache_dir, const char *name, const char *text);

#endif
