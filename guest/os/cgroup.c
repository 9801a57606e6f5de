/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of a runner: limits before the job, figures and signals after it.
 * The descriptors are opened when the runner starts, so a job costs writes and reads
 * only. It also owns the group of the holders (runners/hold.h), one for all runners.
 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/limits.h"
#include "sys.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define HOLDERS CGROUP_ROOT "/holders"
#define HEATING CGROUP_ROOT "/heating"
#define CPU_PERIOD_US 100000u

static const struct {
	const char *name;
	int flags;
	bool required;
} files[CGROUP_FILE_MAX] = {
	[CGROUP_PROCS] = {"cgroup.procs", O_RDWR, true},
	[CGROUP_EVENTS] = {"cgroup.events", O_RDONLY, true},
	[CGROUP_KILL] = {"cgroup.kill", O_WRONLY, true},
	[CGROUP_MEMORY_MAX] = {"memory.max", O_WRONLY, true},
	[CGROUP_MEMORY_PEAK] = {"memory.peak", O_RDONLY, false},
	[CGROUP_MEMORY_EVENTS] = {"memory.events", O_RDONLY, true},
	[CGROUP_MEMORY_STAT] = {"memory.stat", O_RDONLY, true},
	[CGROUP_PIDS_MAX] = {"pids.max", O_WRONLY, true},
	[CGROUP_PIDS_PEAK] = {"pids.peak", O_RDONLY, false},
	[CGROUP_CPU_IDLE] = {"cpu.idle", O_WRONLY, false},
	[CGROUP_CPU_MAX] = {"cpu.max", O_WRONLY, true},
	[CGROUP_CPU_STAT] = {"cpu.stat", O_RDONLY, true},
};

/* Descriptors of files in the holders' group. */
static int holders_kill = -1, holders_time = -1, holders_events = -1;
static uint64_t holders_marked; /* processor time of the holders at cgroup_mark() */

static int make_holders(struct err *err)
{
	static const char *const settings[][2] = {
		{HOLDERS "/pids.max", "1"}, /* at this limit every fork fails */
		{HOLDERS "/cpu.idle", "1"},
	};

	if (mkdir(HOLDERS, 0700))
		return err_sys(err, -errno, "cannot make %s", HOLDERS);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		int r = sys_write(settings[i][0], settings[i][1]);

		if (r)
			return err_sys(err, r, "cannot write %s",
				       settings[i][0]);
	}
	holders_kill = open(HOLDERS "/cgroup.kill", O_WRONLY | O_CLOEXEC);
	holders_time = open(HOLDERS "/cpu.stat", O_RDONLY | O_CLOEXEC);
	holders_events = open(HOLDERS "/cgroup.events", O_RDONLY | O_CLOEXEC);
	if (holders_kill < 0 || holders_time < 0 || holders_events < 0)
		return err_sys(err, -errno, "cannot open the files of %s",
			       HOLDERS);
	return 0;
}

int cgroup_setup(struct err *err)
{
	int r = sys_write(CGROUP_ROOT "/cgroup.subtree_control",
			  "+memory +pids +cpu");

	if (r)
		return err_sys(err, r, "cannot switch the controllers on");
	if (mkdir(HEATING, 0700))
		return err_sys(err, -errno, "cannot make %s", HEATING);
	return make_holders(err);
}

struct number {
	char text[16];
};

static struct number number_of(pid_t pid)
{
	struct number n;

	snprintf(n.text, sizeof(n.text), "%d", (int)pid);
	return n;
}

int cgroup_lend(pid_t pid)
{
	return sys_write(HEATING "/cgroup.procs", number_of(pid).text);
}

int cgroup_take_back(struct cgroup *c, pid_t pid)
{
	return sys_put(c->fd[CGROUP_PROCS], number_of(pid).text);
}

/* Returns whether pid is a child of this process (init, or a lane's agent). A
 * runner's helper is the runner's child. */
static bool is_own_child(pid_t pid)
{
	char path[40], text[256];
	const char *end;
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sys_get(fd, text, sizeof(text)))
		return false;
	end = strrchr(text, ')'); /* the fields behind the name are state and parent */
	return end && strlen(end) > 4 && strtol(end + 4, NULL, 10) == getpid();
}

void cgroup_take_holder(struct cgroup *c, pid_t besides)
{
	char text[256], *p = text;
	pid_t holder = 0;

	if (sys_get(c->fd[CGROUP_PROCS], text, sizeof(text)))
		return;
	while (*p) {
		pid_t pid = (pid_t)strtol(p, &p, 10);

		p += *p == '\n';
		if (pid == besides || !is_own_child(pid))
			continue;
		if (holder)
			return;
		holder = pid;
	}
	if (holder)
		sys_write(HOLDERS "/cgroup.procs", number_of(holder).text);
}

static int open_file(struct cgroup *c, const char *dir, enum cgroup_file i,
		     struct err *err)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
	c->fd[i] = open(path, files[i].flags | O_CLOEXEC);
	if (c->fd[i] < 0 && files[i].required)
		return err_sys(err, -errno, "cannot open %s", path);
	return 0;
}

/* Writes the settings that are the same for all jobs. */
static int write_fixed(const char *dir, struct err *err)
{
	static const char *const fixed[][2] = {
		{"memory.oom.group", "1"},
		{"memory.swap.max", "0"},
	};
	char path[200];

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, fixed[i][0]);
		int r = sys_write(path, fixed[i][1]);

		/* a kernel without swap lacks one file */
		if (r && r != -ENOENT)
			return err_sys(err, r, "cannot write %s", path);
	}
	return 0;
}

/* Writes a limit unless *last is that value: most jobs use the default. */
static int put_limit(struct cgroup *c, enum cgroup_file i, uint64_t value,
		     uint64_t *last, struct err *err)
{
	char text[32];
	int r;

	if (*last == value)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, value);
	r = sys_put(c->fd[i], text);
	*last = r ? 0 : value;
	return r ? err_sys(err, r, "cannot set %s to %s", files[i].name, text)
		 : 0;
}

int cgroup_open(struct cgroup *c, const char *name, unsigned own_tasks,
		struct err *err)
{
	char dir[100];
	int r = 0;

	memset(c, 0, sizeof(*c));
	c->own_tasks = own_tasks;
	for (int i = 0; i < CGROUP_FILE_MAX; i++)
		c->fd[i] = -1;
	snprintf(dir, sizeof(dir), CGROUP_ROOT "/%s", name);
	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_sys(err, -errno, "cannot make %s", dir);
	for (int i = 0; !r && i < CGROUP_FILE_MAX; i++)
		r = open_file(c, dir, i, err);
	if (!r)
		r = write_fixed(dir, err);
	if (!r)
		r = put_limit(c, CGROUP_MEMORY_MAX,
			      (uint64_t)DEFAULT_MEMORY_MB << 20, &c->memory_max,
			      err);
	return r ? r
		 : put_limit(c, CGROUP_PIDS_MAX, DEFAULT_PROCESSES + own_tasks,
			     &c->pids_max, err);
}

void cgroup_close(struct cgroup *c)
{
	for (int i = 0; i < CGROUP_FILE_MAX; i++)
		fd_close(&c->fd[i]);
}

int cgroup_limit(struct cgroup *c, const struct wire_job *job,
		 struct err *err)
{
	static int processors; /* static: asking the kernel would open a file */
	char text[64];
	int r;

	if (!processors)
		processors = get_nprocs();

	r = put_limit(c, CGROUP_MEMORY_MAX, job->memory_bytes + c->warm_bytes,
		      &c->memory_max, err);
	if (!r)
		r = put_limit(c, CGROUP_PIDS_MAX, job->processes + c->own_tasks,
			      &c->pids_max, err);
	/* With all processors no limit is needed, and its accounting costs
	 * time. */
	if (r || job->cpus >= (unsigned)processors)
		return r;
	snprintf(text, sizeof(text), "%" PRIu64 " %u",
		 (uint64_t)job->cpus * CPU_PERIOD_US, CPU_PERIOD_US);
	r = sys_put(c->fd[CGROUP_CPU_MAX], text);
	return r ? err_sys(err, r, "cannot set cpu.max to %s", text) : 0;
}

/* Returns the number behind "key " in text, or WIRE_UNKNOWN. */
static uint64_t find_number(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *p = text; p && *p;) {
		if (!strncmp(p, key, length) && p[length] == ' ')
			return strtoull(p + length + 1, NULL, 10);
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return WIRE_UNKNOWN;
}

static uint64_t read_holders_time(void)
{
	char text[512];

	if (sys_get(holders_time, text, sizeof(text)))
		return WIRE_UNKNOWN;
	return find_number(text, "usage_usec");
}

void cgroup_kill_holders(void)
{
	sys_put(holders_kill, "1");
}

static void read_cpu(struct cgroup *c, uint64_t *ret_user,
		     uint64_t *ret_system)
{
	char text[512];

	if (sys_get(c->fd[CGROUP_CPU_STAT], text, sizeof(text)))
		text[0] = '\0';
	*ret_user = find_number(text, "user_usec");
	*ret_system = find_number(text, "system_usec");
}

static uint64_t read_number(int fd)
{
	char text[64];

	if (fd < 0 || sys_get(fd, text, sizeof(text)))
		return WIRE_UNKNOWN;
	if (text[0] < '0' || text[0] > '9')
		return WIRE_UNKNOWN;
	return strtoull(text, NULL, 10);
}

void cgroup_mark(struct cgroup *c)
{
	read_cpu(c, &c->user_us, &c->system_us);
	holders_marked = read_holders_time();
}

/* Returns the bytes of file pages, of memory.stat. The kernel can always drop
 * some of them. */
static uint64_t find_file_bytes(const char *text)
{
	return find_number(text, "active_file") +
	       find_number(text, "inactive_file");
}

static bool read_memory(struct cgroup *c, char *text, size_t size)
{
	return !sys_get(c->fd[CGROUP_MEMORY_STAT], text, size);
}

void cgroup_mark_code(struct cgroup *c, uint64_t plain_heap)
{
	char text[4096];
	uint64_t heap;

	if (!read_memory(c, text, sizeof(text)))
		return;
	c->code_bytes = find_file_bytes(text);
	heap = find_number(text, "anon");
	c->warm_bytes = heap > plain_heap && heap != WIRE_UNKNOWN
				? heap - plain_heap : 0;
	/* Set the default limit now: most jobs use it, and cgroup_limit() then writes
	 * nothing. */
	put_limit(c, CGROUP_MEMORY_MAX,
		  ((uint64_t)DEFAULT_MEMORY_MB << 20) + c->warm_bytes,
		  &c->memory_max, NULL);
}

/* Reads the peak without the runner's own memory. full: times that the group
 * was at its limit. */
static uint64_t read_peak(struct cgroup *c, uint64_t full)
{
	uint64_t peak = read_number(c->fd[CGROUP_MEMORY_PEAK]);
	uint64_t code = c->code_bytes;
	char text[4096];

	if (peak == WIRE_UNKNOWN)
		return peak;
	/*
	 * memory.stat is slow to read; without a shortage no code was dropped.
	 */
	if (code && (full || c->memory_max < peak))
		code = read_memory(c, text, sizeof(text))
			       ? MIN(code, find_file_bytes(text)) : 0;
	/* the peak may come from before the limit was lowered */
	peak = MIN(peak, c->memory_max);
	return peak - MIN(peak, code + c->warm_bytes);
}

bool cgroup_holders_ran(void)
{
	return read_holders_time() != holders_marked;
}

/* Returns the use between two readings, each of which may be unknown. */
static uint64_t used_since(uint64_t then, uint64_t now)
{
	if (then == WIRE_UNKNOWN || now == WIRE_UNKNOWN || now < then)
		return WIRE_UNKNOWN;
	return now - then;
}

void cgroup_usage(struct cgroup *c, struct wire_exit *ret)
{
	uint64_t user, system;
	char text[256];

	read_cpu(c, &user, &system);
	ret->user_us = used_since(c->user_us, user);
	ret->system_us = used_since(c->system_us, system);
	ret->peak_processes = read_number(c->fd[CGROUP_PIDS_PEAK]);
	if (ret->peak_processes != WIRE_UNKNOWN &&
	    ret->peak_processes > c->own_tasks)
		ret->peak_processes -= c->own_tasks;
	if (sys_get(c->fd[CGROUP_MEMORY_EVENTS], text, sizeof(text)))
		text[0] = '\0';
	ret->oom_kills = find_number(text, "oom_kill");
	ret->peak_memory_bytes = read_peak(c, find_number(text, "max"));
}

bool cgroup_strain(struct cgroup *c, struct strain *ret)
{
	char text[4096];

	*ret = (struct strain){.limit = c->memory_max};
	if (sys_get(c->fd[CGROUP_MEMORY_EVENTS], text, sizeof(text)))
		return false;
	ret->full = find_number(text, "max");
	if (!ret->full || ret->full == WIRE_UNKNOWN ||
	    sys_get(c->fd[CGROUP_MEMORY_STAT], text, sizeof(text)))
		return false;
	ret->file_bytes = find_file_bytes(text);
	ret->refaults = find_number(text, "workingset_refault_file");
	read_cpu(c, &ret->user_us, &ret->system_us);
	return ret->refaults != WIRE_UNKNOWN;
}

static bool is_empty(int events)
{
	char text[128];

	if (sys_get(events, text, sizeof(text)))
		return false;
	return find_number(text, "populated") == 0;
}

bool cgroup_is_empty(struct cgroup *c)
{
	return is_empty(c->fd[CGROUP_EVENTS]);
}

uint32_t cgroup_count(struct cgroup *c)
{
	uint32_t count = 0;
	char text[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(c->fd[CGROUP_PROCS], text, sizeof(text), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			count += text[i] == '\n';
		at += n;
	}
	return count;
}

bool cgroup_holders_live(void)
{
	return !is_empty(holders_events);
}

static void kill_each(struct cgroup *c, int signal)
{
	int copy = fcntl(c->fd[CGROUP_PROCS], F_DUPFD_CLOEXEC, 0);
	FILE *procs = copy < 0 ? NULL : fdopen(copy, "r");
	char line[32];

	if (!procs) {
		fd_close(&copy);
		return;
	}
	rewind(procs);
	while (fgets(line, sizeof(line), procs)) {
		long pid = strtol(line, NULL, 10);

		if (pid > 1)
			kill((pid_t)pid, signal);
	}
	fclose(procs);
}

void cgroup_rest(struct cgroup *c)
{
	if (c->fd[CGROUP_CPU_IDLE] >= 0)
		sys_put(c->fd[CGROUP_CPU_IDLE], "1");
}

void cgroup_abandon(struct cgroup *c)
{
	cgroup_rest(c);
	cgroup_kill(c, SIGKILL);
}

void cgroup_kill(struct cgroup *c, int signal)
{
	if (signal != SIGKILL || sys_put(c->fd[CGROUP_KILL], "1"))
		kill_each(c, signal);
}
