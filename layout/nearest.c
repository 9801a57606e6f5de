/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates how near a file's name is to the program, to config.json or to a given name. The
 * server suggests the nearest one when it waits for a file.
 *
 * The distance is optimal string alignment without regard to case. Names over 64 bytes
 * are compared for equality only, so that the rows fit on the stack.
 */
#include "nearest.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "lang.h"
#include "layout/base/num.h"

/* Longer names are only compared for equality. */
#define NAME_MAX_EDITED 64u

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	return MIN(MIN(a, b), c);
}

/* Computes optimal string alignment; three rows are enough. */
static unsigned edits(const char *a, size_t m, const char *b, size_t n)
{
	unsigned rows[3][NAME_MAX_EDITED + 1];

	for (size_t j = 0; j <= n; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned *now = rows[i % 3], *up = rows[(i - 1) % 3];
		const unsigned *upper = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			bool same = lower(a[i - 1]) == lower(b[j - 1]);

			now[j] = least(up[j] + 1, now[j - 1] + 1,
				       up[j - 1] + !same);
			if (i > 1 && j > 1 &&
			    lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				now[j] = MIN(now[j], upper[j - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

unsigned name_edits(const char *a, const char *b, unsigned most)
{
	size_t m = strlen(a), n = strlen(b);
	unsigned found = most + 1;

	if (!strcasecmp(a, b))
		return 0;
	if (m <= NAME_MAX_EDITED && n <= NAME_MAX_EDITED &&
	    (m > n ? m - n : n - m) <= most)
		found = edits(a, m, b, n);
	return MIN(found, most + 1);
}

static bool has_language(const char *name)
{
	return lang_by_any_case(name) != NULL;
}

static bool begins(const char *name, const char *with)
{
	return !strncasecmp(name, with, strlen(with));
}

/* Returns whether the name is a usual one for a main program. */
static bool is_main(const char *name)
{
	static const char *const stems[] = { "main.",	"index.", "app.",
					     "program.", "script.", "run.",
					     "__main__.", "prog.", "job.",
					     "hello.", "solution." };

	for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
		if (begins(name, stems[i]))
			return true;
	return false;
}

/* Returns whether the part before the extension is almost "code": "cod.py",
 * "coed.py". */
static bool is_almost_code(const char *name)
{
	size_t len = (size_t)(strrchr(name, '.') - name);
	char stem[16];

	if (len >= sizeof(stem))
		return false;
	memcpy(stem, name, len);
	stem[len] = '\0';
	return name_edits(stem, "code", 1) <= 1;
}

unsigned near_to_program(const char *name)
{
	if (name[0] == '.' || code_kind(name) == CODE_KNOWN ||
	    code_kind(name) == CODE_BARE)
		return NEAR_NOT;
	if (has_language(name) && begins(name, "code."))
		return strchr(name, '.') == strrchr(name, '.') ? 6 : 2;
	if (!strcasecmp(name, "code"))
		return 6;
	if (begins(name, "code.")) /* code.rb, code.py.txt */
		return 4;
	if (!has_language(name))
		return is_main(name) ? 1 : NEAR_NOT;
	return is_almost_code(name) ? 5 : is_main(name) ? 3 : 2;
}

unsigned near_to_config(const char *name)
{
	static const char *const stems[] = { "config", "configuration", "conf",
					     "cfg" };
	static const char *const endings[] = { "",	".json",  ".jsn",
					       ".json5", ".jsonc", ".yaml",
					       ".yml",	".toml",  ".txt",
					       ".ini",	".cfg" };

	if (!strcmp(name, "config.json"))
		return NEAR_NOT;
	if (!strcasecmp(name, "config.json"))
		return 4;
	if (name_edits(name, "config.json", 2) <= 2)
		return 3;
	for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
		for (size_t j = 0; j < ARRAY_SIZE(endings); j++)
			if (begins(name, stems[i]) &&
			    !strcasecmp(name + strlen(stems[i]), endings[j]))
				return 2;
	return begins(name, "config.") ? 1 : NEAR_NOT;
}

unsigned near_to_name(const char *name, const char *wanted)
{
	unsigned most = MAX(1u, MIN((unsigned)strlen(wanted) / 4, 3u));
	unsigned n = name_edits(name, wanted, most);
	const char *dot = strrchr(wanted, '.');
	size_t stem = dot && dot != wanted ? (size_t)(dot - wanted) : 0;

	if (n <= most && n < strlen(wanted))
		return 5 - n;
	/* data.csv and data.tsv, data.csv.gz, data */
	return stem && !strncasecmp(name, wanted, stem) &&
			       (!name[stem] || name[stem] == '.')
		       ? 1
		       : NEAR_NOT;
}
