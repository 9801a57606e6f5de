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

static int sandbox_new(int argc, char **argv);
static int sandbox_ls(int argc, char **argv);
static int sandbox_pause(int argc, char **argv);
static int sandbox_resume(int argc, char **argv);
static int sandbox_rm(int argc, char **argv);

static const struct cli_option mount_option[] = {
	{ 'M', "mount", "MNT", "the mount", CLI_MOUNT, NULL },
	{ 0 },
};

const struct cli_command sandbox_verbs[] = {
	{ "sandbox new", sandbox_new, NULL, "[OPTIONS] NAME",
	  "make a sandbox, and print its path", sandbox_new_cli_options,
	  CLI_TEXT, NULL, NULL },
	{ "sandbox ls", sandbox_ls, NULL, "[OPTIONS]",
	  "list sandboxes: state, end, name",
	  mount_option, CLI_TEXT, NULL, NULL },
	{ "sandbox pause", sandbox_pause, NULL, "[OPTIONS] NAME...",
	  "stop what runs in sandboxes; they keep their memory", mount_option,
	  CLI_SANDBOX, NULL, NULL },
	{ "sandbox resume", sandbox_resume, NULL, "[OPTIONS] NAME...",
	  "let sandboxes go on", mount_option, CLI_SANDBOX, NULL, NULL },
	{ "sandbox rm", sandbox_rm, NULL, "[OPTIONS] NAME...",
	  "end sandboxes, with all that runs in them", mount_option,
	  CLI_SANDBOX, NULL, NULL },
	{ 0 },
};

int command_sandbox(int argc, char **argv)
{
	const struct cli_command *verb;

	if (argc < 2)
		return usage("sandbox");
	verb = cli_verb(cli_find("sandbox"), argv[1]);
	if (!verb)
		return complain("sandbox", 2, "there is no command \"%.80s\"; `fsd "
				"help sandbox` lists them", argv[1]);
	return verb->fn(argc - 1, argv + 1);
}

/* ret: the mount. Return: 0 or the exit code. */
static int find_mount(const char *command, const char *asked, char ret[PATH_MAX])
{
	struct err err = { 0 };

	return where_mount(asked, ret, &err) < 0 ?
		       complain(command, 1, "%s", err.text) : 0;
}

/* Takes --mount; the operands are behind optind. */
static int begin(const char *command, int argc, char **argv, char ret[PATH_MAX])
{
	const char *mount = NULL;
	struct cli_getopt g;
	int opt;

	cli_getopt(mount_option, false, &g);
	while ((opt = cli_next(command, argc, argv, &g)) != -1) {
		if (opt != 'M')
			return usage(command);
		mount = optarg;
	}
	return find_mount(command, mount, ret);
}

static int sandbox_new(int argc, char **argv)
{
	auto_free const char **lists = calloc((size_t)argc, sizeof(*lists));
	struct run_client c = { .packages = lists, .command = "sandbox new" };
	char mnt[PATH_MAX];
	int r = lists ? 0 : complain(c.command, 1, "out of memory");

	if (r == 0)
		r = run_options_take(&c, sandbox_new_cli_options, argc, argv);
	if (r == 0 && optind != argc - 1)
		r = usage(c.command);
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

static int sandbox_ls(int argc, char **argv)
{
	char mnt[PATH_MAX], path[PATH_MAX + 32], state[64], until[64];
	int r = begin("sandbox ls", argc, argv, mnt), count;
	struct dirent **entry;
	auto_close int dir = -1;

	if (r == 0 && optind != argc)
		r = usage("sandbox ls");
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
		if (state[0]) /* else it has ended meanwhile */
			printf("%-8s %-24s  %s\n", state, until[0] ? until : "-",
			       entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return 0;
}

/* --- of those that are named ---------------------------------------------------------- */

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

static int each(const char *command, int argc, char **argv, const char *verb)
{
	char mnt[PATH_MAX];
	int r = begin(command, argc, argv, mnt);

	if (r == 0 && optind == argc)
		r = usage(command);
	if (r)
		return r;
	for (int i = optind; i < argc; i++)
		r |= one(command, mnt, argv[i], verb);
	return r;
}

static int sandbox_pause(int argc, char **argv)
{
	return each("sandbox pause", argc, argv, "pause\n");
}

static int sandbox_resume(int argc, char **argv)
{
	return each("sandbox resume", argc, argv, "resume\n");
}

static int sandbox_rm(int argc, char **argv)
{
	return each("sandbox rm", argc, argv, NULL);
}
