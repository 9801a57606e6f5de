/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes .fsd/stats: figures in the text format of Prometheus. Labels have fixed
 * values, except the uids of quotas; no label is a name of a job or user. Owns
 * no state. All functions run on the loop.
 */
#include "stats.h"

#include <inttypes.h>

#include "control.h"
#include "fsd/base/metric.h"
#include "fsd/jobs/environments.h"
#include "fsd/jobs/statistics.h"
#include "fsd/network/network.h"
#include "fsd/sched/sched.h"
#include "fsd/store/store.h"
#include "fsd/users/users.h"

static void stats_states(struct fsd *d, uid_t uid, bool all, struct buf *out)
{
	uint64_t count[JOB_STATE_MAX];

	users_count(d->users, uid, all, count);
	metric_begin(out, "fsd_jobs", "gauge", "Jobs in the tree by state");
	for (int i = 0; i < JOB_STATE_MAX; i++)
		buf_fmt(out, "fsd_jobs{state=\"%s\"} %" PRIu64 "\n",
			state_name((enum job_state)i), count[i]);
}

static void stats_user(void *arg, uid_t uid, const struct quota_use *use)
{
	struct buf *out = arg;

	buf_fmt(out, "fsd_user_jobs{uid=\"%u\"} %" PRIu64 "\n", uid, use->jobs);
	buf_fmt(out, "fsd_user_bytes{uid=\"%u\"} %" PRIu64 "\n", uid,
		use->bytes);
	buf_fmt(out, "fsd_user_running{uid=\"%u\"} %" PRIu64 "\n", uid,
		use->running);
	buf_fmt(out, "fsd_user_waiting{uid=\"%u\"} %" PRIu64 "\n", uid,
		use->waiting);
}

/* Prints the figures of quotas. Bytes are 0 without a quota of bytes. */
static void stats_users(struct fsd *d, uid_t uid, bool all, struct buf *out)
{
	struct quota_limits may;
	struct quota_use has;

	if (!quota_of(users_quota(d->users), uid, &has, &may))
		return;
	metric_line(out, "fsd_quota_jobs", "gauge", "Jobs that a user may have",
		    may.jobs);
	metric_line(out, "fsd_quota_bytes", "gauge",
		    "Bytes that a user may keep", may.bytes);
	metric_line(out, "fsd_quota_running", "gauge",
		    "Runs of a user at a time", may.running);
	if (all)
		quota_each(users_quota(d->users), stats_user, out);
	else
		stats_user(out, uid, &has);
}

/* Prints the verdicts of the door; nothing on a mount without a policy. */
static void stats_network(const struct fsd *d, struct buf *out)
{
	uint64_t told[NET_TOLD_MAX];

	if (!network_is_on(d->network))
		return;
	network_counts(d->network, told);
	metric_begin(out, "fsd_network_verdicts_total", "counter",
		     "Connections and names that jobs asked for, by verdict");
	for (int i = 0; i < NET_TOLD_MAX; i++)
		buf_fmt(out, "fsd_network_verdicts_total{verdict=\"%s\"} %" PRIu64 "\n",
			net_told_names[i], told[i]);
}

static void stats_waits(const struct fsd *d, struct buf *out)
{
	uint64_t count[SCHED_REASONS], since = sched_waits(d->sched, count);
	uint64_t now = now_ns();

	metric_begin(out, "fsd_waiting", "gauge", "Runs that wait, by what for");
	for (int i = 0; i < SCHED_REASONS; i++)
		buf_fmt(out, "fsd_waiting{reason=\"%s\"} %" PRIu64 "\n",
			sched_reason_names[i], count[i]);
	metric_line(out, "fsd_queue_oldest_seconds", "gauge",
		    "How long the oldest run in the queue has waited",
		    since ? (now - MIN(since, now)) / NS_PER_S : 0);
}

/* Prints a gauge twice: under its name, and under the name that it had before this
 * release. */
static void renamed_line(struct buf *out, const char *name, const char *old,
			 const char *help, uint64_t value)
{
	char text[96];

	metric_line(out, name, "gauge", help, value);
	snprintf(text, sizeof(text), "Old name of %s; goes with the next release", name);
	metric_line(out, old, "gauge", text, value);
}

struct class_line {
	struct buf *out;
	const char *name;
	unsigned (*value)(const struct vm_class_stats *s);
};

static unsigned idle_of(const struct vm_class_stats *s)
{
	return s->idle;
}

static unsigned wanted_of(const struct vm_class_stats *s)
{
	return s->wanted;
}

static unsigned zygote_of(const struct vm_class_stats *s)
{
	return s->zygote;
}

static void class_line(void *arg, const struct vm_class_stats *s)
{
	const struct class_line *l = arg;

	buf_fmt(l->out, "%s{class=\"%s/%u/%u\"} %u\n", l->name, s->environment,
		s->memory_mib, s->cpus, l->value(s));
}

/* Prints idle machines by class: environment/MiB/processors. */
static void stats_classes(const struct fsd *d, struct buf *out)
{
	struct class_line line = {out, "fsd_idle_machines", idle_of};

	metric_begin(out, line.name, "gauge", "Machines that are idle");
	vm_each_class(d->vm, class_line, &line);
	line = (struct class_line){out, "fsd_idle_wanted", wanted_of};
	metric_begin(out, line.name, "gauge", "Machines that should be idle");
	vm_each_class(d->vm, class_line, &line);
	line = (struct class_line){out, "fsd_class_fork_sources", zygote_of};
	metric_begin(out, line.name, "gauge", "Heated machines that others are forked off");
	vm_each_class(d->vm, class_line, &line);
	line.name = "fsd_class_zygotes";
	metric_begin(out, line.name, "gauge",
		     "Old name of fsd_class_fork_sources; goes with the next release");
	vm_each_class(d->vm, class_line, &line);
}

static void stats_build(const struct fsd *d, enum vm_accel accel,
			struct buf *out)
{
	const struct vm_qemu *qemu = vm_qemu(d->vm);

	metric_begin(out, "fsd_build_info", "gauge", "What serves, always 1");
	buf_fmt(out, "fsd_build_info{version=\"%s\",qemu=\"%s\",accel=\"%s\","
		"image=\"%s\"} 1\n", fsd_version, qemu ? qemu->version : "",
		vm_accel_names[accel], environments_image(d->environments)->id);
}

/* Prints the longest stall of the loop twice: in seconds, and as before this release. */
static void stats_stall(const struct fsd *d, struct buf *out)
{
	uint64_t us = loop_stall_ns(d->loop) / 1000;

	metric_begin(out, "fsd_loop_stall_max_seconds", "gauge",
		     "Longest time that one event has held up the others");
	buf_fmt(out, "fsd_loop_stall_max_seconds %" PRIu64 ".%06" PRIu64 "\n",
		us / 1000000, us % 1000000);
	metric_line(out, "fsd_loop_stall_max_microseconds", "gauge",
		    "Old name of fsd_loop_stall_max_seconds; goes with the next release; in "
		    "microseconds", us);
}

void stats_text(struct fsd *d, uid_t uid, bool all, bool healthy, struct buf *out)
{
	struct sched_stats waits;
	struct vm_stats s;

	metric_line(out, "fsd_healthy", "gauge",
		    "1: jobs can run; 0: .fsd/health says why not", healthy);
	stats_states(d, uid, all, out);
	stats_users(d, uid, all, out);
	vm_stats(d->vm, &s);
	sched_stats(d->sched, &waits);
	metric_line(out, "fsd_machines_max", "gauge",
		    "Machines that may have a job at a time", waits.machines_most);
	stats_build(d, s.accel, out);
	if (!all)
		return; /* the rest counts other users' jobs, too */
	statistics_print(d, out);
	stats_network(d, out);
	metric_line(out, "fsd_lost_found", "gauge",
		    "Damaged entries in lost+found", store_lost_count(d->store));
	metric_line(out, "fsd_machines_warm", "gauge", "Idle warm machines",
		    s.warm);
	renamed_line(out, "fsd_machines_unheated", "fsd_machines_lukewarm",
		     "Those that are heated again, or made anew, in a quiet time",
		     s.unheated);
	renamed_line(out, "fsd_fork_sources", "fsd_zygotes",
		     "Heated machines that others are forked off", s.zygotes);
	renamed_line(out, "fsd_fork_sources_wanted", "fsd_zygotes_wanted",
		     "Those that are made when there is time", s.zygotes_wanted);
	metric_line(out, "fsd_idle_memory_bytes", "gauge",
		    "Memory of idle machines and fork sources", s.idle_bytes);
	metric_line(out, "fsd_idle_memory_limit_bytes", "gauge",
		    "What --idle-memory lets them take", s.idle_limit);
	stats_classes(d, out);
	metric_line(out, "fsd_machines_starting", "gauge",
		    "Machines being prepared", s.starting);
	renamed_line(out, "fsd_machines_in_use", "fsd_machines_leased",
		     "Machines with a job", s.leased);
	renamed_line(out, "fsd_machines_awaited", "fsd_leases_waiting",
		     "Jobs that wait for a machine", s.waiting);
	metric_line(out, "fsd_runs_waiting", "gauge", "Runs that wait for room",
		    waits.waiting);
	stats_waits(d, out);
	metric_line(out, "fsd_memory_promised_bytes", "gauge",
		    "What machines with a job may come to", waits.promised);
	metric_line(out, "fsd_memory_room_bytes", "gauge",
		    "Memory that can be promised to further ones", waits.room);
	metric_line(out, "fsd_machines_made_total", "counter",
		    "Machines started", s.machines_made);
	metric_line(out, "fsd_machines_failed_total", "counter",
		    "Machines that failed", s.machines_failed);
	metric_line(out, "fsd_jobs_warm_total", "counter",
		    "Jobs served by a warm machine", s.jobs_warm);
	metric_line(out, "fsd_jobs_restored_total", "counter",
		    "Jobs served by a machine restored for them",
		    s.jobs_restored);
	metric_line(out, "fsd_templates_made_total", "counter",
		    "Templates made", s.templates_made);
	metric_line(out, "fsd_boots_failed_total", "counter",
		    "Boots that failed or hung", s.boots_failed);
	stats_stall(d, out);
}
