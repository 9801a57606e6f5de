/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in the text format of Prometheus. */
#ifndef FSD_METRIC_H
#define FSD_METRIC_H

#include <stdint.h>

#include "layout/layout.h"

/* Appends the two comments above a metric's lines. type: "counter", "gauge",
 * "histogram". */
void metric_begin(struct buf *out, const char *name, const char *type,
		  const char *help);
/* Appends a metric of one line, with its comments. */
void metric_line(struct buf *out, const char *name, const char *type,
		 const char *help, uint64_t value);

#endif
