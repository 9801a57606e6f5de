/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells a person about a batch on standard error: by a bar on a terminal, else by a line
 * every ten seconds; at the end the first failures and the last words.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/run_say.h"
#include "vm/vm.h"
#include "work.h"

#define BAR_NS (250 * NS_PER_MS)
#define LINE_NS (10 * NS_PER_S)
#define SAMPLES 31u      /* one sample a second: the rate is that of the last 30 s */
#define ETA_ENDS 20u     /* ends of runs that an estimate needs */
#define TAIL 4096
#define PRIVATE_REST_MB 256u /* memory of a private mount besides its machines */

struct report {
	bool bar, lines;
	bool shown;          /* the bar is on the terminal's line now */
	uint64_t due_ns;
	struct sample {
		uint64_t ns;
		uint32_t ended;
	} sample[SAMPLES];
	unsigned samples;    /* taken in all */
};

/* --- the line ------------------------------------------------------------- */

static void add_time(char *ret, size_t size, uint64_t s)
{
	if (s < 60)
		snprintf(ret, size, "%us", (unsigned)s);
	else if (s < 3600)
		snprintf(ret, size, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		snprintf(ret, size, "%uh%02um", (unsigned)(s / 3600),
			 (unsigned)(s / 60 % 60));
}

static void add_rate(char *ret, size_t size, double rate)
{
	snprintf(ret, size, rate < 9.95 ? "%.1f/s" : "%.0f/s", rate);
}

static double rate_of(const struct sample *from, uint64_t now, uint32_t ended)
{
	double s = (double)(now - from->ns) / (double)NS_PER_S;

	return s > 0 ? (ended - from->ended) / s : 0;
}

static void take_sample(struct batch *b)
{
	struct report *p = b->report;
	uint64_t now = now_ns();

	if (p->samples && now - p->sample[(p->samples - 1) % SAMPLES].ns < NS_PER_S)
		return;
	p->sample[p->samples++ % SAMPLES] = (struct sample){ now, b->n.ended };
}

static double recent_rate(const struct batch *b)
{
	const struct report *p = b->report;
	unsigned first = p->samples < SAMPLES ? 0 : p->samples % SAMPLES;

	return p->samples ? rate_of(&p->sample[first], now_ns(), b->n.ended) : 0;
}

static void line_text(const struct batch *b, char ret[256])
{
	const struct counts *n = &b->n;
	uint32_t done = n->done + n->unread, rest = n->total - done;
	double rate = recent_rate(b);
	char rate_text[32], eta[48] = "", before[48] = "", time[32];

	add_rate(rate_text, sizeof(rate_text), rate);
	if (n->ended >= ETA_ENDS && rate > 0 && rest) {
		add_time(time, sizeof(time), (uint64_t)(rest / rate));
		snprintf(eta, sizeof(eta), "  ETA %s", time);
	}
	if (n->before)
		snprintf(before, sizeof(before), "  %u before", n->before);
	snprintf(ret, 256, "%u/%u  %u%%  %s  %u failed  %u running%s%s", done, n->total,
		 n->total ? (unsigned)(100ull * done / n->total) : 100, rate_text,
		 n->failed, b->running, eta, before);
}

static void clear_bar(struct report *p)
{
	if (p && p->shown)
		fputs("\r\033[K", stderr);
	if (p)
		p->shown = false;
}

static void show_bar(struct batch *b)
{
	char text[256];

	line_text(b, text);
	fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
	b->report->shown = true;
}

int report_say(struct batch *b, int code, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clear_bar(b->report);
	return client_complain(code, "%s", text);
}

void report_line(struct batch *b)
{
	char text[256];

	line_text(b, text);
	report_say(b, 0, "%s", text);
}

void report_begin(struct batch *b)
{
	struct report *p = calloc(1, sizeof(*p));
	bool terminal = isatty(STDERR_FILENO);

	b->report = p;
	if (!p)
		return;
	p->bar = b->set.progress == PROGRESS_BAR ||
		 (b->set.progress == PROGRESS_AUTO && terminal);
	p->lines = !p->bar && b->set.progress != PROGRESS_NONE;
	p->due_ns = b->begun_ns + (p->bar ? BAR_NS : LINE_NS);
	take_sample(b);
}

uint64_t report_due(const struct batch *b)
{
	const struct report *p = b->report;

	return p && (p->bar || p->lines) ? p->due_ns : UINT64_MAX;
}

void report_tick(struct batch *b)
{
	struct report *p = b->report;

	if (!p)
		return;
	take_sample(b);
	if (now_ns() < report_due(b))
		return;
	p->due_ns = now_ns() + (p->bar ? BAR_NS : LINE_NS);
	if (p->bar)
		show_bar(b);
	else
		report_line(b);
}

/* --- failures ------------------------------------------------------------- */

/* Finds the last line of the job's stderr that is not empty, or "". */
static void last_line(int dir, char ret[256])
{
	auto_close int fd = openat(dir, "stderr", O_RDONLY | O_CLOEXEC);
	char text[TAIL + 1];
	const char *line;
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0)
		n = pread(fd, text, TAIL, MAX(st.st_size - TAIL, 0));
	while (n > 0 && strchr("\n\r \t", text[n - 1]))
		n--;
	text[MAX(n, 0)] = '\0';
	line = strrchr(text, '\n');
	snprintf(ret, 256, "%.255s", line ? line + 1 : text);
	utf8_make_plain(ret);
}

static void keep_words(struct batch *b, uint32_t entry, const char *what, const char *more)
{
	char text[1200];

	if (b->tolds == TOLD_MOST)
		return;
	snprintf(text, sizeof(text), "%.500s: %s%s%s", batch_list_line(&b->list, entry), what,
		 *more ? ": " : "", more);
	b->told[b->tolds] = strdup(text);
	if (b->told[b->tolds])
		utf8_make_plain(b->told[b->tolds++]);
}

void report_failure(struct batch *b, const struct flight *f, const struct facts *facts)
{
	char line[256], what[64];

	if (b->tolds == TOLD_MOST)
		return;
	last_line(f->dir, line);
	if (!strcmp(facts->status, "timeout"))
		snprintf(what, sizeof(what), "out of time; -t changes that");
	else if (!strcmp(facts->status, "out_of_memory"))
		snprintf(what, sizeof(what), "out of memory; -m changes that");
	else if (!strcmp(facts->status, "exited"))
		snprintf(what, sizeof(what), "exit code %d", facts->exit_code);
	else
		snprintf(what, sizeof(what), "%s, exit code %d", facts->status,
			 facts->exit_code);
	keep_words(b, f->entry, what, line);
}

void report_unread(struct batch *b, uint32_t entry, const char *why)
{
	keep_words(b, entry, "it has not run", why);
}

/* --- the end -------------------------------------------------------------- */

static void tell_failures(struct batch *b)
{
	for (unsigned i = 0; i < b->tolds; i++)
		report_say(b, 0, "%s", b->told[i]);
	if (b->n.bad > b->tolds)
		report_say(b, 0, "... and %u more", b->n.bad - b->tolds);
}

static void last_words(struct batch *b)
{
	const struct counts *n = &b->n;
	const struct sample begin = { .ns = b->begun_ns };
	char failed[PATH_MAX + 64] = "", again[80] = "", time[32] = "", rate[32] = "";

	if (n->failed)
		snprintf(failed, sizeof(failed), ", %u failed (%s/failed.txt)", n->failed,
			 b->o->out);
	if (n->repeated)
		snprintf(again, sizeof(again), ", %u run again after the appliance failed",
			 n->repeated);
	if (b->begun_ns) {
		add_time(time, sizeof(time), (now_ns() - b->begun_ns) / NS_PER_S);
		add_rate(rate, sizeof(rate), rate_of(&begin, now_ns(), n->ended));
	}
	report_say(b, 0, "%u of %u done%s%s%s%s%s%s", n->done, n->total, failed, again,
		   *time ? "; " : "", time, *time ? ", " : "", rate);
}

void report_end(struct batch *b)
{
	int r = table_write(&b->out, &b->list);

	clear_bar(b->report);
	if (r < 0)
		report_say(b, 0, "%s/results.tsv: %s; `fsd batch --table %s` makes it",
			   b->o->out, strerror(-r), b->o->out);
	tell_failures(b);
	last_words(b);
}

void report_done(struct batch *b)
{
	for (unsigned i = 0; i < b->tolds; i++)
		free(b->told[i]);
	free(b->report);
	b->report = NULL;
}

void report_dry_run(struct batch *b, uint32_t revoked)
{
	uint32_t failed = 0, open = b->n.total - b->n.done;

	for (uint32_t i = 0; i < b->list.count; i++) {
		const struct entry *e = &b->list.entry[i];

		failed += !(e->flags & ENTRY_ELSEWHERE) && e->state != ENTRY_DONE &&
			  e->flags & ENTRY_FAILED;
	}
	printf("%u inputs: %u have a result, %u would run", b->n.total,
	       b->n.done - revoked, open + revoked);
	if (open + revoked)
		printf(" (%u without a result%s", open, failed ? ", " : "");
	if (failed)
		printf("%u of them could not be read", failed);
	if (revoked)
		printf(", %u %s", revoked, b->o->again ? "again" :
		       b->o->failed && b->o->changed ? "failed or changed" :
		       b->o->failed ? "failed" : "changed");
	printf("%s\n", open + revoked ? ")" : "");
}

void report_private(const struct batch *b, unsigned machines)
{
	const struct settings *s = &b->set;
	uint64_t each = (s->sizes ? s->memory_mb[s->sizes - 1] : DEFAULT_MEMORY_MB) +
			(VM_MACHINE_BYTES >> 20);
	uint64_t all = machines * each + PRIVATE_REST_MB, ours;
	struct vm_allotment allotment;

	vm_allotment(&allotment);
	ours = allotment.memory >> 20;
	printf("a private mount: %u machine%s at a time, for %u x %llu + %u = %llu MiB of "
	       "memory; this process may use %llu MiB%s\n", machines, machines == 1 ? "" : "s",
	       machines, (unsigned long long)each, PRIVATE_REST_MB, (unsigned long long)all,
	       (unsigned long long)ours, all <= ours ? "" :
	       each + PRIVATE_REST_MB > ours ? ", too little for one" :
	       ", so that fewer run at a time");
}
