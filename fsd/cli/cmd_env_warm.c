/* SPDX-License-Identifier: Apache-2.0 */
/* fsd env warm: the templates of environments, where fsd template puts them. */
#include "cmd_env.h"

#include <errno.h>
#include <string.h>

int env_warm(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	for (int i = optind; r == 0 && i < argc; i++) {
		struct environment *e = NULL;

		r = env_open(&call, argv[i], &e);
		environment_unref(e);
	}
	if (r == 0 && optind == argc)
		r = usage(self);
	if (r == 0)
		r = template_of_environments(call.dir, argv + optind,
					     argc - optind);
	env_end(&call);
	return r;
}
