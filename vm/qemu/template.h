/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One class's template: found in the cache and verified, or made by booting
 * the guest once, warming its runners, stopping it and saving its devices.
 *
 *   look -> (verified) ------------------------------------> done
 *     '---> boot -> ready -> heat -> save -> seal -> look --'
 *            ^ a boot that hangs or dies is tried again, a few times
 *
 * A ready one can be renewed: it serves on while its successor is made in the
 * same way, once, and takes its place.
 */
#ifndef VM_TEMPLATE_H
#define VM_TEMPLATE_H

#include "vm/backend.h"
#include "host.h"
#include "image.h"
#include "vm/jail/jail.h"
#include "template_store.h"

/* What all templates of a daemon have in common. */
struct template_context {
	const struct backend_host *host;
	struct vm_qemu qemu;
	struct image image;
	struct jail *jail; /* owned by the backend */
	bool kvm;          /* /dev/kvm could be opened at the start */
	bool image_verified;
	struct host_cpu cpu;
	enum vm_accel accel;     /* AUTO until a boot has decided */
	bool own_only;           /* a shared template did not serve */
	uint32_t *guest_lacks;   /* the backend's */
};

struct template;

/* err NULL: it is ready. */
typedef void template_done_fn(void *arg, struct template *t,
			      const struct err *err);

struct template *template_new(struct template_context *context,
			      const struct vm_class *cls,
			      template_done_fn *done, void *arg);
void template_free(struct template *t);
/* Finds or makes it; done follows, later. Not while it is being made. */
void template_make(struct template *t);
/* Is it to be renewed? See template_store_meta_is_old(). Only of a ready one. */
bool template_is_old(const struct template *t, uint64_t *ret_due_ns);
/* Makes its successor; done follows, later. Not while one is being made. */
void template_renew(struct template *t);
/* Gives that up, if nothing of it is on the disk yet; done does not follow then.
 * Return: was it? */
bool template_renew_stop(struct template *t);
/* How often it was renewed. */
unsigned template_number(const struct template *t);
/* Throws it away, on disk too. */
void template_drop(struct template *t, const char *why);

const struct vm_class *template_class(const struct template *t);
/* Valid once ready: its directory (-1 when not ready), what is to be told. */
int template_dir(const struct template *t);
void template_describe(const struct template *t, struct backend_template *ret);
enum vm_accel template_accel(const struct template *t);

#endif
