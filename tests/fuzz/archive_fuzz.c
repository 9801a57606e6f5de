/* SPDX-License-Identifier: Apache-2.0 */
/* A tar of any bytes, in pieces: it is refused with a sentence, or it has five
 * files as its manifest says. Whether it is one piece makes no difference. */
#include <stdint.h>
#include <stdlib.h>

#include "layout/base/num.h"
#include "vm/environment/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const uint8_t *data, size_t size, size_t piece)
{
	struct archive a = ARCHIVE_INIT;
	struct err err = { 0 };
	int r = 0;

	for (size_t at = 0; r == 0 && at < size; at += piece)
		r = archive_feed(&a, data + at, MIN(piece, size - at), &err);
	if (r == 0)
		r = archive_end(&a, &err);
	if (r < 0 && !err.text[0])
		abort();
	if (r == 0 && a.member != ARCHIVE_MEMBERS)
		abort();
	archive_done(&a);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (feed(data, size, size) != feed(data, size, 1 + data[0] % 97))
		abort();
	return 0;
}
