/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a JSON text, from hostile bytes, against the library. What
 * must hold: of a text that the library takes no beginning is rejected; what is
 * whole did not merely end too early; it does not matter in which pieces the
 * bytes come; and what is rejected has a sentence. A text that is too deep and ends
 * too early has both faults: the library may tell of the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/json.h"
#include "layout/json_mistake.h"
#include "layout/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static struct json_prefix start(void)
{
	return (struct json_prefix){ .max_depth = LIMIT_CONFIG_DEPTH };
}

static bool same(const struct json_prefix *a, const struct json_prefix *b)
{
	return a->state == b->state && a->at == b->at &&
	       a->expect == b->expect && a->token == b->token &&
	       a->depth == b->depth;
}

/* Is it rejected at the deepest level? */
static bool is_too_deep(const struct json_prefix *p)
{
	return p->state == JSON_WRONG && p->depth == LIMIT_CONFIG_DEPTH;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct json_prefix whole = start(), single = start(), halves = start();
	struct json_raw raw = { .key = "input" };
	struct err err = { .code = 0 };
	json_t *json = NULL;
	int r = json_read(text, size, LIMIT_CONFIG_DEPTH, &raw, &json, &err);

	json_prefix_feed(&whole, text, size);
	for (size_t i = 0; i < size; i++)
		json_prefix_feed(&single, text + i, 1);
	json_prefix_feed(&halves, text, size / 2);
	json_prefix_feed(&halves, text + size / 2, size - size / 2);
	check(same(&whole, &single) && same(&whole, &halves));
	if (r == 0)
		check(whole.state == JSON_WHOLE);
	if (whole.state == JSON_WHOLE)
		check(r != -ENODATA);
	if (whole.state == JSON_OPEN && size)
		check(r != 0);
	if (r == -ENODATA)
		check(whole.state == JSON_OPEN || is_too_deep(&whole));
	if (whole.state == JSON_WRONG) {
		check(r == -EINVAL || is_too_deep(&whole));
		check(json_mistake(text, size, &whole, &err) == -EINVAL);
		check(err.text[0] && !strchr(err.text, '\n'));
	}
	json_decref(json);
	return 0;
}
