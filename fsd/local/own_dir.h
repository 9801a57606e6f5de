/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory with a random name that goes with the process that made it.
 *
 *   PREFIXabc123/        locked by flock(2) as long as the process lives
 *     .made-by-fsd       the mark: a sentence that names the directory
 *
 * The next process removes what a killed one has left. The name alone proves nothing:
 * a user may call a directory so. A directory is removed only if it has six random
 * characters behind the prefix, belongs to this user, has the mark with its own name in
 * it, and no process holds the lock. A copy or a renamed directory has the name of another
 * one in its mark, so it stays. A process may be killed before it has written the mark:
 * then the directory is empty, and its mode has the sticky bit from its first moment.
 *
 * NFS has no lock on a directory. There the name also has the process (maker.h), and a
 * process of the same host removes the directory when that one has ended.
 */
#ifndef FSD_OWN_DIR_H
#define FSD_OWN_DIR_H

#include <limits.h>

#include "maker.h"

#define OWN_DIR_RANDOM 6 /* the characters behind the prefix */
#define OWN_DIR_MARK ".made-by-fsd"
#define OWN_DIR_PREFIX_MAX (NAME_MAX - OWN_DIR_RANDOM - MAKER_TEXT)

/* Names are in the directory `at`, or paths with AT_FDCWD. */

/* Makes a directory, takes its lock and writes the mark. ret: its name. Return: a
 * descriptor of the directory, which holds the lock, or negative errno. */
int own_dir_make(int at, const char *prefix, char ret[NAME_MAX + 1]);
/* Removes such a directory with all its entries, but does not enter mounts in it. The
 * mark goes last, so an incomplete removal is found again. */
void own_dir_remove(int at, const char *name);
/* Removes the directories in `at` that killed processes of this user have left. before:
 * called with each name before its removal; may be NULL. */
void own_dir_clean(int at, const char *prefix,
		   void (*before)(void *arg, const char *name), void *arg);

#endif
