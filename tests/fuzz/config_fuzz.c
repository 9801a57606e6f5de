/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json from hostile bytes. What must hold: every refusal has a sentence
 * that begins with the file's name, and every config that is taken keeps the
 * schema's promises.
 */
#include <stdlib.h>
#include <string.h>

#include "layout/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_strings(const struct config_strings *s)
{
	for (size_t i = 0; i < s->count; i++)
		check(s->item[i] != NULL);
	check(!s->item || !s->item[s->count]);
}

/* It is read again as it was printed, and stands at its place, once. */
static void check_package(const struct job_config *c, size_t i)
{
	static const char *const prefix[] = { "pypi:", "npm:", "deb:" };
	const struct package *p = &c->packages.item[i];
	auto_buf struct buf text = { 0 };
	struct package again;

	buf_str(&text, prefix[p->source]);
	package_print(p, &text);
	check(!text.failed);
	check(!package_parse(text.data, &again));
	check(package_is(p, &again) && !strcmp(p->version, again.version));
	check(!text.data[strcspn(text.data, " ;&|<>()$`\\\"'\n\t*?[#")]);
	check(!i || (package_order(p - 1, p) < 0 && !package_is(p - 1, p)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config_limits limits = { 3600000, 1024, 2 };
	struct sandbox_config sandbox;
	struct job_config c;
	struct err err = { .code = 0 };
	int r = sandbox_config_parse((const char *)data, size, &limits,
				     &sandbox, &err);

	if (r == 0) {
		check(sandbox.machine.memory_mb >= 32);
		check_strings(&sandbox.machine.env);
		sandbox_config_done(&sandbox);
	} else {
		check(err.code == r);
		check(!strncmp(err.text, "config.json: ", 13));
	}
	err = (struct err){ .code = 0 };
	r = config_parse((const char *)data, size, &limits, &c, &err);
	if (r < 0) {
		check(err.code == r);
		check(!strncmp(err.text, "config.json: ", 13));
		return 0;
	}
	check(r == 0);
	check((c.timeout_ms >= 100 || (c.sandbox && !c.timeout_ms)) && c.timeout_ms <= limits.timeout_ms);
	check(!c.code || (c.lang && c.code_len));
	check(!c.cwd || (c.sandbox && *c.cwd));
	check(!c.sandbox || (!c.retry && !c.memory_given));
	check(c.grace_ms <= 60000);
	check(c.linger_ms <= 60000);
	check(c.memory_mb >= 32 && c.memory_mb <= limits.memory_mb);
	check(c.cpus >= 1 && c.cpus <= limits.cpus);
	check(c.processes >= 1 && c.processes <= LIMIT_PROCESSES);
	check(c.call != NULL && c.mode < JOB_MODE_MAX);
	check((c.mode == MODE_COMMAND) == (c.command.count > 0));
	check(!c.network_text == (c.network.form == NET_WISH_NONE));
	check(!c.network_text || (!c.sandbox && (!c.retry || c.retry_network)));
	check(!c.input_json || strlen(c.input_json) == c.input_len);
	check_strings(&c.args);
	check_strings(&c.env);
	check_strings(&c.inputs);
	check_strings(&c.command);
	check(c.packages.count <= LIMIT_PACKAGES);
	for (size_t i = 0; i < c.packages.count; i++)
		check_package(&c, i);
	config_done(&c);
	return 0;
}
