/* SPDX-License-Identifier: Apache-2.0 */
/* fsd image build|list|verify: guest images. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd_env.h"

static int verify(const char *dir)
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

static int list(const char *dir)
{
	char path[PATH_MAX], line[1024];
	auto_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/manifest", dir);
	f = fopen(path, "re");
	if (!f)
		return complain("image", 1,
				"%s: %s; `make image` in the sources builds an "
				"image",
				path, strerror(errno));
	printf("directory %s\n", dir);
	while (fgets(line, sizeof(line), f))
		fputs(line, stdout);
	return 0;
}

/* The recipe is a script beside the image's default place. */
static int build(const char *dir)
{
	static const char *const places[] = { "../guest/image/build.sh",
					      "../share/fsd/build-image.sh" };
	char exe[PATH_MAX], script[PATH_MAX + 64], *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[MAX(n, 0)] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(script, sizeof(script), "%s/%s", exe, places[i]);
		if (access(script, X_OK) == 0)
			execl(script, script, dir, (char *)NULL);
	}
	return complain("image", 1,
			"the recipe %s was not found; run `make image` in the "
			"sources",
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
		return build(dir);
	if (!strcmp(argv[1], "list"))
		return list(dir);
	if (!strcmp(argv[1], "verify"))
		return verify(dir);
	return usage(self);
}

const struct cli_command image_command = {
	.name = "image", .fn = command_image, .group = "This host",
	.synopsis = "build|list|verify [DIR]",
	.summary = "make and check guest images",
	.operand = CLI_WORDS, .words = "build list verify",
};
