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
 */
#ifndef FSD_OWN_DIR_H
#define FSD_OWN_DIR_H

#define OWN_DIR_RANDOM "XXXXXX" /* stands for the random characters */
#define OWN_DIR_MARK ".made-by-fsd"

/* Makes the directory, takes its lock and writes the mark. path: ends in
 * OWN_DIR_RANDOM, which becomes the random characters. Return: the descriptor that
 * holds the lock, or negative errno. */
int own_dir_make(char *path);
/* Removes the directory at path with all that is in it, but not what is mounted
 * there. The mark goes last: what could not be removed is found again. */
void own_dir_remove(const char *path);
/* Removes those in the directory `parent` that killed processes of this user have
 * left. before: is called with the path of each before its removal; may be NULL. */
void own_dir_clean(const char *parent, const char *prefix,
		   void (*before)(const char *path));

#endif
