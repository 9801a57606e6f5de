/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions of texts, checksums, random texts. Only this file of the gateway
 * uses the crypto library. Pure; any thread.
 */
#include "text.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/base/utf8.h"

void text_sum(const void *data, size_t len, uint8_t ret[SUM_SIZE])
{
	if (EVP_Digest(data, len, ret, NULL, EVP_sha256(), NULL) != 1)
		abort(); /* a wrong checksum would let any client in */
}

bool text_same_sum(const uint8_t a[SUM_SIZE], const uint8_t b[SUM_SIZE])
{
	return CRYPTO_memcmp(a, b, SUM_SIZE) == 0;
}

void text_hex(const uint8_t *data, size_t len, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret[2 * i] = digits[data[i] >> 4];
		ret[2 * i + 1] = digits[data[i] & 15];
	}
	ret[2 * len] = '\0';
}

int text_base64(struct buf *out, const void *data, size_t len, bool bare)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data;
	int r = buf_reserve(out, (len + 2) / 3 * 4);

	for (size_t i = 0; r == 0 && i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)p[i] << 16 |
			     (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (n > 2 ? p[i + 2] : 0);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63],
				 n > 1 ? digits[v >> 6 & 63] : '=',
				 n > 2 ? digits[v & 63] : '=' };

		r = buf_add(out, four, bare ? n + 1 : 4);
	}
	return r;
}

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

int text_unbase64(struct buf *out, const char *text, size_t len)
{
	uint32_t v = 0;
	unsigned bits = 0, padding = 0;
	int r = buf_reserve(out, len / 4 * 3 + 3);

	for (size_t i = 0; r == 0 && i < len; i++) {
		int digit = digit_of(text[i]);

		if (text[i] && strchr(" \t\r\n", text[i]))
			continue;
		if (text[i] == '=' && padding < 2) {
			padding++;
			continue;
		}
		if (digit < 0 || padding)
			return -EINVAL;
		v = v << 6 | (uint32_t)digit;
		bits += 6;
		if (bits >= 8) {
			char byte = (char)(v >> (bits - 8) & 255);

			bits -= 8;
			r = buf_add(out, &byte, 1);
		}
	}
	return r < 0 ? r : bits == 6 ? -EINVAL : 0;
}

int text_random(char *ret, size_t count)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (size_t i = 0; i < count;) {
		uint8_t byte;

		if (getrandom(&byte, 1, 0) != 1)
			return -errno;
		if (byte < 252) /* the largest multiple of 36 */
			ret[i++] = letters[byte % 36];
	}
	ret[count] = '\0';
	return 0;
}

void text_time(int64_t realtime_ms, char ret[32])
{
	time_t seconds = (time_t)(realtime_ms / 1000);
	char day[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret, 32, "%s.%03dZ", day, (int)(realtime_ms % 1000));
}

int64_t text_untime(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	int64_t ms = 0, part = 100;

	if (!rest)
		return -1;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, part /= 10)
			ms += (*rest - '0') * part;
	if (*rest != 'Z' && strcmp(rest, "+00:00") != 0)
		return -1;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

int64_t text_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int append(const char *data, size_t len, void *out)
{
	return buf_add(out, data, len) < 0 ? -1 : 0;
}

int text_json(struct buf *out, const json_t *json)
{
	int r = json_dump_callback(json, append, out,
				   JSON_COMPACT | JSON_ENSURE_ASCII |
					   JSON_ENCODE_ANY);

	return r < 0 ? (out->failed ? out->failed : -ENOMEM) : 0;
}

json_t *text_string(const char *data, size_t len)
{
	auto_buf struct buf fixed = { .cap = 3 * len + 1 };

	if (utf8_span(data, len) == len)
		return json_stringn_nocheck(data, len);
	while (len) {
		size_t good = utf8_span(data, len);

		buf_add(&fixed, data, good);
		data += good;
		len -= good;
		if (len) {
			buf_str(&fixed, "\xef\xbf\xbd");
			data++;
			len--;
		}
	}
	return fixed.failed ? NULL : json_stringn_nocheck(fixed.data, fixed.len);
}

json_t *text_notice(const char *sentence)
{
	auto_buf struct buf line = { 0 };

	if (!sentence || !*sentence || buf_fmt(&line, "fsd: %s\n", sentence) < 0)
		return NULL;
	return text_string(line.data, line.len);
}

bool text_has_nul(const json_t *json)
{
	const char *text = json_string_value(json), *name;
	json_t *value;
	size_t i;

	if (text)
		return strlen(text) != json_string_length(json);
	json_object_foreach((json_t *)(uintptr_t)json, name, value)
		if (text_has_nul(value))
			return true;
	json_array_foreach(json, i, value)
		if (text_has_nul(value))
			return true;
	return false;
}

const char *text_member(const json_t *object, const char *name)
{
	const json_t *text = json_object_get(object, name);

	return text_has_nul(text) ? NULL : json_string_value(text);
}

const char *text_shown(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

bool text_are_strings(const json_t *object)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return false;
	json_object_foreach((json_t *)(uintptr_t)object, name, value)
		if (!json_is_string(value))
			return false;
	return true;
}

#define SANDBOX_DIR ".fsd/sandboxes/"
#define DIGITS "0123456789abcdef"

static bool take(const char **at, const char *begin)
{
	size_t len = strlen(begin);

	if (strncmp(*at, begin, len) != 0)
		return false;
	*at += len;
	return true;
}

/* Skips a job's name, a sandbox's directory or config.json, each with ": ". */
static bool skip_subject(const char **at)
{
	const char *p = *at;
	size_t len = strcspn(p, ": ");

	if ((strncmp(p, "gw.", 3) && strncmp(p, "config.json:", 12) &&
	     strncmp(p, SANDBOX_DIR, sizeof(SANDBOX_DIR) - 1)) ||
	    memmem(p, len, "/files", 6) || memmem(p, len, "/root", 5) ||
	    strncmp(p + len, ": ", 2) != 0)
		return false;
	*at += len + 2;
	return true;
}

/* Skips a path or a name at the beginning of the text. Return: the client's
 * name for it; NULL: the text begins with neither. */
static const char *call(const char **at)
{
	const char *p = *at;

	if (take(&p, "sandbox \"") && strspn(p, DIGITS) == 16 && p[16] == '"') {
		*at = p + 17;
		return "the sandbox";
	}
	p = *at;
	if (!take(&p, SANDBOX_DIR))
		return NULL;
	*at = p + strcspn(p, "/: `\"");
	if (take(at, "/files"))
		return "/home/user";
	return take(at, "/root") ? (**at == '/' ? "" : "/") : "the sandbox";
}

static void put_outside(const char *sentence, struct buf *out)
{
	if (strstr(sentence, "\" is paused; `echo resume > " SANDBOX_DIR))
		sentence = "the sandbox is paused; Sandbox.connect(ID) goes on "
			   "with it";
	while (skip_subject(&sentence))
		;
	while (*sentence) {
		const char *called = call(&sentence);

		if (called)
			buf_str(out, called);
		else
			buf_add(out, sentence++, 1);
	}
}

const char *text_outside(const char *sentence, char room[TEXT_SENTENCE])
{
	auto_buf struct buf out = { 0 };

	put_outside(sentence, &out);
	snprintf(room, TEXT_SENTENCE, "%s",
		 out.failed ? "no memory for a sentence" : out.len ? out.data : "");
	return room;
}

void text_result(json_t *result)
{
	const char *message = text_shown(result, "message");
	auto_buf struct buf out = { 0 };

	if (!message)
		return;
	put_outside(message, &out);
	json_object_set_new(result, "message", text_string(out.data ? out.data : "",
							   out.len));
}

json_t *text_event(const char *line, size_t len)
{
	json_t *event = json_loadb(line, len, JSON_ALLOW_NUL, NULL);

	text_result(event);
	text_result(json_object_get(event, "result"));
	return event;
}

bool text_is(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}
