/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints rules, and says which servers a rule covers. Pure.
 *
 * net_rule_read() parses a rule from its end: "/tcp", the ports, the host. Each
 * mistake has its own sentence, since people try forms that other programs
 * accept: a URL, "*.example.*", an address without a port.
 */
#include "rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define PORT_MAX 65535u
#define TCP "/tcp"

struct part {
	const char *text;
	size_t len;
};

static int wrong(struct err *err, const char *sentence)
{
	return err_set(err, -EINVAL, "%s", sentence);
}

static bool is(struct part p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.text, text, p.len);
}

/* --- ports -------------------------------------------------------------- */

/* Parses a port. Return: 1 to 65535, or 0: it is none. */
static unsigned read_port(struct part p)
{
	unsigned port = 0;

	if (!p.len || p.len > 5 || p.text[0] == '0')
		return 0;
	for (size_t i = 0; i < p.len; i++) {
		if (p.text[i] < '0' || p.text[i] > '9')
			return 0;
		port = port * 10 + (unsigned)(p.text[i] - '0');
	}
	return port <= PORT_MAX ? port : 0;
}

static int read_range(struct part p, struct net_ports *ret, struct err *err)
{
	const char *dash = memchr(p.text, '-', p.len);
	size_t used = dash ? (size_t)(dash - p.text) : p.len;
	unsigned low = read_port((struct part){ p.text, used }), high = low;

	if (dash)
		high = read_port((struct part){ dash + 1, p.len - used - 1 });
	if (!low || !high)
		return wrong(err, "a port is a number from 1 to 65535, or \"*\"");
	if (low > high)
		return wrong(err, "a range of ports begins with the lower one");
	*ret = (struct net_ports){ (uint16_t)low, (uint16_t)high };
	return 0;
}

static int read_ports(struct part p, struct net_rule *ret, struct err *err)
{
	if (is(p, "*")) {
		ret->ports[ret->port_count++] = (struct net_ports){ 1, PORT_MAX };
		return 0;
	}
	for (;;) {
		const char *comma = memchr(p.text, ',', p.len);
		struct part one = { p.text, comma ? (size_t)(comma - p.text) : p.len };
		int r;

		if (ret->port_count == NET_RULE_PORTS)
			return wrong(err, "a rule has at most 8 ports and ranges");
		r = read_range(one, &ret->ports[ret->port_count++], err);
		if (r < 0 || !comma)
			return r;
		p.text += one.len + 1;
		p.len -= one.len + 1;
	}
}

/* --- hosts -------------------------------------------------------------- */

/* Returns the length of the part that can be a host. */
static size_t host_span(struct part p)
{
	size_t n = 0;

	while (n < p.len && p.text[n] != '/' && p.text[n] != ':' &&
	       p.text[n] != '?' && p.text[n] != '#')
		n++;
	return n;
}

/*
 * Refuses a URL such as "https://example.org/" and proposes its host as a rule.
 */
static int wrong_url(struct part p, size_t scheme, struct err *err)
{
	struct part rest = { p.text + scheme, p.len - scheme };
	bool plain = scheme && !strncasecmp(p.text, "http:", 5);
	char name[HOST_NAME_MAX_LEN + 1];

	if (host_name_read(rest.text, host_span(rest), name) < 0)
		return wrong(err, "a rule has a host and its ports, no URL: "
				  "\"example.org:443\"");
	if (!scheme)
		return err_set(err, -EINVAL, "leave the path out: \"%s\"", name);
	return err_set(err, -EINVAL, "leave \"%.*s\" and the path out: \"%s%s\"",
		       (int)scheme, p.text, name, plain ? ":80" : "");
}

/* Returns the length of "SCHEME://" at the beginning, or 0. */
static size_t scheme_len(struct part p)
{
	size_t n = 0;

	while (n < p.len && ((p.text[n] | 0x20) >= 'a' && (p.text[n] | 0x20) <= 'z'))
		n++;
	return n && n < 12 && p.len - n >= 3 && !memcmp(p.text + n, "://", 3) ?
		       n + 3 : 0;
}

static int wrong_name(struct part p, int code, struct err *err)
{
	if (code == -EILSEQ)
		return wrong(err, "write it as programs send it: \"xn--...\"");
	if (memchr(p.text, '*', p.len))
		return wrong(err, "\"*\" can only be the whole first label");
	if (code == -ENAMETOOLONG)
		return wrong(err, "a name has at most 253 bytes, and 63 between "
				  "two dots");
	return wrong(err, "it must be a name of letters, digits, \"-\", \"_\" and "
			  "dots, or an address, such as \"10.0.0.5:443\"");
}

static int read_name(struct part p, struct net_rule *ret, struct err *err)
{
	bool below = p.len > 2 && !memcmp(p.text, "*.", 2);
	size_t skip = below ? 2 : 0;
	int r;

	ret->host = below ? NET_HOST_BELOW : NET_HOST_NAME;
	r = host_name_read(p.text + skip, p.len - skip, ret->name);
	if (r < 0)
		return wrong_name(p, r, err);
	if (host_name_is_local(ret->name))
		return wrong(err, "that is the job's own machine, which needs no rule");
	return 0;
}

static int wrong_block(int code, const struct net_block *b, struct err *err)
{
	auto_buf struct buf net = { .cap = 0 };

	if (code == -ERANGE)
		return wrong(err, "an IPv4 net has at most 32 bits, an IPv6 net 128");
	net_block_print(b, &net);
	return err_set(err, -EINVAL, "the net around it is \"%s\"",
		       net.failed ? "" : net.data);
}

/* Parses an address or a net. Return: 1; 0: it is none; -EINVAL. */
static int read_block(struct part p, struct net_rule *ret, struct err *err)
{
	int r = net_block_read(p.text, p.len, &ret->block);

	if (r == -EINVAL)
		return 0;
	ret->host = NET_HOST_BLOCK;
	if (r < 0)
		return wrong_block(r, &ret->block, err);
	if (net_block_is_local(&ret->block))
		return wrong(err, "that is the job's own machine, which needs no rule");
	return 1;
}

static int read_host(struct part p, struct net_rule *ret, struct err *err)
{
	int r;

	if (is(p, "*")) {
		ret->host = NET_HOST_ANY;
		return 0;
	}
	r = read_block(p, ret, err);
	if (r)
		return r < 0 ? r : 0;
	if (memchr(p.text, '/', p.len))
		return wrong_url(p, scheme_len(p), err);
	return read_name(p, ret, err);
}

/* --- a rule ------------------------------------------------------------- */

/* Finds where the ports begin, or NULL. The colons of an IPv6 address do not
 * count. */
static const char *find_ports(struct part p)
{
	const char *colon = memrchr(p.text, ':', p.len);
	const char *slash = memchr(p.text, '/', p.len);

	if (!colon || memchr(p.text, ':', (size_t)(colon - p.text)))
		return slash && colon && colon > slash ? colon : NULL;
	return colon;
}

/* Splits "[2001:db8::5]:443", "[2001:db8::5/64]:443" or "[2001:db8::]/64:443"
 * into host and ports, without brackets. */
static int read_bracketed(struct part p, struct part *ret_host,
			  struct part *ret_ports, char room[64])
{
	const char *end = memchr(p.text, ']', p.len), *rest;
	size_t inside, bits, left;

	if (!end)
		return -EINVAL;
	rest = end + 1;
	inside = (size_t)(end - p.text) - 1;
	left = p.len - inside - 2;
	for (bits = 0; bits < left && rest[bits] != ':'; bits++)
		;
	if (inside + bits >= 64 || (bits && rest[0] != '/') ||
	    !memchr(p.text, ':', inside + 1))
		return -EINVAL;
	memcpy(room, p.text + 1, inside);
	memcpy(room + inside, rest, bits);
	*ret_host = (struct part){ room, inside + bits };
	if (bits < left)
		*ret_ports = (struct part){ rest + bits + 1, left - bits - 1 };
	return 0;
}

/* Refuses a text of two colons without brackets: an IPv6 address, or wrong
 * ports. */
static int wrong_colons(struct part p, struct err *err)
{
	struct net_address a;

	if (net_address_read(p.text, p.len, &a) < 0)
		return scheme_len(p) ? wrong_url(p, scheme_len(p), err) :
				       wrong(err, "a rule is HOST, HOST:PORTS or "
						  "HOST:PORTS/tcp");
	return err_set(err, -EINVAL, "an IPv6 address stands in brackets and needs its "
		       "port: \"[%.*s]:443\"", (int)p.len, p.text);
}

static int split(struct part p, struct part *ret_host, struct part *ret_ports,
		 char room[64], struct err *err)
{
	const char *colon;

	*ret_ports = (struct part){ NULL, 0 };
	*ret_host = p;
	if (p.len && p.text[0] == '[')
		return read_bracketed(p, ret_host, ret_ports, room) < 0 ?
			       wrong(err, "an IPv6 address looks like "
					  "\"[2001:db8::5]:443\"") : 0;
	if (scheme_len(p))
		return wrong_url(p, scheme_len(p), err);
	colon = find_ports(p);
	if (!colon)
		return memchr(p.text, ':', p.len) && !memchr(p.text, '/', p.len) ?
			       wrong_colons(p, err) : 0;
	ret_host->len = (size_t)(colon - p.text);
	*ret_ports = (struct part){ colon + 1, p.len - ret_host->len - 1 };
	return 0;
}

int net_rule_read(const char *text, size_t len, struct net_rule *ret, struct err *err)
{
	struct part all = { text, len }, host, ports;
	struct net_rule rule = { .port_count = 0 };
	char room[64];
	int r;

	if (!len || memchr(text, '\0', len))
		return wrong(err, "a rule is HOST, HOST:PORTS or HOST:PORTS/tcp");
	if (len > NET_RULE_LEN)
		return wrong(err, "a rule has at most 512 bytes");
	rule.tcp = len > strlen(TCP) &&
		   !memcmp(text + len - strlen(TCP), TCP, strlen(TCP));
	if (rule.tcp)
		all.len -= strlen(TCP);
	r = split(all, &host, &ports, room, err);
	if (r == 0)
		r = read_host(host, &rule, err);
	if (r == 0 && ports.text)
		r = read_ports(ports, &rule, err);
	if (r < 0)
		return r;
	if (!ports.text && rule.host == NET_HOST_BLOCK)
		return wrong(err, "an address needs its port, such as \"10.0.0.5:443\"");
	if (!ports.text && rule.tcp)
		return wrong(err, "\"/tcp\" follows the ports: \"HOST:PORTS/tcp\"");
	if (!ports.text)
		rule.ports[rule.port_count++] =
			(struct net_ports){ NET_PORT_TLS, NET_PORT_TLS };
	*ret = rule;
	return 0;
}

static void print_host(const struct net_rule *rule, struct buf *out)
{
	bool bracket = rule->host == NET_HOST_BLOCK && rule->block.ip6 &&
		       net_block_is_single(&rule->block);

	switch (rule->host) {
	case NET_HOST_NAME:
		buf_str(out, rule->name);
		break;
	case NET_HOST_BELOW:
		buf_fmt(out, "*.%s", rule->name);
		break;
	case NET_HOST_ANY:
		buf_str(out, "*");
		break;
	case NET_HOST_BLOCK:
		buf_str(out, bracket ? "[" : "");
		net_block_print(&rule->block, out);
		buf_str(out, bracket ? "]" : "");
		break;
	}
}

void net_rule_print(const struct net_rule *rule, struct buf *out)
{
	const struct net_ports *first = &rule->ports[0];
	bool usual = rule->host != NET_HOST_BLOCK && !rule->tcp &&
		     rule->port_count == 1 && first->low == NET_PORT_TLS &&
		     first->high == NET_PORT_TLS;

	print_host(rule, out);
	for (unsigned i = 0; i < rule->port_count && !usual; i++) {
		const struct net_ports *p = &rule->ports[i];

		buf_str(out, i ? "," : ":");
		if (p->low == 1 && p->high == PORT_MAX)
			buf_str(out, rule->port_count == 1 ? "*" : "1-65535");
		else if (p->low == p->high)
			buf_fmt(out, "%u", p->low);
		else
			buf_fmt(out, "%u-%u", p->low, p->high);
	}
	buf_str(out, rule->tcp ? TCP : "");
}

/* --- which servers a rule covers ---------------------------------------- */

bool net_rule_has_port(const struct net_rule *rule, unsigned port)
{
	for (unsigned i = 0; i < rule->port_count; i++)
		if (port >= rule->ports[i].low && port <= rule->ports[i].high)
			return true;
	return false;
}

bool net_rule_has_name(const struct net_rule *rule, const char *name)
{
	switch (rule->host) {
	case NET_HOST_NAME:
		return !strcmp(rule->name, name);
	case NET_HOST_BELOW:
		return host_name_is_below(name, rule->name);
	case NET_HOST_ANY:
		return strchr(name, '.');
	case NET_HOST_BLOCK:
		break;
	}
	return false;
}

/* Returns whether the outer net has each address of the inner net. */
static bool block_covers(const struct net_block *outer, const struct net_block *inner)
{
	return net_block_within(outer, inner) &&
	       (!net_block_is_wide(outer) || net_block_is_wide(inner) ||
		net_block_is_public(inner));
}

static bool host_covers(const struct net_rule *outer, const struct net_rule *inner)
{
	switch (inner->host) {
	case NET_HOST_NAME:
		return net_rule_has_name(outer, inner->name);
	case NET_HOST_BELOW: /* every such name has a dot */
		return outer->host == NET_HOST_ANY ||
		       (outer->host == NET_HOST_BELOW &&
			(!strcmp(outer->name, inner->name) ||
			 host_name_is_below(inner->name, outer->name)));
	case NET_HOST_ANY:
		return outer->host == NET_HOST_ANY;
	case NET_HOST_BLOCK:
		return outer->host == NET_HOST_BLOCK &&
		       block_covers(&outer->block, &inner->block);
	}
	return false;
}

/* Among the port ranges that have this port, in rules that cover the hosts of `rule`,
 * returns the highest end; 0: there is no such range. */
static unsigned range_end(const struct net_rules *rules, const struct net_rule *rule,
			  unsigned port)
{
	unsigned end = 0;

	for (size_t i = 0; i < rules->count; i++) {
		const struct net_rule *r = &rules->item[i];

		if ((rule->tcp && !r->tcp) || !host_covers(r, rule))
			continue;
		for (unsigned k = 0; k < r->port_count; k++)
			if (port >= r->ports[k].low && port <= r->ports[k].high)
				end = MAX(end, (unsigned)r->ports[k].high);
	}
	return end;
}

bool net_rules_cover(const struct net_rules *rules, const struct net_rule *rule)
{
	for (unsigned i = 0; i < rule->port_count; i++)
		for (unsigned port = rule->ports[i].low; port <= rule->ports[i].high;) {
			unsigned end = range_end(rules, rule, port);

			if (!end)
				return false;
			port = end + 1;
		}
	return true;
}

void net_rules_done(struct net_rules *rules)
{
	free(rules->item);
	*rules = (struct net_rules){ 0 };
}
