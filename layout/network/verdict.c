/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combines the rules of an operator and of a job into one decision. Pure.
 *
 * The operator's deny wins over all. A job that asks for all that is allowed
 * may deny a part for itself, and its own allow wins over that. A denied net
 * means every address in it. An allowed net wider than /8 means only its public
 * addresses, since "0.0.0.0/0" means the Internet and not the operator's own
 * network.
 */
#include "verdict.h"

#include <string.h>

#define PORT_MAX 65535u

/* Results of matching: MATCHES: some rule matches; MATCHES_TCP: one with "/tcp";
 * MATCHES_ANY: one whose host is "*". */
enum { MATCHES = 1, MATCHES_TCP = 2, MATCHES_ANY = 4, MATCHES_ALL = 7 };

static unsigned match_name(const struct net_rules *rules, const char *name, unsigned port)
{
	unsigned found = 0;

	for (size_t i = 0; i < rules->count; i++) {
		const struct net_rule *r = &rules->item[i];

		if (net_rule_has_name(r, name) && net_rule_has_port(r, port))
			found |= MATCHES | (r->tcp ? MATCHES_TCP : 0) |
				 (r->host == NET_HOST_ANY ? MATCHES_ANY : 0);
	}
	return found;
}

enum net_verdict net_name_verdict(const struct net_asker *asker, const char *name,
				  unsigned port, bool *ret_looks)
{
	const struct net_wish *w = asker->wish;
	unsigned allowed = match_name(&asker->share->allow, name, port);
	unsigned asked = match_name(&w->allow, name, port);

	if (!allowed || match_name(&asker->share->deny, name, port))
		return NET_DENIED;
	if (w->form == NET_WISH_ALL && (asked || !match_name(&w->deny, name, port)))
		asked = MATCHES_ALL;
	if (!asked || w->form == NET_WISH_NONE)
		return NET_DENIED;
	*ret_looks = !(allowed & asked & (MATCHES_TCP | MATCHES_ANY));
	return NET_OK;
}

/* --- ports of a name ---------------------------------------------------- */

/* Returns the first port after `port` at which a range of the rules begins or
 * has just ended; `edge` if none is lower. */
static unsigned next_edge(const struct net_rules *rules, unsigned port, unsigned edge)
{
	for (size_t i = 0; i < rules->count; i++)
		for (unsigned k = 0; k < rules->item[i].port_count; k++) {
			const struct net_ports *p = &rules->item[i].ports[k];

			if (p->low > port && p->low < edge)
				edge = p->low;
			if (p->high >= port && p->high + 1u < edge)
				edge = p->high + 1u;
		}
	return edge;
}

/* Returns the first port after `port` whose decision may differ from that of `port`: one
 * at which a range of any rule begins or has ended. */
static unsigned next_change(const struct net_asker *a, unsigned port)
{
	unsigned edge = next_edge(&a->share->allow, port, PORT_MAX + 1);

	edge = next_edge(&a->share->deny, port, edge);
	edge = next_edge(&a->wish->allow, port, edge);
	return next_edge(&a->wish->deny, port, edge);
}

unsigned net_name_ports(const struct net_asker *asker, const char *name,
			struct net_ports ret[NET_RULE_PORTS])
{
	unsigned count = 0, next;
	bool looks;

	for (unsigned port = 1; port <= PORT_MAX; port = next) {
		next = next_change(asker, port);
		if (net_name_verdict(asker, name, port, &looks) != NET_OK)
			continue;
		if (count && ret[count - 1].high + 1u == port) {
			ret[count - 1].high = (uint16_t)(next - 1);
		} else if (count < NET_RULE_PORTS) {
			ret[count++] = (struct net_ports){ (uint16_t)port,
							   (uint16_t)(next - 1) };
		} else {
			ret[0] = (struct net_ports){ 1, PORT_MAX };
			return 1;
		}
	}
	return count;
}

/* --- addresses ---------------------------------------------------------- */

static bool is_block_of(const struct net_rule *rule, const struct net_address *a,
			unsigned port)
{
	return rule->host == NET_HOST_BLOCK && net_rule_has_port(rule, port) &&
	       net_block_has(&rule->block, a);
}

static bool has_block(const struct net_rules *rules, const struct net_address *a,
		      unsigned port)
{
	for (size_t i = 0; i < rules->count; i++)
		if (is_block_of(&rules->item[i], a, port))
			return true;
	return false;
}

static bool is_reached(const struct net_share *share, const struct net_address *a,
		       bool single)
{
	for (size_t i = 0; i < share->reach.count; i++)
		if (net_block_has(&share->reach.item[i], a) &&
		    (!single || net_block_is_single(&share->reach.item[i])))
			return true;
	return false;
}

/* Returns whether the rules allow an address that the program itself has given.
 * wide: wide nets count; single: a rule must name exactly this address. */
static bool allows_literal(const struct net_rules *rules, const struct net_address *a,
			   unsigned port, bool wide, bool single)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct net_block *b = &rules->item[i].block;

		if (is_block_of(&rules->item[i], a, port) &&
		    (wide || !net_block_is_wide(b)) &&
		    (!single || net_block_is_single(b)))
			return true;
	}
	return false;
}

/*
 * Returns whether a net of the operator's or of the job's deny has the address.
 */
static bool is_denied(const struct net_asker *asker, const char *name,
		      const struct net_address *a, unsigned port)
{
	const struct net_wish *w = asker->wish;

	if (has_block(&asker->share->deny, a, port))
		return true;
	if (w->form != NET_WISH_ALL || !has_block(&w->deny, a, port))
		return false;
	return name ? !match_name(&w->allow, name, port) : !has_block(&w->allow, a, port);
}

static enum net_verdict literal_verdict(const struct net_asker *asker,
					const struct net_address *a, unsigned port,
					bool wide, bool single)
{
	const struct net_wish *w = asker->wish;

	if (w->form == NET_WISH_NONE || !has_block(&asker->share->allow, a, port) ||
	    (w->form == NET_WISH_LIST && !has_block(&w->allow, a, port)))
		return NET_DENIED;
	if (!allows_literal(&asker->share->allow, a, port, wide, single) ||
	    (w->form == NET_WISH_LIST &&
	     !allows_literal(&w->allow, a, port, wide, single)))
		return NET_IS_PRIVATE;
	return NET_OK;
}

enum net_verdict net_address_verdict(const struct net_asker *asker, const char *name,
				     const struct net_address *address, unsigned port,
				     bool is_own)
{
	struct net_address a = net_address_plain(address);
	bool secret = net_address_class(&a) == NET_CREDENTIALS;
	bool is_public = net_address_class(&a) == NET_PUBLIC && !is_own;
	bool reached = is_reached(asker->share, &a, secret);
	enum net_verdict v = NET_OK;

	if (is_denied(asker, name, &a, port))
		return NET_DENIED;
	if (!name)
		v = literal_verdict(asker, &a, port, is_public || reached, secret);
	/* A name never leads to an address that gives out credentials. */
	if (v == NET_OK && !is_public && (name || secret) && (!reached || (name && secret)))
		v = NET_IS_PRIVATE;
	return v == NET_IS_PRIVATE && is_own ? NET_IS_OWN : v;
}
