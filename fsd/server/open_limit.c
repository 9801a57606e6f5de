/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raises the limit of open files. The supervisor and each server do this for
 * themselves. Owns no state.
 */
#include "open_limit.h"

#include <sys/resource.h>

uint64_t open_limit_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return UINT64_MAX;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return getrlimit(RLIMIT_NOFILE, &files) < 0 ? UINT64_MAX :
						      files.rlim_cur;
}
