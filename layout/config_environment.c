/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of config.json that say what the machine and its interpreter have. */
#include "config_int.h"

#include <string.h>

#include "environment.h"

/* Which ones there are is not known here: only how one is written. */
int config_set_environment(struct parse *p, const struct field *f,
			   json_t *value)
{
	const char *text = config_text(value);
	struct environment_spec spec;
	int r;

	if (!text)
		return config_wrong(p, f, value, "a name of fsd env list");
	r = environment_spec_parse(text, &spec, p->err);
	if (r < 0)
		return r;
	p->config->environment = strdup(text);
	return p->config->environment ? 0 : config_no_memory(p);
}

int config_set_warm(struct parse *p, const struct field *f, json_t *value)
{
	if (!json_is_boolean(value))
		return config_wrong(p, f, value, "true or false");
	p->config->fresh = json_is_false(value);
	return 0;
}
