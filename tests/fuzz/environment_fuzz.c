/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of an environment of any bytes: each is refused with a sentence, or
 * what it gives is plain. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			abort();
}

static int package(void *arg, const struct environment_package *p)
{
	(void)arg;
	plain(p->name);
	plain(p->version);
	plain(p->licence);
	if (strchr(p->file, '/') || strlen(p->sum) != 64)
		abort();
	return 0;
}

static void warm(const char *text, size_t size)
{
	struct environment_warm w;
	struct err err = { 0 };
	int r = environment_warm_read(text, size, &w, &err);
	unsigned count = 0;

	if (r < 0 && !err.text[0])
		abort();
	for (size_t at = 0; r == 0 && at < w.env.len; count++) {
		if (!strchr(w.env.data + at, '='))
			abort();
		at += strlen(w.env.data + at) + 1;
	}
	if (r == 0 && count != w.env_count)
		abort();
	environment_warm_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = strndup((const char *)data, size);
	auto_buf struct buf out = { 0 };
	struct environment_spec spec;
	struct err err = { 0 };
	int r;

	warm((const char *)data, size);
	r = environment_lock_read((const char *)data, size, package, NULL,
				  &err);
	if (r < 0 && !err.text[0])
		abort();
	err = (struct err){ 0 };
	r = environment_recipe_read((const char *)data, size, &out, &err);
	if (r < 0 ? !err.text[0] : 0)
		abort();
	if (r == 0 && out.data)
		plain(out.data);
	if (environment_spec_parse(text, &spec, &err) == 0 && spec.name[0] &&
	    strncmp(text, spec.name, strlen(spec.name)) != 0)
		abort();
	if (environment_name_check(text, NULL) == 0 && strchr(text, '/'))
		abort();
	return 0;
}
