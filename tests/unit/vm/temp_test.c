/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what is being made or removed, and names that only look like one. */
#include "vm/os/temp.h"

#include <string.h>

#include "tests/unit/tap.h"

int main(void)
{
	static const char *const others[] = {
		"", ".new-", ".new-0123456789abcde", ".new-0123456789abcdef0",
		".new-0123456789abcdeg", ".new-0123456789abcdef.x", ".new-0123456789ABCDEF",
		".old-0123456789abcdef", "x.new-0123456789abcdef",
		"0123456789abcdef",
	};
	char one[32], two[32];

	temp_name(NEW_PREFIX, one);
	temp_name(NEW_PREFIX, two);
	ok(is_temp_name(one, NEW_PREFIX), "a name that was made is one");
	ok(!is_temp_name(one, OLD_PREFIX), "it has its own prefix");
	ok(strcmp(one, two) != 0, "two names differ");
	ok(is_temp_name("0123456789abcdef", ""), "a prefix may be empty");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(!is_temp_name(others[i], NEW_PREFIX), "\"%s\" is none", others[i]);
	return done_testing();
}
