/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's policy of networks: each key, each sentence, and one user's share. */
#include "layout/network/policy.h"

#include <errno.h>

#include "layout/base/num.h"
#include "layout/network/wish.h"
#include "tests/unit/tap.h"

static bool good(const char *text, struct net_policy *p)
{
	struct err e = { .code = 0 };

	if (is_int(net_policy_parse(text, strlen(text), p, &e), 0, "%.60s is a policy",
		   text))
		return true;
	printf("#  says %s\n", e.text);
	return false;
}

static void bad(const char *text, const char *want)
{
	struct err e = { .code = 0 };
	struct net_policy p;

	is_int(net_policy_parse(text, strlen(text), &p, &e), -EINVAL, "%.60s is none",
	       text);
	is_str(e.text, want, "and why");
}

static void test_defaults(void)
{
	struct net_policy p;

	if (!good("{}", &p))
		return;
	ok(!p.all.allow.count && !p.all.deny.count && !p.all.reach.count,
	   "{} allows nothing");
	ok(p.all.ports && !p.all.ech && !p.audit && !p.ca && !p.env_count,
	   "ports may be opened, and nothing else is set");
	is_int((long long)p.all.connections, 64, "64 connections at a time");
	is_int((long long)p.all.rate, 20, "20 a second");
	is_int((long long)p.all.bytes, 1 << 30, "1 GiB");
	is_int(p.all.log, NET_LOG_CONNECTIONS, "all are told");
	net_policy_done(&p);
}

static const char all_keys[] =
	"{\"allow\": [\"*.deb.example:80\", \"10.0.0.5:5432\"], \"deny\": [\"*:25\"], "
	"\"reach\": [\"10.0.0.0/8\", \"169.254.169.254\"], \"users\": {\"alice\": "
	"{\"allow\": [\"*:*\"], \"connections\": 256}, \"1001\": {\"ports\": false}}, "
	"\"ports\": true, \"connections\": 32, \"rate\": 5, \"bytes\": 1000, "
	"\"ech\": true, \"log\": \"totals\", \"ca\": \"ca.pem\", \"audit\": true, "
	"\"env\": {\"PIP_INDEX_URL\": \"https://mirror.example/simple\"}}";

static void test_keys(void)
{
	struct net_policy p;
	struct net_share s;

	if (!good(all_keys, &p))
		return;
	ok(p.all.allow.count == 2 && p.all.deny.count == 1 && p.all.reach.count == 2 &&
	   p.all.ech && p.audit && p.all.log == NET_LOG_TOTALS, "each key is read");
	is_str(p.ca, "ca.pem", "the file of certificates as well");
	is_str(p.env[0].name, "PIP_INDEX_URL", "and the variable's name");
	is_str(p.env[0].value, "https://mirror.example/simple", "with its value");
	s = net_policy_share(&p, "alice", 5);
	ok(s.allow.count == 1 && s.connections == 256, "a user has his own values");
	ok(s.deny.count == 1 && s.rate == 5 && s.ports && s.reach.count == 2,
	   "and those for all where he has none");
	s = net_policy_share(&p, "bob", 1001);
	ok(!s.ports && s.connections == 32, "a user is known by number, too");
	s = net_policy_share(&p, NULL, 7);
	ok(s.ports && s.connections == 32, "any other has those for all");
	net_policy_done(&p);
}

static void test_mistakes(void)
{
	bad("", "it is empty; {} is the least");
	bad("[]", "a policy must be an object, such as {\"allow\": [\"example.org\"]}");
	bad("{\"alow\": []}", "\"alow\" is not a key of a policy");
	bad("{\"allow\": [\"10.0.0.5\"]}", "\"allow\" has \"10.0.0.5\"; an address needs "
	    "its port, such as \"10.0.0.5:443\"");
	bad("{\"reach\": \"10.0.0.0/8\"}", "\"reach\" must be a list of nets, such as "
	    "[\"10.0.0.0/8\"]");
	bad("{\"reach\": [\"10.0.0.5/8\"]}", "\"reach\" has \"10.0.0.5/8\"; the net around "
	    "it is \"10.0.0.0/8\"");
	bad("{\"reach\": [\"a.org\"]}", "\"reach\" has \"a.org\"; it must be an address or "
	    "a net, such as \"10.0.0.0/8\"");
	bad("{\"ports\": 1}", "\"ports\" must be true or false");
	bad("{\"connections\": 0}", "\"connections\" must be an integer from 1 to 1024");
	bad("{\"rate\": 1.5}", "\"rate\" must be an integer from 1 to 10000");
	bad("{\"bytes\": -1}", "\"bytes\" must be an integer from 1 to 1125899906842624");
	bad("{\"log\": \"all\"}", "\"log\" must be \"connections\", \"totals\" or "
	    "\"none\"");
	bad("{\"ca\": \"\"}", "\"ca\" must be the path of a file of certificates");
	bad("{\"users\": []}", "\"users\" must be an object of users' names");
	bad("{\"users\": {\"a\": []}}", "\"users\" has \"a\", which must be a user's name "
	    "with an object of his own values");
	bad("{\"users\": {\"a\": {\"ca\": \"x\"}}}", "\"ca\" is not a key of a user");
	bad("{\"env\": {\"LD_PRELOAD\": \"x\"}}", "\"env\" has the name \"LD_PRELOAD\", "
	    "which no job may set");
	bad("{\"env\": {\"A\": 5}}", "\"env\": \"A\" must be a string without control "
	    "characters");
}

static void test_beyond(void)
{
	static const struct {
		const char *wish, *beyond;
	} rows[] = {
		{ "[\"x.deb.example:80\"]", NULL },
		{ "[\"x.deb.example:80\", \"evil.example\"]", "evil.example" },
		{ "[\"10.0.0.5:5432\"]", NULL },
		{ "[\"10.0.0.6:5432\"]", "10.0.0.6:5432" },
		{ "true", NULL },
		{ "{\"allow\": [\"a.org\"]}", "a.org" },
	};
	struct net_policy p;

	if (!good(all_keys, &p))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *json = json_loads(rows[i].wish, JSON_DECODE_ANY, NULL);
		auto_buf struct buf out = { .cap = 0 };
		const struct net_rule *rule;
		struct net_wish wish;
		struct err e;

		net_wish_from(json, &wish, &e);
		rule = net_wish_beyond(&wish, &p.all.allow, &p.all.deny);
		if (rule)
			net_rule_print(rule, &out);
		is_str(rule ? out.data : NULL, rows[i].beyond, "of %s the operator refuses "
		       "this", rows[i].wish);
		net_wish_done(&wish);
	}
	net_policy_done(&p);
}

static void test_denied(void)
{
	struct net_policy p;
	struct net_wish wish;
	struct err e;
	auto_json json_t *json = json_loads("[\"a.org:25/tcp\"]", 0, NULL);

	if (!good("{\"allow\": [\"*:*/tcp\"], \"deny\": [\"*:25\"]}", &p))
		return;
	net_wish_from(json, &wish, &e);
	ok(net_wish_beyond(&wish, &p.all.allow, &p.all.deny), "deny wins over allow, "
	   "also of what is not looked at");
	net_wish_done(&wish);
	net_policy_done(&p);
}

int main(void)
{
	test_defaults();
	test_keys();
	test_mistakes();
	test_beyond();
	test_denied();
	return done_testing();
}
