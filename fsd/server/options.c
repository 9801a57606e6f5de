/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a mount: what the command line leaves open is filled in here, from the
 * environment, this host and the place of the program.
 */
#include "options.h"

#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "paths.h"

#define CPUS_EACH 4        /* machines at work that share a processor */
#define MEMORY_EACH_MB 512 /* of the host, for each machine that is allowed */

/* Without memory there are none. */
static void find_environments(struct mount_options *o)
{
	struct environment_dirs dirs;

	if (environment_dirs_find(o->environments_dir, o->image_dir,
				  &dirs) < 0)
		return;
	for (unsigned i = 0; i < ENVIRONMENT_PLACES; i++)
		o->found[4 + i] = dirs.own[i];
	o->environments = dirs.places;
}

void mount_options_defaults(struct mount_options *o)
{
	struct sysinfo info;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const char *qemu = getenv("FSD_QEMU");
	uint64_t memory_mb = 2048;

	if (sysinfo(&info) == 0)
		memory_mb = (uint64_t)info.totalram * info.mem_unit >> 20;
	if (!o->state_dir)
		o->state_dir = o->found[0] = default_state_dir();
	if (!o->cache_dir)
		o->cache_dir = o->state_dir;
	if (!o->alone) {
		o->shared[0] = getenv("FSD_TEMPLATES");
		o->shared[1] = SHARED_TEMPLATES;
	}
	if (o->shared[0] && o->shared[0][0] != '/')
		o->shared[0] = NULL; /* a server has no directory of its own */
	if (!o->image_dir)
		o->image_dir = o->found[1] = default_image_dir();
	find_environments(o);
	if (!o->qemu.asked && qemu && *qemu)
		o->qemu.asked = qemu;
	o->qemu.brought = o->found[3] = brought_qemu();
	if (o->pool == UINT32_MAX)
		o->pool = (unsigned)MAX(cpus, 1) * 2;
	o->working = MAX(o->max_machines, CPUS_EACH * (unsigned)MAX(cpus, 1));
	if (!o->max_machines)
		o->max_machines = MAX(MAX(o->pool, o->working),
				      (unsigned)(memory_mb / MEMORY_EACH_MB));
	o->limits = (struct config_limits){
		.timeout_ms = DEFAULT_TIMEOUT_MAX_MS,
		.memory_mb = MAX(memory_mb / 2, (uint64_t)DEFAULT_MEMORY_MB),
		.cpus = (uint64_t)MAX(cpus, 1),
	};
}

void mount_options_done(struct mount_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->found); i++)
		free(take_ptr(o->found[i]));
}
