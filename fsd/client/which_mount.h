/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the mount for a command that names jobs but no mount. */
#ifndef FSD_WHICH_MOUNT_H
#define FSD_WHICH_MOUNT_H

#define SERVICE_MOUNT "/run/fsd/jobs" /* mount of the host's own service */
#define USER_MOUNT "/fsd/jobs" /* mount of the user's own service, below
			        * $XDG_RUNTIME_DIR */

/* Returns the option's value if it is given, else $FSD_MOUNT, else USER_MOUNT if this
 * user mounted it, else SERVICE_MOUNT if root or this user mounted it and this user may
 * enter it; else NULL. A mount that somebody else made is never found: the command would
 * trust what it shows. The text is valid until the next call; one thread may call. */
const char *which_mount(const char *option);
/* Like which_mount(), with another file in the form of /proc/self/mounts. */
const char *which_mount_by(const char *option, const char *table);

#endif
