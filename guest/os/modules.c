/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads kernel modules by finit_module(), in the initramfs, before the root image is
 * mounted. A module that does not load ends init, because its device would be missing.
 */
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

#define MODULES_DIR "/modules/"

static int load(const char *name, struct err *err)
{
	char path[300];

	snprintf(path, sizeof(path), MODULES_DIR "%s", name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, -errno, "cannot open %s", path);
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		return err_sys(err, -errno, "cannot load %s", path);
	unlink(path); /* frees its memory: the initramfs is in RAM */
	return 0;
}

int modules_load(struct err *err)
{
	auto_fclose FILE *order = fopen(MODULES_DIR "order", "re");
	char name[256];
	int r = 0;

	if (!order)
		return errno == ENOENT ? 0 : err_sys(err, -errno,
				"cannot read " MODULES_DIR "order");
	while (!r && fgets(name, sizeof(name), order)) {
		name[strcspn(name, "\n")] = '\0';
		if (name[0])
			r = load(name, err);
	}
	return r;
}
