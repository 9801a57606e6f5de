/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a machine. The parser has checked the text of "network"; whether the
 * operator allows what it asks for is checked here, anew each time, since the policy may
 * change while the mount lives.
 */
#include "run_network.h"

#include <errno.h>

int run_check_network(const struct fsd *d, uid_t uid, const struct job_config *config,
		      struct err *err)
{
	(void)d;
	(void)uid;
	if (!config->network_text)
		return 0;
	return err_set(err, -EINVAL, "config.json: \"network\": this mount gives programs no "
		       "network; its operator can (fsd mount --network FILE)");
}
