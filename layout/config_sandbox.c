/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a sandbox's config.json. Those of its machine are like a job's
 * and use the same setters; those of its life are here. "meta" belongs to the
 * user: it stays in the file and is not used. Pure.
 */
#include "config_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/num.h"
#include "limits.h"

static int set_at_end(struct parse *p, const struct field *f, json_t *value)
{
	const char *text = config_text(value);

	if (!text || (strcmp(text, "end") && strcmp(text, "pause")))
		return config_wrong(p, f, value, "\"end\" or \"pause\"");
	*(bool *)config_at(p, f) = text[0] == 'p';
	return 0;
}

static int relate(struct parse *p, const json_t *root)
{
	(void)root;
	return config_check_env(p);
}

/* The parser's config is the first member of a struct sandbox_config. */
_Static_assert(offsetof(struct sandbox_config, machine) == 0, "first");

#define CONFIG(member) offsetof(struct job_config, member)
#define OPERATOR(member) offsetof(struct config_limits, member)
#define SANDBOX(member) offsetof(struct sandbox_config, member)

static const struct field fields[] = {
	{ "environment", config_set_environment, 0, 0, 0, 0, NULL },
	{ "packages", config_set_packages, 0, 0, LIMIT_PACKAGES, 0, NULL },
	{ "memory_mb", config_set_memory, CONFIG(memory_mb),
	  LIMIT_MEMORY_MIN_MB, 0, OPERATOR(memory_mb), " of MiB" },
	{ "cpus", config_set_integer, CONFIG(cpus), 1, 0, OPERATOR(cpus), "" },
	{ "processes", config_set_integer, CONFIG(processes), 1,
	  LIMIT_PROCESSES, 0, "" },
	{ "env", config_set_env, CONFIG(env), 0, LIMIT_ENV, 0, NULL },
	{ "idle", config_set_seconds, SANDBOX(idle_ms), 0, LIMIT_SANDBOX_MS, 0,
	  NULL },
	{ "life", config_set_seconds, SANDBOX(life_ms), 0, LIMIT_SANDBOX_MS, 0,
	  NULL },
	{ "at_end", set_at_end, SANDBOX(pauses), 0, 0, 0, NULL },
	{ "pause_life", config_set_seconds, SANDBOX(pause_life_ms), 0,
	  LIMIT_SANDBOX_MS, 0, NULL },
	{ "network", config_set_network, 0, 0, 0, 0, NULL },
	{ "ports", config_set_ports, 0, LIMIT_PORT_MIN, LIMIT_PORT_MAX, 0, NULL },
	{ "meta", config_set_kept, 0, 0, LIMIT_SANDBOX_META, 0, NULL },
};

static const struct schema schema = {
	.fields = fields, .count = ARRAY_SIZE(fields), .relate = relate,
};

bool sandbox_config_key(unsigned i, struct config_key *ret)
{
	return config_row(&schema, i, ret);
}

void sandbox_config_done(struct sandbox_config *config)
{
	config_done(&config->machine);
	*config = (struct sandbox_config){ 0 };
}

/* An empty file counts as {}; so does a missing one. */
int sandbox_config_parse(const char *data, size_t len,
			 const struct config_limits *limits,
			 struct sandbox_config *ret_config, struct err *err)
{
	struct sandbox_config config = { .idle_ms = DEFAULT_SANDBOX_IDLE_MS };
	struct err why = { .code = 0 };
	struct parse p = { .schema = &schema, .limits = limits,
			   .config = &config.machine,
			   .input = { .key = "meta" }, .err = &why };
	int r = config_defaults(&config.machine);

	if (r < 0)
		return err_set(err, r, "config.json: out of memory");
	r = config_is_empty(data, len) ? config_read(&p, "{}", 2)
				       : config_read(&p, data, len);
	if (r < 0) {
		sandbox_config_done(&config);
		return err_set(err, r, "config.json: %s", why.text);
	}
	*ret_config = config;
	return 0;
}
