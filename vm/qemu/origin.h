/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file ROOT/origin, which `bring.sh` writes beside a QEMU that it has brought. A line has a
 * key and a value:
 *
 *   package qemu-system-x86
 *   version 1:10.0.13+ds-0+deb13u1
 *   suite trixie
 *   date 2026-08-29T17:55:40Z    of the upload
 *   asked 2026-11-28T01:20:00Z   the archive had no newer one then
 *   deb NAME VERSION SHA256      each package that a file is of
 *   file SHA256  PATH            each file below ROOT, as sha256sum has it
 *
 * A key that is not known is passed over.
 */
#ifndef VM_ORIGIN_H
#define VM_ORIGIN_H

#include "vm/inspect.h"

#define ORIGIN_NAME "origin"
#define ORIGIN_MAX (64u << 10) /* bytes */

/* Takes package, suite, date and asked of a text, which is cut up. Return: 0, or
 * -EBADMSG with a sentence, and then ret is as it was. */
int origin_parse(char *text, struct vm_qemu *ret, struct err *err);
/* The text of ROOT/origin, owned by the caller. Return: 0 or negative errno. */
int origin_read(const char *root, char **ret, struct err *err);

#endif
