/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FSD_SPOOL_ARCHIVE_H
#define FSD_SPOOL_ARCHIVE_H

/* The text of unpack.py (build/spool/unpack_program.c). */
extern const char unpack_program[];

#endif
