/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures in the text format of Prometheus: two comments that describe a metric, then
 * its lines. histogram.h prints the lines of a histogram.
 */
#include "metric.h"

#include <inttypes.h>

void metric_begin(struct buf *out, const char *name, const char *type,
		  const char *help)
{
	buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_line(struct buf *out, const char *name, const char *type,
		 const char *help, uint64_t value)
{
	metric_begin(out, name, type, help);
	buf_fmt(out, "%s %" PRIu64 "\n", name, value);
}
