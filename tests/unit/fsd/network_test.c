/* SPDX-License-Identifier: Apache-2.0 */
/* The server's questions about the operator's policy, and the text of .fsd/network. */
#include "fsd/network/network_int.h"

#include "fsd/handover/handover.h"
#include "layout/json.h"
#include "tests/unit/tap.h"

static struct network *network;
static struct err why;

static void given(const char *policy, const uint32_t *ids, size_t count)
{
	struct network_rules rules = { .set = false };

	why.text[0] = '\0';
	if (!ok(!network_rules_read(policy, strlen(policy), ids, count, &rules, &why),
		"%s", policy))
		printf("#  says %s\n", why.text);
	network_rules_done(&network->rules);
	network->rules = rules;
}

static struct net_wish wish_of(const char *text)
{
	auto_json json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	struct net_wish wish = { .form = NET_WISH_NONE };

	if (net_wish_from(json, &wish, &why) < 0)
		printf("#  %s: %s\n", text, why.text);
	return wish;
}

static void may(uid_t uid, const char *text, int want, const char *sentence)
{
	struct net_wish wish = wish_of(text);

	why.text[0] = '\0';
	is_int(network_check(network, uid, &wish, &why), want, "user %u asks for %s",
	       uid, text);
	ok(!strcmp(why.text, sentence), "he gets \"%s\"", why.text);
	net_wish_done(&wish);
}

static void shows(uid_t uid, const char *want)
{
	auto_buf struct buf out = { .cap = 0 };

	network_show(network, uid, &out);
	if (!ok(out.data && !strcmp(out.data, want), "user %u reads .fsd/network", uid))
		printf("#  %s\n", out.data);
}

static void test_none(void)
{
	ok(!network_is_on(network), "without a policy the network is off");
	ok(network_allows_ports(network, 7), "and ports are allowed");
	may(7, "[\"a.example\"]", -EINVAL, "\"network\": this mount gives programs no "
	    "network; its operator can (fsd mount --network FILE)");
	shows(7, "network no\nports yes\nlimit connections 64\nlimit rate 20\n"
	      "limit bytes 1073741824\n");
}

static void test_users(void)
{
	static const uint32_t ids[] = { 1000, DOOR_NO_USER };

	given("{\"allow\": [\"*.example\"], \"deny\": [\"*:25\"], \"reach\": "
	      "[\"10.0.0.0/8\"], \"ports\": false, \"users\": {\"alice\": {\"allow\": "
	      "[\"*:*\"], \"ports\": true, \"connections\": 9}, \"42\": {}}}", ids, 2);
	ok(network_is_on(network), "with a policy the network is on");
	may(7, "[\"a.example\"]", 0, "");
	may(7, "true", 0, "");
	may(7, "[\"a.example\", \"b.org\"]", -EACCES, "\"network\" has \"b.org\", which the "
	    "operator does not allow here; see .fsd/network");
	may(1000, "[\"b.org\"]", 0, "");
	may(1000, "[\"b.org:25\"]", -EACCES, "\"network\" has \"b.org:25\", which the "
	    "operator does not allow here; see .fsd/network");
	ok(!network_allows_ports(network, 7) && network_allows_ports(network, 1000),
	   "ports are a user's own value");
	shows(1000, "network yes\nports yes\nallow *:*\ndeny *:25\nreach 10.0.0.0/8\n"
	      "limit connections 9\nlimit rate 20\nlimit bytes 1073741824\n");
	shows(7, "network yes\nports no\nallow *.example\ndeny *:25\nreach 10.0.0.0/8\n"
	      "limit connections 64\nlimit rate 20\nlimit bytes 1073741824\n");
}

static void routes(const char *text, size_t want)
{
	struct net_wish wish = wish_of(text);
	struct net_block found[3];

	is_int((long long)network_routes(network, 7, &wish, found, 3), (long long)want,
	       "nets that a machine routes for %s", text);
	net_wish_done(&wish);
}

static void test_routes(void)
{
	given("{\"allow\": [\"*\", \"10.0.0.0/8:*\", \"192.0.2.1:443\"]}", NULL, 0);
	routes("[\"a.example\"]", 0);
	routes("[\"10.1.2.3:443\", \"10.1.2.3:80\", \"a.example\"]", 1);
	routes("[\"10.0.0.0/24:80\", \"10.0.0.7:80\"]", 1);
	routes("[\"10.1.0.1:1\", \"10.1.0.2:1\", \"10.1.0.3:1\", \"10.1.0.4:1\"]", 3);
	routes("true", 2);
}

static void test_wrong(void)
{
	struct network_rules rules;

	ok(network_rules_read("{", 1, NULL, 0, &rules, &why) == -EINVAL && why.text[0],
	   "a policy that is no JSON has a sentence");
	ok(network_rules_read("{\"users\": {\"a\": {}}}", 20, NULL, 0, &rules, &why) ==
	   -EINVAL && why.text[0], "a policy with users whose ids are missing, too");
}

int main(void)
{
	struct handover *handover;

	if (handover_open(-1, &handover, &why) < 0 ||
	    network_new(handover, NULL, &network) < 0)
		return 1;
	network_have_relays(network);
	test_none();
	test_users();
	test_routes();
	test_wrong();
	network_free(network);
	handover_close(handover);
	return done_testing();
}
