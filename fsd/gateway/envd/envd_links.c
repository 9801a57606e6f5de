/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves paths with symbolic links. The mount shows and follows none, so that
 * no link of a machine leads to a file of the host. So the machine itself is
 * asked, as its user. Its answer is treated like a client's path: it can only
 * name files of this sandbox. On workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"
#include "fsd/gateway/jobs/ask.h"
#include "layout/base/cleanup.h"

/* Opens the deepest directory of the path that the mount shows. Return: a
 * descriptor, or negative errno. */
static int open_deepest(struct gateway *g, const struct envd_path *p)
{
	char path[sizeof(p->mount)], *slash;
	int fd = -ENOENT;

	snprintf(path, sizeof(path), "%s", p->mount);
	/* do not go above .fsd/sandboxes/NAME/files */
	while ((fd == -ENOENT || fd == -ENOTDIR) && (slash = strrchr(path, '/')) &&
	       slash > path + strlen(SANDBOXES) + SANDBOX_NAME) {
		*slash = '\0';
		fd = mount_file(&g->mount, path, O_RDONLY | O_DIRECTORY, NULL);
	}
	return fd;
}

static bool shows_parent(struct gateway *g, const struct envd_path *p)
{
	char path[sizeof(p->mount)];
	struct stat st;

	snprintf(path, sizeof(path), "%s", p->mount);
	*strrchr(path, '/') = '\0';
	return mount_stat(&g->mount, path, &st, NULL) == 0 && S_ISDIR(st.st_mode);
}

/* Returns whether the path may contain a link. Usually the mount alone shows
 * that it does not. */
static bool may_be_linked(struct gateway *g, const struct envd_path *p, bool last)
{
	auto_close int dir = -1;
	struct stat st;

	if (!last && shows_parent(g, p))
		return false;
	if (mount_stat(&g->mount, p->mount, &st, NULL) == 0)
		return false;
	dir = open_deepest(g, p);
	return dir >= 0 && links_hidden(dir);
}

/* Asks the machine for the resolved path. Return: 0 or negative errno with a
 * sentence. */
static int ask(struct gateway *g, const char *sandbox, const char *path,
	       struct buf *ret, struct err *err)
{
	int r = ask_machine(g, sandbox, json_pack("[s, s, s, s, s]",
						  "/usr/bin/realpath", "-z", "-m",
						  "--", path), ret, err);

	if (r > 0 || (r == 0 && (!ret->len || *ret->data != '/')))
		return err_set(err, -EIO, "the sandbox does not tell where path "
			       "'%.400s' leads", path);
	return r;
}

static int follow(struct gateway *g, const char *sandbox, bool last,
		  struct envd_path *p, struct err *err)
{
	auto_buf struct buf real = { .cap = 64u << 10 };
	char path[sizeof(p->path)], *name = NULL;
	struct envd_path led;
	int r;

	snprintf(path, sizeof(path), "%s", p->path);
	if (!last) {
		name = strrchr(path, '/');
		*name++ = '\0';
	}
	r = ask(g, sandbox, *path ? path : "/", &real, err);
	if (r == 0 && !last) {
		real.len = strlen(real.data);
		r = buf_fmt(&real, "/%s", name);
	}
	if (r == 0)
		r = envd_resolve(sandbox, real.data, &led);
	if (r < 0)
		return r;
	p->home = led.home;
	memcpy(p->real, led.path, sizeof(p->real));
	memcpy(p->mount, led.mount, sizeof(p->mount));
	return 0;
}

int envd_locate(struct gateway *g, const char *sandbox, const char *text, bool last,
		struct envd_path *ret, struct err *err)
{
	int r = envd_resolve(sandbox, text, ret);

	if (r < 0)
		return err_set(err, r, "the path is too long");
	memcpy(ret->real, ret->path, sizeof(ret->real));
	return may_be_linked(g, ret, last) ? follow(g, sandbox, last, ret, err) : 0;
}
