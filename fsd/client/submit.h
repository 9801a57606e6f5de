/* SPDX-License-Identifier: Apache-2.0 */
/* fsd submit: a directory or a program becomes a job, whole or not at all. */
#ifndef FSD_SUBMIT_H
#define FSD_SUBMIT_H

#include "run_client.h"

/*
 * Prepares the job under a name with a dot and renames it, and prints its path; the
 * options are those of `fsd run`, c->submit is set. What the mount refuses, and what a
 * signal ends, is removed.
 * Return: 0, 1 or 2 with a sentence on standard error, or 128 + a signal.
 */
int submit_client(const struct run_client *c);

#endif
