/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS queries from hostile bytes. The answer to one that is read begins with the query's
 * id and question, and is itself no query: two resolvers never answer each other.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/net/net_dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_answer(const struct net_dns_query *q, const uint8_t *data,
			 enum net_dns_code code)
{
	uint8_t answer[NET_DNS_ANSWER_MAX];
	struct net_dns_query again;
	size_t size = net_dns_write(q, data, code, 0xc6120105, "a.example", answer);

	check(size >= 12 + q->question && size <= sizeof(answer));
	check(!memcmp(answer, data, 2) && (answer[3] & 15) == code);
	check(!memcmp(answer + 12, data + 12, q->question));
	check(net_dns_read(answer, size, &again) < 0);
	answer[2] &= 0x7f;
	if (!q->question || answer[7])
		return;
	/* without an answer in it, it is the question again */
	check(!net_dns_read(answer, size, &again) && again.code == q->code);
	check(again.asks == q->asks && !strcmp(again.name, q->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HOST_NAME_MAX_LEN + 1];
	struct net_dns_query q;

	if (net_dns_read(data, size, &q) < 0)
		return 0;
	check(q.question <= size - 12);
	if (q.code == NET_DNS_OK)
		check(!host_name_read(q.name, strlen(q.name), name) &&
		      !strcmp(name, q.name));
	check_answer(&q, data, q.code);
	check_answer(&q, data, NET_DNS_SERVFAIL);
	return 0;
}
