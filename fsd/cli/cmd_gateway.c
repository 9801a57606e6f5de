/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd gateway: finds the mount and becomes fsd-gateway, a program of its own that lies
 * beside this one. So the daemon links no HTTP.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/where.h"

#define PROGRAM "fsd-gateway"

/* Does one of the arguments begin with that option? */
static bool has_option(int argc, char **argv, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) &&
		    (!argv[i][len] || argv[i][len] == '='))
			return true;
	return false;
}

static int find_program(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path,
			     PATH_MAX - sizeof(PROGRAM));
	char *slash;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, PROGRAM);
	return 0;
}

int command_gateway(int argc, char **argv)
{
	auto_free char **more = calloc((size_t)argc + 3, sizeof(*more));
	char program[PATH_MAX], mnt[PATH_MAX];
	char option[] = "--mount";
	struct err err = { 0 };
	int count = 1, r = find_program(program);

	if (!more || r < 0)
		return complain(argv[0], 1, "%s", strerror(more ? -r : ENOMEM));
	more[0] = program;
	if (!has_option(argc, argv, "--mount") &&
	    !has_option(argc, argv, "--new-key")) {
		if (where_mount(NULL, mnt, &err) < 0)
			return complain(argv[0], 1, "%s", err.text);
		more[count++] = option;
		more[count++] = mnt;
	}
	memcpy(more + count, argv + 1, (size_t)(argc - 1) * sizeof(*more));
	execv(program, more);
	return complain(argv[0], 1, "%s: %s", program, strerror(errno));
}
