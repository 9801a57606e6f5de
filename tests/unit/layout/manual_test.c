/* SPDX-License-Identifier: Apache-2.0 */
/* jobtree.5 has the words that the code has, and no others. */
#include <stdlib.h>

#include "layout/config.h"
#include "layout/lang.h"
#include "layout/limits.h"
#include "layout/state.h"
#include "tests/unit/tap.h"

#define PAGE "layout/jobtree.5"

static char page[256 << 10];

static unsigned count_of(const char *text)
{
	unsigned count = 0;

	for (const char *at = page; (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* .\" key timeout 100 operator */
static void key_line(char room[256], const char *word,
		     const struct config_key *k)
{
	char bounds[64] = "";

	if (k->operators)
		snprintf(bounds, sizeof(bounds), " %llu operator",
			 (unsigned long long)k->min);
	else if (k->max)
		snprintf(bounds, sizeof(bounds), " %llu %llu",
			 (unsigned long long)k->min,
			 (unsigned long long)k->max);
	snprintf(room, 256, ".\\\" %s %s%s\n", word, k->name, bounds);
}

static void test_keys(const char *word,
		      bool (*key)(unsigned i, struct config_key *ret))
{
	char line_of_one[64];
	struct config_key k;
	unsigned count = 0;

	for (; key(count, &k); count++) {
		char line[256], item[128];
		const char *at;

		key_line(line, word, &k);
		at = strstr(page, line);
		if (!ok(at, "jobtree.5 has the key %s as it is", k.name))
			printf("#  want %s", line);
		snprintf(item, sizeof(item), ".TP\n.BR %s \" (", k.name);
		ok(at && !strncmp(at + strlen(line), item, strlen(item)),
		   "jobtree.5 describes %s below it", k.name);
	}
	snprintf(line_of_one, sizeof(line_of_one), "\n.\\\" %s ", word);
	is_int(count_of(line_of_one), count,
	       "jobtree.5 describes no key that is not there");
}

/* What a default is, the page says behind the key's name. */
static void test_defaults(void)
{
	struct job_config c;
	char item[128];

	if (!ok(config_defaults(&c) == 0, "there are defaults"))
		return;
	const struct {
		const char *key, *unit;
		uint64_t value;
	} wanted[] = {
		{ "timeout", "seconds, %llu", c.timeout_ms / 1000 },
		{ "grace", "seconds, %llu", c.grace_ms / 1000 },
		{ "linger", "seconds, %llu", c.linger_ms / 1000 },
		{ "memory_mb", "integer, %llu", c.memory_mb },
		{ "cpus", "integer, %llu", c.cpus },
		{ "processes", "integer, %llu", c.processes },
		{ "stdout_limit", "bytes, %llu MiB", c.stdout_limit >> 20 },
		{ "stderr_limit", "bytes, %llu MiB", c.stderr_limit >> 20 },
		{ "output_limit", "bytes, %llu MiB", c.output_limit >> 20 },
		{ "session_idle", "seconds, %llu", c.session_idle_ms / 1000 },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *value = strstr(wanted[i].unit, "%llu") + 4;

		snprintf(item, sizeof(item), ".BR %s \" (%.*s%llu%s)\"",
			 wanted[i].key,
			 (int)(value - 4 - wanted[i].unit), wanted[i].unit,
			 (unsigned long long)wanted[i].value, value);
		if (!ok(strstr(page, item), "jobtree.5 has the default of %s",
			wanted[i].key))
			printf("#  want %s\n", item);
	}
	snprintf(item, sizeof(item), ".BR call \" (string, %s)\"", c.call);
	ok(strstr(page, item), "jobtree.5 has the default of call");
	config_done(&c);
}

static void test_words(void)
{
	char item[128];

	for (int i = 0; i < JOB_STATE_MAX; i++) {
		snprintf(item, sizeof(item), "\n.TP\n.B %s\n",
			 state_name((enum job_state)i));
		ok(strstr(page, item), "jobtree.5 explains the state %s",
		   state_name((enum job_state)i));
	}
	for (int i = 0; i < JOB_STATUS_MAX; i++) {
		snprintf(item, sizeof(item), "\n.TP\n.BR %s \", ",
			 status_name((enum job_status)i));
		ok(strstr(page, item), "jobtree.5 explains the status %s",
		   status_name((enum job_status)i));
	}
	for (int i = 0; i < LANG_MAX; i++) {
		char words[64], *save = NULL;

		snprintf(words, sizeof(words), "%s", langs[i].extensions);
		for (char *w = strtok_r(words, " ", &save); w;
		     w = strtok_r(NULL, " ", &save)) {
			snprintf(item, sizeof(item), "code%s", w);
			ok(strstr(page, item), "jobtree.5 names code%s", w);
		}
	}
}

int main(void)
{
	FILE *f = fopen(PAGE, "r");

	if (!ok(f, PAGE " can be read (from the project's directory)"))
		return done_testing();
	page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
	fclose(f);
	test_keys("key", config_key);
	test_keys("sandbox-key", sandbox_config_key);
	test_defaults();
	test_words();
	return done_testing();
}
