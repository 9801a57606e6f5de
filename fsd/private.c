/* SPDX-License-Identifier: Apache-2.0 */
/* A private mount in a temporary directory; templates are kept in the usual
 * place, so that only the first one has to boot a machine. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "background.h"
#include "paths.h"
#include "run_client.h"

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int private_start(struct private_mount *p)
{
	char state[96];
	auto_free char *cache = default_state_dir();
	/* Its standard error is the program's; nobody looks at its state
	 * afterwards. */
	char *argv[] = { (char[]){ "mount" }, (char[]){ "--state" }, state,
			 (char[]){ "--cache" }, cache, (char[]){ "--pool" },
			 (char[]){ "0" }, (char[]){ "--fork" },
			 (char[]){ "no" }, (char[]){ "--log-level" },
			 (char[]){ "warn" }, (char[]){ "--durability" },
			 (char[]){ "relaxed" }, (char[]){ "--private" }, p->mnt,
			 NULL };
	struct mount_options o;
	int r;

	if (!cache)
		return complain("run", 1, "%s", strerror(ENOMEM));
	snprintf(p->dir, sizeof(p->dir), "/tmp/fsd-run-XXXXXX");
	if (!mkdtemp(p->dir)) {
		p->dir[0] = '\0';
		return complain("run", 1, "/tmp: %s", strerror(errno));
	}
	snprintf(p->mnt, sizeof(p->mnt), "%s/mnt", p->dir);
	snprintf(state, sizeof(state), "%s/state", p->dir);
	mkdir(p->mnt, 0700);
	r = mount_options_parse(&o, (int)ARRAY_SIZE(argv) - 1, argv);
	if (r == 0)
		r = hold_in_background(&o, &p->pid);
	mount_options_done(&o);
	if (r)
		private_stop(p);
	return r;
}

void private_stop(struct private_mount *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGTERM);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (p->dir[0])
		nftw(p->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	*p = (struct private_mount){ 0 };
}
