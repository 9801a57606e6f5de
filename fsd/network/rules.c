/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions about the operator's policy: may a job of a user have this wish, what
 * are the limits, what does .fsd/network show. It parses the bytes that the door has sent
 * with the door's own code, so both decide by the same rules. Owns the parsed policy. All
 * functions run on the loop.
 *
 * The server cannot look up users' names, since it has no access to the host's files. The
 * door sends the ids, and a user's name in the policy is replaced by the id's digits.
 */
#include "network_int.h"
#include "fsd/handover/handover.h"
#include "ports.h"

#include <inttypes.h>
#include <string.h>

int network_rules_read(const char *text, size_t len, const uint32_t *ids, size_t id_count,
		       struct network_rules *ret, struct err *err)
{
	struct network_rules rules = { .set = true };
	int r = net_policy_parse(text, len, &rules.policy, err);

	if (r < 0)
		return r;
	r = net_policy_number_users(&rules.policy, ids, id_count);
	if (r < 0)
		err_sys(err, r, "the users of the network's policy");
	if (r < 0)
		network_rules_done(&rules);
	else
		*ret = rules;
	return r;
}

void network_rules_done(struct network_rules *rules)
{
	if (rules->set)
		net_policy_done(&rules->policy);
	free(rules->ca);
	*rules = (struct network_rules){ .set = false };
}

static HANDOVER_TABLE(numbers_records, "door-numbers", 1, struct numbers_record, 1);

int network_new(struct handover *handover, struct fdstore *fdstore, struct network **ret)
{
	struct network *n = calloc(1, sizeof(*n));
	int r = n ? ports_table_new(handover, &n->ports) : -ENOMEM;

	if (r < 0) {
		free(n);
		return r;
	}
	n->handover = handover;
	n->fdstore = fdstore;
	n->numbers = handover_fact(handover, &numbers_records);
	n->door.sock = n->former = -1;
	list_init(&n->orders);
	list_init(&n->jobs);
	*ret = n;
	return 0;
}

void network_have_relays(struct network *n)
{
	n->has_relays = true;
}

struct ports_table *network_ports(const struct network *n)
{
	return n->ports;
}

void network_free(struct network *n)
{
	if (!n)
		return;
	network_door_drop(n);
	fd_close(&n->former);
	loop_timer_del(&n->restart);
	network_rules_done(&n->rules);
	ports_table_free(n->ports);
	free(n);
}

/* --- questions ---------------------------------------------------------- */

bool network_is_on(const struct network *n)
{
	return n->rules.set;
}

const struct net_policy *network_policy(const struct network *n)
{
	return n->rules.set ? &n->rules.policy : NULL;
}

const char *network_ca(const struct network *n, size_t *ret_len)
{
	*ret_len = n->rules.ca_len;
	return n->rules.ca;
}

struct net_share network_share(const struct network *n, uid_t uid)
{
	struct net_share none = { .ports = true, .connections = NET_SHARE_CONNECTIONS,
				  .rate = NET_SHARE_RATE, .bytes = NET_SHARE_BYTES };

	return n->rules.set ? net_policy_share(&n->rules.policy, NULL, uid) : none;
}

bool network_allows_ports(const struct network *n, uid_t uid)
{
	return n->has_relays && network_share(n, uid).ports;
}

int network_check(const struct network *n, uid_t uid, const struct net_wish *wish,
		  struct err *err)
{
	struct net_share share = network_share(n, uid);
	auto_buf struct buf text = { .cap = 0 };
	const struct net_rule *beyond;

	if (wish->form == NET_WISH_NONE)
		return 0;
	if (!n->rules.set)
		return err_set(err, -EINVAL, "\"network\": this mount gives programs no "
			       "network; its operator can (fsd mount --network FILE)");
	beyond = net_wish_beyond(wish, &share.allow, &share.deny);
	if (!beyond)
		return 0;
	net_rule_print(beyond, &text);
	return err_set(err, -EACCES, "\"network\" has \"%s\", which the operator does not "
		       "allow here; see .fsd/network", text.data ? text.data : "a rule");
}

/* Adds the nets of the rules that no net of the list contains. */
static size_t add_blocks(const struct net_rules *rules, struct net_block *ret,
			 size_t count, size_t most)
{
	for (size_t i = 0; i < rules->count && count < most; i++) {
		const struct net_block *b = &rules->item[i].block;
		bool known = rules->item[i].host != NET_HOST_BLOCK;

		for (size_t k = 0; k < count && !known; k++)
			known = net_block_within(&ret[k], b);
		if (!known)
			ret[count++] = *b;
	}
	return count;
}

size_t network_routes(const struct network *n, uid_t uid, const struct net_wish *wish,
		      struct net_block *ret, size_t most)
{
	struct net_share share = network_share(n, uid);

	if (wish->form == NET_WISH_NONE)
		return 0;
	return add_blocks(wish->form == NET_WISH_ALL ? &share.allow : &wish->allow, ret,
			  0, most);
}

/* --- .fsd/network ------------------------------------------------------- */

static void show_rules(const char *word, const struct net_rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->count; i++) {
		buf_fmt(out, "%s ", word);
		net_rule_print(&rules->item[i], out);
		buf_str(out, "\n");
	}
}

void network_show(const struct network *n, uid_t uid, struct buf *out)
{
	struct net_share share = network_share(n, uid);

	buf_fmt(out, "network %s\nports %s\n", n->rules.set ? "yes" : "no",
		network_allows_ports(n, uid) ? "yes" : "no");
	show_rules("allow", &share.allow, out);
	show_rules("deny", &share.deny, out);
	for (size_t i = 0; i < share.reach.count; i++) {
		buf_str(out, "reach ");
		net_block_print(&share.reach.item[i], out);
		buf_str(out, "\n");
	}
	buf_fmt(out, "limit connections %" PRIu64 "\nlimit rate %" PRIu64 "\n"
		"limit bytes %" PRIu64 "\n", share.connections, share.rate, share.bytes);
}
