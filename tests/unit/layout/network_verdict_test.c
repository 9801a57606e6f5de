/* SPDX-License-Identifier: Apache-2.0 */
/* What a job may reach: an operator's policy and a job's "network" in one decision. */
#include "layout/network/verdict.h"

#include "layout/base/num.h"
#include "tests/unit/tap.h"

static struct net_policy policy;
static struct net_share share;
static struct net_wish wish;
static struct net_asker asker = { &share, &wish };

static void given(const char *of_operator, const char *of_job)
{
	auto_json json_t *json = json_loads(of_job, JSON_DECODE_ANY, NULL);
	struct err e = { .code = 0 };

	net_policy_done(&policy);
	net_wish_done(&wish);
	if (!ok(!net_policy_parse(of_operator, strlen(of_operator), &policy, &e) &&
		!net_wish_from(json, &wish, &e), "%s, and the job %s", of_operator,
		of_job))
		printf("#  says %s\n", e.text);
	share = net_policy_share(&policy, NULL, 0);
}

enum { DENIED, LOOKED_AT, PASSES };

static void name_is(const char *name, unsigned port, int want)
{
	bool looks = false;
	int got = net_name_verdict(&asker, name, port, &looks) == NET_OK ?
			  looks ? LOOKED_AT : PASSES : DENIED;

	is_int(got, want, "%s:%u is %s", name, port, want == DENIED ? "denied" :
	       want == PASSES ? "allowed, unseen" : "allowed");
}

static void address_is(const char *name, const char *text, unsigned port,
		       enum net_verdict want)
{
	struct net_address a;

	if (net_address_read(text, strlen(text), &a) < 0)
		ok(false, "%s is an address", text);
	else
		is_int(net_address_verdict(&asker, name, &a, port, false), want,
		       "%s:%u by %s", text, port, name ? name : "itself");
}

static void test_lists(void)
{
	given("{\"allow\": [\"*.example\", \"*.pip:80\"], \"deny\": [\"evil.example\"]}",
	      "[\"a.example\", \"evil.example\", \"x.pip:80\", \"other.org\"]");
	name_is("a.example", 443, LOOKED_AT);
	name_is("a.example", 80, DENIED);
	name_is("b.example", 443, DENIED);
	name_is("evil.example", 443, DENIED);
	name_is("x.pip", 80, LOOKED_AT);
	name_is("other.org", 443, DENIED);
	given("{\"allow\": [\"*:*\"]}", "[]");
	name_is("a.example", 443, DENIED);
	given("{}", "true");
	name_is("a.example", 443, DENIED);
	wish.form = NET_WISH_NONE;
	name_is("a.example", 443, DENIED);
}

static void test_all(void)
{
	given("{\"allow\": [\"*:*\"], \"deny\": [\"*:25\"]}",
	      "{\"deny\": [\"*.example\", \"b.example:*\"], \"allow\": [\"a.example\"]}");
	name_is("c.org", 443, PASSES);
	name_is("c.org", 25, DENIED);
	name_is("x.example", 443, DENIED);
	name_is("x.example", 80, PASSES);
	name_is("a.example", 443, PASSES);
	name_is("b.example", 80, DENIED);
}

static void test_looks(void)
{
	given("{\"allow\": [\"*:*\"]}", "[\"a.example:*\"]");
	name_is("a.example", 443, LOOKED_AT);
	given("{\"allow\": [\"*:*\"]}", "[\"*:*\"]");
	name_is("a.example", 443, PASSES);
	given("{\"allow\": [\"a.example:*/tcp\"]}", "[\"a.example:*/tcp\"]");
	name_is("a.example", 443, PASSES);
	given("{\"allow\": [\"a.example:*/tcp\"]}", "[\"a.example:*\"]");
	name_is("a.example", 443, LOOKED_AT);
	given("{\"allow\": [\"a.example:*\"]}", "[\"a.example:*/tcp\"]");
	name_is("a.example", 443, LOOKED_AT);
	given("{\"allow\": [\"a.example:*/tcp\"]}", "true");
	name_is("a.example", 443, PASSES);
	given("{\"allow\": [\"a.example\"]}", "true");
	name_is("a.example", 443, LOOKED_AT);
}

static void ports_are(const char *name, const char *want)
{
	struct net_ports ports[NET_RULE_PORTS];
	unsigned count = net_name_ports(&asker, name, ports);
	char text[256] = "";
	size_t used = 0;

	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u-%u",
					 i ? " " : "", ports[i].low, ports[i].high);
	is_str(text, want, "the ports of %s", name);
}

static void test_ports(void)
{
	given("{\"allow\": [\"*:*\"], \"deny\": [\"*:25\", \"*:70-79\"]}",
	      "[\"a.example\", \"b.example:1-80,443\", \"c.example:*\"]");
	ports_are("a.example", "443-443");
	ports_are("b.example", "1-24 26-69 80-80 443-443");
	ports_are("c.example", "1-24 26-69 80-65535");
	ports_are("d.example", "");
	given("{\"allow\": [\"*:*\"]}", "[\"a.example:1-80\", \"a.example:81-90\"]");
	ports_are("a.example", "1-90");
	given("{\"allow\": [\"*:1,3,5,7,9,11,13,15\"]}", "true");
	ports_are("a.example", "1-1 3-3 5-5 7-7 9-9 11-11 13-13 15-15");
	given("{\"allow\": [\"*:1,3,5,7,9,11,13,15\", \"*:65535\"]}", "true");
	ports_are("a.example", "1-65535");
}

static void test_by_name(void)
{
	given("{\"allow\": [\"*:*\", \"0.0.0.0/0:*\", \"169.254.169.254:80\"], \"reach\": "
	      "[\"10.1.0.0/16\", \"169.254.169.254\"]}", "[\"a.example\"]");
	address_is("a.example", "8.8.8.8", 443, NET_OK);
	address_is("a.example", "10.1.2.3", 443, NET_OK);
	address_is("a.example", "10.2.2.3", 443, NET_IS_PRIVATE);
	address_is("a.example", "127.0.0.1", 443, NET_IS_PRIVATE);
	address_is("a.example", "::ffff:127.0.0.1", 443, NET_IS_PRIVATE);
	address_is("a.example", "64:ff9b::10.2.2.3", 443, NET_IS_PRIVATE);
	address_is("a.example", "64:ff9b::10.1.2.3", 443, NET_OK);
	address_is("a.example", "64:ff9b::8.8.8.8", 443, NET_OK);
	address_is("a.example", "169.254.169.254", 80, NET_IS_PRIVATE);
	address_is("a.example", "fd00:ec2::254", 443, NET_IS_PRIVATE);
	address_is("a.example", "::1", 443, NET_IS_PRIVATE);
}

static void test_literals(void)
{
	given("{\"allow\": [\"10.0.0.0/8:5432\", \"0.0.0.0/0:443\", \"168.63.129.16:80\"], "
	      "\"reach\": [\"168.63.129.16\", \"192.168.0.0/16\"]}", "true");
	address_is(NULL, "10.1.2.3", 5432, NET_OK);
	address_is(NULL, "10.1.2.3", 443, NET_IS_PRIVATE);
	address_is(NULL, "10.1.2.3", 80, NET_DENIED);
	address_is(NULL, "8.8.8.8", 443, NET_OK);
	address_is(NULL, "8.8.8.8", 53, NET_DENIED);
	address_is(NULL, "192.168.1.1", 443, NET_OK);
	address_is(NULL, "2606:4700::1111", 443, NET_DENIED);
	address_is(NULL, "168.63.129.16", 80, NET_OK);
	address_is(NULL, "168.63.129.16", 443, NET_IS_PRIVATE);
	given("{\"allow\": [\"0.0.0.0/0:*\", \"168.63.0.0/16:80\"], \"reach\": "
	      "[\"168.63.129.16\"]}", "true");
	address_is(NULL, "168.63.129.16", 80, NET_IS_PRIVATE);
	given("{\"allow\": [\"168.63.129.16:80\"], \"reach\": [\"168.63.0.0/16\"]}",
	      "[\"168.63.129.16:80\"]");
	address_is(NULL, "168.63.129.16", 80, NET_IS_PRIVATE);
	given("{\"allow\": [\"10.0.0.0/8:*\"]}", "[\"10.1.0.0/16:22\", \"0.0.0.0/0:80\"]");
	address_is(NULL, "10.1.2.3", 22, NET_OK);
	address_is(NULL, "10.2.2.3", 22, NET_DENIED);
	address_is(NULL, "10.2.2.3", 80, NET_IS_PRIVATE);
}

static void test_denied_nets(void)
{
	given("{\"allow\": [\"*:*\", \"0.0.0.0/0:*\"], \"deny\": [\"8.8.0.0/16:*\"], "
	      "\"reach\": [\"10.0.0.0/8\"]}", "{\"deny\": [\"1.0.0.0/8:*\", "
	      "\"0.0.0.0/0:25\"], \"allow\": [\"a.example\", \"1.1.1.1:53\"]}");
	address_is("a.example", "8.8.8.8", 443, NET_DENIED);
	address_is("a.example", "1.2.3.4", 443, NET_OK);
	address_is("b.example", "1.2.3.4", 443, NET_DENIED);
	address_is("b.example", "64:ff9b::1.2.3.4", 443, NET_DENIED);
	address_is("b.example", "10.2.3.4", 25, NET_DENIED);
	address_is("b.example", "10.2.3.4", 443, NET_OK);
	address_is(NULL, "1.1.1.1", 53, NET_OK);
	address_is(NULL, "1.1.1.1", 80, NET_DENIED);
	address_is(NULL, "9.9.9.9", 25, NET_DENIED);
}

static void test_own(void)
{
	struct net_address a;

	given("{\"allow\": [\"*:*\", \"9.9.9.9:53\", \"0.0.0.0/0:*\"]}", "true");
	net_address_read("9.9.9.9", 7, &a);
	is_int(net_address_verdict(&asker, "a.example", &a, 443, true), NET_IS_OWN,
	       "no name leads to an address of this host");
	is_int(net_address_verdict(&asker, NULL, &a, 443, true), NET_IS_OWN,
	       "nor does a wide net");
	is_int(net_address_verdict(&asker, NULL, &a, 53, true), NET_OK,
	       "a rule that names it does");
	given("{\"allow\": [\"*:*\"], \"reach\": [\"9.9.9.9\"]}", "true");
	is_int(net_address_verdict(&asker, "a.example", &a, 443, true), NET_OK,
	       "and so does \"reach\"");
}

int main(void)
{
	test_lists();
	test_all();
	test_looks();
	test_ports();
	test_by_name();
	test_literals();
	test_denied_nets();
	test_own();
	net_policy_done(&policy);
	net_wish_done(&wish);
	return done_testing();
}
