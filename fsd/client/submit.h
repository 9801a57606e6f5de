/* SPDX-License-Identifier: Apache-2.0 */
/* fsd submit: a directory or a program becomes a job, whole or not at all. */
#ifndef FSD_SUBMIT_H
#define FSD_SUBMIT_H

#include "run_client.h"

/*
 * Prepares the job under a name with a dot, renames it, and prints its path. The options
 * are those of `fsd run`, with c->submit set. Removes a job that the mount refuses, and
 * an unfinished one after a signal. Return: 0; 1 or 2 with a sentence on standard error;
 * or 128 + a signal.
 */
int submit_client(const struct run_client *c);

#endif
