/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes apart a DNS query and puts an answer together. There is no state.
 *
 * Programs of the job send the queries, so each byte of them is hostile. A query has one
 * question of the Internet's class, without compression; more than that no resolver
 * sends. The question is copied into the answer byte by byte: some resolvers change the
 * case of letters in it at random, and compare.
 */
#include "net_dns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEADER 12u
#define LABEL_MAX 63u
#define NAME_BYTES_MAX 255u /* bytes of an encoded name: a length before each label, and a
			     * 0 */
#define REVERSE ".in-addr.arpa"

enum { TYPE_A = 1, TYPE_PTR = 12, CLASS_IN = 1 };
/* Bits of the header's third and fourth byte. */
enum { QR = 0x80, OPCODE = 0x78, RD = 0x01, RA = 0x80 };

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* --- query ------------------------------------------------------------------------ */

/* Reads the labels at p as text, with a dot between two. Return: the bytes that they
 * take; 0: this is no valid name. */
static size_t read_labels(const uint8_t *p, size_t size, char ret[NAME_BYTES_MAX + 1],
			  size_t *ret_len)
{
	size_t at = 0, len = 0;

	while (at < size && p[at]) {
		size_t label = p[at++];

		/* a length over 63 marks a compressed name, which a query does not
		 * need */
		if (label > LABEL_MAX || label >= size - at ||
		    at + label >= NAME_BYTES_MAX)
			return 0;
		if (len)
			ret[len++] = '.';
		/* a dot inside a label does not separate; "?" makes the name invalid */
		for (size_t i = 0; i < label; i++)
			ret[len++] = p[at + i] == '.' ? '?' : (char)p[at + i];
		at += label;
	}
	*ret_len = len;
	return at < size ? at + 1 : 0;
}

/* Parses a name such as "5.1.18.198.in-addr.arpa". */
static bool read_reverse(const char *name, uint32_t *ret)
{
	size_t len = strlen(name);
	uint32_t address = 0;
	const char *p = name;

	if (len <= strlen(REVERSE) || strcmp(name + len - strlen(REVERSE), REVERSE) != 0)
		return false;
	for (int part = 0; part < 4; part++) {
		unsigned value = 0, digits = 0;

		for (; *p >= '0' && *p <= '9' && digits < 4; p++, digits++)
			value = value * 10 + (unsigned)(*p - '0');
		if (!digits || value > 255 || *p != '.')
			return false;
		address |= value << 8 * part;
		p += part < 3;
	}
	*ret = address;
	return !strcmp(p, REVERSE);
}

static void read_type(unsigned type, struct net_dns_query *q)
{
	q->asks = type == TYPE_A ? NET_DNS_ADDRESS : NET_DNS_OTHER;
	if (type == TYPE_PTR && read_reverse(q->name, &q->address))
		q->asks = NET_DNS_REVERSE;
}

/* Reads the question that follows the header. */
static enum net_dns_code read_question(const uint8_t *p, size_t size,
				       struct net_dns_query *q)
{
	char text[NAME_BYTES_MAX + 1];
	size_t len, used = read_labels(p, size, text, &len);

	if (!used || size - used < 4 || get16(p + used + 2) != CLASS_IN)
		return NET_DNS_FORMERR;
	q->question = used + 4;
	if (host_name_read(text, len, q->name) < 0)
		return NET_DNS_NXDOMAIN;
	read_type(get16(p + used), q);
	return NET_DNS_OK;
}

int net_dns_read(const uint8_t *bytes, size_t size, struct net_dns_query *ret)
{
	struct net_dns_query q = { .asks = NET_DNS_OTHER };

	if (size < HEADER || bytes[2] & QR)
		return -EBADMSG;
	if (bytes[2] & OPCODE)
		q.code = NET_DNS_NOTIMP;
	else if (size > NET_DNS_QUERY_MAX || get16(bytes + 4) != 1 || get16(bytes + 6) ||
		 get16(bytes + 8))
		q.code = NET_DNS_FORMERR;
	else
		q.code = read_question(bytes + HEADER, size - HEADER, &q);
	*ret = q;
	return 0;
}

/* --- answer ----------------------------------------------------------------------- */

struct out {
	uint8_t *p;
	size_t used;
};

static void put16(struct out *o, unsigned v)
{
	o->p[o->used++] = (uint8_t)(v >> 8);
	o->p[o->used++] = (uint8_t)v;
}

static void put32(struct out *o, uint32_t v)
{
	put16(o, v >> 16);
	put16(o, v & 0xffff);
}

static void put_name(struct out *o, const char *name)
{
	put16(o, (unsigned)strlen(name) + 2);
	while (*name) {
		size_t label = strcspn(name, ".");

		o->p[o->used++] = (uint8_t)label;
		memcpy(o->p + o->used, name, label);
		o->used += label;
		name += label + (name[label] == '.');
	}
	o->p[o->used++] = 0;
}

static void put_record(struct out *o, unsigned type, uint32_t address, const char *name)
{
	put16(o, 0xc000 | HEADER); /* the question's name */
	put16(o, type);
	put16(o, CLASS_IN);
	put32(o, NET_DNS_TTL);
	if (type == TYPE_PTR) {
		put_name(o, name);
		return;
	}
	put16(o, 4);
	put32(o, address);
}

size_t net_dns_write(const struct net_dns_query *query, const uint8_t *bytes,
		     enum net_dns_code code, uint32_t address, const char *name,
		     uint8_t ret[NET_DNS_ANSWER_MAX])
{
	struct out o = { ret, 2 };
	bool has = code == NET_DNS_OK && query->asks != NET_DNS_OTHER;

	memcpy(ret, bytes, 2); /* the query's id */
	o.p[o.used++] = (uint8_t)(QR | (bytes[2] & (OPCODE | RD)));
	o.p[o.used++] = (uint8_t)(RA | code);
	put16(&o, query->question > 0);
	put16(&o, has);
	put32(&o, 0);
	memcpy(ret + o.used, bytes + HEADER, query->question);
	o.used += query->question;
	if (has)
		put_record(&o, query->asks == NET_DNS_REVERSE ? TYPE_PTR : TYPE_A,
			   address, name);
	return o.used;
}
