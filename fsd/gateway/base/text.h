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

/* Computes SHA-256. */
void text_sum(const void *data, size_t len, uint8_t ret[SUM_SIZE]);
/* Compares in constant time. */
bool text_same_sum(const uint8_t a[SUM_SIZE], const uint8_t b[SUM_SIZE]);
/* Writes 2 * len digits and a NUL. */
void text_hex(const uint8_t *data, size_t len, char *ret);

/* Appends base64, with "=" at the end unless `bare`. */
int text_base64(struct buf *out, const void *data, size_t len, bool bare);
/* Appends the decoded bytes; skips blanks and line ends, "=" may be missing,
 * "-_" count as "+/". Return: 0, -EINVAL or -ENOMEM. */
int text_unbase64(struct buf *out, const char *text, size_t len);

/* Fills ret with count characters of [a-z0-9] from the kernel, and a NUL. */
int text_random(char *ret, size_t count);

/* Prints a time as RFC 3339, UTC, milliseconds. */
void text_time(int64_t realtime_ms, char ret[32]);
/* Parses such a time. Return: milliseconds since 1970, or -1. */
int64_t text_untime(const char *text);
int64_t text_now_ms(void);

/* Appends JSON in ASCII only, for readers that decode each packet separately:
 * no character is split. Return: 0 or -ENOMEM. */
int text_json(struct buf *out, const json_t *json);
/* Makes a string; bytes that are not UTF-8 become U+FFFD. */
json_t *text_string(const char *data, size_t len);
/* Makes a line, for a client that shows standard error, from fsd's sentence about a job.
 * Return: owned; NULL: the sentence is empty, or there is no memory. */
json_t *text_notice(const char *sentence);
/* Returns whether a string, or any inside an array or object, has a NUL: a C
 * string would end there. */
bool text_has_nul(const json_t *json);
/* Returns a member that is a string without a NUL, else NULL. */
const char *text_member(const json_t *object, const char *name);
/* The same for a text that is only shown: with a NUL, the part before it. */
const char *text_shown(const json_t *object, const char *name);
/* Returns true if it is an object whose members are all strings. */
bool text_are_strings(const json_t *object);

/* Puts a sentence of the mount into room in its client's words: its own paths of files,
 * no path below .fsd and no name of a job. Returns room. */
#define TEXT_SENTENCE 900u
const char *text_outside(const char *sentence, char room[TEXT_SENTENCE]);
/* Does the same with "message" of a job's result.json, or of an event. Without
 * memory it stays unchanged. */
void text_result(json_t *result);
/* Parses a line of a job's events, with sentences in the client's words: every event of a
 * job goes through this function. Returns: owned; NULL: the line is no event. Output may
 * have a NUL. */
json_t *text_event(const char *line, size_t len);

/* Compares like names of HTTP headers, ignoring case. */
bool text_is(const char *a, const char *b);

#endif
