/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a sandbox's use: one sample for each request, measured at that
 * time by programs of the machine; a sandbox without a machine uses nothing.
 * Owns no state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "envd.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/http/route.h"
#include "layout/base/num.h"
#include "probe.h"

#define SLACK_S 5u /* added to a client's period, which is in whole seconds */

struct sample {
	int64_t at_ms;
	json_int_t cpus;
	double cpu_pct;
	uint64_t memory, memory_used, cache, disk, disk_used; /* bytes */
};

/* Prints lines of proc(5), and the filesystem of the home. */
static const char program[] =
	"grep -E '^(MemTotal|MemAvailable|Cached):' /proc/meminfo\n"
	"head -n 1 /proc/stat; sleep 0.1; head -n 1 /proc/stat\n"
	"df -P -B1 /home/user | tail -n 1\n";

static uint64_t kib_of(const char *out, const char *name)
{
	const char *at = strstr(out, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Parses the next line "cpu ..." from *at on: ticks in all, and idle ones. */
static bool take_ticks(const char **at, uint64_t *all, uint64_t *idle)
{
	const char *line = strstr(*at, "cpu ");
	char *end;

	if (!line)
		return false;
	line += 4;
	*all = *idle = 0;
	for (unsigned i = 0; i < 8; i++, line = end) {
		uint64_t ticks = strtoull(line, &end, 10);

		*all += ticks;
		*idle += i == 3 || i == 4 ? ticks : 0;
	}
	*at = line;
	return true;
}

static void take_cpu(struct sample *s, const char *out)
{
	uint64_t all[2], idle[2];

	if (take_ticks(&out, &all[0], &idle[0]) &&
	    take_ticks(&out, &all[1], &idle[1]) && all[1] > all[0])
		s->cpu_pct = 100.0 * (double)(all[1] - all[0] -
					      MIN(idle[1] - idle[0],
						  all[1] - all[0])) /
			     (double)(all[1] - all[0]) * (double)s->cpus;
}

static void take_output(struct sample *s, const char *out)
{
	uint64_t total = kib_of(out, "MemTotal:");
	uint64_t free = kib_of(out, "MemAvailable:");
	const char *line = strrchr(out, '\n');
	unsigned long long size, used;

	s->memory_used = MIN(total > free ? total - free : 0, s->memory);
	s->cache = kib_of(out, "\nCached:");
	take_cpu(s, out);
	while (line && line > out && line[-1] != '\n')
		line--;
	if (line && sscanf(line, "%*s %llu %llu", &size, &used) == 2) {
		s->disk = size;
		s->disk_used = used;
	}
}

static json_t *show(const struct sample *s)
{
	char time[32];

	text_time(s->at_ms, time);
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}",
			 "timestamp", time, "timestampUnix",
			 (json_int_t)(s->at_ms / 1000), "cpuCount", s->cpus,
			 "cpuUsedPct", s->cpu_pct, "memUsed",
			 (json_int_t)s->memory_used, "memTotal",
			 (json_int_t)s->memory, "memCache", (json_int_t)s->cache,
			 "diskUsed", (json_int_t)s->disk_used, "diskTotal",
			 (json_int_t)s->disk);
}

/* Returns the figures with the names of the service in the machine. */
static json_t *show_envd(const struct sample *s)
{
	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "ts", (json_int_t)(s->at_ms / 1000), "cpu_count",
			 s->cpus, "cpu_used_pct", s->cpu_pct, "mem_total",
			 (json_int_t)s->memory, "mem_used",
			 (json_int_t)s->memory_used, "mem_cache",
			 (json_int_t)s->cache, "mem_total_mib",
			 (json_int_t)(s->memory >> 20), "mem_used_mib",
			 (json_int_t)(s->memory_used >> 20), "disk_used",
			 (json_int_t)s->disk_used, "disk_total",
			 (json_int_t)s->disk);
}

static void reply_sample(struct request *r, const struct sample *s)
{
	if (r->route->service == SERVICE_ENVD)
		reply_json(r, 200, show_envd(s));
	else
		reply_json(r, 200, json_pack("[o]", show(s)));
}

static void on_sample(struct request *r, void *arg, const char *out)
{
	struct sample *s = arg;

	if (out)
		take_output(s, out);
	reply_sample(r, s);
}

static void take_sample(struct request *r)
{
	const json_t *config = r->sandbox->config;
	json_t *cpus = json_object_get(config, "cpus");
	json_t *memory = json_object_get(config, "memory_mb");
	struct sample s = { .at_ms = text_now_ms(),
			    .cpus = json_integer_value(cpus),
			    .memory = (uint64_t)json_integer_value(memory) << 20 };
	struct sample *kept;

	if (!control_has_machine(r->gateway, r->sandbox)) {
		reply_sample(r, &s);
		return;
	}
	kept = malloc(sizeof(*kept));
	if (!kept) {
		reply_failure(r, -ENOMEM, "no memory for a sample");
		return;
	}
	*kept = s;
	probe_start(r, json_pack("[s, s, s]", "sh", "-c", program), on_sample,
		    kept, free);
}

void get_sandbox_metrics(struct request *r)
{
	const char *from = request_query(r, "start");
	const char *to = request_query(r, "end");
	uint64_t now = (uint64_t)text_now_ms() / 1000, start = 0, end = now;

	if ((from && parse_u64(from, 0, INT64_MAX, &start) < 0) ||
	    (to && parse_u64(to, 0, INT64_MAX, &end) < 0))
		reply_error(r, 400, "start, end: they are seconds since 1970");
	else if (now < start || now > end + SLACK_S)
		reply_json(r, 200, json_array());
	else
		take_sample(r);
}

void get_envd_metrics(struct request *r)
{
	take_sample(r);
}
