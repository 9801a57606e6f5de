/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Test Anything Protocol, as much of it as a unit test needs. Every check
 * is one line on standard output; its name is a sentence of behaviour. A test
 * program is one translation unit that ends with `return done_testing();`.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned tap_count, tap_failed;

__attribute__((format(printf, 2, 0), unused)) static bool
tap_line(bool good, const char *fmt, va_list ap)
{
	char name[256];

	tap_count++;
	tap_failed += !good;
	vsnprintf(name, sizeof(name), fmt, ap);
	for (char *p = name; *p; p++) /* one check stays one line */
		if ((unsigned char)*p < 0x20 || *p == '#')
			*p = '.';
	printf("%s %u - %s\n", good ? "ok" : "not ok", tap_count, name);
	fflush(stdout);
	return good;
}

__attribute__((format(printf, 2, 3), unused)) static bool
ok(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(good, fmt, ap);
	va_end(ap);
	return good;
}

__attribute__((format(printf, 3, 4), unused)) static bool
is_int(long long got, long long want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(got == want, fmt, ap);
	va_end(ap);
	if (got != want)
		printf("#   got %lld\n#  want %lld\n", got, want);
	return got == want;
}

/* NULL equals NULL only. */
__attribute__((format(printf, 3, 4), unused)) static bool
is_str(const char *got, const char *want, const char *fmt, ...)
{
	bool good = got && want ? !strcmp(got, want) : got == want;
	va_list ap;

	va_start(ap, fmt);
	tap_line(good, fmt, ap);
	va_end(ap);
	if (!good)
		printf("#   got %s\n#  want %s\n", got ? got : "(null)",
		       want ? want : "(null)");
	return good;
}

/* A check that this machine cannot make. */
__attribute__((format(printf, 1, 2), unused)) static void
skip(const char *fmt, ...)
{
	va_list ap;

	printf("ok %u - # SKIP ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* For main() to return: the plan, and 1 if anything failed. */
__attribute__((unused)) static int done_testing(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed || !tap_count ? 1 : 0;
}

#endif
