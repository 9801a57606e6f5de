/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FSD_REMOVE_TREE_H
#define FSD_REMOVE_TREE_H

/*
 * Deletes at/name and all below it; follows no link. Entries that cannot be
 * deleted stay. May take long: call it on a worker thread.
 */
void remove_tree(int at, const char *name);

#endif
