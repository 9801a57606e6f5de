/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hostile guest sends as its value, and what it calls its files. What
 * must hold: the document stays UTF-8 and JSON, and nothing in it but `value`,
 * `error` and `message` depends on the guest's text.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "layout/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/*
 * The value may hold numbers that the library cannot: only then may the
 * document fail to parse.
 */
static void check_document(const struct buf *out)
{
	json_error_t e;
	json_t *root = json_loadb(out->data, out->len, JSON_REJECT_DUPLICATES |
				  JSON_ALLOW_NUL, &e);

	if (!root) {
		check(json_error_code(&e) == json_error_numeric_overflow);
		return;
	}
	check(json_integer_value(json_object_get(root, "exit_code")) == 139);
	check(json_object_size(root) == 28);
	check(json_array_size(json_object_get(root, "attempts")) == 2);
	check(!strcmp(json_string_value(json_object_get(root, "status")),
		      "signaled"));
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	struct result_file file = { .path = name, .bytes = size, .mode = 0644 };
	/* a record from the disk may say anything */
	const struct result_attempt attempts[] = {
		{ .known = true, .status = STATUS_FAILED, .message = name },
		{ .known = false },
	};
	struct job_result r = {
		.job = name,
		.id = "id",
		.status = STATUS_SIGNALED,
		.exit_code = 139,
		.signal = 11,
		.program_exit_code = -1,
		.attempt = 3,
		.attempts = attempts,
		.output = &file,
		.output_count = 1,
		.guest_json = (const char *)data,
		.guest_len = size,
	};
	auto_buf struct buf out = { .cap = 0 };

	if (!name)
		return 0;
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	check(result_render(&r, &out) == 0);
	check(utf8_valid(out.data, out.len));
	check_document(&out);
	free(name);
	return 0;
}
