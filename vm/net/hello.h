/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the server name in a TLS ClientHello, and decides whether a stream that begins
 * with these bytes may go on. Pure: any thread.
 */
#ifndef VM_NET_HELLO_H
#define VM_NET_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/host_name.h"

#define HELLO_MAX (16u << 10) /* most bytes of a hello, with its records' headers */

enum hello_kind {
	HELLO_PART,  /* more bytes must come */
	HELLO_WHOLE,
	HELLO_OTHER, /* the stream is not TLS */
	HELLO_BAD,   /* begins as TLS, and is not a ClientHello as RFC 8446 has it */
};

struct hello {
	size_t need; /* PART: bytes from the stream's start to call again with */
	bool named;  /* WHOLE: the hello has a server name */
	char name[HOST_NAME_MAX_LEN + 1]; /* the server name, in lower case */
	bool encrypted; /* WHOLE: it has the ECH extension, maybe as GREASE */
};

/* Reads the first bytes of a stream, HELLO_MAX at most: a hello that is longer is
 * HELLO_BAD. */
enum hello_kind hello_read(const uint8_t *bytes, size_t size, struct hello *ret);

enum hello_verdict {
	HELLO_WAIT, /* more bytes are needed */
	HELLO_PASS,
	HELLO_OTHER_NAME, /* verdict sni */
	HELLO_ENCRYPTED,  /* verdict ech */
};

struct hello_rule {
	const char *name; /* the stream's */
	unsigned port;    /* port of the stream; on 443 a hello must come */
	bool allows_ech;
};

/* Decides about the first bytes of a stream, at least one. *ret is set as by
 * hello_read(). */
enum hello_verdict hello_judge(const struct hello_rule *rule, const uint8_t *bytes,
			       size_t size, struct hello *ret);
/* Says why: a phrase such as: the TLS server name is "other.example". */
void hello_explain(enum hello_verdict verdict, const struct hello *hello, char *ret,
		   size_t size);

#endif
