/* SPDX-License-Identifier: Apache-2.0 */
/* fsd sandbox: machines that jobs share, by the files of .fsd/sandboxes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/run_client.h"
#include "fsd/client/sandbox.h"
#include "fsd/client/where.h"

static const struct cli_option mount_option[] = {
	{ 'M', "mount", "MNT", "the mount", CLI_MOUNT, NULL },
	{ 0 },
};

/* ret: the mount. Return: 0 or the exit code. */
static int find_mount(const char *command, const char *asked, char ret[PATH_MAX])
{
	struct err err = { 0 };

	return where_mount(asked, ret, &err) < 0 ?
		       complain(command, 1, "%s", err.text) : 0;
}

/* Reads --mount; the operands begin at optind. */
static int begin(const struct cli_command *self, int argc, char **argv,
		 char ret[PATH_MAX])
{
	const char *mount = NULL;
	struct cli_getopt g;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt != 'M')
			return usage(self);
		mount = optarg;
	}
	return find_mount(self->name, mount, ret);
}

static int sandbox_new(const struct cli_command *self, int argc, char **argv)
{
	auto_free const char **lists = calloc(2 * (size_t)argc, sizeof(*lists));
	struct run_client c = { .packages = lists, .networks = lists + argc,
				.command = self->name };
	char mnt[PATH_MAX];
	int r = lists ? 0 : complain(c.command, 1, "out of memory");

	if (r == 0)
		r = run_options_take(&c, self, argc, argv);
	if (r == 0 && optind != argc - 1)
		r = usage(self);
	if (r == 0)
		r = find_mount(c.command, c.value[RUN_MOUNT], mnt);
	return r ? r : sandbox_client_new(&c, mnt, argv[optind]);
}

/* A small file of a sandbox, its first line; "": there is none. */
static void read_line(int dir, const char *name, const char *file, char room[64])
{
	char path[NAME_MAX + 32];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", name, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, room, 63);
	room[MAX(n, 0)] = '\0';
	room[strcspn(room, "\n")] = '\0';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_name(const struct dirent *e)
{
	return !is_dots(e->d_name);
}

static int sandbox_ls(const struct cli_command *self, int argc, char **argv)
{
	char mnt[PATH_MAX], path[PATH_MAX + 32], state[64], until[64];
	int r = begin(self, argc, argv, mnt), count;
	struct dirent **entry;
	auto_close int dir = -1;

	if (r == 0 && optind != argc)
		r = usage(self);
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/" FSD_DIR_NAME "/sandboxes", mnt);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	count = dir < 0 ? -1 : scandir(path, &entry, is_name, by_name);
	if (count < 0)
		return complain("sandbox ls", 1, "%s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		read_line(dir, entry[i]->d_name, "state", state);
		read_line(dir, entry[i]->d_name, "until", until);
		if (state[0]) /* an empty state: the sandbox has ended meanwhile */
			printf("%-8s %-24s  %s\n", state, until[0] ? until : "-",
			       entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return 0;
}

/* --- of those that are named
 * ---------------------------------------------------------- */

static int write_verb(const char *path, const char *verb)
{
	char file[WHERE_SANDBOX + 8];
	auto_close int fd = -1;

	snprintf(file, sizeof(file), "%s/ctl", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, verb, strlen(verb)) < 0 ? -1 : 0;
}

/* verb: of ctl; NULL: it ends. */
static int one(const char *command, const char *mnt, const char *name,
	       const char *verb)
{
	char path[WHERE_SANDBOX];

	if (where_sandbox(mnt, name, path) < 0)
		return complain(command, 1, "there is no sandbox \"%.80s\"", name);
	if ((verb ? write_verb(path, verb) : rmdir(path)) == 0)
		return 0;
	if (errno == ENOENT)
		return complain(command, 1, "there is no sandbox %s in %s; `fsd sandbox "
				"ls` lists them", name, mnt);
	return complain(command, 1, "%s: %s", name, strerror(errno));
}

static int each(const struct cli_command *self, int argc, char **argv,
		const char *verb)
{
	char mnt[PATH_MAX];
	int r = begin(self, argc, argv, mnt);

	if (r == 0 && optind == argc)
		r = usage(self);
	if (r)
		return r;
	for (int i = optind; i < argc; i++)
		r |= one(self->name, mnt, argv[i], verb);
	return r;
}

static int sandbox_pause(const struct cli_command *self, int argc, char **argv)
{
	return each(self, argc, argv, "pause\n");
}

static int sandbox_resume(const struct cli_command *self, int argc, char **argv)
{
	return each(self, argc, argv, "resume\n");
}

static int sandbox_rm(const struct cli_command *self, int argc, char **argv)
{
	return each(self, argc, argv, NULL);
}

static const struct cli_command sandbox_verbs[] = {
	{ .name = "sandbox new", .fn = sandbox_new, .synopsis = "[OPTIONS] NAME",
	  .summary = "make a sandbox, and print its path",
	  .options = sandbox_new_cli_options, .in_order = true },
	{ .name = "sandbox ls", .fn = sandbox_ls, .synopsis = "[OPTIONS]",
	  .summary = "list sandboxes: state, end, name",
	  .options = mount_option },
	{ .name = "sandbox pause", .fn = sandbox_pause,
	  .synopsis = "[OPTIONS] NAME...",
	  .summary = "stop what runs in sandboxes; they keep their memory",
	  .options = mount_option, .operand = CLI_SANDBOX },
	{ .name = "sandbox resume", .fn = sandbox_resume,
	  .synopsis = "[OPTIONS] NAME...", .summary = "let sandboxes go on",
	  .options = mount_option, .operand = CLI_SANDBOX },
	{ .name = "sandbox rm", .fn = sandbox_rm, .synopsis = "[OPTIONS] NAME...",
	  .summary = "end sandboxes, with all that runs in them",
	  .options = mount_option, .operand = CLI_SANDBOX },
	{ 0 },
};

static int command_sandbox(const struct cli_command *self, int argc, char **argv)
{
	const struct cli_command *verb;

	if (argc < 2)
		return usage(self);
	verb = cli_verb(self, argv[1]);
	if (!verb)
		return complain("sandbox", 2, "there is no command \"%.80s\"; `fsd "
				"help sandbox` lists them", argv[1]);
	return verb->fn(verb, argc - 1, argv + 1);
}

const struct cli_command sandbox_command = {
	.name = "sandbox", .fn = command_sandbox, .group = "Jobs",
	.synopsis = "COMMAND [OPTIONS] [NAME]...",
	.summary = "make, list and end sandboxes: machines that jobs share",
	.notes = "`fsd run --sandbox NAME` and `fsd submit --sandbox NAME` run jobs in one.",
	.verbs = sandbox_verbs,
};
