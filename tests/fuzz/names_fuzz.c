/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the kernel hands over, what is written to ctl, signals, UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "layout/base/utf8.h"
#include "layout/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_name(const char *name)
{
	size_t len = strlen(name);
	enum code_kind kind = code_kind(name);

	if (file_name_check(name) == 0) {
		check(len >= 1 && len <= LIMIT_FILE_NAME);
		check(!strchr(name, '/'));
		check(strcmp(name, ".") && strcmp(name, ".."));
	}
	if (job_name_check(name) == 0)
		check(len <= LIMIT_JOB_NAME && file_name_check(name) == 0 &&
		      utf8_valid(name, len));
	check((lang_by_file(name) != NULL) == (kind == CODE_KNOWN));
	check(job_vfile_by_name(name) < JOB_VFILE_MAX);
	check(fsd_vfile_by_name(name) < FSD_VFILE_MAX);
	check(strchr(mime_by_name(name), '/') != NULL);
	check(signal_parse(name) <= 64);
	(void)lang_env_is_fresh(&langs[LANG_PYTHON], name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct ctl_command c = { CTL_START, 0 };
	struct err err = { .code = 0 };
	char *name = malloc(size + 1);

	check(utf8_span(bytes, size) <= size);
	for (int appliance = 0; appliance < 2; appliance++) {
		int r = ctl_parse(bytes, size, appliance, &c, &err);

		check(r == 0 || (r == -EINVAL && err.code == r));
		check(r < 0 || c.verb != CTL_SIGNAL ||
		      (c.number >= 1 && c.number <= 64));
	}
	if (!name)
		return 0;
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	check_name(name);
	free(name);
	return 0;
}
