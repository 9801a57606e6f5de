/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a mount. */
#ifndef FSD_MOUNT_OPTIONS_H
#define FSD_MOUNT_OPTIONS_H

#include "fsd/fsd.h"
#include "fsd/jobs/retain.h"
#include "fsd/sched/sched.h"

struct mount_options {
	struct fsd_options rooms; /* read by the rooms below */
	const char *state_dir;
	bool relaxed;             /* --durability relaxed */
	struct vm_options vm;     /* but for what each server adds */
	bool alone;               /* no templates of others */
	struct sched_limits sched; /* reserve UINT64_MAX: some */
	struct quota_limits quota;   /* of each uid */
	struct retain_limits retain; /* likewise */
	const char *environments_dir; /* --environments; NULL: the usual ones */
	bool build_packages; /* --build-packages yes */
	const char *build_sources; /* --build-sources; NULL: the registries */
	bool daemonize;
	bool die_with_parent; /* fsd run's private mount */
	char **argv;          /* borrowed: what these were parsed from, */
	int argc;             /* to be parsed again by each server */
	char *found[4 + ENVIRONMENT_PLACES]; /* owned: what
						mount_options_defaults() found */
};

/* Fills what the command line left open. */
void mount_options_defaults(struct mount_options *options);
void mount_options_done(struct mount_options *options);

#endif
