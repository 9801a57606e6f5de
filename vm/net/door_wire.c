/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the messages of the door. Each check copies the struct first, so that the values
 * which it has read are those that the caller uses. There is no state.
 *
 * A text must end within its array and have printable ASCII only: it goes into logs and
 * into a job's result, and its sender may have been taken over.
 */
#include "door_wire.h"

#include <errno.h>
#include <string.h>

#include "layout/base/num.h"

#define PORT_MAX 65535u

const char *const net_told_names[NET_TOLD_MAX] = {
	[NET_TOLD_OK] = "ok", [NET_TOLD_DENIED] = "denied",
	[NET_TOLD_UNRESOLVED] = "unresolved", [NET_TOLD_REFUSED] = "refused",
	[NET_TOLD_UNREACHABLE] = "unreachable", [NET_TOLD_TIMEOUT] = "timeout",
	[NET_TOLD_PRIVATE] = "private", [NET_TOLD_OWN] = "own", [NET_TOLD_SNI] = "sni",
	[NET_TOLD_ECH] = "ech", [NET_TOLD_LIMIT] = "limit", [NET_TOLD_RESET] = "reset",
	[NET_TOLD_LOST] = "lost",
};

/* The first two members of every message. */
struct start {
	uint32_t version, op;
};

static int wrong(struct err *err, const char *why)
{
	return err_set(err, -EINVAL, "a message of the door: %s", why);
}

/* Copies a message of exactly `want` bytes. */
static int take(const void *bytes, size_t size, size_t want, void *ret, struct err *err)
{
	struct start start;

	if (size != want)
		return wrong(err, "its size is wrong");
	memcpy(ret, bytes, want);
	memcpy(&start, bytes, sizeof(start));
	return start.version == DOOR_VERSION ? 0 : wrong(err, "its version is wrong");
}

static bool is_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return len < size;
}

static bool is_name(const char *name)
{
	return name[0] && is_text(name, WIRE_NET_NAME_MAX + 1);
}

static int check_new(const struct door_order *o, size_t behind, unsigned fd_count,
		     struct err *err)
{
	if (fd_count != 1)
		return wrong(err, "NEW comes with one socket");
	if (!o->wish_size || o->wish_size > DOOR_WISH_MAX || o->wish_size != behind)
		return wrong(err, "the size of the wish is wrong");
	return 0;
}

int door_order_check(const void *bytes, size_t size, unsigned fd_count,
		     struct door_order *ret, const char **ret_wish, struct err *err)
{
	size_t behind = size < sizeof(*ret) ? 0 : size - sizeof(*ret);
	int r = take(bytes, size - behind, sizeof(*ret), ret, err);

	*ret_wish = (const char *)bytes + (size - behind);
	if (r < 0)
		return r;
	if (!ret->job)
		return wrong(err, "a job's number is not 0");
	if (ret->op == DOOR_NEW)
		return check_new(ret, behind, fd_count, err);
	if (ret->op != DOOR_GONE)
		return wrong(err, "it is neither NEW nor GONE");
	if (behind || ret->wish_size || ret->uid || fd_count)
		return wrong(err, "GONE has the job's number only");
	return 0;
}

int door_policy_check(const void *bytes, size_t size, unsigned fd_count,
		      struct door_policy *ret, struct err *err)
{
	int r = take(bytes, size, sizeof(*ret), ret, err);

	if (r < 0)
		return r;
	if (ret->op != DOOR_POLICY)
		return wrong(err, "it is no POLICY");
	if (ret->code > 0 || ret->code < -4095 || ret->has_ca > 1 ||
	    (ret->code < 0 && ret->has_ca))
		return wrong(err, "its code is wrong");
	if (ret->policy_size > NET_POLICY_BYTES || ret->walls & ~DOOR_WALLS_ALL)
		return wrong(err, "a number of the POLICY is wrong");
	if (fd_count != (ret->code < 0 ? 0 : 1 + ret->has_ca))
		return wrong(err, "POLICY has the wrong number of files");
	if (!is_text(ret->text, sizeof(ret->text)) || (ret->code < 0) != !!ret->text[0])
		return wrong(err, "an error has a sentence, and nothing else has one");
	return 0;
}

int door_record_check(const void *bytes, size_t size, unsigned fd_count,
		      struct door_record *ret, struct err *err)
{
	int r = take(bytes, size, sizeof(*ret), ret, err);

	if (r < 0)
		return r;
	if (ret->op != DOOR_RECORD || fd_count)
		return wrong(err, "it is no RECORD");
	if (!ret->job || ret->told >= NET_TOLD_MAX || ret->port > PORT_MAX ||
	    ret->has_address > 1 || !ret->stream != !ret->port)
		return wrong(err, "a number of the RECORD is wrong");
	if (!is_name(ret->name) || !is_text(ret->why, sizeof(ret->why)))
		return wrong(err, "a text of the RECORD is wrong");
	return 0;
}

int door_question_check(const void *bytes, size_t size, unsigned fd_count,
			struct door_question *ret, struct err *err)
{
	int r = take(bytes, size, sizeof(*ret), ret, err);

	if (r < 0)
		return r;
	if (ret->op < DOOR_RESOLVE || ret->op > DOOR_CHECK || fd_count)
		return wrong(err, "it is no question");
	if (ret->op == DOOR_RESOLVE ? ret->port : !ret->port || ret->port > PORT_MAX)
		return wrong(err, "the port of the question is wrong");
	if (ret->op != DOOR_RESOLVE && !ret->id)
		return wrong(err, "a stream's number is not 0");
	if (ret->has_address != (ret->op == DOOR_CHECK))
		return wrong(err, "CHECK has an address, and no other question has one");
	return is_name(ret->name) ? 0 : wrong(err, "the name of the question is wrong");
}

static bool has_ranges(const struct door_answer *a)
{
	bool named = a->asked == DOOR_RESOLVE && a->told == NET_TOLD_OK;

	if (!named)
		return !a->range_count;
	for (unsigned i = 0; i < MIN(a->range_count, WIRE_NET_RANGES); i++)
		if (!a->range[i].low || a->range[i].low > a->range[i].high)
			return false;
	return a->range_count >= 1 && a->range_count <= WIRE_NET_RANGES;
}

int door_answer_check(const void *bytes, size_t size, unsigned fd_count,
		      struct door_answer *ret, struct err *err)
{
	int r = take(bytes, size, sizeof(*ret), ret, err);

	if (r < 0)
		return r;
	if (ret->op != DOOR_ANSWER || ret->asked < DOOR_RESOLVE ||
	    ret->asked > DOOR_CHECK)
		return wrong(err, "it is no ANSWER");
	if (ret->told >= NET_TOLD_MAX || ret->again > 1 || ret->compares_name > 1 ||
	    ret->allows_ech > 1 || (ret->again && ret->told == NET_TOLD_OK))
		return wrong(err, "a number of the ANSWER is wrong");
	if (!has_ranges(ret))
		return wrong(err, "the ports of the ANSWER are wrong");
	if (fd_count != (ret->asked == DOOR_CONNECT && ret->told == NET_TOLD_OK))
		return wrong(err, "a socket comes with a CONNECT that succeeded");
	return 0;
}
