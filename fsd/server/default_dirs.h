/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are unless the command line says otherwise. */
#ifndef FSD_DEFAULT_DIRS_H
#define FSD_DEFAULT_DIRS_H

#include "vm/environment/environment.h"

/* Owned by the caller. NULL with errno; ENOENT: this user has no home. */
char *default_state_dir(void);
/* The first that has a manifest: $FSD_IMAGE, image/ beside the program,
 * ../share/fsd/image; else the last of them, for the error message. */
char *default_image_dir(void);
/*
 * Where environments are, the first that is read first: what was asked for by
 * --environments (NULL: not), or $FSD_ENVIRONMENTS; else
 * $XDG_DATA_HOME/fsd/environments, then environments/ beside the directory of
 * the image (NULL: the default one). Return: 0 or -ENOMEM.
 */
struct environment_dirs {
	char *own[ENVIRONMENT_PLACES]; /* owned */
	struct environment_places places;
};
int environment_dirs_find(const char *asked, const char *image,
			  struct environment_dirs *ret);
/* Where a new environment is made: the last of them that this user may write or
 * make; the first, if there is none. */
const char *environment_dirs_own(const struct environment_dirs *dirs);
void environment_dirs_done(struct environment_dirs *dirs);
/* Where templates are that root made for all users of this host. */
#define SHARED_TEMPLATES "/var/cache/fsd/templates"
/* The QEMU that was built or installed with this program: qemu/ beside it,
 * ../share/fsd/qemu. NULL: there is none, or no memory. */
char *brought_qemu(void);
/* Absolute, without links; the last component need not be a living mount.
 * NULL with errno. */
char *absolute_path(const char *path);
/* The same for the existing part of a path that is not made yet. NULL with errno. */
char *existing_path(const char *path);

#endif
