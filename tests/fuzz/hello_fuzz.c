/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream's first bytes, read as a TLS ClientHello. What a part leads to is what the
 * whole leads to: a verdict never changes when more bytes come.
 */
#include <stdlib.h>
#include <string.h>

#include "vm/net/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello whole, part = { .need = 1 };
	enum hello_kind at_once = hello_read(data, size, &whole), later = HELLO_PART;
	size_t at = 0;

	while (later == HELLO_PART && part.need <= size) {
		check(part.need > at && part.need <= HELLO_MAX);
		at = part.need;
		later = hello_read(data, at, &part);
	}
	/* `need` is the end of a record, and a hello may be decided before it */
	check(later == at_once || later == HELLO_PART);
	if (later == HELLO_WHOLE && at_once == HELLO_WHOLE) {
		check(part.named == whole.named && part.encrypted == whole.encrypted);
		check(!strcmp(part.name, whole.name));
		check(strlen(whole.name) < sizeof(whole.name));
	}
	return 0;
}
