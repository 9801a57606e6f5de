/* SPDX-License-Identifier: Apache-2.0 */
/* Kept demand of any bytes: it is refused, or within bounds and printed again. */
#include <stdlib.h>
#include <string.h>

#include "vm/pool/demand_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demand_row rows[DEMAND_ROWS];
	char *text = malloc(size + 1);
	struct buf again = { 0 };
	unsigned count;

	check(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (demand_text_parse(text, rows, &count) == 0) {
		check(count <= DEMAND_ROWS);
		for (unsigned i = 0; i < count; i++)
			check(rows[i].memory_mib && rows[i].cpus &&
			      rows[i].environment[0] &&
			      demand_total(&rows[i].demand) >= 0);
		demand_text_print(rows, count, &again);
		buf_add(&again, "", 1);
		check(demand_text_parse(again.data, rows, &count) == 0);
	} else {
		check(count == 0);
	}
	buf_done(&again);
	free(text);
	return 0;
}
