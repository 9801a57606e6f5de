/* SPDX-License-Identifier: Apache-2.0 */
/* fsd sandbox new. */
#ifndef FSD_CLIENT_SANDBOX_H
#define FSD_CLIENT_SANDBOX_H

#include "run_client.h"

/*
 * Makes the sandbox of this name in the mount mnt, by the options in c, and prints its
 * path. One that the mount refuses is removed.
 * Return: 0, 1 or 2, and standard error has the sentence.
 */
int sandbox_client_new(const struct run_client *c, const char *mnt,
		       const char *name);

#endif
