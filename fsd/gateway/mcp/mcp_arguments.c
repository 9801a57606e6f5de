/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the arguments of a tool's call. mcp_tools.c has checked them by its
 * table; an argument that was left out has its default. Pure.
 */
#include "mcp.h"

#include "layout/base/num.h"

const char *mcp_text(const json_t *arguments, const char *name)
{
	return text_member(arguments, name);
}

bool mcp_read_number(const json_t *value, int64_t *ret)
{
	/* 2^53: beyond it digits are lost */
	const double most = 9007199254740992.0;
	const char *text = json_string_value(value);
	double real = json_real_value(value);
	uint64_t number;

	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
	} else if (json_is_real(value) && real >= -most && real <= most &&
		   (double)(int64_t)real == real) {
		*ret = (int64_t)real;
	} else if (text && !text_has_nul(value) &&
		   parse_u64(text, 0, INT64_MAX, &number) == 0) {
		*ret = (int64_t)number;
	} else {
		return false;
	}
	return true;
}

int64_t mcp_number(const json_t *arguments, const char *name, int64_t other)
{
	int64_t number;

	return mcp_read_number(json_object_get(arguments, name), &number) ? number
									  : other;
}
