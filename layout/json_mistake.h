/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains in plain words why a text is not JSON. People write JavaScript,
 * Python or YAML, and the messages of a parser do not help them. Pure.
 */
#ifndef LAYOUT_JSON_MISTAKE_H
#define LAYOUT_JSON_MISTAKE_H

#include "json_prefix.h"
#include "layout/base/err.h"

/* Explains data, which p has found wrong. Return: -EINVAL, with a sentence that
 * begins with the position. */
int json_mistake(const char *data, size_t len, const struct json_prefix *p,
		 struct err *err);
/* Recognizes texts in other encodings than UTF-8. Return: -EINVAL with a
 * sentence; 0: it is none of those. */
int json_encoding(const char *data, size_t len, struct err *err);

#endif
