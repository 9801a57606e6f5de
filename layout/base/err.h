/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors are values. A fallible function returns 0 (or >= 0) or a negative
 * errno; the sentence for a person goes into a caller-owned struct err, passed
 * last, NULL allowed. A sentence names the thing, what was found, what is
 * allowed.
 */
#ifndef LAYOUT_BASE_ERR_H
#define LAYOUT_BASE_ERR_H

struct err {
	int code;       /* negative errno, 0 = none */
	char text[512]; /* one sentence, NUL-terminated, truncated to fit */
};

/*
 * Sets *err (if not NULL) and returns code, so that a caller can write
 * `return err_set(err, -EINVAL, "...")`. Keeps errno.
 */
int err_set(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and strerror(-code) appended. */
int err_sys(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the present sentence. Returns err->code. */
int err_wrap(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
