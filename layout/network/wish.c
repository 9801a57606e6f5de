/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the value of "network" in a job: a list of rules, true, or an object
 * of "allow" and "deny". Pure.
 *
 * A sentence names the key and repeats the rule, then says what is right: the
 * parser of a rule (rule.c) knows neither.
 */
#include "wish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"

#define SHOWN 100
#define DEPTH 3 /* of the JSON text */

static int wrong_rule(const json_t *item, const char *key, const struct err *why,
		      struct err *err)
{
	char room[SHOWN + 4];

	return err_set(err, -EINVAL, "\"%s\" has %s; %s", key,
		       json_shown(json_string_value(item), json_string_length(item),
				  SHOWN, room), why->text);
}

static int read_all(const json_t *list, const char *key, struct net_rules *ret,
		    struct err *err)
{
	struct err why = { .code = 0 };
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		if (!json_is_string(item))
			return err_set(err, -EINVAL, "\"%s\"[%zu] is no string; it "
				       "must be a rule, such as \"example.org:443\"",
				       key, i);
		if (net_rule_read(json_string_value(item), json_string_length(item),
				  &ret->item[ret->count], &why) < 0)
			return wrong_rule(item, key, &why, err);
		ret->count++;
	}
	return 0;
}

int net_rules_from(const json_t *list, const char *key, struct net_rules *ret,
		   struct err *err)
{
	size_t count = json_array_size(list);
	struct net_rules rules = { 0 };
	int r;

	*ret = rules;
	if (!json_is_array(list))
		return err_set(err, -EINVAL, "\"%s\" must be a list of rules, such as "
			       "[\"example.org\"]", key);
	if (count > NET_RULES_MAX)
		return err_set(err, -EINVAL, "\"%s\" has %zu rules; at most %d are "
			       "allowed", key, count, NET_RULES_MAX);
	rules.item = calloc(count + 1, sizeof(*rules.item));
	if (!rules.item)
		return err_set(err, -ENOMEM, "out of memory");
	r = read_all(list, key, &rules, err);
	if (r < 0)
		net_rules_done(&rules);
	*ret = rules;
	return r;
}

static int read_object(const json_t *value, struct net_wish *ret, struct err *err)
{
	const char *key;
	json_t *list;
	int r = 0;

	json_object_foreach((json_t *)(uintptr_t)value, key, list) {
		if (!strcmp(key, "allow"))
			r = net_rules_from(list, key, &ret->allow, err);
		else if (!strcmp(key, "deny"))
			r = net_rules_from(list, key, &ret->deny, err);
		else
			r = err_set(err, -EINVAL, "\"network\" may have \"allow\" and "
				    "\"deny\" only");
		if (r < 0)
			return r;
	}
	return 0;
}

int net_wish_from(const json_t *value, struct net_wish *ret, struct err *err)
{
	struct net_wish wish = { .form = NET_WISH_ALL };
	int r = 0;

	if (json_is_array(value)) {
		wish.form = NET_WISH_LIST;
		r = net_rules_from(value, "network", &wish.allow, err);
	} else if (json_is_object(value)) {
		r = read_object(value, &wish, err);
	} else if (!json_is_true(value)) {
		r = err_set(err, -EINVAL, "\"network\" must be a list of rules, such as "
			    "[\"example.org\"], or true, or an object of \"allow\" and "
			    "\"deny\"");
	}
	if (r < 0)
		net_wish_done(&wish);
	*ret = wish;
	return r;
}

int net_wish_read(const char *text, size_t len, struct net_wish *ret, struct err *err)
{
	auto_json json_t *value = NULL;
	int r = json_read(text, len, DEPTH, NULL, &value, err);

	if (r < 0)
		return r == -ENODATA ? -EINVAL : r;
	return net_wish_from(value, ret, err);
}

void net_wish_done(struct net_wish *wish)
{
	net_rules_done(&wish->allow);
	net_rules_done(&wish->deny);
	*wish = (struct net_wish){ 0 };
}

static void print_rules(const struct net_rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->count; i++) {
		buf_str(out, i ? ", \"" : "[\"");
		net_rule_print(&rules->item[i], out);
		buf_str(out, "\"");
	}
	buf_str(out, rules->count ? "]" : "[]");
}

void net_wish_print(const struct net_wish *wish, struct buf *out)
{
	if (wish->form == NET_WISH_NONE)
		return;
	if (wish->form == NET_WISH_LIST) {
		print_rules(&wish->allow, out);
	} else if (!wish->allow.count && !wish->deny.count) {
		buf_str(out, "true");
	} else {
		buf_str(out, "{\"allow\": ");
		print_rules(&wish->allow, out);
		buf_str(out, ", \"deny\": ");
		print_rules(&wish->deny, out);
		buf_str(out, "}");
	}
}

const struct net_rule *net_wish_beyond(const struct net_wish *wish,
				       const struct net_rules *allow,
				       const struct net_rules *deny)
{
	for (size_t i = 0; i < wish->allow.count; i++) {
		const struct net_rule *rule = &wish->allow.item[i];
		/* a denied host is also denied with /tcp */
		struct net_rule looked_at = *rule;

		looked_at.tcp = false;
		if (!net_rules_cover(allow, rule) || net_rules_cover(deny, &looked_at))
			return rule;
	}
	return NULL;
}
