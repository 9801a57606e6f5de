/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file ROOT/origin, which `bring.sh` writes beside a QEMU that it has
 * brought. A line has a key and a value:
 *
 *   package qemu-system-x86
 *   version 1:10.0.13+ds-0+deb13u1
 *   suite trixie
 *   date 2026-08-29T17:55:40Z    of the upload
 *   asked 2026-11-28T01:20:00Z   the archive had no newer one then
 *   deb NAME VERSION SHA256      each package that a file is of
 *   file SHA256  PATH            each file below ROOT, as sha256sum has it
 *
 * Lines with unknown keys are ignored. The functions read the disk; they may
 * run on any thread.
 */
#ifndef VM_ORIGIN_H
#define VM_ORIGIN_H

#include "vm/inspect.h"

#define ORIGIN_NAME "origin"
#define ORIGIN_MAX (64u << 10) /* most bytes of the file */

/* Reads version (into ret->package), suite, date, asked from text, and modifies it. Return: 0,
 * or -EBADMSG with a sentence; then ret is unchanged. */
int origin_parse(char *text, struct vm_qemu *ret, struct err *err);
/*
 * Reads ROOT/origin. *ret is owned by the caller. Return: 0 or negative errno.
 */
int origin_read(const char *root, char **ret, struct err *err);

#endif
