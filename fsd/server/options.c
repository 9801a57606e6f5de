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

	if (environment_dirs_find(o->environments_dir, o->vm.image_dir,
				  &dirs) < 0)
		return;
	for (unsigned i = 0; i < ENVIRONMENT_PLACES; i++)
		o->found[4 + i] = dirs.own[i];
	o->rooms.environments = dirs.places;
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
	if (!o->vm.cache_dir)
		o->vm.cache_dir = o->state_dir;
	if (!o->alone) {
		o->vm.shared[0] = getenv("FSD_TEMPLATES");
		o->vm.shared[1] = SHARED_TEMPLATES;
	}
	if (o->vm.shared[0] && o->vm.shared[0][0] != '/')
		o->vm.shared[0] = NULL; /* a server has no directory of its own */
	if (!o->vm.image_dir)
		o->vm.image_dir = o->found[1] = default_image_dir();
	find_environments(o);
	if (!o->vm.qemu.asked && qemu && *qemu)
		o->vm.qemu.asked = qemu;
	o->vm.qemu.brought = o->found[3] = brought_qemu();
	if (o->vm.pool == UINT32_MAX)
		o->vm.pool = (unsigned)MAX(cpus, 1) * 2;
	o->sched.cpus = MAX(o->vm.max_machines,
			    CPUS_EACH * (unsigned)MAX(cpus, 1));
	if (!o->vm.max_machines)
		o->vm.max_machines = MAX(MAX(o->vm.pool, o->sched.cpus),
					 (unsigned)(memory_mb / MEMORY_EACH_MB));
	o->sched.machines = o->vm.max_machines;
	o->vm.no_renewal = o->die_with_parent;
	o->rooms.limits = (struct config_limits){
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
