/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints and parses the pool's demand as text. The next server reads it, so
 * that its first idle machines are of the classes that jobs asked for. Pure.
 * The text comes from the disk, so every number is checked against its bounds.
 *
 *   demand 1
 *   MEMORY_MIB CPUS WEIGHT... ENVIRONMENT
 *
 * One line for each class. The weights are thousandths, one for each runner in
 * the order of enum wire_runner. ENVIRONMENT is "base" or NAME@ID.
 */
#ifndef VM_DEMAND_TEXT_H
#define VM_DEMAND_TEXT_H

#include "demand.h"
#include "layout/base/buf.h"

/* most classes in the text: those with the highest demand */
#define DEMAND_ROWS 16u
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
