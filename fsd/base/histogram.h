/* SPDX-License-Identifier: Apache-2.0 */
/* Counts durations in buckets, for the text format of Prometheus. */
#ifndef FSD_HISTOGRAM_H
#define FSD_HISTOGRAM_H

#include <stdint.h>

#include "layout/layout.h"

#define HISTOGRAM_BUCKETS 12u

struct histogram {
	/* count of each bucket alone; the last one: longer */
	uint64_t count[HISTOGRAM_BUCKETS + 1];
	uint64_t sum_ms;
};

void histogram_add(struct histogram *h, uint64_t ms);
/* Appends the histogram's lines. labels: NAME="VALUE", or "". */
void histogram_print(const struct histogram *h, const char *name,
		     const char *labels, struct buf *out);

#endif
