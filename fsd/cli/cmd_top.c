/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd top: shows what a mount does, and refreshes this. It reads only files of the mount,
 * and draws with plain escape sequences on a terminal of 80 columns.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/figures.h"
#include "fsd/client/job_view.h"
#include "fsd/client/which_mount.h"

#define LOOKED_AT 2000 /* jobs, each time */
#define SAMPLES 61     /* samples for the rate: those of a minute, and one as their start */
#define COLUMNS 80
#define NAME_COLUMNS 20

enum { OPT_BATCH = CLI_LONG };

static const struct cli_option top_cli_options[] = {
	{ 'd', "delay", "SECONDS", "between two looks (1)", CLI_TEXT, NULL },
	{ 'n', "count", "N", "looks, then end", CLI_TEXT, NULL },
	{ OPT_BATCH, "batch", NULL, "no terminal: print one look after the "
	  "other", CLI_TEXT, NULL },
	{ 'M', "mount", "MNT", "the mount (default: $FSD_MOUNT, then\n"
	  SERVICE_MOUNT ")", CLI_MOUNT, NULL },
	{ 0 },
};

struct row {
	char name[NAME_MAX + 1];
	struct job_view v;
};

struct top {
	char mnt[PATH_MAX];
	double delay;
	uint64_t looks;      /* 0: for ever */
	bool batch;
	struct row *rows;    /* owned */
	size_t row_count, unseen;
	size_t cursor, first; /* index of the chosen row; index of the first row on the
			       * screen */
	char chosen[NAME_MAX + 1]; /* the chosen job's name; "": no job is chosen */
	struct figures now;
	double ended[SAMPLES]; /* runs that had ended, at */
	uint64_t at_ns[SAMPLES];
	size_t sample_count;
	struct termios before;
	bool raw;
};

static volatile sig_atomic_t over;

/* --- what there is -------------------------------------------------------------- */

/* Sorts jobs: running ones first, then waiting ones, then those that their owner must
 * correct; in each group the oldest first. */
static int by_state(const void *a, const void *b)
{
	static const int order[JOB_STATE_MAX] = {
		[JOB_RUNNING] = 0, [JOB_QUEUED] = 1, [JOB_REFUSED] = 2,
		[JOB_DRAFT] = 3, [JOB_DONE] = 4,
	};
	const struct row *x = a, *y = b;
	int first = order[x->v.state] - order[y->v.state];

	if (first)
		return first;
	return x->v.since_ms < y->v.since_ms ? -1 :
	       x->v.since_ms > y->v.since_ms;
}

/* Reads a job into a row. A job that has ended gets no row: it is a figure in the
 * head. */
static void read_row(struct top *t, const char *name)
{
	struct job_place at;
	auto_close int dir = -1;
	char state[16];
	struct row *more, *row;

	snprintf(at.mnt, sizeof(at.mnt), "%s", t->mnt);
	snprintf(at.name, sizeof(at.name), "%s", name);
	dir = where_open(&at, NULL);
	if (dir < 0 ||
	    job_view_text(dir, "state", state, sizeof(state)) <= 0 ||
	    !strcmp(state, "done\n"))
		return;
	more = realloc(t->rows, (t->row_count + 1) * sizeof(*more));
	if (!more)
		return;
	t->rows = more;
	row = &more[t->row_count];
	memcpy(row->name, at.name, sizeof(row->name));
	if (job_view_read(dir, &row->v) == 0 && row->v.state != JOB_DONE)
		t->row_count++;
}

static int read_rows(struct top *t)
{
	DIR *dir = opendir(t->mnt);
	struct dirent *e;
	size_t seen = 0;

	if (!dir)
		return -errno;
	t->row_count = t->unseen = 0;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (seen++ < LOOKED_AT)
			read_row(t, e->d_name);
		else
			t->unseen++;
	}
	closedir(dir);
	if (t->row_count)
		qsort(t->rows, t->row_count, sizeof(*t->rows), by_state);
	return 0;
}

static void add_up(void *arg, const char *label, double value)
{
	(void)label;
	*(double *)arg += value;
}

/* Adds a sample at the end, and drops the oldest one if there are too many. */
static void sample(struct top *t)
{
	double ended = 0;
	size_t keep = MIN(t->sample_count, (size_t)SAMPLES - 1);
	size_t drop = t->sample_count - keep;

	figures_each(&t->now, "fsd_runs_total", add_up, &ended);
	memmove(t->ended, t->ended + drop, keep * sizeof(*t->ended));
	memmove(t->at_ns, t->at_ns + drop, keep * sizeof(*t->at_ns));
	t->ended[keep] = ended;
	t->at_ns[keep] = now_ns();
	t->sample_count = keep + 1;
}

static int look(struct top *t)
{
	int r;

	figures_done(&t->now);
	r = figures_read(t->mnt, &t->now);
	if (r == 0)
		r = read_rows(t);
	if (r == 0)
		sample(t);
	return r;
}

/* --- the head --------------------------------------------------------------------- */

static unsigned long long figure(const struct top *t, const char *name)
{
	double value = 0;

	figures_get(&t->now, name, &value);
	return (unsigned long long)value;
}

static void waiting(void *arg, const char *reason, double value)
{
	if (value > 0)
		buf_fmt(arg, "   %.0f for %s", value, reason);
}

static void some(void *arg, const char *class, double value)
{
	if (value > 0)
		buf_fmt(arg, "   %.0f %s", value, class);
}

/* Prints idle machines by class: environment/MiB/processors. */
static void idle(const struct top *t, struct buf *out)
{
	buf_fmt(out, "idle      %llu of %llu MiB",
		figure(t, "fsd_idle_memory_bytes") >> 20,
		figure(t, "fsd_idle_memory_limit_bytes") >> 20);
	figures_each(&t->now, "fsd_idle_machines", some, out);
	buf_str(out, "   to fork off:");
	figures_each(&t->now, "fsd_class_fork_sources", some, out);
	buf_str(out, "\n");
}

static void machines(const struct top *t, struct buf *out)
{
	buf_fmt(out, "machines  %llu in use   %llu warm   %llu starting   "
		"%llu at most\n",
		figure(t, "fsd_machines_in_use"),
		figure(t, "fsd_machines_warm"),
		figure(t, "fsd_machines_starting"),
		figure(t, "fsd_machines_max"));
	buf_fmt(out, "memory    %llu MiB promised   %llu MiB more can be\n",
		figure(t, "fsd_memory_promised_bytes") >> 20,
		figure(t, "fsd_memory_room_bytes") >> 20);
	idle(t, out);
}

static void rate(const struct top *t, struct buf *out)
{
	size_t last = t->sample_count - 1;
	double seconds = (double)(t->at_ns[last] - t->at_ns[0]) / NS_PER_S;

	if (seconds > 0)
		buf_fmt(out, "rate      %.1f jobs/s in the last %.0f s\n",
			(t->ended[last] - t->ended[0]) / seconds, seconds);
	else
		buf_fmt(out, "rate      %.0f runs have ended\n", t->ended[last]);
}

/* Prints how many jobs are queued, how many wait for each reason, and how many have left
 * the queue and wait for their machine. */
static void waits(const struct top *t, struct buf *out)
{
	double oldest;
	char age[32];

	buf_fmt(out, "waiting   %llu in the queue", figure(t, "fsd_runs_waiting"));
	figures_each(&t->now, "fsd_waiting", waiting, out);
	if (figures_get(&t->now, "fsd_queue_oldest_seconds", &oldest) &&
	    oldest > 0) {
		job_view_age((int64_t)(oldest * 1000), age);
		buf_fmt(out, "   oldest %s", age);
	}
	buf_fmt(out, "   %llu whose machine starts\n",
		figure(t, "fsd_machines_awaited"));
}

static void health(const struct top *t, char *ret, size_t size)
{
	char path[PATH_MAX + 32];
	auto_close int dir = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" FSD_DIR_NAME, t->mnt);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	n = job_view_text(dir, "health", ret, size);
	if (n > 0)
		ret[strcspn(ret, "\n")] = '\0';
	else
		snprintf(ret, size, "?");
}

/* Prints the head. The stats file has figures of all jobs only for the operator. */
static void head(struct top *t, struct buf *out)
{
	char text[512];
	double unused;

	health(t, text, sizeof(text));
	buf_fmt(out, "fsd top   %s   health: %s\n", t->mnt, text);
	buf_fmt(out, "jobs      %llu running   %llu queued   %llu refused   "
		"%llu draft   %llu done\n",
		figure(t, "fsd_jobs{state=\"running\"}"),
		figure(t, "fsd_jobs{state=\"queued\"}"),
		figure(t, "fsd_jobs{state=\"refused\"}"),
		figure(t, "fsd_jobs{state=\"draft\"}"),
		figure(t, "fsd_jobs{state=\"done\"}"));
	if (figures_get(&t->now, "fsd_machines_in_use", &unused)) {
		machines(t, out);
		rate(t, out);
		waits(t, out);
	}
	buf_str(out, "\n");
}

/* --- the table -------------------------------------------------------------------- */

/* Appends as many characters as fit into so many columns; each is one column wide. */
static void column(struct buf *out, const char *text, size_t columns)
{
	size_t used = 0, len = 0;

	while (text[len] && used < columns) {
		len++;
		while (((unsigned char)text[len] & 0xc0) == 0x80)
			len++;
		used++;
	}
	buf_add(out, text, len);
	while (used++ < columns)
		buf_str(out, " ");
}

static void table_row(const struct row *row, struct buf *out)
{
	const struct job_view *v = &row->v;
	const struct passwd *pw = getpwuid(v->uid);
	char text[128], age[32] = "-", wall[32] = "-";
	int64_t now = job_view_now_ms();

	if (v->since_ms)
		job_view_age(now - (v->queued_ms ? v->queued_ms : v->since_ms),
			     age);
	if (v->state == JOB_RUNNING && v->started_ms)
		job_view_age(now - v->started_ms, wall);
	column(out, row->name, NAME_COLUMNS);
	snprintf(text, sizeof(text), "%u", v->uid);
	buf_str(out, " ");
	column(out, pw ? pw->pw_name : text, 8);
	snprintf(text, sizeof(text), " %-7s %7s %7s %5lld %4lld  ",
		 state_name((enum job_state)v->state), age, wall,
		 (long long)v->memory_mb, (long long)v->priority);
	buf_str(out, text);
	column(out, job_view_reason(v), COLUMNS - NAME_COLUMNS - 47);
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_str(out, "\n");
}

#define HEAD_LINES 11 /* above the jobs, with the titles */

static size_t lines_of_terminal(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 &&
	       w.ws_row > HEAD_LINES ? w.ws_row : 24;
}

/* Keeps the cursor on its job, whose row may change with each refresh. If the job is
 * gone, the cursor stays in its row. size: rows on the screen. */
static void place_cursor(struct top *t, size_t size)
{
	for (size_t i = 0; i < t->row_count; i++)
		if (!strcmp(t->rows[i].name, t->chosen))
			t->cursor = i;
	t->cursor = MIN(t->cursor, MAX(t->row_count, (size_t)1) - 1);
	snprintf(t->chosen, sizeof(t->chosen), "%s",
		 t->row_count ? t->rows[t->cursor].name : "");
	t->first = MIN(t->first, t->cursor);
	t->first = MIN(t->first, t->row_count - size);
	if (t->cursor >= t->first + size)
		t->first = t->cursor - size + 1;
}

static void table(struct top *t, struct buf *out)
{
	size_t most = t->batch ? t->row_count :
				 MIN(t->row_count,
				     lines_of_terminal() - HEAD_LINES);

	if (t->raw && most)
		place_cursor(t, most);
	for (size_t i = t->first; i < t->first + most; i++) {
		bool marked = t->raw && i == t->cursor;

		buf_str(out, marked ? "\033[7m" : "");
		table_row(&t->rows[i], out);
		buf_str(out, marked ? "\033[m" : "");
	}
	if (t->row_count > most || t->unseen)
		buf_fmt(out, "and %zu more\n", t->row_count - most + t->unseen);
}

static int show(struct top *t)
{
	auto_buf struct buf out = { 0 };

	if (!t->batch)
		buf_str(&out, "\033[H\033[2J");
	head(t, &out);
	buf_str(&out, "JOB                  OWNER    STATE       AGE    WALL "
		      "  MiB  PRI  REASON\n");
	table(t, &out);
	if (t->raw)
		buf_str(&out, "\nup, down: choose a job   k kill   l log   q end ");
	if (out.failed)
		return complain("top", 1, "%s", strerror(-out.failed));
	fwrite(out.data, 1, out.len, stdout);
	return fflush(stdout) < 0 ? 1 : 0;
}

/* --- the terminal ------------------------------------------------------------------ */

static void on_signal(int number)
{
	over = number;
}

static void cooked(struct top *t)
{
	if (t->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	t->raw = false;
}

static void keys(struct top *t)
{
	struct termios now;

	if (tcgetattr(STDIN_FILENO, &t->before) < 0)
		return;
	now = t->before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t->raw = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
}

/* Asks for one key about the chosen job. Return: it, or 0: the terminal or this process
 * ends. */
static char ask(const struct top *t, const char *before, const char *behind)
{
	char key;

	printf("\r\033[K%s%s%s ", before, t->chosen, behind);
	fflush(stdout);
	return !over && read(STDIN_FILENO, &key, 1) == 1 ? key : 0;
}

static int open_chosen(struct top *t, const char *file, int flags)
{
	struct job_place at;
	auto_close int dir = -1;

	if (where_job(t->mnt, t->chosen, &at, NULL) < 0)
		return -1;
	dir = where_open(&at, NULL);
	return dir < 0 ? -1 : openat(dir, file, flags | O_CLOEXEC | O_NOFOLLOW);
}

static void kill_job(struct top *t)
{
	auto_close int fd = -1;

	if (ask(t, "end ", ", really (y)?") != 'y')
		return;
	fd = open_chosen(t, "ctl", O_WRONLY);
	if (fd < 0 || write(fd, "kill\n", 5) < 0)
		ask(t, "", " cannot be ended; any key goes on");
}

static void show_log(struct top *t)
{
	char text[4096];
	auto_close int fd = open_chosen(t, "log", O_RDONLY);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text),
					MAX(end - (off_t)sizeof(text), 0));

	printf("\033[H\033[2J%.*s\n", n < 0 ? 0 : (int)n, text);
	ask(t, "", n < 0 ? " is gone; any key goes on" : ": any key goes on");
}

static void move_cursor(struct top *t, bool down)
{
	if (down ? t->cursor + 1 >= t->row_count : !t->cursor)
		return;
	t->cursor += down ? 1 : (size_t)-1;
	snprintf(t->chosen, sizeof(t->chosen), "%s", t->rows[t->cursor].name);
}

/* Return: 1: the keys begin with the arrow down, -1: up, 0: neither. */
static int arrow(const char *keys)
{
	bool is_arrow = keys[0] == '\033' && (keys[1] == '[' || keys[1] == 'O');

	return is_arrow && keys[2] == 'A' ? -1 : is_arrow && keys[2] == 'B';
}

/* Handles the keys that the terminal has sent. Return: 0: continue to wait; 1: refresh
 * now; -1: end. */
static int on_keys(struct top *t)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys) - 1);

	if (n <= 0)
		return -1;
	keys[n] = '\0';
	for (const char *at = keys; *at; at++) {
		if (arrow(at))
			move_cursor(t, arrow(at) > 0);
		if (*at == 'q')
			return -1;
		if (!t->chosen[0] || (*at != 'k' && *at != 'l'))
			continue;
		if (*at == 'k')
			kill_job(t);
		else
			show_log(t);
		return 1;
	}
	return show(t) ? -1 : 0;
}

/* Waits until the next refresh. Return: false: end. */
static bool rest(struct top *t)
{
	struct pollfd p = { .fd = t->raw ? STDIN_FILENO : -1,
			    .events = POLLIN };
	uint64_t due = now_ns() + (uint64_t)(t->delay * NS_PER_S), now;
	int r = 0;

	while (!over && r == 0 && (now = now_ns()) < due &&
	       poll(&p, 1, (int)((due - now) / NS_PER_MS) + 1) > 0)
		r = on_keys(t);
	return !over && r >= 0;
}

static int run(struct top *t)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int r;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (!t->batch && isatty(STDIN_FILENO))
		keys(t);
	for (uint64_t i = 1;; i++) {
		r = look(t);
		if (r < 0)
			r = complain("top", 1, "%s: %s", t->mnt, strerror(-r));
		else
			r = show(t);
		if (r || (t->looks && i == t->looks) || !rest(t))
			break;
	}
	if (!t->batch)
		puts("");
	cooked(t);
	figures_done(&t->now);
	free(t->rows);
	return r;
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct top *t, const char **mount)
{
	struct cli_getopt g;
	char *end;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == 'd') {
			t->delay = strtod(optarg, &end);
			if (end == optarg || *end ||
			    !(t->delay >= 0.1 && t->delay <= 3600))
				return complain("top", 2, "-d is \"%s\"; it "
						"must be a number of seconds "
						"from 0.1 to 3600", optarg);
		} else if (opt == 'n') {
			if (parse_u64(optarg, 1, UINT32_MAX, &t->looks) < 0)
				return complain("top", 2, "-n is \"%s\"; it "
						"must be a number from 1 to %u",
						optarg, UINT32_MAX);
		} else if (opt == OPT_BATCH) {
			t->batch = true;
		} else if (opt == 'M') {
			*mount = optarg;
		} else {
			return usage(self);
		}
	}
	if (argc - optind > 1)
		return usage(self);
	if (argc - optind == 1)
		*mount = argv[optind];
	return 0;
}

static int command_top(const struct cli_command *self, int argc, char **argv)
{
	struct top t = { .delay = 1 };
	const char *mount = NULL;
	struct err err = { 0 };
	int r = parse(self, argc, argv, &t, &mount);

	if (r)
		return r;
	if (where_mount(mount, t.mnt, &err) < 0)
		return complain("top", 1, "%s", err.text);
	t.batch |= !isatty(STDOUT_FILENO);
	return run(&t);
}

const struct cli_command top_command = {
	.name = "top", .fn = command_top, .group = "Jobs",
	.synopsis = "[OPTIONS] [MNT]",
	.summary = "show what a mount does, again and again",
	.options = top_cli_options, .operand = CLI_MOUNT,
	.notes = "The arrows choose a job: k ends it, l shows its log. q ends fsd top.",
};
