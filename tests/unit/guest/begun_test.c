/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner says of how it began, and what an environment sets. */
#include "guest/run/begun.h"
#include "guest/os/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

/* Return: how many of the bytes were part of a text. */
static size_t hear(struct begun *b, const char *said, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += begun_hear(b, (uint8_t)said[i]);
	return n;
}

static void test_begun(void)
{
	struct begun b = {0};
	char longest[600];

	is_int((long long)hear(&b, "RSE", 3), 0, "other bytes are not taken");
	is_int((long long)hear(&b, "CEOMP_X\0RS", 10), 8, "a text is");
	is_int(b.how, WIRE_BEGUN_ENV, "it says why");
	is_str(b.by, "OMP_X", "and names the variable");
	is_int((long long)hear(&b, "CFx\0", 4), 0, "a second one is not heard");

	b = (struct begun){0};
	hear(&b, "CF\xc3\n\0", 5);
	is_str(b.by, "??", "what cannot be printed is not told");
	b = (struct begun){0};
	hear(&b, "CF\0", 3);
	is_int(b.how, WIRE_BEGUN_WARM, "a file without a name says nothing");
	hear(&b, "C\0", 2);
	is_int(b.how, WIRE_BEGUN_WARM, "nor does no letter");
	hear(&b, "CAx\0", 4);
	ok(b.how == WIRE_BEGUN_WARM && !b.by[0], "nor one with a name too many");
	hear(&b, "CA\0", 3);
	is_int(b.how, WIRE_BEGUN_ASKED, "one that was asked for has no name");

	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "CE", 2);
	longest[sizeof(longest) - 1] = '\0';
	b = (struct begun){0};
	hear(&b, longest, sizeof(longest));
	is_int((long long)strlen(b.by), WIRE_BEGUN_BY_MAX, "a name is cut");
}

static int parse(const char *text, struct environment_vars *ret)
{
	return environment_parse(strdup(text), strlen(text), ret);
}

static void test_environment(void)
{
	struct environment_vars v;
	char *many = calloc(1, 4 * ENVIRONMENT_LINES_MAX + 5);

	is_int(parse("", &v), 0, "an empty file is none");
	is_int(v.own, 0, "nothing is set");
	is_str(v.item[0], "HOME=/home/user", "the base is there");
	environment_vars_done(&v);
	is_int(parse("MPLBACKEND=Agg\nLANG=C\nX=a=b\n", &v), 0, "it sets three");
	is_int(v.own, 3, "they are its own");
	is_str(v.item[v.count - 3], "MPLBACKEND=Agg", "the first");
	is_str(v.item[v.count - 1], "X=a=b", "the last");
	is_int(v.count, 9, "LANG of the base is not there twice");
	environment_vars_done(&v);
	is_int(parse("A\n", &v), -EINVAL, "a line without = is refused");
	is_int(parse("=A\n", &v), -EINVAL, "so is one without a name");
	is_int(environment_parse(strdup("A=b\0c"), 5, &v), -EINVAL,
	       "so is NUL");
	for (unsigned i = 0; i <= ENVIRONMENT_LINES_MAX; i++)
		strcat(many, "A=b\n");
	is_int(parse(many, &v), -E2BIG, "so are too many lines");
	free(many);
}

int main(void)
{
	test_begun();
	test_environment();
	return done_testing();
}
