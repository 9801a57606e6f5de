/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what happens to jobs and runs while a server runs, and prints that for
 * .fsd/stats. Labels are from fixed sets: no name of a job or user is one.
 */
#include "statistics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "vm/vm.h"
#include "fsd/base/histogram.h"
#include "fsd/base/metric.h"
#include "jobs_int.h"

struct statistics {
	uint64_t accepted, done[JOB_STATUS_MAX], retried, removed;
	uint64_t refused[REFUSED_MAX];
	uint64_t connections_open, connections_made, connections_ended[NET_TOLD_MAX];
	uint64_t sent, received; /* bytes of programs' connections */
	struct histogram queue;                  /* seconds that runs waited */
	struct histogram run[LANG_MAX + 1];      /* seconds that runs took, by language */
	struct histogram machine[VM_SOURCE_MAX]; /* seconds, by the machine's source */
};

int statistics_new(struct statistics **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void statistics_free(struct statistics *s)
{
	free(s);
}

void statistics_accepted(struct fsd *d)
{
	d->jobs->statistics->accepted++;
}

void statistics_refused(struct fsd *d, enum refused why)
{
	d->jobs->statistics->refused[why]++;
}

void statistics_retried(struct fsd *d)
{
	d->jobs->statistics->retried++;
}

void statistics_removed(struct fsd *d)
{
	d->jobs->statistics->removed++;
}

void statistics_ended(struct fsd *d, const struct job_result *res,
		      unsigned lang, const char *source)
{
	struct statistics *s = d->jobs->statistics;

	s->done[res->status]++;
	if (res->queued_ms != RESULT_UNKNOWN)
		histogram_add(&s->queue, res->queued_ms);
	if (res->run_ms != RESULT_UNKNOWN)
		histogram_add(&s->run[lang], res->run_ms);
	for (int i = 0; i < VM_SOURCE_MAX; i++)
		if (source == vm_source_names[i] &&
		    res->machine_ms != RESULT_UNKNOWN)
			histogram_add(&s->machine[i], res->machine_ms);
}

void statistics_connection_adopted(struct fsd *d)
{
	d->jobs->statistics->connections_open++;
}

void statistics_connection_opened(struct fsd *d)
{
	d->jobs->statistics->connections_open++;
	d->jobs->statistics->connections_made++;
}

void statistics_connection_closed(struct fsd *d)
{
	d->jobs->statistics->connections_open--;
}

void statistics_connection_ended(struct fsd *d, enum net_told told)
{
	d->jobs->statistics->connections_ended[told]++;
}

void statistics_network_bytes(struct fsd *d, uint64_t sent, uint64_t received)
{
	d->jobs->statistics->sent += sent;
	d->jobs->statistics->received += received;
}

/* --- .fsd/stats ------------------------------------------------------------- */

static void print_runs(const struct statistics *s, struct buf *out)
{
	metric_begin(out, "fsd_runs_total", "counter",
		     "Runs that ended, by status");
	for (int i = 0; i < JOB_STATUS_MAX; i++)
		buf_fmt(out, "fsd_runs_total{status=\"%s\"} %" PRIu64 "\n",
			status_name((enum job_status)i), s->done[i]);
	buf_fmt(out, "fsd_runs_total{status=\"removed\"} %" PRIu64 "\n",
		s->removed);
	metric_line(out, "fsd_runs_accepted_total", "counter", "Runs queued",
		    s->accepted);
	metric_line(out, "fsd_runs_retried_total", "counter",
		    "Runs that failed and were followed by another one",
		    s->retried);
}

static void print_refused(const struct statistics *s, struct buf *out)
{
	static const char *const reasons[REFUSED_MAX] = {
		[REFUSED_CONFIG] = "config", [REFUSED_QUOTA] = "quota",
		[REFUSED_QUEUE] = "queue",   [REFUSED_ROOM] = "room",
	};

	metric_begin(out, "fsd_refused_total", "counter",
		     "Jobs refused, by reason");
	for (int i = 0; i < REFUSED_MAX; i++)
		buf_fmt(out, "fsd_refused_total{reason=\"%s\"} %" PRIu64 "\n",
			reasons[i], s->refused[i]);
}

static void print_times(const struct statistics *s, struct buf *out)
{
	char label[64];

	metric_begin(out, "fsd_queue_seconds", "histogram",
		     "How long runs waited in the queue");
	histogram_print(&s->queue, "fsd_queue_seconds", "", out);
	metric_begin(out, "fsd_run_seconds", "histogram",
		     "How long programs ran, by language");
	for (int i = 0; i <= LANG_MAX; i++) {
		snprintf(label, sizeof(label), "language=\"%s\"",
			 i < LANG_MAX ? langs[i].name : "other");
		histogram_print(&s->run[i], "fsd_run_seconds", label, out);
	}
	metric_begin(out, "fsd_machine_seconds", "histogram",
		     "From a run's machine to its program's start, by source");
	for (int i = 0; i < VM_SOURCE_MAX; i++) {
		snprintf(label, sizeof(label), "source=\"%s\"",
			 vm_source_names[i]);
		histogram_print(&s->machine[i], "fsd_machine_seconds", label,
				out);
	}
}

static void print_network(const struct statistics *s, struct buf *out)
{
	metric_line(out, "fsd_network_connections", "gauge",
		    "Connections of programs that are open", s->connections_open);
	metric_line(out, "fsd_network_connections_total", "counter",
		    "Connections of programs that were made", s->connections_made);
	metric_begin(out, "fsd_network_ended_total", "counter",
		     "Connections and look-ups that ended or were refused, by verdict");
	for (int i = 0; i < NET_TOLD_MAX; i++)
		buf_fmt(out, "fsd_network_ended_total{verdict=\"%s\"} %" PRIu64 "\n",
			net_told_names[i], s->connections_ended[i]);
	metric_begin(out, "fsd_network_bytes_total", "counter",
		     "Bytes of programs' connections, by direction");
	buf_fmt(out, "fsd_network_bytes_total{direction=\"sent\"} %" PRIu64 "\n"
		"fsd_network_bytes_total{direction=\"received\"} %" PRIu64 "\n", s->sent,
		s->received);
}

void statistics_print(const struct fsd *d, struct buf *out)
{
	const struct statistics *s = d->jobs->statistics;

	print_runs(s, out);
	print_refused(s, out);
	print_times(s, out);
	print_network(s, out);
}
