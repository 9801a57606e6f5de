/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of "network": each sentence, what a rule covers, and what an address is. */
#include "layout/network/rule.h"

#include <errno.h>
#include <stdlib.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/network/wish.h"
#include "tests/unit/tap.h"

/* --- names ------------------------------------------------------------------------ */

static char long_name[400];

/* count labels of 63 bytes, then rest bytes. */
static const char *name_of(unsigned count, unsigned rest)
{
	size_t used = 0;

	for (unsigned i = 0; i < count; i++) {
		memset(long_name + used, 'a', 63);
		used += 63;
		long_name[used++] = '.';
	}
	memset(long_name + used, 'b', rest);
	long_name[used + rest] = '\0';
	return long_name;
}

static void test_names(void)
{
	static const struct {
		const char *text;
		int code;
		const char *want;
	} rows[] = {
		{ "api.example.org", 0, "api.example.org" },
		{ "API.Example.ORG.", 0, "api.example.org" },
		{ "db", 0, "db" },
		{ "_srv._tcp.a-b.c", 0, "_srv._tcp.a-b.c" },
		{ "xn--bcher-kva.example", 0, "xn--bcher-kva.example" },
		{ "", -EINVAL, NULL },
		{ ".", -EINVAL, NULL },
		{ "a..b", -EINVAL, NULL },
		{ ".a", -EINVAL, NULL },
		{ "a..", -EINVAL, NULL },
		{ "a b", -EINVAL, NULL },
		{ "a\nb", -EINVAL, NULL },
		{ "a/b", -EINVAL, NULL },
		{ "a*b", -EINVAL, NULL },
		{ "b\xc3\xbc" "cher.example", -EILSEQ, NULL },
		/* What programs take for addresses. */
		{ "127.1", -EINVAL, NULL },
		{ "2130706433", -EINVAL, NULL },
		{ "0x7f.1", -EINVAL, NULL },
		{ "0x7F000001", -EINVAL, NULL },
		{ "0177.0.0.01", -EINVAL, NULL },
		{ "10.0.0.5", -EINVAL, NULL },
		{ "1.example", 0, "1.example" },
		{ "a.0xg", 0, "a.0xg" },
	};
	char name[HOST_NAME_MAX_LEN + 1];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = host_name_read(rows[i].text, strlen(rows[i].text), name);

		is_int(r, rows[i].code, "the name %s", rows[i].text);
		if (r == 0)
			is_str(name, rows[i].want, "is brought to its form");
	}
	is_int(host_name_read("a\0b", 3, name), -EINVAL, "a NUL is no part of a name");
	is_int(host_name_read(name_of(3, 61), 253, name), 0, "253 bytes are a name");
	is_int(host_name_read(name_of(3, 62), 254, name), -ENAMETOOLONG, "254 are not");
	is_int(host_name_read(name_of(0, 63), 63, name), 0, "so are 63 of a label");
	is_int(host_name_read(name_of(0, 64), 64, name), -ENAMETOOLONG,
	       "and 64 are not");
	ok(host_name_is_below("a.b.c", "b.c") && !host_name_is_below("b.c", "b.c") &&
	   !host_name_is_below("ab.c", "b.c"), "below a name is neither it nor its like");
}

/* --- addresses -------------------------------------------------------------------- */

static enum net_class class_of(const char *text)
{
	struct net_address a;

	if (!ok(net_address_read(text, strlen(text), &a) == 0, "%s is an address", text))
		return NET_CLASSES;
	return net_address_class(&a);
}

static void test_classes(void)
{
	/* Of each net: one before, its first, its last, one behind. */
	static const struct {
		const char *before, *first, *last, *behind;
	} nets[] = {
		{ NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0" },
		{ "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0" },
		{ "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0" },
		{ "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0" },
		{ "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0" },
		{ "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0" },
		{ "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0" },
		{ "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0" },
		{ "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0" },
		{ "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0" },
		{ "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0" },
		{ "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0" },
		{ "223.255.255.255", "224.0.0.0", "255.255.255.255", NULL },
		{ NULL, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::" },
		{ "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::",
		  "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::" },
		{ "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::",
		  "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::" },
		{ "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::",
		  "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::" },
		{ "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::",
		  "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::" },
		{ "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "fc00::", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(nets); i++) {
		is_int(class_of(nets[i].first), NET_PRIVATE, "it is private");
		is_int(class_of(nets[i].last), NET_PRIVATE, "it is, too");
		if (nets[i].before)
			is_int(class_of(nets[i].before), NET_PUBLIC, "it is public");
		if (nets[i].behind)
			is_int(class_of(nets[i].behind), NET_PUBLIC, "it is, too");
	}
}

static void test_credentials(void)
{
	static const char *const hand_out[] = {
		"169.254.0.0", "169.254.169.254", "169.254.255.255", "fe80::1",
		"febf:ffff::", "fd00:ec2::254", "100.100.100.200", "168.63.129.16",
		"::ffff:169.254.169.254", "64:ff9b::169.254.169.254",
	};

	for (size_t i = 0; i < ARRAY_SIZE(hand_out); i++)
		is_int(class_of(hand_out[i]), NET_CREDENTIALS,
		       "%s hands out credentials", hand_out[i]);
	is_int(class_of("169.253.255.255"), NET_PUBLIC, "the one before does not");
	is_int(class_of("168.63.129.17"), NET_PUBLIC, "nor the one behind");
	is_int(class_of("fec0::"), NET_PRIVATE, "nor what is merely local");
	is_int(class_of("::ffff:10.0.0.1"), NET_PRIVATE, "IPv6 hides no IPv4 address");
	is_int(class_of("64:ff9b::10.0.0.1"), NET_PRIVATE, "nor does NAT64");
	is_int(class_of("64:ff9b::8.8.8.8"), NET_PUBLIC, "which shows public ones");
	is_int(class_of("64:ff9b:1::8.8.8.8"), NET_PRIVATE, "where it is the known one");
}

static void test_no_address(void)
{
	static const char *const texts[] = {
		"", "1.2.3", "1.2.3.4.5", "01.2.3.4", "0x1.2.3.4", "256.1.1.1", "1.2.3.4 ",
		"fe80::1%lo", "1.2.3.4/24", ":::", "12345::", "localhost",
	};
	struct net_address a;
	struct net_block b;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		is_int(net_address_read(texts[i], strlen(texts[i]), &a), -EINVAL,
		       "%s is no address", texts[i]);
	is_int(net_block_read("10.0.0.5/24", 11, &b), -EDOM, "a net has no bits behind");
	is_int(net_block_read("10.0.0.0/33", 11, &b), -ERANGE, "nor more than it can");
	is_int(net_block_read("10.0.0.0/", 9, &b), -EINVAL, "nor none");
	is_int(net_block_read("::ffff:0:0/96", 13, &b), -EINVAL,
	       "nor is IPv4 a net of IPv6's");
}

/* --- rules ------------------------------------------------------------------------ */

static void good(const char *text, const char *want)
{
	auto_buf struct buf out = { .cap = 0 };
	struct err e = { .code = 0 };
	struct net_rule rule;

	if (!is_int(net_rule_read(text, strlen(text), &rule, &e), 0, "%s is a rule",
		    text)) {
		printf("#  says %s\n", e.text);
		return;
	}
	net_rule_print(&rule, &out);
	is_str(out.data, want, "and is printed in its shortest form");
}

static void bad(const char *text, const char *want)
{
	struct err e = { .code = 0 };
	struct net_rule rule;

	is_int(net_rule_read(text, strlen(text), &rule, &e), -EINVAL, "%.40s is none",
	       text);
	is_str(e.text, want, "and what is right is said");
}

static void test_rules(void)
{
	good("api.example.org", "api.example.org");
	good("API.example.org.:443", "api.example.org");
	good("api.example.org:443/tcp", "api.example.org:443/tcp");
	good("*.example.org:80,443,8000-8010", "*.example.org:80,443,8000-8010");
	good("*", "*");
	good("*:*", "*:*");
	good("*:1-65535", "*:*");
	good("db:5432", "db:5432");
	good("10.0.0.5:5432", "10.0.0.5:5432");
	good("10.0.0.0/24:1,2,3,4,5,6,7,8", "10.0.0.0/24:1,2,3,4,5,6,7,8");
	good("10.0.0.0/24:443/tcp", "10.0.0.0/24:443/tcp");
	good("0.0.0.0/0:*", "0.0.0.0/0:*");
	good("::/0:*", "::/0:*");
	good("[2001:db8::5]:443", "[2001:db8::5]:443");
	good("[2001:DB8::]/32:22-23", "2001:db8::/32:22-23");
	good("[2001:db8::/32]:*/tcp", "2001:db8::/32:*/tcp");
	good("[::ffff:1.2.3.4]:53", "1.2.3.4:53");
	good("1.2.3.4/32:53", "1.2.3.4:53");
}

#define NO_NAME "it must be a name of letters, digits, \"-\", \"_\" and dots, or an " \
		"address, such as \"10.0.0.5:443\""
#define NO_PORT "a port is a number from 1 to 65535, or \"*\""
#define FORM "a rule is HOST, HOST:PORTS or HOST:PORTS/tcp"
#define OWN "that is the job's own machine, which needs no rule"
#define STAR "\"*\" can only be the whole first label"
#define LONG "a name has at most 253 bytes, and 63 between two dots"
#define NO_HOST "a rule has a host and its ports, no URL: \"example.org:443\""
#define NO_BRACKET "an IPv6 address looks like \"[2001:db8::5]:443\""

static void test_mistakes(void)
{
	bad("", FORM);
	bad("https://example.org/", "leave \"https://\" and the path out: \"example.org\"");
	bad("http://example.org:8080/a?b", "leave \"http://\" and the path out: "
	    "\"example.org:80\"");
	bad("HTTPS://example.org", "leave \"HTTPS://\" and the path out: \"example.org\"");
	bad("https://", NO_HOST);
	bad("https://user@example.org/", NO_HOST);
	bad("example.org/simple", "leave the path out: \"example.org\"");
	bad("example.org/", "leave the path out: \"example.org\"");
	bad("b\xc3\xbc" "cher.example", "write it as programs send it: \"xn--...\"");
	bad("api.*.org", STAR);
	bad("*example.org", STAR);
	bad("*.*.org", STAR);
	bad("*.", STAR);
	bad("10.0.0.5", "an address needs its port, such as \"10.0.0.5:443\"");
	bad("10.0.0.0/8", "an address needs its port, such as \"10.0.0.5:443\"");
	bad("[2001:db8::5]", "an address needs its port, such as \"10.0.0.5:443\"");
	bad("2001:db8::5", "an IPv6 address stands in brackets and needs its port: "
	    "\"[2001:db8::5]:443\"");
	bad("[2001:db8::5", NO_BRACKET);
	bad("[10.0.0.5]:443", NO_BRACKET);
	bad("[]:443", NO_BRACKET);
	bad("[::1]x:443", NO_BRACKET);
	bad("localhost", OWN);
	bad("LOCALHOST.:80", OWN);
	bad("a.localhost", OWN);
	bad("127.0.0.1:80", OWN);
	bad("127.8.0.0/16:80", OWN);
	bad("[::1]:80", OWN);
	bad("198.18.0.1:80", OWN);
	bad("198.19.255.255:80", OWN);
	bad("10.0.0.5/24:80", "the net around it is \"10.0.0.0/24\"");
	bad("10.0.0.0/33:80", "an IPv4 net has at most 32 bits, an IPv6 net 128");
	bad("a..b", NO_NAME);
	bad("a b", NO_NAME);
	bad("127.1", NO_NAME);
	bad("0x7f000001:80", NO_NAME);
	bad(name_of(4, 5), LONG);
	bad(name_of(0, 64), LONG);
	bad("example.org:", NO_PORT);
	bad("example.org:0", NO_PORT);
	bad("example.org:65536", NO_PORT);
	bad("example.org:080", NO_PORT);
	bad("example.org:-5", NO_PORT);
	bad("example.org:5-", NO_PORT);
	bad("example.org:80,", NO_PORT);
	bad("example.org:http", NO_PORT);
	bad("example.org:80-79", "a range of ports begins with the lower one");
	bad("example.org:1,2,3,4,5,6,7,8,9", "a rule has at most 8 ports and ranges");
	bad("example.org/tcp", "\"/tcp\" follows the ports: \"HOST:PORTS/tcp\"");
	bad("a:b:c", FORM);
	memset(long_name, 'a', 399);
	memset(long_name + 399, '\0', 1);
	bad(long_name, LONG);
}

/* --- coverage --------------------------------------------------------------------- */

/* texts: up to 3, NULL behind. */
static bool covers(const char *const *texts, const char *wanted)
{
	struct net_rule item[3], rule;
	struct net_rules rules = { 0, item };
	struct err e;

	for (; texts[rules.count]; rules.count++)
		if (net_rule_read(texts[rules.count], strlen(texts[rules.count]),
				  &item[rules.count], &e) < 0)
			return ok(false, "%s is a rule", texts[rules.count]);
	if (net_rule_read(wanted, strlen(wanted), &rule, &e) < 0)
		return ok(false, "%s is a rule", wanted);
	return net_rules_cover(&rules, &rule);
}

static void test_coverage(void)
{
	static const struct {
		const char *rules[4], *wanted;
		bool covered;
	} rows[] = {
		{ { "a.org" }, "a.org", true },
		{ { "a.org" }, "b.org", false },
		{ { "a.org" }, "x.a.org", false },
		{ { "*.a.org" }, "x.a.org", true },
		{ { "*.a.org" }, "a.org", false },
		{ { "*.a.org" }, "*.b.a.org", true },
		{ { "*.b.a.org" }, "*.a.org", false },
		{ { "*" }, "a.org", true },
		{ { "*" }, "*.org", true },
		{ { "*" }, "db", false },
		{ { "*.org" }, "*", false },
		{ { "*" }, "10.0.0.5:443", false },
		{ { "a.org" }, "a.org:80", false },
		{ { "a.org:*" }, "a.org:80", true },
		{ { "a.org:1-80", "a.org:81-90" }, "a.org:50-90", true },
		{ { "a.org:1-80", "a.org:82-90" }, "a.org:50-90", false },
		{ { "*:1-80", "*.org:70-100", "a.org:90-443" }, "a.org:1-443", true },
		{ { "a.org:*" }, "a.org:443/tcp", false },
		{ { "a.org:*/tcp" }, "a.org:443", true },
		{ { "a.org:*/tcp" }, "a.org:443/tcp", true },
		{ { "10.0.0.0/8:*" }, "10.1.2.3:5432", true },
		{ { "10.0.0.0/8:*" }, "10.0.0.0/7:5432", false },
		{ { "10.0.0.0/24:*" }, "10.0.0.0/16:5432", false },
		{ { "0.0.0.0/0:*" }, "8.8.8.8:53", true },
		{ { "0.0.0.0/0:*" }, "8.0.0.0/8:53", true },
		{ { "0.0.0.0/0:*" }, "10.1.2.3:5432", false },
		{ { "0.0.0.0/0:*" }, "192.0.0.0/8:443", false },
		{ { "0.0.0.0/0:*" }, "168.63.129.16:80", false },
		{ { "0.0.0.0/0:*" }, "0.0.0.0/1:443", true },
		{ { "0.0.0.0/0:*" }, "::/0:443", false },
		{ { "::/0:*" }, "8.8.8.8:53", false },
		{ { "::/0:*" }, "[2606:4700::1111]:53", true },
		{ { "::/0:*" }, "[fd00::1]:53", false },
		{ { NULL }, "a.org", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok(covers(rows[i].rules, rows[i].wanted) == rows[i].covered,
		   "%s %s %s", rows[i].rules[0] ? rows[i].rules[0] : "nothing",
		   rows[i].covered ? "covers" : "does not cover", rows[i].wanted);
}

/* --- "network" -------------------------------------------------------------------- */

static void wish_is(const char *text, int code, const char *want)
{
	auto_json json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	struct err e = { .code = 0 };
	struct net_wish wish;

	is_int(net_wish_from(json, &wish, &e), code, "\"network\": %.60s", text);
	is_str(e.text, want, "has its sentence");
	net_wish_done(&wish);
}

#define FORMS "\"network\" must be a list of rules, such as [\"example.org\"], or true, " \
	      "or an object of \"allow\" and \"deny\""

static void test_wishes(void)
{
	wish_is("true", 0, "");
	wish_is("[]", 0, "");
	wish_is("[\"a.org\", \"a.org\"]", 0, "");
	wish_is("{}", 0, "");
	wish_is("{\"allow\": [\"a.org\"], \"deny\": [\"0.0.0.0/0:25\"]}", 0, "");
	wish_is("false", -EINVAL, FORMS);
	wish_is("null", -EINVAL, FORMS);
	wish_is("\"a.org\"", -EINVAL, FORMS);
	wish_is("[5]", -EINVAL, "\"network\"[0] is no string; it must be a rule, such as "
		"\"example.org:443\"");
	wish_is("[\"a.org\", \"https://example.org/\"]", -EINVAL, "\"network\" has "
		"\"https://example.org/\"; leave \"https://\" and the path out: "
		"\"example.org\"");
	wish_is("[\"a\\u0000b\"]", -EINVAL, "\"network\" has \"a\\u0000b\"; " FORM);
	wish_is("{\"deny\": [\"api.*.org\"]}", -EINVAL, "\"deny\" has \"api.*.org\"; "
		STAR);
	wish_is("{\"alow\": []}", -EINVAL, "\"network\" may have \"allow\" and \"deny\" "
		"only");
	wish_is("{\"allow\": true}", -EINVAL, "\"allow\" must be a list of rules, such "
		"as [\"example.org\"]");
}

static void test_many(void)
{
	auto_json json_t *list = json_array();
	struct err e = { .code = 0 };
	struct net_rules rules;

	for (int i = 0; i < NET_RULES_MAX; i++)
		json_array_append_new(list, json_string("a.org"));
	is_int(net_rules_from(list, "network", &rules, &e), 0, "256 rules are taken");
	is_int((long long)rules.count, NET_RULES_MAX, "all of them");
	net_rules_done(&rules);
	json_array_append_new(list, json_string("a.org"));
	is_int(net_rules_from(list, "network", &rules, &e), -EINVAL, "257 are not");
	is_str(e.text, "\"network\" has 257 rules; at most 256 are allowed", "and why");
}

int main(void)
{
	test_names();
	test_classes();
	test_credentials();
	test_no_address();
	test_rules();
	test_mistakes();
	test_coverage();
	test_wishes();
	test_many();
	return done_testing();
}
