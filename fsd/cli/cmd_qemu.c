/* SPDX-License-Identifier: Apache-2.0 */
/* fsd qemu bring|list|verify: the QEMU that is brought beside the program. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/server/paths.h"

/* From the program's directory: the script, and where what it brings is looked for
 * (brought_qemu()). */
static const struct place {
	const char *script, *dir;
} places[] = {
	{ "../vm/qemu/bring.sh", "qemu" },
	{ "../share/fsd/bring-qemu.sh", "../share/fsd/qemu" },
};

/* Finds bring.sh and its directory, which lie beside this program. Return: false: they do
 * not. */
static bool find_place(char script[PATH_MAX + 64], char dir[PATH_MAX + 64])
{
	char exe[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[MAX(n, 0)] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(script, PATH_MAX + 64, "%s/%s", exe, places[i].script);
		snprintf(dir, PATH_MAX + 64, "%s/%s", exe, places[i].dir);
		if (access(script, X_OK) == 0)
			return true;
	}
	return false;
}

static int bring(const char *script, const char *dir)
{
	execl(script, script, dir, (char *)NULL);
	return complain("qemu", 1, "%s: %s", script, strerror(errno));
}

static int list(const char *script, const char *dir)
{
	char path[PATH_MAX + 80], line[1024];
	auto_fclose FILE *f = NULL;

	(void)script;
	snprintf(path, sizeof(path), "%s/origin", dir);
	f = fopen(path, "re");
	if (!f)
		return complain("qemu", 1, "%s: %s; `fsd qemu bring` brings one",
				path, strerror(errno));
	printf("directory %s\n", dir);
	while (fgets(line, sizeof(line), f))
		fputs(line, stdout);
	return 0;
}

static int verify(const char *script, const char *dir)
{
	struct err err = { 0 };
	int r = vm_qemu_verify(dir, &err);

	(void)script;
	if (r < 0)
		return complain("qemu", 1, "%s; `fsd qemu bring` brings it anew",
				err.text);
	printf("%s: %d files are as they were brought\n", dir, r);
	return 0;
}

static const struct verb {
	const char *name;
	bool has_place; /* by a DIR that is given it needs no other */
	int (*fn)(const char *script, const char *dir);
} verbs[] = {
	{ "bring", false, bring }, { "list", true, list },
	{ "verify", true, verify },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static int command_qemu(const struct cli_command *self, int argc, char **argv)
{
	char script[PATH_MAX + 64], dir[PATH_MAX + 64];
	const struct verb *v = argc < 2 || argc > 3 ? NULL : find_verb(argv[1]);

	if (!v)
		return usage(self);
	if (!find_place(script, dir) && (argc == 2 || !v->has_place))
		return complain("qemu", 1, "%s was not found; install fsd anew",
				script);
	return v->fn(script, argc == 3 ? argv[2] : dir);
}

const struct cli_command qemu_command = {
	.name = "qemu", .fn = command_qemu, .group = "This host",
	.synopsis = "bring|list|verify [DIR]",
	.summary = "bring a newer QEMU, and check the one that was brought",
	.operand = CLI_WORDS, .words = "bring list verify",
	.notes = "bring asks Debian's archives, of which the host's apt knows, for Debian\n"
		 "13's QEMU, and puts it beside fsd with all that it needs. Nothing is\n"
		 "installed. A mount goes on with it after fsd upgrade.",
};
