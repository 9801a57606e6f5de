/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FSD_ERASE_H
#define FSD_ERASE_H

/*
 * Deletes at/name and all below it, following no link. What cannot be deleted
 * stays. May take long; knows nothing of the loop's.
 */
void erase_tree(int at, const char *name);

#endif
