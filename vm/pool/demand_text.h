/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demand of a server's life as text, for the next one: its first idle
 * machines are of the classes that were asked for. Pure; the text comes from
 * the disk and is believed within bounds only.
 *
 *   demand 1
 *   MEMORY_MIB CPUS WEIGHT... ENVIRONMENT
 *
 * One line a class. The weights are thousandths, one for each runner in the
 * order of enum wire_runner. ENVIRONMENT is "base" or NAME@ID.
 */
#ifndef VM_DEMAND_TEXT_H
#define VM_DEMAND_TEXT_H

#include "demand.h"
#include "layout/base/buf.h"

#define DEMAND_ROWS 16u       /* classes that are kept, the most wanted */
#define DEMAND_TEXT_MAX 8192u /* bytes, with a NUL */
#define DEMAND_NAME_MAX 160u  /* bytes of ENVIRONMENT, with a NUL */

struct demand_row {
	uint32_t memory_mib, cpus;
	char environment[DEMAND_NAME_MAX];
	struct demand demand;
};

/* Return: 0, or -EBADMSG: the text is damaged, and *ret_count is 0. */
int demand_text_parse(const char *text, struct demand_row rows[DEMAND_ROWS],
		      unsigned *ret_count);
void demand_text_print(const struct demand_row *rows, unsigned count,
		       struct buf *ret);

#endif
