/* SPDX-License-Identifier: Apache-2.0 */
/* fsd image build|list|verify and fsd qemu bring|list|verify: guest images, and the QEMU
 * that is brought beside the program. Each runs a script that lies beside it, and shows a
 * file of what the script has made. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd_env.h"
#include "fsd/server/default_dirs.h"

/* Finds the directory of this program. */
static void program_dir(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	ret[MAX(n, 0)] = '\0';
	slash = strrchr(ret, '/');
	if (slash)
		*slash = '\0';
}

/* Shows a file of dir that says of which parts it is. Return: the exit code. */
static int show(const char *command, const char *dir, const char *name, const char *remedy)
{
	char path[PATH_MAX + 80], line[1024];
	auto_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return complain(command, 1, "%s: %s; %s", path, strerror(errno), remedy);
	printf("directory %s\n", dir);
	while (fgets(line, sizeof(line), f))
		fputs(line, stdout);
	return 0;
}

/* --- fsd image ---------------------------------------------------------------------- */

static int verify_image(const char *dir)
{
	auto_buf struct buf text = { 0 };
	struct err err = { 0 };
	int r = vm_image_verify(dir, &text, &err);

	if (r < 0)
		return complain("image", 1, "%s", err.text);
	printf("%s", text.data ? text.data : "");
	printf("%s: every part is as its manifest says\n", dir);
	return env_fit(dir);
}

static int list_image(const char *dir)
{
	return show("image", dir, "manifest", "`make image` in the sources builds an image");
}

/* Runs the recipe: a script beside the image's default place. */
static int build_image(const char *dir)
{
	static const char *const places[] = { "../guest/image/build.sh",
					      "../share/fsd/build-image.sh" };
	char exe[PATH_MAX], script[PATH_MAX + 64];

	program_dir(exe);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(script, sizeof(script), "%s/%s", exe, places[i]);
		if (access(script, X_OK) == 0)
			execl(script, script, dir, (char *)NULL);
	}
	return complain("image", 1,
			"the recipe %s was not found; the package fsd-image has an "
			"image, and `make image` in the sources makes one",
			script);
}

static int command_image(const struct cli_command *self, int argc, char **argv)
{
	auto_free char *dir = NULL;

	if (argc < 2 || argc > 3)
		return usage(self);
	dir = argc == 3 ? strdup(argv[2]) : default_image_dir();
	if (!dir)
		return complain("image", 1, "%s", strerror(ENOMEM));
	if (!strcmp(argv[1], "build"))
		return build_image(dir);
	if (!strcmp(argv[1], "list"))
		return list_image(dir);
	if (!strcmp(argv[1], "verify"))
		return verify_image(dir);
	return usage(self);
}

const struct cli_command image_command = {
	.name = "image", .fn = command_image, .group = "This host",
	.synopsis = "build|list|verify [DIR]",
	.summary = "make and check guest images",
	.operand = CLI_WORDS, .words = "build list verify",
};

/* --- fsd qemu ----------------------------------------------------------------------- */

/* Paths relative to fsd's own program: of the script, and of the directory where
 * brought_qemu() looks for the script's results. */
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
	char exe[PATH_MAX];

	program_dir(exe);
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

static int list_qemu(const char *script, const char *dir)
{
	(void)script;
	return show("qemu", dir, "origin", "`fsd qemu bring` brings one");
}

static int verify_qemu(const char *script, const char *dir)
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
	bool has_place; /* if DIR is given it needs neither script nor default directory */
	int (*fn)(const char *script, const char *dir);
} verbs[] = {
	{ "bring", false, bring }, { "list", true, list_qemu },
	{ "verify", true, verify_qemu },
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
