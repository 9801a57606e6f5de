/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats an error's sentence into the caller's struct err. err_set() takes the whole
 * sentence, err_sys() adds the errno's text, err_wrap() puts words before a sentence.
 *
 * All three return the code and preserve errno, so a caller can return their value. The
 * file allocates no memory; any thread may call them.
 */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0)))
static void set(struct err *err, int code, const char *fmt, va_list ap)
{
	err->code = code;
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		set(err, code, fmt, ap);
		va_end(ap);
	}
	errno = saved;
	return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
	int saved = errno;
	size_t used;
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		set(err, code, fmt, ap);
		va_end(ap);
		used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, ": %s",
			 strerror(-code));
	}
	errno = saved;
	return code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	char inner[sizeof(err->text)];
	size_t used;
	va_list ap;

	if (!err)
		return -EIO;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	set(err, err->code, fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
	errno = saved;
	return err->code;
}
