/* SPDX-License-Identifier: Apache-2.0 */
/* Which QEMU machines run on. */
#include "vm/backend.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/log.h"
#include "vm/os/spawn.h"

#define HOSTS_OWN "qemu-system-x86_64"
#define VERSION_WAIT_MS 10000

/* What `path --version` says. */
static int ask_version(const char *path, char ret[32], struct err *err)
{
	const char *argv[] = { path, "--version", NULL };
	struct spawn s = { .argv = argv, .want_stdout = true };
	struct child c;
	char text[256];
	int r = spawn(&s, &c, err);

	if (r < 0)
		return r;
	r = child_read(&c, text, sizeof(text), VERSION_WAIT_MS) > 0 ? 0 : -EIO;
	child_end(&c);
	if (r < 0 || sscanf(text, "QEMU emulator version %31[0-9.]", ret) != 1)
		return err_set(err, -EINVAL, "%s --version says no version",
			       path);
	return 0;
}

static int take(const char *name, const char *why, struct vm_qemu *ret,
		struct err *err)
{
	char path[PATH_MAX];
	int r = spawn_find(name, path);

	*ret = (struct vm_qemu){ .version = "" };
	if (r < 0)
		return err_sys(err, r, "%s", name);
	if (strlen(path) >= sizeof(ret->path))
		return err_sys(err, -ENAMETOOLONG, "%s", path);
	memcpy(ret->path, path, strlen(path) + 1);
	snprintf(ret->why, sizeof(ret->why), "%s", why);
	return ask_version(path, ret->version, err);
}

int vm_qemu_choose(const struct vm_qemu_places *places, struct vm_qemu *ret,
		   struct err *err)
{
	struct err first = { 0 };
	char why[sizeof(ret->why)] = "the host's own";

	if (places->asked &&
	    take(places->asked, "--qemu names it", ret, &first) < 0)
		return err_set(err, first.code, "--qemu is \"%s\"; it must be a "
			       "QEMU that runs here: %.200s", places->asked,
			       first.text);
	if (places->asked)
		return 0;
	if (places->brought &&
	    take(places->brought, "it came with fsd", ret, &first) == 0)
		return 0;
	if (places->brought)
		snprintf(why, sizeof(why), "the host's own, since the one that "
			 "came with fsd does not run: %.80s", first.text);
	if (take(HOSTS_OWN, why, ret, err) < 0)
		return err_set(err, err->code, "there is no QEMU that runs here "
			       "(%.200s); install the package qemu-system-x86",
			       err->text);
	return 0;
}
