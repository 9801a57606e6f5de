/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a stream's first bytes back until the TLS hello in them is whole, and compares
 * its server name with the stream's (hello.h). The bytes wait in the stream's `in`, as
 * bytes do that its socket has not taken. A stream that fails the comparison is cut: its
 * server has not got a byte.
 */
#include "hello.h"
#include "relay_int.h"

void hello_is_late(struct stream *s)
{
	stream_cut(s, NET_RESET_REFUSED, NET_TOLD_SNI,
		   "its TLS hello did not come in 5 s");
}

bool hello_holds_on(struct stream *s)
{
	const struct hello_rule rule = { s->name, s->port, s->allows_ech };
	enum hello_verdict v = HELLO_WAIT;
	struct hello hello = { .need = s->need };
	char text[RELAY_TEXT_MAX];

	if (s->in_size >= s->need)
		v = hello_judge(&rule, s->in, s->in_size, &hello);
	s->need = hello.need;
	if (v == HELLO_WAIT && s->wire.heard_end)
		v = HELLO_OTHER_NAME; /* half a hello, and no more will come */
	if (v == HELLO_WAIT) {
		if (!s->limit.loop)
			loop_timer_set(s->relay->loop, &s->limit, RELAY_WAIT_NS);
		return true;
	}
	if (v == HELLO_PASS) {
		s->holds = false;
		loop_timer_del(&s->limit);
		return stream_flush(s);
	}
	hello_explain(v, &hello, text, sizeof(text));
	stream_cut(s, NET_RESET_REFUSED, v == HELLO_ENCRYPTED ? NET_TOLD_ECH : NET_TOLD_SNI, text);
	return false;
}
