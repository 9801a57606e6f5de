/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS ClientHello that decides whether a stream may go on. */
#include "vm/net/hello.h"

#include "layout/base/num.h"
#include "tests/unit/tap.h"

/* A hello as it is built: the handshake's bytes, without records. */
struct made {
	uint8_t byte[40000];
	size_t size;
};

static void put(struct made *m, uint32_t value, unsigned bytes)
{
	while (bytes--)
		m->byte[m->size++] = (uint8_t)(value >> 8 * bytes);
}

static void put_name(struct made *m, const char *name)
{
	size_t length = strlen(name);

	put(m, 0, 2);
	put(m, (uint32_t)length + 5, 2);
	put(m, (uint32_t)length + 3, 2);
	put(m, 0, 1);
	put(m, (uint32_t)length, 2);
	memcpy(m->byte + m->size, name, length);
	m->size += length;
}

static void put_empty(struct made *m, uint32_t type, size_t size)
{
	put(m, type, 2);
	put(m, (uint32_t)size, 2);
	memset(m->byte + m->size, 7, size);
	m->size += size;
}

/* Writes a length at a place that was left free for it. */
static void set(struct made *m, size_t at, unsigned bytes)
{
	struct made length = { .size = 0 };

	put(&length, (uint32_t)(m->size - at - bytes), bytes);
	memcpy(m->byte + at, length.byte, bytes);
}

#define EXTENSIONS 47 /* where their list begins */

static void begin(struct made *m)
{
	m->size = 0;
	put(m, 1, 1); /* ClientHello */
	put(m, 0, 3);
	put(m, 0x303, 2);
	memset(m->byte + m->size, 0xaa, 32);
	m->size += 32;
	put(m, 0, 1); /* session */
	put(m, 2, 2);
	put(m, 0x1301, 2);
	put(m, 1, 1);
	put(m, 0, 1); /* compression */
	put(m, 0, 2); /* extensions */
}

static void finish(struct made *m)
{
	set(m, EXTENSIONS - 2, 2);
	set(m, 1, 3);
}

static void usual(struct made *m, const char *name)
{
	begin(m);
	put_empty(m, 10, 8);
	if (name)
		put_name(m, name);
	put_empty(m, 51, 1200); /* a key share with ML-KEM */
	finish(m);
}

/* Puts a hello into records of that many bytes. Return: their size together. */
static size_t in_records(const struct made *m, size_t each, uint8_t *ret)
{
	size_t used = 0;

	for (size_t at = 0; at < m->size; at += each) {
		size_t n = MIN(each, m->size - at);
		const uint8_t header[] = { 22, 3, 1, (uint8_t)(n >> 8), (uint8_t)n };

		memcpy(ret + used, header, sizeof(header));
		memcpy(ret + used + sizeof(header), m->byte + at, n);
		used += sizeof(header) + n;
	}
	return used;
}

static uint8_t stream[240000];
static struct made made;

static enum hello_verdict judge(const char *name, unsigned port, bool ech)
{
	const struct hello_rule rule = { name, port, ech };
	struct hello h;

	return hello_judge(&rule, stream, in_records(&made, 16384, stream), &h);
}

static void test_names(void)
{
	usual(&made, "api.example.org");
	is_int(judge("api.example.org", 443, false), HELLO_PASS, "the stream's name passes");
	is_int(judge("api.example.org", 5432, false), HELLO_PASS, "on any port");
	is_int(judge("evil.example", 443, false), HELLO_OTHER_NAME, "another does not");
	is_int(judge("evil.example", 5432, false), HELLO_OTHER_NAME, "on no port");
	is_int(judge("pi.example.org", 443, false), HELLO_OTHER_NAME,
	       "the end of a name is another name");
	usual(&made, "API.Example.ORG");
	is_int(judge("api.example.org", 443, false), HELLO_PASS, "case does not count");
	usual(&made, "api.example.org.");
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "a last dot, which TLS does not allow, makes another name");
	usual(&made, NULL);
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "on 443 a name must be there");
	is_int(judge("api.example.org", 5432, false), HELLO_PASS, "elsewhere it need not");
}

static void test_encrypted(void)
{
	begin(&made);
	put_name(&made, "api.example.org");
	put_empty(&made, 0xfe0d, 100);
	finish(&made);
	is_int(judge("api.example.org", 443, false), HELLO_ENCRYPTED,
	       "an encrypted hello is cut, even if the outer name is right");
	is_int(judge("api.example.org", 443, true), HELLO_PASS, "unless that is allowed");
	is_int(judge("evil.example", 443, true), HELLO_OTHER_NAME,
	       "and then the outer name must be right");
}

/* Feeds one byte more at each call. Return: the verdict of the last call, or -1 if an
 * earlier one did not wait; `need` is never more than what decides. */
static int by_single_bytes(size_t size, unsigned *ret_calls)
{
	const struct hello_rule rule = { "api.example.org", 443, false };
	struct hello h = { .need = 1 };
	enum hello_verdict v = HELLO_WAIT;

	*ret_calls = 0;
	for (size_t n = 1; n <= size; n++) {
		if (n < h.need)
			continue;
		++*ret_calls;
		v = hello_judge(&rule, stream, n, &h);
		if (v != HELLO_WAIT && n < size)
			return -1;
		if (v == HELLO_WAIT && (h.need <= n || h.need > size))
			return -1;
	}
	return (int)v;
}

static void test_parts(void)
{
	static const size_t each[] = { 1, 2, 5, 100, 16384 };
	unsigned calls;

	begin(&made);
	put_empty(&made, 51, 1200);
	put_name(&made, "api.example.org"); /* last, so that every byte is needed */
	finish(&made);
	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		size_t size = in_records(&made, each[i], stream);

		is_int(by_single_bytes(size, &calls), HELLO_PASS,
		       "records of %zu bytes are joined, byte by byte", each[i]);
		ok(calls <= 2 * (made.size / each[i] + 2), "by few calls (%u)", calls);
	}
}

static void test_limits(void)
{
	const struct hello_rule rule = { "api.example.org", 443, false };
	struct hello h;

	begin(&made);
	put_empty(&made, 21, 15000);
	put_name(&made, "api.example.org");
	finish(&made);
	is_int(judge("api.example.org", 443, false), HELLO_PASS, "15 KiB are read");
	is_int(hello_read(stream, in_records(&made, 1, stream), &h), HELLO_BAD,
	       "not if their records make them more than 16 KiB");
	is_int(hello_judge(&rule, stream, HELLO_MAX - 1, &h), HELLO_WAIT,
	       "up to there it waits");
	is_int((long long)h.need, HELLO_MAX, "for no more than the most");
	is_int(hello_judge(&rule, stream, HELLO_MAX, &h), HELLO_OTHER_NAME, "and no longer");
	begin(&made);
	put_empty(&made, 21, 17000);
	finish(&made);
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "a hello of 17 KiB is refused");
}

static void test_two_readings(void)
{
	begin(&made);
	put_name(&made, "api.example.org");
	put_name(&made, "evil.example");
	finish(&made);
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "two extensions with a name are refused");
	usual(&made, "api.example.org");
	made.byte[EXTENSIONS - 1]++;
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "a list that is longer than its hello is refused");
	begin(&made);
	put_name(&made, "api.example.org");
	made.byte[EXTENSIONS + 3] += 3; /* the extension is longer than its list */
	put(&made, 0, 3);
	finish(&made);
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "bytes behind the list of names are refused");
	begin(&made);
	put_name(&made, "api.example.org");
	made.byte[EXTENSIONS + 6] = 1;
	finish(&made);
	is_int(judge("api.example.org", 443, false), HELLO_OTHER_NAME,
	       "a name of another type is refused");
	usual(&made, "api.example\n");
	is_int(judge("api.example\n", 443, false), HELLO_OTHER_NAME,
	       "a control character is refused");
	usual(&made, "");
	is_int(judge("", 443, false), HELLO_OTHER_NAME, "an empty name is refused");
}

static void test_others(void)
{
	static const char http[] = "GET / HTTP/1.1\r\n";
	struct hello_rule rule = { "api.example.org", 443, false };
	uint8_t record[] = { 22, 3, 1, 0, 0, 1 };
	struct hello h;

	is_int(hello_judge(&rule, (const uint8_t *)http, 1, &h), HELLO_OTHER_NAME,
	       "on 443 plain HTTP is cut at its first byte");
	rule.port = 80;
	is_int(hello_judge(&rule, (const uint8_t *)http, 1, &h), HELLO_PASS,
	       "elsewhere it passes");
	is_int(hello_judge(&rule, record, sizeof(record), &h), HELLO_OTHER_NAME,
	       "an empty record is refused");
	record[4] = 9;
	record[1] = 2;
	is_int(hello_judge(&rule, record, sizeof(record), &h), HELLO_OTHER_NAME,
	       "another version of records is refused");
	record[1] = 3;
	record[5] = 2;
	is_int(hello_judge(&rule, record, sizeof(record), &h), HELLO_OTHER_NAME,
	       "another handshake than a hello is refused");
}

static void test_words(void)
{
	struct hello h = { .named = true, .name = "other.example" };
	char why[200];

	hello_explain(HELLO_OTHER_NAME, &h, why, sizeof(why));
	is_str(why, "the TLS server name is \"other.example\"", "the name is told");
	h.named = false;
	hello_explain(HELLO_OTHER_NAME, &h, why, sizeof(why));
	ok(strstr(why, "no TLS server name"), "or that there is none");
	hello_explain(HELLO_ENCRYPTED, &h, why, sizeof(why));
	ok(strstr(why, "/tcp") && strstr(why, "\"ech\""), "ECH has two remedies");
}

int main(void)
{
	test_names();
	test_encrypted();
	test_parts();
	test_limits();
	test_two_readings();
	test_others();
	test_words();
	return done_testing();
}
