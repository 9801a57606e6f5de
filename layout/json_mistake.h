/* SPDX-License-Identifier: Apache-2.0 */
/* Says in plain words what is wrong with a text that cannot become JSON: people
 * write JavaScript, Python or YAML, and a parser's words do not tell them. */
#ifndef LAYOUT_JSON_MISTAKE_H
#define LAYOUT_JSON_MISTAKE_H

#include "json_prefix.h"
#include "layout/base/err.h"

/* p has taken data and found it wrong. Return: -EINVAL, with a sentence that
 * begins with the place. */
int json_mistake(const char *data, size_t len, const struct json_prefix *p,
		 struct err *err);
/* Of a text in another encoding than UTF-8. Return: -EINVAL; 0: it is none that
 * is known. */
int json_encoding(const char *data, size_t len, struct err *err);

#endif
