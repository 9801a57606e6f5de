/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of foreign protocols: base64, hexadecimal, SHA-256, times, JSON out. Pure. */
#ifndef GATEWAY_TEXT_H
#define GATEWAY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "layout/json.h"

#define SUM_SIZE 32u

void text_sum(const void *data, size_t len, uint8_t ret[SUM_SIZE]); /* SHA-256 */
/* Takes as long whether they are equal or not. */
bool text_same_sum(const uint8_t a[SUM_SIZE], const uint8_t b[SUM_SIZE]);
/* 2 * len digits and a NUL. */
void text_hex(const uint8_t *data, size_t len, char *ret);

/* Appends; "=" at the end unless `bare`. */
int text_base64(struct buf *out, const void *data, size_t len, bool bare);
/* Appends what it means; blanks and line ends are skipped, "=" may be missing, "-_"
 * count as "+/". Return: 0, -EINVAL or -ENOMEM. */
int text_unbase64(struct buf *out, const char *text, size_t len);

/* Fills ret with count characters of [a-z0-9] from the kernel, and a NUL. */
int text_random(char *ret, size_t count);

/* RFC 3339, UTC, milliseconds. */
void text_time(int64_t realtime_ms, char ret[32]);
/* Return: milliseconds since 1970, or -1. */
int64_t text_untime(const char *text);
int64_t text_now_ms(void);

/* Appends JSON in ASCII only: readers that decode each packet by itself never find
 * half a character. Return: 0 or -ENOMEM. */
int text_json(struct buf *out, const json_t *json);
/* A string of bytes that may be no UTF-8: each that is wrong becomes U+FFFD. */
json_t *text_string(const char *data, size_t len);
/* Makes a line of standard error of fsd's own sentence about a job. Return: owned; NULL:
 * the sentence is empty, or there is no memory. */
json_t *text_notice(const char *sentence);
/* Does a string, or any within an array or object, have a NUL? As a C string it would
 * mean something else than it says. */
bool text_has_nul(const json_t *json);
/* A member that is a string without a NUL, else NULL. */
const char *text_member(const json_t *object, const char *name);
/* The same for a text that is shown only: with a NUL, what is before it. */
const char *text_shown(const json_t *object, const char *name);
/* Returns true if it is an object whose members are all strings. */
bool text_are_strings(const json_t *object);

/* Puts a sentence of the mount into room in its client's words: its own paths of files,
 * no path below .fsd and no name of a job. Returns room. */
#define TEXT_SENTENCE 900u
const char *text_outside(const char *sentence, char room[TEXT_SENTENCE]);
/* Does the same with "message" of a job's result.json, or with that of an event. Without
 * memory it stays as it is. */
void text_result(json_t *result);
/* Parses a line of a job's events, with sentences in the client's words: every event of a
 * job goes through this function. Returns: owned; NULL: the line is no event. Output may
 * have a NUL. */
json_t *text_event(const char *line, size_t len);

/* Compares as names of HTTP headers are. */
bool text_is(const char *a, const char *b);

#endif
