/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the door, which is the process that looks up names and connects for
 * the jobs of one server. They go over SOCK_SEQPACKET pairs of one host: one struct a
 * message, in the host's byte order, with text behind it where a message says so.
 *
 *   server -> door   NEW    a job may use the network: its number, user and wish; with
 *                           one end of a socket, whose other end the relay gets
 *                    GONE   the job has ended; the door closes its socket
 *   door -> server   POLICY the first message: the policy's bytes in a memfd, and those
 *                           of the operator's certificates if it names any; or the
 *                           sentence that says what is wrong with the policy
 *                    RECORD one verdict
 *   relay -> door    RESOLVE, CONNECT, CHECK   on the socket of NEW
 *   door -> relay    ANSWER; of a CONNECT that succeeded with the connected socket
 *
 * A question comes on the socket of its job, so no message of a relay names a job.
 * Neither side trusts the other: door_*_check() reads every field. Pure: any thread.
 */
#ifndef VM_NET_DOOR_WIRE_H
#define VM_NET_DOOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/wire/wire_net.h"
#include "layout/base/err.h"
#include "layout/network/address.h"
#include "layout/network/policy.h"

#define DOOR_VERSION 1u
/*
 * Most bytes of a wish's JSON text: twice 256 rules of 512 bytes, with quotes and commas.
 * The sender of NEW needs a send buffer of DOOR_SEND_BUFFER bytes for it.
 */
#define DOOR_WISH_MAX (288u << 10)
#define DOOR_SEND_BUFFER (192 << 10) /* value of SO_SNDBUF; the kernel doubles it */
#define DOOR_TEXT_MAX 512u
#define DOOR_FDS_MAX 2u

/* The verdict on a name or a connection, in the order of net_told_names. */
enum net_told {
	NET_TOLD_OK, NET_TOLD_DENIED, NET_TOLD_UNRESOLVED, NET_TOLD_REFUSED,
	NET_TOLD_UNREACHABLE, NET_TOLD_TIMEOUT, NET_TOLD_PRIVATE, NET_TOLD_OWN,
	NET_TOLD_SNI, NET_TOLD_ECH, NET_TOLD_LIMIT, NET_TOLD_RESET, NET_TOLD_LOST,
	NET_TOLD_MAX
};
/* As "verdict" of result.json has them: "ok", "denied", ... */
extern const char *const net_told_names[NET_TOLD_MAX];

enum door_op {
	DOOR_NEW = 1, DOOR_GONE,                /* server to door */
	DOOR_POLICY, DOOR_RECORD,               /* door to server */
	DOOR_RESOLVE, DOOR_CONNECT, DOOR_CHECK, /* relay to door */
	DOOR_ANSWER,                            /* door to relay */
	DOOR_OPS
};

/* NEW, GONE. Behind NEW: the JSON text of "network", wish_size bytes. */
struct door_order {
	uint32_t version, op;
	uint32_t job; /* rising, none twice, never 0 */
	uint32_t uid; /* NEW: the job's user */
	uint32_t wish_size; /* NEW: 1 to DOOR_WISH_MAX */
};

/* The walls around the door's process that /proc does not show. */
#define DOOR_WALL_LANDLOCK 1u
#define DOOR_WALL_USER 2u /* the door has leased a user id of its own */
#define DOOR_WALLS_ALL 3u
#define DOOR_NO_USER UINT32_MAX

/*
 * POLICY. code 0: a memfd comes with it, and a second one if has_ca. The first one has
 * the policy's bytes, then one uint32_t for each entry of "users", in the order of the
 * parsed policy: the user's id, or DOOR_NO_USER. Only the door can look up users' names.
 * The second one has certificates in PEM form.
 */
struct door_policy {
	uint32_t version, op;
	int32_t code; /* 0, or a negative errno with its sentence in text */
	uint32_t has_ca;
	uint32_t policy_size; /* bytes of the policy's text */
	uint32_t walls;       /* bits of DOOR_WALL_... that stand */
	char text[DOOR_TEXT_MAX];
};

/* RECORD: the decision of the door about one name or connection; none answers a CHECK. */
struct door_record {
	uint32_t version, op;
	uint32_t job;
	uint32_t stream; /* 0: of a RESOLVE */
	uint32_t told;   /* enum net_told */
	uint32_t port;   /* 0: of a RESOLVE */
	uint32_t has_address;
	struct net_address address;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	char name[WIRE_NET_NAME_MAX + 1]; /* the name that the program asked for; or an
					   * address */
	char why[DOOR_TEXT_MAX]; /* a reason such as "no rule names it"; "": none */
};

/* RESOLVE, CONNECT, CHECK. CHECK asks whether an open stream may continue. */
struct door_question {
	uint32_t version, op;
	uint32_t id;   /* RESOLVE: the guest's query; else the stream */
	uint32_t port; /* CONNECT, CHECK: 1 to 65535; else 0 */
	uint32_t has_address;       /* CHECK: 1; else 0 */
	struct net_address address; /* CHECK: address of the stream's server */
	/* a name or, for CONNECT and CHECK, an address that the program has given */
	char name[WIRE_NET_NAME_MAX + 1];
};

struct door_answer {
	uint32_t version, op;
	uint32_t asked; /* enum door_op of the question */
	uint32_t id;
	uint32_t told;  /* enum net_told */
	uint32_t again; /* RESOLVE: no verdict now; the program may ask later */
	/* CONNECT: the relay must compare the TLS server name with the stream's name */
	uint32_t compares_name;
	uint32_t allows_ech;
	struct net_address address; /* CONNECT with NET_TOLD_OK: the socket's peer */
	uint32_t range_count;       /* RESOLVE with NET_TOLD_OK: 1 to WIRE_NET_RANGES */
	struct net_range range[WIRE_NET_RANGES];
};

/*
 * Each checks a message of size bytes that came with fd_count descriptors, and copies it.
 * *ret_wish is borrowed from bytes. Return: 0, or -EINVAL with the reason in *err.
 */
int door_order_check(const void *bytes, size_t size, unsigned fd_count,
		     struct door_order *ret, const char **ret_wish, struct err *err);
int door_policy_check(const void *bytes, size_t size, unsigned fd_count,
		      struct door_policy *ret, struct err *err);
int door_record_check(const void *bytes, size_t size, unsigned fd_count,
		      struct door_record *ret, struct err *err);
int door_question_check(const void *bytes, size_t size, unsigned fd_count,
			struct door_question *ret, struct err *err);
int door_answer_check(const void *bytes, size_t size, unsigned fd_count,
		      struct door_answer *ret, struct err *err);

#endif
