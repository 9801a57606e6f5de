/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts durations in fixed buckets. A bucket counts its own range; the text adds the
 * ranges up, as Prometheus wants them.
 */
#include "histogram.h"

#include <inttypes.h>

/* upper bounds in milliseconds; printed as seconds */
static const uint64_t bounds[HISTOGRAM_BUCKETS] = {
	5, 25, 100, 250, 500, 1000, 2500, 10000, 30000, 120000, 600000, 3600000,
};

void histogram_add(struct histogram *h, uint64_t ms)
{
	unsigned i = 0;

	while (i < HISTOGRAM_BUCKETS && ms > bounds[i])
		i++;
	h->count[i]++;
	h->sum_ms += ms;
}

static void put_bucket(struct buf *out, const char *name, const char *labels,
		       const char *bound, uint64_t count)
{
	buf_fmt(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels,
		*labels ? "," : "", bound, count);
}

void histogram_print(const struct histogram *h, const char *name,
		     const char *labels, struct buf *out)
{
	const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
	uint64_t sum = 0;
	char bound[24];

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		sum += h->count[i];
		snprintf(bound, sizeof(bound), "%g", (double)bounds[i] / 1000);
		put_bucket(out, name, labels, bound, sum);
	}
	sum += h->count[HISTOGRAM_BUCKETS];
	put_bucket(out, name, labels, "+Inf", sum);
	buf_fmt(out, "%s_sum%s%s%s %" PRIu64 ".%03u\n", name, open, labels, close,
		h->sum_ms / 1000, (unsigned)(h->sum_ms % 1000));
	buf_fmt(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close,
		sum);
}
