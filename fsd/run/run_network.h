/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a machine: see "network" in jobtree(5). On the loop's thread. */
#ifndef FSD_RUN_NETWORK_H
#define FSD_RUN_NETWORK_H

#include "fsd/fsd.h"

/*
 * Checks whether the operator allows what a config asks for: a job's, or that of a
 * sandbox's machine. Return: 0; -EINVAL with a sentence.
 */
int run_check_network(const struct fsd *d, uid_t uid, const struct job_config *config,
		      struct err *err);

#endif
