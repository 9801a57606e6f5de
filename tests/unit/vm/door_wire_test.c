/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the door: the right ones pass, and each wrong field is refused. */
#include "vm/net/door_wire.h"

#include <stdlib.h>

#include "layout/base/cleanup.h"
#include "tests/unit/tap.h"

static struct err why;

static void refused(int r, const char *what)
{
	ok(r < 0 && why.text[0], "%s is refused", what);
	why.text[0] = '\0';
}

static int order(const struct door_order *o, size_t behind, unsigned fds)
{
	auto_free char *bytes = calloc(1, sizeof(*o) + behind + 1);
	struct door_order got;
	const char *wish;
	int r;

	memcpy(bytes, o, sizeof(*o));
	r = door_order_check(bytes, sizeof(*o) + behind, fds, &got, &wish, &why);
	return r == 0 && wish != bytes + sizeof(*o) ? 1 : r;
}

static void test_orders(void)
{
	struct door_order new = { DOOR_VERSION, DOOR_NEW, 1, 1000, 4 };
	struct door_order gone = { DOOR_VERSION, DOOR_GONE, 1, 0, 0 }, o;

	is_int(order(&new, 4, 1), 0, "NEW with a wish and a socket passes");
	is_int(order(&gone, 0, 0), 0, "GONE passes");
	refused(order(&new, 4, 0), "NEW without a socket");
	refused(order(&new, 5, 1), "NEW with bytes behind its wish");
	refused(order(&new, 0, 1), "NEW without its wish");
	refused(order(&gone, 0, 1), "GONE with a socket");
	refused(order(&gone, 3, 0), "GONE with a wish");
	o = new;
	o.job = 0;
	refused(order(&o, 4, 1), "job 0");
	o = new;
	o.version++;
	refused(order(&o, 4, 1), "another version");
	o = new;
	o.wish_size = DOOR_WISH_MAX + 1;
	refused(order(&o, DOOR_WISH_MAX + 1, 1), "a wish that is too long");
	o = gone;
	o.op = DOOR_RECORD;
	refused(order(&o, 0, 0), "an order that is none");
}

static int policy(const struct door_policy *p, unsigned fds)
{
	struct door_policy got;

	return door_policy_check(p, sizeof(*p), fds, &got, &why);
}

static void test_policy(void)
{
	struct door_policy p = { DOOR_VERSION, DOOR_POLICY, 0, 0, 2, 0, "" };

	is_int(policy(&p, 1), 0, "a policy in a file passes");
	refused(policy(&p, 0), "a policy without a file");
	p.walls = DOOR_WALLS_ALL + 1;
	refused(policy(&p, 1), "an unknown wall");
	p.walls = DOOR_WALLS_ALL;
	p.policy_size = NET_POLICY_BYTES + 1;
	refused(policy(&p, 1), "a policy that is too long");
	p.policy_size = 2;
	refused(policy(&p, 2), "certificates that the message does not name");
	p.has_ca = 1;
	is_int(policy(&p, 2), 0, "a policy with certificates passes");
	p = (struct door_policy){ DOOR_VERSION, DOOR_POLICY, -22, 0, 0, 0, "it is wrong" };
	is_int(policy(&p, 0), 0, "a sentence passes");
	p.text[2] = '\n';
	refused(policy(&p, 0), "a sentence of two lines");
	p.text[0] = '\0';
	refused(policy(&p, 0), "an error without a sentence");
}

static int record(const struct door_record *m)
{
	struct door_record got;

	return door_record_check(m, sizeof(*m), 0, &got, &why);
}

static void test_records(void)
{
	struct door_record right = {
		.version = DOOR_VERSION, .op = DOOR_RECORD, .job = 3, .stream = 7,
		.told = NET_TOLD_DENIED, .port = 443, .name = "a.example",
		.why = "no rule names it",
	}, m = right;

	is_int(record(&m), 0, "a record passes");
	m.told = NET_TOLD_MAX;
	refused(record(&m), "an unknown verdict");
	m = right;
	m.name[1] = '\x7f';
	refused(record(&m), "a name with a control character");
	m = right;
	m.name[0] = '\0';
	refused(record(&m), "an empty name");
	m = right;
	m.port = 0;
	refused(record(&m), "a stream without a port");
	m = right;
	memset(m.why, 'x', sizeof(m.why));
	refused(record(&m), "a reason without an end");
	for (unsigned i = 0; i < NET_TOLD_MAX; i++)
		ok(net_told_names[i] && net_told_names[i][0], "verdict %u has a name", i);
}

static int question(const struct door_question *q)
{
	struct door_question got;

	return door_question_check(q, sizeof(*q), 0, &got, &why);
}

static void test_questions(void)
{
	struct door_question resolve = { .version = DOOR_VERSION, .op = DOOR_RESOLVE,
					 .name = "a.example" };
	struct door_question connect = { .version = DOOR_VERSION, .op = DOOR_CONNECT,
					 .id = 1, .port = 443, .name = "10.0.0.5" }, q;

	is_int(question(&resolve), 0, "RESOLVE passes");
	is_int(question(&connect), 0, "CONNECT passes");
	q = connect;
	q.op = DOOR_CHECK;
	refused(question(&q), "CHECK without an address");
	q.has_address = 1;
	is_int(question(&q), 0, "CHECK passes");
	q = resolve;
	q.port = 443;
	refused(question(&q), "RESOLVE with a port");
	q = connect;
	q.port = 65536;
	refused(question(&q), "port 65536");
	q = connect;
	q.id = 0;
	refused(question(&q), "stream 0");
	q = connect;
	memset(q.name, 'a', sizeof(q.name));
	refused(question(&q), "a name without an end");
	refused(door_question_check(&resolve, sizeof(resolve) - 1, 0, &q, &why),
		"a question that is too short");
	refused(door_question_check(&resolve, sizeof(resolve), 1, &q, &why),
		"a question with a descriptor");
}

static int answer(const struct door_answer *a, unsigned fds)
{
	struct door_answer got;

	return door_answer_check(a, sizeof(*a), fds, &got, &why);
}

static void test_answers(void)
{
	struct door_answer named = {
		.version = DOOR_VERSION, .op = DOOR_ANSWER, .asked = DOOR_RESOLVE,
		.range_count = 1, .range = { { 443, 443 } },
	};
	struct door_answer made = { .version = DOOR_VERSION, .op = DOOR_ANSWER,
				    .asked = DOOR_CONNECT, .id = 1 }, a;

	is_int(answer(&named, 0), 0, "the ports of a name pass");
	is_int(answer(&made, 1), 0, "a connected socket passes");
	refused(answer(&made, 0), "a connection without a socket");
	refused(answer(&named, 1), "a socket for a name");
	a = named;
	a.range_count = 0;
	refused(answer(&a, 0), "a name without ports");
	a.range_count = WIRE_NET_RANGES + 1;
	refused(answer(&a, 0), "too many ports");
	a = named;
	a.range[0].low = 444;
	refused(answer(&a, 0), "a range that ends before it begins");
	a = named;
	a.again = 1;
	refused(answer(&a, 0), "an answer that is none yet");
	a = made;
	a.told = NET_TOLD_REFUSED;
	is_int(answer(&a, 0), 0, "a refusal passes");
	refused(answer(&a, 1), "a refusal with a socket");
}

int main(void)
{
	test_orders();
	test_policy();
	test_records();
	test_questions();
	test_answers();
	return done_testing();
}
