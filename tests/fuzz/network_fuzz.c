/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules, "network" and policies from hostile bytes. A rule that is taken is printed, and
 * read again as the same rule; the rules that it is made of cover it. Whatever is refused
 * has a sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/network/policy.h"
#include "layout/network/wish.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_again(struct net_rule *rule)
{
	auto_buf struct buf text = { .cap = 0 }, twice = { .cap = 0 };
	struct net_rules rules = { 1, rule };
	struct net_rule again;
	struct err err;

	check(rule->port_count >= 1 && rule->port_count <= NET_RULE_PORTS);
	net_rule_print(rule, &text);
	check(!text.failed && !text.data[strcspn(text.data, " \t\n\"\\")]);
	check(!net_rule_read(text.data, text.len, &again, &err));
	net_rule_print(&again, &twice);
	check(!strcmp(text.data, twice.data));
	check(net_rules_cover(&rules, &again) || net_block_is_wide(&rule->block));
}

static void check_rule(const char *text, size_t size)
{
	struct err err = { .code = 0 };
	struct net_rule rule;

	if (net_rule_read(text, size, &rule, &err) < 0)
		check(err.code < 0 && err.text[0]);
	else
		check_again(&rule);
}

static void check_name(const char *text, size_t size)
{
	char name[HOST_NAME_MAX_LEN + 1], again[HOST_NAME_MAX_LEN + 1];
	struct net_address a;

	if (host_name_read(text, size, name) < 0)
		return;
	check(!host_name_read(name, strlen(name), again) && !strcmp(name, again));
	check(net_address_read(name, strlen(name), &a) < 0);
}

static void check_policy(const char *text, size_t size)
{
	struct err err = { .code = 0 };
	struct net_policy policy;
	struct net_share share;

	if (net_policy_parse(text, size, &policy, &err) < 0) {
		check(err.code < 0 && err.text[0]);
		return;
	}
	share = net_policy_share(&policy, "alice", 1000);
	check(share.connections >= 1 && share.connections <= 1024 && share.bytes);
	for (size_t i = 0; i < share.allow.count; i++)
		check_again(&share.allow.item[i]);
	net_policy_done(&policy);
}

static void check_wish(const char *text, size_t size)
{
	auto_json json_t *json = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL,
					    NULL);
	struct err err = { .code = 0 };
	struct net_wish wish;

	if (!json)
		return;
	if (net_wish_from(json, &wish, &err) < 0)
		check(err.code < 0 && err.text[0] && !wish.allow.item && !wish.deny.item);
	net_wish_done(&wish);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	check_rule(text, size);
	check_name(text, size);
	check_policy(text, size);
	check_wish(text, size);
	return 0;
}
