/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that only this user and root may write in the state directory or replace it.
 * Another user with that right could change each job and result.
 */
#ifndef FSD_OWNERS_H
#define FSD_OWNERS_H

#include "layout/layout.h"

struct mount_options;

/* Checks the state directory and each of its parents, as far as they exist.
 * Return: 0 (permissive: with a warning), or negative errno with a sentence. */
int owners_check(const struct mount_options *options, struct err *err);

#endif
