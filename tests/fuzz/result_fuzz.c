/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hostile guest sends as its value, and what it calls its files. What
 * must hold: the document stays UTF-8 and JSON, and nothing in it but `value`,
 * `error` and `message` depends on the guest's text.
 */
#include <stdlib.h>
#include <string.h>

#include "layout/json.h"
#include "layout/layout.h"
#include "layout/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static unsigned hex(char c)
{
	check((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'));
	return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

/* The name can be had from it again, whatever its bytes. */
static void check_path(const json_t *list, const char *name)
{
	const json_t *entry = json_array_get(list, 0);
	const char *path = json_string_value(json_object_get(entry, "path"));
	bool encoded = json_object_get(entry, "path_encoding");

	check(path && encoded == !utf8_valid(name, strlen(name)));
	for (; *path; name++) {
		char byte = *path++;

		if (encoded && byte == '%') {
			byte = (char)(hex(path[0]) << 4 | hex(path[1]));
			path += 2;
		}
		check(byte == *name);
	}
	check(!*name);
}

static void check_shown(const char *name)
{
	auto_buf struct buf shown = { .cap = 1024 };

	result_show_name(&shown, name);
	check(!shown.failed && utf8_valid(shown.data, shown.len));
	for (size_t i = 0; i < shown.len; i++)
		check((unsigned char)shown.data[i] >= ' ');
}

/* The value may have numbers and keys that the library refuses, so the document is read as
 * the product's own clients read it. */
static void check_document(const struct buf *out, const char *name)
{
	struct json_raw raw = { .key = "value" };
	json_t *root = NULL;

	check(json_read(out->data, out->len, LIMIT_VALUE_DEPTH + 8, &raw, &root, NULL) == 0);
	check(json_integer_value(json_object_get(root, "exit_code")) == 139);
	check(json_object_size(root) == 34);
	check(json_array_size(json_object_get(root, "attempts")) == 2);
	check(!strcmp(json_string_value(json_object_get(root, "status")),
		      "signaled"));
	check_path(json_object_get(root, "output"), name);
	check_path(json_object_get(root, "output_left_out"), name);
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	struct result_file file = { .path = name, .bytes = size, .mode = 0644 };
	struct result_left left = { .path = name, .reason = "why" };
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
		.left = &left,
		.left_count = 1,
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
	check_document(&out, name);
	check_shown(name);
	free(name);
	return 0;
}
