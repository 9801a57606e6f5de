/* SPDX-License-Identifier: Apache-2.0 */
/* Default directories and paths. Call these at start; they read the disk. */
#ifndef FSD_DEFAULT_DIRS_H
#define FSD_DEFAULT_DIRS_H

#include <limits.h>

#include "vm/environment/environment.h"

/*
 * Returns the directory of the state for this user, owned by the caller. NULL with errno;
 * ENOENT: this user has no home.
 */
char *default_state_dir(void);
/*
 * Returns the first of these that has a manifest: $FSD_IMAGE, image/ beside the
 * program, ../share/fsd/image; else the last of them, for the error message.
 * Owned by the caller.
 */
char *default_image_dir(void);
/*
 * Finds the directories of environments, in the order in which they are
 * searched: --environments (asked; NULL: not given), or $FSD_ENVIRONMENTS; else
 * $XDG_DATA_HOME/fsd/environments, then environments/ beside the image's
 * directory (image NULL: the default one). Return: 0 or -ENOMEM.
 */
struct environment_dirs {
	char *own[ENVIRONMENT_PLACES]; /* owned */
	struct environment_places places;
};
int environment_dirs_find(const char *asked, const char *image,
			  struct environment_dirs *ret);
/* Returns the directory for new environments: the last one that this user may
 * write or make; the first, if there is none. */
const char *environment_dirs_own(const struct environment_dirs *dirs);
void environment_dirs_done(struct environment_dirs *dirs);
/* Templates that root has made for all users of this host. */
#define SHARED_TEMPLATES "/var/cache/fsd/templates"
/* Returns the QEMU that was built or installed with this program: qemu/ beside
 * it, ../share/fsd/qemu. NULL: there is none, or no memory. */
char *brought_qemu(void);
/* Finds the program of that name beside this one. Return: 0, or negative errno: it is not
 * there; ret has its path then, too. */
int program_beside(const char *name, char ret[PATH_MAX]);
/* Returns path as absolute and without links; its last component may be a dead
 * mount. Owned by the caller. NULL with errno. */
char *absolute_path(const char *path);
/* Like absolute_path(), but the last parts of path need not exist yet. */
char *existing_path(const char *path);

#endif
