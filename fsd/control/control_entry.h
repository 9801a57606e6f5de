/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an entry below .fsd is coded as a number (control.h); for control*.c and
 * ops_sandbox.c.
 */
#ifndef FSD_CONTROL_ENTRY_H
#define FSD_CONTROL_ENTRY_H

#define ENTRY_VFILE(p) ((enum fsd_vfile)((p) & 0xff))
#define ENTRY_LANG(p) ((unsigned)((p) >> 8 & 0xff))
#define ENTRY_FIELD(p) ((unsigned)((p) >> 16 & 0xff))
#define ENTRY_SESSION(p) ((p) >> 24)
#define ENTRY(row, lang, field) \
	((uint64_t)(row) | (uint64_t)(lang) << 8 | (uint64_t)(field) << 16)

#define FIELD_FILES 0xff /* files/ of a session or a sandbox */
#define FIELD_ROOT 0xfe /* root/ of a sandbox */

/* Below sandboxes/: tells whether the number in ENTRY_SESSION() is of a sandbox, a
 * session or a file. */
enum sandbox_what { OF_SANDBOX, OF_SESSION, OF_FILE };

#define FIELD_CONFIG 1
#define FIELD_STATE 2
#define FIELD_UNTIL 3
#define FIELD_PROCESSES 4
#define FIELD_CTL 6
#define FIELD_ERROR 7
#define FIELD_HOLD 8 /* the file exists, but listings do not show it */
#define FIELD_NETWORK 10
#define FIELD_SESSIONS 5 /* a directory */

#endif
