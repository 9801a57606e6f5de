/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates E2B's fields of a network: allow_internet_access, and allowOut and denyOut
 * with addresses, nets and names. The rules of the mount have ports. E2B applies a name
 * to ports 80 and 443 only, and an address to all ports.
 *
 * The mount checks the rules against the operator's policy, and its sentence goes to the
 * client. Where the mount gives no network the fields are taken and have no effect, as
 * with a provider that has switched it off. On workers.
 */
#include "egress.h"

#include <errno.h>
#include <string.h>

#include "control.h"
#include "fsd/gateway/jobs/sandbox.h"
#include "layout/base/cleanup.h"

#define ALL_TRAFFIC "0.0.0.0/0"
#define WORDS_RULES 16u /* the most rules of a kind that a model reads */

static bool has_line(const struct buf *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text->data; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : p)
		if (!strncmp(p, line, len) && (p[len] == '\n' || !p[len]))
			return true;
	return false;
}

struct egress_offer egress_offer(struct gateway *g)
{
	auto_buf struct buf text = { .cap = 1 << 20 };

	if (mount_read(&g->mount, ".fsd/network", &text, NULL) < 0 || !text.len)
		return (struct egress_offer){ 0 };
	return (struct egress_offer){ has_line(&text, "network yes"),
				       has_line(&text, "ports yes") };
}

/* Adds the rules of .fsd/network whose lines begin with a word, "allow " or "deny ". A
 * name without ports means 443, so ":443" is added. Return: how many there are. */
static size_t list_rules(const struct buf *text, const char *word, struct buf *out)
{
	size_t count = 0, len = strlen(word);

	for (const char *p = text->data, *end; p && *p; p = end + !!*end) {
		end = p + strcspn(p, "\n");
		if (strncmp(p, word, len))
			continue;
		if (count++ >= WORDS_RULES)
			continue;
		buf_fmt(out, "%s%.*s%s", count > 1 ? ", " : "", (int)(end - p - (long)len),
			p + len, memchr(p, ':', (size_t)(end - p)) ? "" : ":443");
	}
	if (count > WORDS_RULES)
		buf_fmt(out, " and %zu more", count - WORDS_RULES);
	return count;
}

void egress_words(struct gateway *g, struct buf *out)
{
	auto_buf struct buf text = { .cap = 1 << 20 }, allow = { 0 }, deny = { 0 };

	if (mount_read(&g->mount, ".fsd/network", &text, NULL) < 0 ||
	    !has_line(&text, "network yes")) {
		buf_str(out, "without a network");
		return;
	}
	buf_str(out, "with a network that reaches ");
	if (!list_rules(&text, "allow ", &allow)) {
		buf_str(out, "no server");
		return;
	}
	buf_fmt(out, "%s and no other server", allow.data);
	if (list_rules(&text, "deny ", &deny))
		buf_fmt(out, ", and of these not %s", deny.data);
}

void egress_default(struct gateway *g, json_t *config)
{
	if (egress_offer(g).network)
		json_object_set_new(config, "network", json_true());
}

/* Returns whether it is an address or a net, not a name. */
static bool is_address(const char *text)
{
	return strchr(text, ':') || !text[strspn(text, "0123456789./")];
}

/* Makes rules of a list. Return: NULL: it has replied. */
static json_t *rules_of(struct request *r, const json_t *list, const char *name,
			bool names)
{
	json_t *rules = json_array(), *item;
	size_t i;

	if (list && !json_is_null(list) && !json_is_array(list)) {
		reply_error(r, 400, "network.%s: it is a list of strings", name);
		json_decref(rules);
		return NULL;
	}
	json_array_foreach(list, i, item) {
		const char *text = json_string_value(item);
		char rule[600];

		if (!text || strlen(text) > 500 || (!names && !is_address(text))) {
			reply_error(r, 400, "network.%s has \"%.100s\"; it must be an "
				    "address or a net%s", name, text ? text : "",
				    names ? ", or a name" : ": E2B denies no names");
			json_decref(rules);
			return NULL;
		}
		snprintf(rule, sizeof(rule), strchr(text, ':') ? "[%s]:*"
					     : is_address(text) ? "%s:*"
								: "%s:80,443", text);
		json_array_append_new(rules, json_string(rule));
	}
	return rules;
}

static bool denies_all(const json_t *deny)
{
	const json_t *item;
	size_t i;

	json_array_foreach(deny, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), ALL_TRAFFIC))
			return true;
	return false;
}

/* Refuses what the gateway does not do. Return: false: it has replied. */
static bool check_members(struct request *r, const json_t *network)
{
	static const char *const missing[] = { "rules", "egressProxy" };

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		const json_t *value = json_object_get(network, missing[i]);

		if (json_array_size(value) || json_object_size(value)) {
			reply_error(r, 400, "network.%s: it is not available in fsd, which "
				    "decrypts no traffic", missing[i]);
			return false;
		}
	}
	return true;
}

/* Sets what GET shows. A change of the rules leaves the other members as they are. */
static void keep(json_t *meta, const json_t *network, bool internet)
{
	static const char *const names[] = {
		"allowOut", "denyOut", "allowPublicTraffic", "maskRequestHost",
	};
	json_t *shown = json_object_get(meta, "network");
	json_t *value;

	if (!shown) {
		shown = json_object();
		json_object_set_new(meta, "network", shown);
	}
	json_object_del(shown, "allowOut");
	json_object_del(shown, "denyOut");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		value = json_object_get(network, names[i]);
		if (value && !json_is_null(value))
			json_object_set(shown, names[i], value);
	}
	json_object_set_new(meta, "internet", json_boolean(internet));
}

/* Sets "network" of config by the two lists. Takes both. */
static void set_rules(json_t *config, bool all, json_t *allow, json_t *deny)
{
	if (!all)
		json_object_set(config, "network", allow);
	else if (json_array_size(deny))
		json_object_set_new(config, "network", json_pack("{s:O, s:O}", "allow",
								  allow, "deny", deny));
	else
		json_object_set_new(config, "network", json_true());
	json_decref(allow);
	json_decref(deny);
}

bool egress_take(struct request *r, const json_t *body, bool create, json_t *config,
		  json_t *meta)
{
	const struct egress_offer offer = egress_offer(r->gateway);
	/* of PUT the lists are members of the body itself */
	const json_t *network = create ? json_object_get(body, "network") : body;
	const json_t *access = json_object_get(body, "allow_internet_access");
	const json_t *deny_list = json_object_get(network, "denyOut");
	const char *mask = text_member(network, "maskRequestHost");
	bool all = !json_is_false(access) && !denies_all(deny_list);
	json_t *allow, *deny;

	if (!check_members(r, network))
		return false;
	allow = rules_of(r, json_object_get(network, "allowOut"), "allowOut", true);
	deny = allow ? rules_of(r, deny_list, "denyOut", false) : NULL;
	if (!deny) {
		json_decref(allow);
		return false;
	}
	if (create && offer.ports)
		json_object_set_new(config, "ports", json_true());
	if (create && mask)
		json_object_set_new(meta, "mask_host", json_string(mask));
	keep(meta, network, offer.network && !json_is_false(access));
	if (offer.network) {
		set_rules(config, all, allow, deny);
		return true;
	}
	json_decref(allow);
	json_decref(deny);
	return true;
}

void egress_show(const json_t *meta, json_t *ret)
{
	json_t *network = json_object_get(meta, "network");

	json_object_set_new(ret, "allowInternetAccess",
			    json_boolean(json_is_true(json_object_get(meta, "internet"))));
	if (json_object_size(network))
		json_object_set(ret, "network", network);
}

void put_network(struct request *r)
{
	struct gateway *g = r->gateway;
	auto_json json_t *body = NULL;
	struct sandbox *s = NULL;
	struct alone alone;
	struct err err = { 0 };
	int code;

	if (!egress_offer(g).network) {
		reply_error(r, 501, "this mount gives programs no network; its operator "
			    "can (fsd mount --network FILE)");
		return;
	}
	if (request_json(r, &body) < 0)
		return;
	alone_begin(&g->alones, &alone, r->sandbox->id);
	code = sandbox_open(g, r->sandbox->id, &s, &err);
	if (code == 0 && egress_take(r, body, false, s->config, s->meta))
		code = sandbox_write(g, s->name, s->config, &err);
	alone_end(&alone);
	sandbox_free(s);
	if (code < 0)
		reply_failure(r, code, err.text);
	else if (!r->reply.status)
		reply_empty(r, 204);
}
