/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates on disk. Each is a directory CACHE/templates/KEY16, named by the
 * first 16 digits of its key. It is never changed once it has that name:
 *
 *   ram    sparse; what machines map copy-on-write
 *   state  of the devices, as QEMU wrote it
 *   meta   text: the whole key, the sums of both, what the guest offers
 *   cold   text: modules that are not kept warm, for people; if there are any
 *   of     text: the image and the environment that it was made of (template_store_clean.c)
 *
 * A template is made under a ".new-" name in a directory that its maker has
 * locked. So leftovers of a crashed maker differ from the work of a
 * living one. All functions may wait for the disk, so call them on a worker thread
 * unless they say otherwise.
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
	uint32_t walls;   /* bits 1 << enum wire_wall, as the frame READY has them */
	/* rate of the counter that its guest was given; 0: none */
	unsigned tsc_khz;
	unsigned boot_ms; /* milliseconds that the template's boot took */
	uint64_t made_s;  /* CLOCK_REALTIME when the template was complete */
	char state_sum[SHA_HEX], ram_sum[SHA_HEX];
};

/* The image and environment of a template. All borrowed. */
struct template_store_of {
	const char *image_dir, *image_id;
	const char *environment_id; /* "": base */
	int environment_fd;         /* a file of the environment's set, or -1 */
};

/* A template in the making. All descriptors are owned. */
struct template_store_new {
	char name[64];  /* ".new-..." */
	int parent, dir, state;
	int ram; /* a memfd; template_store_commit() writes it to the file */
	uint64_t began_ns;
	char of[17]; /* first digits of its environment's id; "": base */
};

/* A verified template; dir is owned. */
struct stored_template {
	int dir;
	struct template_store_meta meta;
	bool shared; /* found in a shared directory, so not ours to replace */
};

#define TEMPLATE_STORE_NEW_INIT { .parent = -1, .dir = -1, .ram = -1, .state = -1 }

int template_store_begin(const char *cache_dir, const struct template_store_of *of,
			 uint64_t ram_bytes, struct template_store_new *ret, struct err *err);
/* Writes the file `cold`. cold: lines as in READY (wire.h); "": none. The file
 * is only for people, so a failure is only logged. */
void template_store_put_cold(const struct template_store_new *n, const char *cold);
/* Reads the file `cold`; "" if there is none. */
void template_store_get_cold(int dir, char ret[WIRE_COLD_MAX + 1]);
/* Removes a template in the making; does nothing with TEMPLATE_STORE_NEW_INIT. */
void template_store_abandon(struct template_store_new *n);
/*
 * Completes a template: sums, meta, the final name. If another process has made
 * the same one, that one stays, unless this one replaces it (replaces). A
 * replaced template stays on the disk while a process has it open.
 */
int template_store_commit(struct template_store_new *n,
			  struct template_store_meta *meta, bool replaces,
			  const atomic_bool *cancel, struct err *err);
/* Opens and verifies the template of cache_dir with this key. Return: 0, -ENOENT (none),
 * -EBADMSG (damaged), or another negative errno. */
int template_store_open(const struct vm_options *options, const char *key,
			const atomic_bool *cancel, struct stored_template *ret,
			struct err *err);
/* As template_store_open(), and unless own_only also searches options->shared. A
 * template there that cannot be trusted is logged and ignored. */
int template_store_find(const struct vm_options *options, bool own_only, const char *key,
			const atomic_bool *cancel, struct stored_template *ret,
			struct err *err);
/* Verifies that the directory holds a complete template of that key. cache_dir:
 * see verified.h. Return: 0 or -EBADMSG. */
int template_store_verify(int dir, const char *key, const char *cache_dir,
			  const atomic_bool *cancel, struct template_store_meta *ret,
			  struct err *err);
/*
 * Returns whether a template was used for a day, or is older than the host's
 * start. Its guests share one secret, the seed of Python's hashes, which should
 * not serve longer. *ret_due_ns: else when it will be old (now_ns()).
 */
bool template_store_meta_is_old(const struct template_store_meta *m, uint64_t *ret_due_ns);
/* Parses the text of a template's meta. Return: 0 or -EBADMSG. */
int template_store_meta_parse(const char *text, struct template_store_meta *ret);
/* Removes a template of cache_dir, and logs why. */
int template_store_drop(const char *cache_dir, const char *key, const char *why);
/*
 * Removes leftovers of crashed makers, replaced templates, those whose image or
 * environment is gone, and those that no mount has opened for two weeks. Keeps
 * a template that a process has open. image_dir, image_id: this mount's.
 */
void template_store_clean(const char *cache_dir, const char *image_dir, const char *image_id);

/*
 * Reads the stored choice of the accelerator for `what` (a checksum). A result
 * that KVM does not work is valid for a day: the host may only have been busy,
 * or be repaired since.
 * Return: 0, -ENOENT: none is stored, or negative errno.
 */
int template_store_accel_get(const char *cache_dir, const char *what,
			     enum vm_accel *ret);
/*
 * Returns how long making the last template of this accelerator and environment
 * ("": base) took here, in ms; 0: not known. A short read: may be called on the
 * loop.
 */
unsigned template_store_took_ms(const char *cache_dir, enum vm_accel accel,
				const char *environment_id);
int template_store_accel_put(const char *cache_dir, const char *what,
			     enum vm_accel accel);
/*
 * Read and write a small text beside the templates, cut at size - 1 bytes. put
 * replaces it atomically and does not wait for the disk. Any thread. Return: 0
 * or negative errno.
 */
int template_store_text_get(const char *cache_dir, const char *name, char *ret,
			    size_t size);
int template_store_text_put(const char *cache_dir, const char *name, const char *text);

#endif
