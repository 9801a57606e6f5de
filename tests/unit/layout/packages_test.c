/* SPDX-License-Identifier: Apache-2.0 */
/* A text of "packages" is read by the table that `fsd env build` is tested with. */
#include <stdlib.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/packages.h"
#include "tests/unit/tap.h"

#define TABLE "tests/unit/package_specs.txt"

static const char *prefix_of(const char *source)
{
	static const char *const known[][2] = {
		{ "pypi", "pypi:" }, { "npm", "npm:" }, { "debian", "deb:" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i][0], source))
			return known[i][1];
	return NULL;
}

/* What it is printed as, or "!". */
static void check(const char *prefix, const char *text, const char *wanted)
{
	auto_buf struct buf spec = { 0 }, printed = { 0 };
	struct package p;
	const char *fault;

	buf_fmt(&spec, "%s%s", prefix, text);
	fault = package_parse(spec.data, &p);
	if (fault)
		buf_str(&printed, "!");
	else
		package_print(&p, &printed);
	if (!ok(!strcmp(printed.data, wanted), "%.60s is %.60s", spec.data,
		wanted))
		printf("#  it is %s (%s)\n", printed.data, fault ? fault : "");
}

/* SOURCE <tab> TEXT <tab> WANTED; texts may be empty. */
static bool row(char *line)
{
	char *text = strchr(line, '\t');
	char *wanted = text ? strchr(text + 1, '\t') : NULL;
	const char *prefix;

	if (!wanted)
		return false;
	*text++ = *wanted++ = '\0';
	prefix = prefix_of(line);
	if (prefix)
		check(prefix, text, wanted);
	return prefix;
}

int main(void)
{
	FILE *f = fopen(TABLE, "r");
	char line[1024];
	unsigned rows = 0;

	if (!f)
		return 1;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		rows++;
		if (!row(line))
			ok(false, "row %u of the table is one", rows);
	}
	fclose(f);
	ok(rows >= 60, "the table has %u rows", rows);
	return done_testing();
}
