/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template of one class: found in the cache and verified, or made by
 * booting the guest once, heating its runners, stopping it and saving the state
 * of its devices.
 *
 *   look -> (verified) ------------------------------------> done
 *     '---> boot -> ready -> heat -> save -> seal -> look --'
 *            ^ a boot that hangs or dies is tried again, a few times
 *
 * A template can be renewed: it is used on while its successor is made in the
 * same way, and is replaced by that. All functions run on the loop.
 */
#ifndef VM_TEMPLATE_H
#define VM_TEMPLATE_H

#include "vm/backend.h"
#include "host.h"
#include "image.h"
#include "vm/jail/jail.h"
#include "template_store.h"

/* Facts that all templates of a server share. */
struct template_context {
	const struct backend_host *host;
	struct vm_qemu qemu;
	struct image image;
	struct jail *jail; /* owned by the backend */
	bool kvm;          /* /dev/kvm could be opened at the start */
	bool image_verified;
	struct host_cpu cpu;
	enum vm_accel accel; /* AUTO until a boot has decided */
	bool own_only; /* ignore shared templates: one of them did not work */
	uint32_t *guest_lacks; /* borrowed: the backend's */
};

struct template;

/* err NULL: the template is ready. */
typedef void template_done_fn(void *arg, struct template *t,
			      const struct err *err);

struct template *template_new(struct template_context *context,
			      const struct vm_class *cls,
			      template_done_fn *done, void *arg);
void template_free(struct template *t);
/* Finds or makes the template; done() follows later. Do not call it while the template is
 * being made. */
void template_make(struct template *t);
/* Returns whether the template should be renewed, see template_store_meta_is_old(). Only
 * for a ready one. */
bool template_is_old(const struct template *t, uint64_t *ret_due_ns);
/* Makes the template's successor; done() follows later. Do not call it while one is being
 * made. */
void template_renew(struct template *t);
/* Stops a renewal, if nothing of it is on the disk yet; then done() does not
 * follow. Return: whether it was stopped. */
bool template_renew_stop(struct template *t);
/* Returns how many times the template was renewed. */
unsigned template_number(const struct template *t);
/* Removes the template, also from the disk. */
void template_drop(struct template *t, const char *why);

const struct vm_class *template_class(const struct template *t);
/* template_dir(): its directory, borrowed; -1 when not ready.
 * template_describe() and template_accel() are valid once it is ready. */
int template_dir(const struct template *t);
void template_describe(const struct template *t, struct backend_template *ret);
enum vm_accel template_accel(const struct template *t);

#endif
