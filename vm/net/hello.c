/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a ClientHello that may be spread over many TLS records. A reader (struct
 * reader) gives the handshake's bytes one after the other and skips the records'
 * headers, so no copy is made. hello_read() starts over at each call; `need` keeps the
 * calls few, also for records of one byte.
 *
 * The peer is a hostile program. A hello that two parsers could read in two ways is
 * refused: a second server name, a second extension of that type, bytes behind a list.
 */
#include "hello.h"

#include <stdio.h>
#include <string.h>

#define RECORD_HEADER 5u
#define RECORD_MAX (16u << 10)
#define RECORD_HANDSHAKE 22
#define CLIENT_HELLO 1
#define RANDOM_SIZE 32u
#define SESSION_MAX 32u
#define EXTENSION_NAME 0u
#define EXTENSION_ECH 0xfe0du
#define NAME_OF_HOST 0
#define PORT_TLS 443

/* --- the handshake's bytes ---------------------------------------------------------- */

enum trouble { NO_TROUBLE, TOO_SHORT, WRONG };

struct reader {
	const uint8_t *bytes;
	size_t size, at;
	size_t in_record; /* bytes of the current record that were not read yet */
	size_t need;      /* TOO_SHORT: see struct hello */
	enum trouble trouble;
};

static void next_record(struct reader *r)
{
	const uint8_t *p = r->bytes + r->at;
	size_t length;

	if (r->size - r->at < RECORD_HEADER) {
		r->trouble = TOO_SHORT;
		r->need = r->at + RECORD_HEADER + 1;
		return;
	}
	length = (size_t)p[3] << 8 | p[4];
	if (p[0] != RECORD_HANDSHAKE || p[1] != 3 || !length || length > RECORD_MAX) {
		r->trouble = WRONG;
		return;
	}
	r->at += RECORD_HEADER;
	r->in_record = length;
}

static uint32_t get_byte(struct reader *r)
{
	if (!r->trouble && !r->in_record)
		next_record(r);
	if (!r->trouble && r->at == r->size) {
		r->trouble = TOO_SHORT;
		r->need = r->at + r->in_record;
	}
	if (r->trouble)
		return 0;
	r->in_record--;
	return r->bytes[r->at++];
}

static uint32_t get(struct reader *r, unsigned bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | get_byte(r);
	return v;
}

/* Takes `length` bytes of a list of *left bytes. */
static bool take(struct reader *r, uint32_t *left, uint32_t length)
{
	if (length > *left)
		r->trouble = r->trouble ? r->trouble : WRONG;
	else
		*left -= length;
	return !r->trouble;
}

static uint32_t get_of(struct reader *r, uint32_t *left, unsigned bytes)
{
	return take(r, left, bytes) ? get(r, bytes) : 0;
}

static void skip(struct reader *r, uint32_t *left, uint32_t bytes)
{
	if (!take(r, left, bytes))
		return;
	while (bytes-- && !r->trouble)
		get_byte(r);
}

static void wrong_unless(struct reader *r, bool holds)
{
	if (!r->trouble && !holds)
		r->trouble = WRONG;
}

/* --- the hello ---------------------------------------------------------------------- */

static void read_name(struct reader *r, uint32_t left, struct hello *ret)
{
	uint32_t list = get_of(r, &left, 2), length;

	wrong_unless(r, list == left && !ret->named);
	wrong_unless(r, get_of(r, &left, 1) == NAME_OF_HOST);
	length = get_of(r, &left, 2);
	wrong_unless(r, length == left && length && length < sizeof(ret->name));
	for (uint32_t i = 0; i < length && !r->trouble; i++) {
		uint32_t c = get_byte(r);

		wrong_unless(r, c > ' ' && c < 0x7f);
		ret->name[i] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
	}
	ret->named = true;
}

static void read_extensions(struct reader *r, uint32_t left, struct hello *ret)
{
	while (left && !r->trouble) {
		uint32_t type = get_of(r, &left, 2), length = get_of(r, &left, 2);

		if (type == EXTENSION_NAME && take(r, &left, length))
			read_name(r, length, ret);
		else
			skip(r, &left, length);
		ret->encrypted |= type == EXTENSION_ECH && !r->trouble;
	}
}

static void read_hello(struct reader *r, struct hello *ret)
{
	uint32_t left, length;

	wrong_unless(r, get(r, 1) == CLIENT_HELLO);
	left = get(r, 3);
	wrong_unless(r, left < HELLO_MAX);
	wrong_unless(r, get_of(r, &left, 1) == 3);
	skip(r, &left, 1 + RANDOM_SIZE);
	length = get_of(r, &left, 1);
	wrong_unless(r, length <= SESSION_MAX);
	skip(r, &left, length);
	length = get_of(r, &left, 2);
	wrong_unless(r, length >= 2 && length % 2 == 0);
	skip(r, &left, length); /* cipher suites */
	length = get_of(r, &left, 1);
	wrong_unless(r, length);
	skip(r, &left, length); /* compression */
	if (r->trouble || !left)
		return; /* before TLS 1.2 a hello may have no extensions */
	length = get_of(r, &left, 2);
	wrong_unless(r, length == left);
	read_extensions(r, length, ret);
}

enum hello_kind hello_read(const uint8_t *bytes, size_t size, struct hello *ret)
{
	struct reader r = { .bytes = bytes, .size = size < HELLO_MAX ? size : HELLO_MAX };

	*ret = (struct hello){ .need = 1 };
	if (!size)
		return HELLO_PART;
	if (bytes[0] != RECORD_HANDSHAKE)
		return HELLO_OTHER;
	read_hello(&r, ret);
	if (!r.trouble)
		return HELLO_WHOLE;
	ret->need = r.need < HELLO_MAX ? r.need : HELLO_MAX;
	return r.trouble == WRONG || r.size == HELLO_MAX ? HELLO_BAD : HELLO_PART;
}

/* --- the verdict -------------------------------------------------------------------- */

enum hello_verdict hello_judge(const struct hello_rule *rule, const uint8_t *bytes,
			       size_t size, struct hello *ret)
{
	switch (hello_read(bytes, size, ret)) {
	case HELLO_PART:
		return HELLO_WAIT;
	case HELLO_OTHER:
		return rule->port == PORT_TLS ? HELLO_OTHER_NAME : HELLO_PASS;
	case HELLO_BAD:
		/* the hello's end was not read, so the name may be half of one */
		ret->named = false;
		return HELLO_OTHER_NAME;
	case HELLO_WHOLE:
		break;
	}
	if (ret->encrypted && !rule->allows_ech)
		return HELLO_ENCRYPTED;
	if (!ret->named)
		return rule->port == PORT_TLS ? HELLO_OTHER_NAME : HELLO_PASS;
	return strcmp(ret->name, rule->name) ? HELLO_OTHER_NAME : HELLO_PASS;
}

void hello_explain(enum hello_verdict verdict, const struct hello *hello, char *ret,
		   size_t size)
{
	if (verdict == HELLO_ENCRYPTED)
		snprintf(ret, size, "its ClientHello is encrypted (ECH); a rule with /tcp "
				    "or the operator's \"ech\" lets it pass");
	else if (hello->named)
		snprintf(ret, size, "the TLS server name is \"%s\"", hello->name);
	else
		snprintf(ret, size, "no TLS server name was sent; a rule with /tcp lets "
				    "it pass");
}
