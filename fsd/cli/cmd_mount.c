/* SPDX-License-Identifier: Apache-2.0 */
/* fsd mount: its options are the table in server/options.h. */
#include <errno.h>

#include "fsd/mount/mount_table.h"
#include "fsd/server/daemonize.h"
#include "fsd/server/supervisor.h"
#include "commands.h"
#include "fsd/server/options.h"
#include "fsd/server/check_dirs.h"
#include "fsd/server/serve.h"

#define ROW(name, value, how, help, takes, words) \
	{ CLI_LONG, name, value, help, takes, words },

static const struct cli_option mount_cli_options[] = { MOUNT_OPTION_TABLE(ROW) { 0 } };

int mount_options_take(struct mount_options *o, int argc, char **argv)
{
	struct err err;
	int r = mount_options_parse(o, argc, argv, &err);

	if (r == 0)
		return 0;
	if (r == -ENOTSUP)
		usage(&mount_command);
	if (err.text[0])
		complain("mount", 2, "%s", err.text);
	return r == -ENOENT ? 1 : 2;
}

/* Later it may go, and a server that takes over does not end for that. */
static int check_environment(const struct mount_options *o)
{
	struct environment *e = NULL;
	struct err err = { 0 };
	int r = 0;

	if (o->environments.name)
		r = environment_open(&o->environments.places,
				     o->environments.name, &e, &err);
	environment_unref(e);
	return r < 0 ? complain("mount", 2, "--default-environment: %s",
				err.text) : 0;
}

static int command_mount(const struct cli_command *self, int argc, char **argv)
{
	struct mount_options o = { 0 };
	struct err err = { 0 };
	uid_t owner;
	int r = mount_options_take(&o, argc, argv);

	(void)self;
	if (r == 0 && places_check(&o, &err) < 0)
		r = complain("mount", 1, "%s", err.text);
	if (r == 0)
		r = check_environment(&o);
	/* hold() refuses a mount of fsd, which hides nothing. */
	if (r == 0 && !mounts_is_fsd_at(o.rooms.mountpoint, &owner) &&
	    place_hides(o.rooms.mountpoint, &err))
		complain("mount", 0, "%s", err.text);
	if (r == 0)
		r = o.daemonize ? hold_in_background(&o) : hold(&o, NULL);
	mount_options_done(&o);
	return r;
}

int command_serve(int argc, char **argv)
{
	struct mount_options o = { 0 };
	int r = mount_options_take(&o, argc, argv);

	if (r == 0)
		r = serve(&o);
	mount_options_done(&o);
	return r;
}

const struct cli_command mount_command = {
	.name = "mount", .fn = command_mount, .group = "Mounts",
	.synopsis = "[OPTIONS] MNT",
	.summary = "serve MNT; stays in the foreground",
	.options = mount_cli_options, .operand = CLI_MOUNT,
};
