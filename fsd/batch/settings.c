/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the values of the options that only a batch has. The mount checks the options for
 * jobs, since only it knows what its operator allows.
 */
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "fsd/client/run_say.h"

static int wrong(const char *option, const char *text, const char *must)
{
	return client_complain(2, "%s is \"%s\"; it must be %s", option, text, must);
}

static bool is_number(const char *text, unsigned least, unsigned most, unsigned *ret)
{
	uint64_t n;

	if (parse_u64(text, least, most, &n) < 0)
		return false;
	*ret = (unsigned)n;
	return true;
}

static int take_word(const char *option, const char *text, const char *const *words,
		     const char *must, int *ret)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text)) {
			*ret = i;
			return 0;
		}
	return wrong(option, text, must);
}

/* Parses a number up to the character `end`. */
static bool take_number(const char **text, char end, unsigned most, unsigned *ret)
{
	size_t len = strcspn(*text, (char[]){ end, '\0' });
	char room[16];

	if (len >= sizeof(room))
		return false;
	memcpy(room, *text, len);
	room[len] = '\0';
	if (!is_number(room, 1, most, ret))
		return false;
	*text += len + ((*text)[len] == end);
	return true;
}

static int take_halt(struct settings *s, const char *text)
{
	const char *number = text;
	char room[16];
	size_t len;

	if (!strncmp(number, "now,", 4)) {
		s->halt_now = true;
		number += 4;
	}
	len = strlen(number);
	s->halt_percent = len && number[len - 1] == '%';
	snprintf(room, sizeof(room), "%.*s", (int)(len - s->halt_percent), number);
	if (len < sizeof(room) &&
	    is_number(room, 1, s->halt_percent ? 100 : UINT32_MAX, &s->halt))
		return 0;
	return wrong("--halt", text, "a number of failures, or of per cent with %, and "
		     "may begin with \"now,\"");
}

static int take_part(struct settings *s, const char *text)
{
	const char *at = text;

	if (strchr(text, '/') && take_number(&at, '/', 100000, &s->part) &&
	    take_number(&at, '\0', 100000, &s->parts) && s->part <= s->parts)
		return 0;
	return wrong("--part", text, "K/N: a part from 1 on, and how many there are");
}

static int take_memory(struct settings *s, const char *text)
{
	const char *at = text;

	while (*at && s->sizes < SIZES_MOST) {
		unsigned *size = &s->memory_mb[s->sizes];

		if (!take_number(&at, ',', UINT32_MAX, size) ||
		    (s->sizes && size[0] <= size[-1]))
			break;
		s->sizes++;
		if (!*at && at[-1] != ',')
			return 0;
	}
	return wrong("-m", text, "one or more numbers of MB, each larger than the one "
		     "before it, such as 256,1024");
}

int settings_take(struct settings *s, const struct batch_options *o)
{
	static const char *const keeps[] = { "all", "failed", "none", NULL };
	static const char *const bars[] = { "auto", "bar", "lines", "none", NULL };
	const char *memory = o->run->value[RUN_MEMORY];
	int keep = KEEP_ALL, progress = PROGRESS_AUTO, r = 0;

	*s = (struct settings){ .tries = 1, .part = 1, .parts = 1 };
	if (o->jobs && !is_number(o->jobs, 1, JOBS_MOST, &s->jobs))
		r = wrong("-j", o->jobs, "a number of jobs from 1 to 100000");
	if (r == 0 && o->tries && !is_number(o->tries, 1, TRIES_MOST, &s->tries))
		r = wrong("--tries", o->tries, "a number from 1 to 100");
	if (r == 0 && o->halt)
		r = take_halt(s, o->halt);
	if (r == 0 && o->keep)
		r = take_word("--keep", o->keep, keeps, "all, failed or none", &keep);
	if (r == 0 && o->progress)
		r = take_word("--progress", o->progress, bars, "auto, bar, lines or none",
			      &progress);
	if (r == 0 && o->part)
		r = take_part(s, o->part);
	if (r == 0 && memory)
		r = take_memory(s, memory);
	s->keep = (enum keep)keep;
	s->progress = (enum progress)progress;
	return r;
}
