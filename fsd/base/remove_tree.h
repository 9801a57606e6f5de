/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FSD_REMOVE_TREE_H
#define FSD_REMOVE_TREE_H

/*
 * Deletes at/name and all below it, following no link. What cannot be deleted
 * stays. May take long; knows nothing of the loop's.
 */
void remove_tree(int at, const char *name);

#endif
