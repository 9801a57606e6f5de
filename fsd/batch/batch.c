/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd batch: reads the list of inputs, learns which have a result, and keeps a number of
 * jobs in the mount until each input has one. One loop waits for the ends of jobs and for
 * signals.
 */
#include "batch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/figures.h"
#include "fsd/client/job_view.h"
#include "fsd/client/run_say.h"
#include "fsd/client/where.h"
#include "work.h"

#define PAUSE_MOST_S 30u
#define HEALTH_NS (10 * NS_PER_S)
#define LOSSES_FREE 2u       /* without a pause */
#define SIGNALS UINT32_MAX   /* epoll's data for the descriptor of signals; for a job it
			      * is the index of its flight */
#define RETAIN_S "86400"     /* a job that no start takes over goes after a day */

/* --- pauses --------------------------------------------------------------- */

void batch_pause(struct batch *b, const char *why)
{
	if (now_ns() < b->pause_ns)
		return;
	b->pause_s = MIN(MAX(2 * b->pause_s, 1u), PAUSE_MOST_S);
	b->pause_ns = now_ns() + b->pause_s * NS_PER_S;
	report_say(b, 0, "%s; nothing starts for %u s", why, b->pause_s);
}

void batch_stop(struct batch *b, int code)
{
	b->stopping = true;
	if (!b->code)
		b->code = code;
}

void batch_start_again(struct batch *b, uint32_t entry)
{
	unsigned room = b->again_room ? 2 * b->again_room : 64;
	uint32_t *again = b->again;

	if (b->agains == b->again_room) {
		again = realloc(b->again, room * sizeof(*again));
		if (!again) {
			b->next = 0; /* next_entry() searches all entries again */
			return;
		}
		b->again = again;
		b->again_room = room;
	}
	b->again[b->agains++] = entry;
}

/* --- the mount ------------------------------------------------------------ */

/* Fills in what each job gets besides the user's options. */
static void set_run(struct batch *b)
{
	b->run = *b->o->run;
	b->run.arg_count = 0;
	b->run.value[RUN_NO_STDIN] = "";
	if (!b->run.value[RUN_PRIORITY])
		b->run.value[RUN_PRIORITY] = "-10";
	if (!b->run.value[RUN_RETRY] &&
	    (!b->run.network_count || b->run.value[RUN_RETRY_NETWORK]))
		b->run.value[RUN_RETRY] = "2";
}

static void set_jobs(struct batch *b)
{
	unsigned machines;
	char root[64];

	if (b->set.jobs)
		return;
	snprintf(root, sizeof(root), "/proc/self/fd/%d", b->mount.root);
	machines = figures_machines(root);
	b->set.jobs = machines ? MIN(2 * machines, (unsigned)JOBS_MOST) :
				 2 * (unsigned)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

/* Raises the limit of open files: each running job takes two or three descriptors. */
static void raise_limit(struct batch *b)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	b->set.jobs = MIN(b->set.jobs, (unsigned)MAX(limit.rlim_cur / 4, 1u));
}

static int open_mount(struct batch *b)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = SIGNALS };
	int r;

	b->signals.more = SIGUSR1;
	b->mount.own.jobs = b->n.total - b->n.done;
	r = client_mount_open(&b->mount, &b->run, &b->signals);
	if (r)
		return r;
	b->held = b->mount.own.dir[0] || b->set.parts > 1;
	if (b->held)
		snprintf(b->suffix, sizeof(b->suffix), ".%d-%llx", (int)getpid(),
			 (unsigned long long)now_ns());
	else if (!b->run.value[RUN_RETAIN])
		b->run.value[RUN_RETAIN] = RETAIN_S;
	b->poll = epoll_create1(EPOLL_CLOEXEC);
	if (b->poll < 0 || epoll_ctl(b->poll, EPOLL_CTL_ADD, b->signals.fd, &e) < 0)
		return client_complain(1, "%s", strerror(errno));
	set_jobs(b);
	raise_limit(b);
	identity_set_mount(&b->identity, b->o, b->mount.root);
	if (b->identity.environment[0])
		b->run.value[RUN_ENVIRONMENT] = b->identity.environment;
	return 0;
}

/* Opens the mount by its path; a private one has no path. Return: true if it answers. */
static bool try_mount(struct batch *b)
{
	struct stat st;
	int root;

	if (!b->mount.own.dir[0] && where_is_mount(b->mount.mnt, NULL) == 0) {
		root = open(b->mount.mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root >= 0) {
			fd_close(&b->mount.root);
			b->mount.root = root;
		}
	}
	return fstatat(b->mount.root, ".fsd", &st, 0) == 0 && batch_attach(b) == 0;
}

void batch_on_signal(struct batch *b, int number)
{
	if (number == SIGUSR1) {
		report_line(b);
	} else if (number) {
		b->now |= b->stopping;
		batch_stop(b, 128 + number);
	}
}

static void take_signal(struct batch *b)
{
	batch_on_signal(b, client_signal(&b->signals));
}

/* Forgets the jobs that run or have ended; batch_attach() finds them again. */
static void forget_jobs(struct batch *b)
{
	for (unsigned i = 0; i < b->flights; i++) {
		struct flight *f = &b->flight[i];

		if (f->step == STEP_ENDED) { /* the end of its job will be reported once
					      * more */
			b->n.ended -= f->final;
			b->n.bad -= f->final && f->failed;
		}
		if (f->step == STEP_RUNS || f->step == STEP_ENDED)
			flight_leave(b, f);
	}
	b->next = 0;
}

/* In the mount that is there now, opens the jobs that only wait for their removal. */
static void open_jobs(struct batch *b)
{
	for (unsigned i = 0; i < b->flights; i++)
		if (b->flight[i].step >= STEP_COPIED)
			flight_open(b, &b->flight[i]);
}

/* The mount is gone: waits for it to come back, and attaches to its jobs again. */
static void find_mount(struct batch *b)
{
	uint64_t until = now_ns() + client_patience_ns();
	struct pollfd p = { .fd = b->signals.fd, .events = POLLIN };
	bool there;

	b->lost = false;
	forget_jobs(b);
	if (++b->losses > LOSSES_FREE)
		batch_pause(b, "the mount changes while jobs are made");
	while (!(there = try_mount(b)) && now_ns() < until && !b->now)
		if (poll(&p, 1, 1000) > 0)
			take_signal(b);
	if (!there && !b->now)
		batch_stop(b, report_say(b, 125, "%s does not serve any more", b->mount.mnt));
	b->now |= !there;
	if (there)
		open_jobs(b);
}

/* If no run has ended for a while, tells the user what the mount lacks. */
static void check_health(struct batch *b)
{
	char text[600];
	uint64_t now = now_ns();

	b->health_ns = now + HEALTH_NS;
	if (now - b->ended_ns < HEALTH_NS)
		return;
	if (job_view_text(b->mount.root, ".fsd/health", text, sizeof(text)) <= 0 ||
	    health_is_ok(text)) {
		b->sick_ns = 0;
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	report_say(b, 0, "%s", text);
	b->sick_ns = !strstr(text, " (since 20") ? 0 : b->sick_ns ? b->sick_ns : now;
	if (b->sick_ns && now - b->sick_ns >= client_patience_ns()) {
		batch_stop(b, report_say(b, 125, "for %llu s the mount could have no "
					 "machine; `fsd doctor` tells what is missing",
					 (unsigned long long)((now - b->sick_ns) / NS_PER_S)));
		b->now = true;
	}
}

/* --- the loop ------------------------------------------------------------- */

/* Finds the next input that is to run. Return: false: there is none. */
static bool next_entry(struct batch *b, uint32_t *ret)
{
	struct batch_list *l = &b->list;

	while (b->agains) {
		*ret = b->again[b->agains - 1];
		if (l->entry[*ret].state == ENTRY_OPEN)
			return true;
		b->agains--;
	}
	while (b->next < l->count && (l->entry[b->next].state != ENTRY_OPEN ||
				      l->entry[b->next].flags & ENTRY_ELSEWHERE))
		b->next++;
	*ret = b->next;
	return b->next < l->count;
}

static bool may_start(const struct batch *b)
{
	return !b->stopping && !b->lost && b->running < b->set.jobs &&
	       b->ending < ENDED_MOST && now_ns() >= b->pause_ns;
}

/* Starts a run if one may start now. Return: true if it did. */
static bool start_one(struct batch *b)
{
	uint32_t entry;

	if (!may_start(b) || !next_entry(b, &entry))
		return false;
	batch_start(b, entry);
	return true;
}

/* Tries steps again that failed because the disk was full. */
static void retry(struct batch *b)
{
	if (now_ns() < b->pause_ns || b->publish_ns)
		return;
	for (unsigned i = 0; i < b->flights; i++)
		if (b->flight[i].step == STEP_ENDED && now_ns() >= b->pause_ns)
			batch_copy(b, &b->flight[i]);
	if (!b->publish_ns && (b->ending || b->journal.lines.len))
		b->publish_ns = now_ns();
}

static void publish(struct batch *b)
{
	uint32_t entry;
	bool last = !b->running && (b->stopping || !next_entry(b, &entry));

	if (b->publish_ns && now_ns() >= b->pause_ns &&
	    (last || b->ending >= ENDED_MOST || now_ns() >= b->publish_ns))
		batch_publish(b);
}

static void halt(struct batch *b)
{
	const struct counts *n = &b->n;
	bool reached = b->set.halt_percent ? n->ended >= 20 && 100ull * n->bad >=
					     (uint64_t)b->set.halt * n->ended
					   : n->bad >= b->set.halt;

	if (!b->set.halt || !reached || b->stopping)
		return;
	batch_stop(b, report_say(b, 3, "halted after %u failures", n->bad));
	for (unsigned i = 0; b->set.halt_now && i < b->flights; i++)
		if (b->flight[i].step == STEP_RUNS)
			flight_kill(b, &b->flight[i]);
}

static bool is_over(struct batch *b)
{
	uint32_t entry;

	if (b->now)
		return true;
	return !b->running && !b->ending && !b->journal.lines.len && !b->lost &&
	       (b->stopping || !next_entry(b, &entry));
}

/* Milliseconds until something is due; 0: now. */
static int until_due(const struct batch *b, bool busy)
{
	uint64_t now = now_ns(), due = MIN(b->health_ns, report_due(b));

	if (busy)
		return 0;
	if (b->pause_ns > now)
		due = MIN(due, b->pause_ns);
	else if (b->publish_ns)
		due = MIN(due, b->publish_ns);
	return due <= now ? 0 : (int)MIN((due - now) / NS_PER_MS + 1, 60000u);
}

static void await(struct batch *b, bool busy)
{
	struct epoll_event e[64];
	int n = epoll_wait(b->poll, e, ARRAY_SIZE(e), until_due(b, busy));

	for (int i = 0; i < n && !b->lost; i++) {
		uint32_t at = e[i].data.u32;

		if (at == SIGNALS)
			take_signal(b);
		else if (b->flight[at].step == STEP_RUNS)
			batch_on_end(b, &b->flight[at]);
	}
}

static void work(struct batch *b)
{
	b->begun_ns = b->ended_ns = now_ns();
	b->health_ns = b->begun_ns + HEALTH_NS;
	report_begin(b);
	if (batch_attach(b) < 0)
		b->lost = true;
	while (!is_over(b)) {
		bool busy = start_one(b);

		await(b, busy);
		if (b->lost)
			find_mount(b);
		retry(b);
		publish(b);
		halt(b);
		if (now_ns() >= b->health_ns)
			check_health(b);
		report_tick(b);
	}
}

/* --- together ------------------------------------------------------------- */

/* Takes the batch's id from OUT, and checks that OUT has results of the same batch.
 * mount: the environment is known, so compare it, too. Return: 0; -ENOENT: OUT is new; or
 * 2. */
static int compare_identity(struct batch *b, bool mount)
{
	struct identity was;
	int r = identity_read(&was, &b->out);

	if (r == 0) {
		memcpy(b->identity.id, was.id, sizeof(was.id));
		if (!b->o->again)
			r = identity_check(&was, &b->identity, b->o, mount);
	}
	identity_done(&was);
	return r;
}

static void make_id(char id[IDENTITY_ID])
{
	uint64_t n = 0;

	if (getentropy(&n, sizeof(n)) < 0)
		n = now_ns(); /* not reached: only early in a boot no bytes are there */
	snprintf(id, IDENTITY_ID, "%016llx", (unsigned long long)n);
}

/* Writes batch.json and the list, by which a later start continues this batch. */
static int write_files(struct batch *b, bool fresh)
{
	char name[OUT_TEMPORARY];
	int fd, r = 0;

	if (fresh || b->o->again) {
		r = identity_write(&b->identity, &b->out, b->o->again);
		if (r == -EEXIST)
			r = compare_identity(b, true);
	}
	if (r)
		return r;
	fd = out_file_begin(&b->out, name);
	r = fd < 0 ? fd : batch_list_write(&b->list, fd);
	if (r == 0)
		r = out_file_end(&b->out, fd, name, "inputs");
	return r < 0 ? client_complain(2, "%s/inputs: %s", b->o->out, strerror(-r)) : 0;
}

static void name_journal(const struct batch *b, char ret[NAME_MAX + 1])
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	if (b->set.parts == 1)
		snprintf(ret, NAME_MAX + 1, "journal");
	else
		snprintf(ret, NAME_MAX + 1, "journal.%u-of-%u.%s.%d", b->set.part,
			 b->set.parts, host, (int)getpid());
}

static int open_journal(struct batch *b)
{
	char name[NAME_MAX + 1];
	int r;

	name_journal(b, name);
	r = journal_open(&b->journal, b->out.dir, name, !b->o->no_sync);
	return r < 0 ? client_complain(2, "%s/%s: %s", b->o->out, name, strerror(-r)) : 0;
}

static int open_out(struct batch *b)
{
	int r = out_open(&b->out, b->o->out, true);

	b->out.syncs = !b->o->no_sync;
	return r ? r : out_lock(&b->out, b->set.part, b->set.parts);
}

/* Does all checks that need no mount. */
static int prepare(struct batch *b)
{
	const struct batch_options *o = b->o;
	int r = settings_take(&b->set, o);

	if (r == 0)
		r = inputs_check(o->run);
	if (r == 0)
		r = program_find(o->run, &b->program);
	if (r == 0)
		r = batch_list_read(&b->list, &o->source, o->run, o->as_stdin);
	if (r == 0)
		r = identity_make(&b->identity, o, &b->program);
	return r;
}

static bool is_all_done(const struct batch *b)
{
	return b->n.done == b->n.total;
}

/* True if an input needs a run, or the mount may have jobs to be removed. */
static bool needs_mount(const struct batch *b, uint32_t revoked)
{
	return revoked || !is_all_done(b) || !client_mount_is_private(b->o->run);
}

/* Learns what OUT contains. *fresh: set to true if OUT is new. */
static int learn(struct batch *b, bool *fresh)
{
	int r = compare_identity(b, false);

	*fresh = r == -ENOENT;
	if (r && !*fresh)
		return r;
	if (*fresh)
		make_id(b->identity.id);
	return batch_load(b);
}

static int begin(struct batch *b)
{
	uint32_t revoked;
	bool fresh;
	int r = open_out(b);

	if (r == 0)
		r = learn(b, &fresh);
	if (r == 0)
		r = batch_revoke(b, true, &revoked);
	if (r)
		return r;
	out_clean(&b->out);
	if (needs_mount(b, revoked)) {
		set_run(b);
		r = open_mount(b);
		if (r == 0)
			r = fresh ? write_files(b, true) : compare_identity(b, true);
	}
	if (r == 0)
		r = open_journal(b);
	/* last, because it revokes results: everything else must be correct first */
	if (r == 0)
		r = batch_revoke(b, false, &revoked);
	b->n.before = b->n.done;
	return r || fresh || b->mount.root < 0 ? r : write_files(b, false);
}

/* Prints how much memory a private mount needs for so many runs: a user of a batch system
 * must request it beforehand. */
static int tell_private(const struct batch *b, uint32_t runs)
{
	unsigned machines = runs ? b->o->private_machines(runs) : 0;

	if (!runs)
		return 0;
	if (!machines)
		return 1;
	report_private(b, MIN(MIN(machines, runs), b->set.jobs ? b->set.jobs : machines));
	return 0;
}

static int dry_run(struct batch *b)
{
	uint32_t revoked = 0;
	bool fresh;
	int r = out_open(&b->out, b->o->out, false);

	if (r == 0)
		r = learn(b, &fresh);
	else if (r == -ENOENT)
		r = batch_load(b);
	if (r == 0)
		r = batch_revoke(b, true, &revoked);
	if (r == 0)
		report_dry_run(b, revoked);
	if (r == 0 && client_mount_is_private(b->o->run))
		r = tell_private(b, b->n.total - b->n.done + revoked);
	return r;
}

static void finish(struct batch *b)
{
	for (unsigned i = 0; i < b->flights; i++)
		if (b->flight[i].step != STEP_FREE)
			flight_done(b, &b->flight[i]);
	report_done(b);
	free(b->flight);
	fields_free(b->fields);
	free(b->again);
	fd_close(&b->poll);
	journal_close(&b->journal);
	identity_done(&b->identity);
	program_done(&b->program);
	batch_list_done(&b->list);
	fd_close(&b->signals.fd);
	client_mount_close(&b->mount);
	out_close(&b->out);
}

static int exit_code(const struct batch *b)
{
	return b->code ? b->code : b->n.failed ? 1 : 0;
}

int batch_run(const struct batch_options *o)
{
	struct batch b = {
		.o = o, .out = OUT_NONE, .journal = JOURNAL_NONE,
		.mount = CLIENT_MOUNT_NONE, .signals = CLIENT_SIGNALS_NONE,
		.program = { .fd = -1 }, .poll = -1, .fields = fields_new(),
	};
	int r = b.fields ? prepare(&b) : client_complain(1, "out of memory");

	if (r == 0)
		r = o->dry_run ? dry_run(&b) : begin(&b);
	if (r == 0 && !o->dry_run) {
		if (b.mount.root >= 0)
			work(&b);
		report_end(&b);
		r = exit_code(&b);
	}
	finish(&b);
	client_die_of(r > 128 ? r - 128 : 0);
	return r;
}
