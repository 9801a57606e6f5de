/* SPDX-License-Identifier: Apache-2.0 */
/* DNS as the machine's resolver reads and writes it. */
#include "guest/net/net_dns.h"

#include <errno.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"

enum { A = 1, PTR = 12, MX = 15, AAAA = 28, HTTPS = 65, ANY = 255 };

static uint8_t query[600], answer[NET_DNS_ANSWER_MAX];
static size_t size;
static struct net_dns_query q;

static void put(const void *bytes, size_t n)
{
	memcpy(query + size, bytes, n);
	size += n;
}

static void put16(unsigned v)
{
	put((uint8_t[]){ (uint8_t)(v >> 8), (uint8_t)v }, 2);
}

/* The labels of a name, with dots between them. */
static void put_name(const char *name)
{
	while (*name) {
		size_t label = strcspn(name, ".");

		put(&(uint8_t){ (uint8_t)label }, 1);
		put(name, label);
		name += label + (name[label] == '.');
	}
	put("", 1);
}

static void ask(const char *name, unsigned type)
{
	size = 0;
	put16(0xabcd);
	put16(0x0100); /* RD */
	put16(1);
	put("\0\0\0\0\0\0", 6);
	put_name(name);
	put16(type);
	put16(1);
}

static void reads(const char *name, unsigned type, enum net_dns_code code,
		  enum net_dns_asks asks)
{
	ask(name, type);
	is_int(net_dns_read(query, size, &q), 0, "%.60s is read", name);
	is_int(q.code, code, "as it is");
	is_int(q.asks, asks, "and for what");
}

static void test_queries(void)
{
	reads("API.example.org", A, NET_DNS_OK, NET_DNS_ADDRESS);
	is_str(q.name, "api.example.org", "its name is brought to its form");
	reads("api.example.org", AAAA, NET_DNS_OK, NET_DNS_OTHER);
	reads("api.example.org", HTTPS, NET_DNS_OK, NET_DNS_OTHER);
	reads("api.example.org", MX, NET_DNS_OK, NET_DNS_OTHER);
	reads("api.example.org", ANY, NET_DNS_OK, NET_DNS_OTHER);
	reads("api.example.org", PTR, NET_DNS_OK, NET_DNS_OTHER);
	reads("5.1.18.198.in-addr.arpa", PTR, NET_DNS_OK, NET_DNS_REVERSE);
	is_int(q.address, 0xc6120105, "the address of a reverse name");
	reads("5.1.18.198.IN-ADDR.ARPA", PTR, NET_DNS_OK, NET_DNS_REVERSE);
	reads("256.1.18.198.in-addr.arpa", PTR, NET_DNS_OK, NET_DNS_OTHER);
	reads("1.18.198.in-addr.arpa", PTR, NET_DNS_OK, NET_DNS_OTHER);
	reads("9.5.1.18.198.in-addr.arpa", PTR, NET_DNS_OK, NET_DNS_OTHER);
	reads("in-addr.arpa", PTR, NET_DNS_OK, NET_DNS_OTHER);
	reads("", A, NET_DNS_NXDOMAIN, NET_DNS_OTHER);
	reads("127.1", A, NET_DNS_NXDOMAIN, NET_DNS_OTHER);
	reads("a b.org", A, NET_DNS_NXDOMAIN, NET_DNS_OTHER);
	ask("a-b.org", A);
	query[14] = '.';
	net_dns_read(query, size, &q);
	is_int(q.code, NET_DNS_NXDOMAIN, "a dot inside of a label is no dot");
	ask("a-b.org", A);
	query[14] = 0;
	net_dns_read(query, size, &q);
	is_int(q.code, NET_DNS_NXDOMAIN, "nor is a NUL an end");
}

static void formerr(const char *what)
{
	is_int(net_dns_read(query, size, &q), 0, "%s is answered", what);
	is_int(q.code, NET_DNS_FORMERR, "with FORMERR");
	is_int((long long)net_dns_write(&q, query, q.code, 0, NULL, answer), 12,
	       "and nothing else");
}

static void test_no_queries(void)
{
	ask("a.org", A);
	is_int(net_dns_read(query, 11, &q), -EBADMSG, "less than a header is no query");
	query[2] |= 0x80;
	is_int(net_dns_read(query, size, &q), -EBADMSG, "nor is an answer");
	ask("a.org", A);
	query[2] |= 0x28;
	net_dns_read(query, size, &q);
	is_int(q.code, NET_DNS_NOTIMP, "another operation is not there");
	ask("a.org", A);
	for (size_t n = 12; n < size; n++) {
		net_dns_read(query, n, &q);
		if (q.code != NET_DNS_FORMERR)
			break;
		if (n == size - 1)
			ok(true, "a query that was cut anywhere is FORMERR");
	}
	ask("a.org", A);
	query[5] = 2;
	formerr("two questions");
	ask("a.org", A);
	query[5] = 0;
	formerr("no question");
	ask("a.org", A);
	query[7] = 1;
	formerr("a question with an answer");
	ask("a.org", A);
	query[size - 1] = 3;
	formerr("another class");
	ask("a.org", A);
	query[12] = 0xc0;
	formerr("compression");
	ask("a.org", A);
	query[12] = 64;
	formerr("a label of 64 bytes");
	size = 0;
	ask("a.org", A);
	memset(query + size, 0, sizeof(query) - size);
	size = NET_DNS_QUERY_MAX + 1;
	formerr("513 bytes");
}

static void test_edns(void)
{
	ask("a.org", A);
	query[11] = 1;
	put("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
	net_dns_read(query, size, &q);
	is_int(q.code, NET_DNS_OK, "EDNS is not heeded");
	is_str(q.name, "a.org", "and in nobody's way");
}

static void bytes_are(const void *want, size_t n, const char *what)
{
	ok(n <= sizeof(answer) && !memcmp(answer, want, n), "%s", what);
}

static void test_answers(void)
{
	size_t n;

	ask("A.org", A);
	net_dns_read(query, size, &q);
	n = net_dns_write(&q, query, NET_DNS_OK, 0xc6120105, NULL, answer);
	is_int((long long)n, (long long)size + 16, "an address takes 16 bytes");
	bytes_are("\xab\xcd\x81\x80\0\1\0\1\0\0\0\0\1A\3org\0\0\1\0\1"
		  "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\1\5", n,
		  "the question comes back as it was, then the address, for a minute");
	n = net_dns_write(&q, query, NET_DNS_NXDOMAIN, 0, NULL, answer);
	bytes_are("\xab\xcd\x81\x83\0\1\0\0\0\0\0\0\1A\3org\0\0\1\0\1", n,
		  "a name that is not there");
	ask("a.org", AAAA);
	net_dns_read(query, size, &q);
	n = net_dns_write(&q, query, NET_DNS_OK, 0xc6120105, NULL, answer);
	bytes_are("\xab\xcd\x81\x80\0\1\0\0\0\0\0\0\1a\3org\0\0\x1c\0\1", n,
		  "a record that a name does not have");
	ask("5.1.18.198.in-addr.arpa", PTR);
	net_dns_read(query, size, &q);
	n = net_dns_write(&q, query, NET_DNS_OK, 0, "a.org", answer);
	is_int((long long)n, (long long)size + 19, "a name takes what it needs");
	ok(!memcmp(answer + size, "\xc0\x0c\0\xc\0\1\0\0\0\x3c\0\7\1a\3org\0", 19),
	   "the name of an address");
}

int main(void)
{
	test_queries();
	test_no_queries();
	test_edns();
	test_answers();
	return done_testing();
}
