/* SPDX-License-Identifier: Apache-2.0 */
/* A template's record of any bytes: it is refused, or whole and sound. */
#include <stdlib.h>
#include <string.h>

#include "vm/qemu/template_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_sum(const char *sum)
{
	check(strlen(sum) == SHA_HEX - 1 &&
	      strspn(sum, "0123456789abcdef") == SHA_HEX - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct template_store_meta m;

	check(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (template_store_meta_parse(text, &m) == 0) {
		check(m.accel > VM_ACCEL_AUTO && m.accel < VM_ACCEL_MAX);
		check_sum(m.key);
		check_sum(m.state_sum);
		check_sum(m.ram_sum);
	}
	free(text);
	return 0;
}
