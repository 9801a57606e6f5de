/* SPDX-License-Identifier: Apache-2.0 */
/* fsd sandbox: machines that jobs share, by the files of .fsd/sandboxes; fsd forward: the
 * ports of machines. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/forward.h"
#include "fsd/client/run_client.h"
#include "fsd/client/sandbox.h"
#include "fsd/client/where.h"

static const struct cli_option mount_option[] = {
	{ 'M', "mount", "MNT", "the mount", CLI_MOUNT, NULL },
	{ 0 },
};

/* Finds the mount and writes its path to ret. Return: 0 or the exit code. */
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

/* Reads the first line of a small file of a sandbox; "": there is none. */
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

/* --- the sandboxes that are named ------------------------------------- */

static int write_verb(const char *path, const char *verb)
{
	char file[WHERE_SANDBOX + 8];
	auto_close int fd = -1;

	snprintf(file, sizeof(file), "%s/ctl", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, verb, strlen(verb)) < 0 ? -1 : 0;
}

/* Writes the verb to the sandbox's ctl; verb NULL: ends the sandbox. Return: 0 or 1. */
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

/* --- fsd forward ---------------------------------------------------------- */

static const struct cli_option forward_options[] = {
	{ 's', "sandbox", NULL, "the name is a sandbox's", CLI_TEXT, NULL },
	{ 'S', "session", NULL, "the name is a session's", CLI_TEXT, NULL },
	{ 'M', "mount", "MNT", "the mount of a name", CLI_MOUNT, NULL },
	{ 0 },
};

/* Opens the directory of a sandbox or session. Return: a descriptor or negative errno. */
static int open_named(const char *mount, const char *kind, const char *name,
		      struct err *err)
{
	char mnt[PATH_MAX], path[WHERE_SANDBOX];
	int fd, r = where_mount(mount, mnt, err);

	if (r == 0 && (!*name || strchr(name, '/') || *name == '.'))
		r = err_set(err, -EINVAL, "\"%.200s\" is no name of a %s", name, kind);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/.fsd/%ss/%.255s", mnt, kind, name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : fd;
}

static int open_job(const char *mount, const char *text, struct err *err)
{
	struct job_place at;
	int r = where_job(mount, text, &at, err);

	return r < 0 ? r : where_open(&at, err);
}

static int port_of(const char *text, uint64_t least, unsigned *ret)
{
	uint64_t port;

	if (parse_u64(text, least, LIMIT_PORT_MAX, &port) < 0)
		return complain("forward", 2, "\"%s\" is no port; it must be a number from "
				"%u to %u", text, (unsigned)least, LIMIT_PORT_MAX);
	*ret = (unsigned)port;
	return 0;
}

static int command_forward(const struct cli_command *self, int argc, char **argv)
{
	const char *mount = NULL, *kind = NULL;
	unsigned port, local = 0;
	struct cli_getopt g;
	struct err err = { 0 };
	auto_close int dir = -1;
	int opt, r;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == 's')
			kind = "sandbox";
		else if (opt == 'S')
			kind = "session";
		else if (opt == 'M')
			mount = optarg;
		else
			return usage(self);
	}
	argv += optind;
	argc -= optind;
	if (argc != 2 && argc != 3)
		return usage(self);
	r = port_of(argv[1], LIMIT_PORT_MIN, &port);
	if (r == 0 && argc == 3)
		r = port_of(argv[2], 0, &local);
	if (r)
		return r;
	dir = kind ? open_named(mount, kind, argv[0], &err)
		   : open_job(mount, argv[0], &err);
	if (dir < 0)
		return complain("forward", 1, "%s", err.text);
	return forward(dir, argv[0], port, local);
}

const struct cli_command forward_command = {
	.name = "forward", .fn = command_forward, .group = "Jobs",
	.synopsis = "[OPTIONS] NAME PORT [LOCAL]",
	.summary = "reach a server in a machine at 127.0.0.1",
	.options = forward_options, .operand = CLI_JOB,
	.notes = "NAME is a job, or with an option a sandbox or session, whose\n"
		 "config.json has \"ports\". LOCAL is the port of this host; without it\n"
		 "a free one is chosen. It prints the URL and serves until it is ended.\n\n"
		 JOB_NOTE,
};
