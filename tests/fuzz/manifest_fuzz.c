/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest of any bytes: it is refused with a sentence, or it is sound. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vm/qemu/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image im;
	struct err err = { 0 };
	int r = image_parse((const char *)data, size, &im, &err);

	if (r < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++)
		if (!im.files[f] || strchr(im.files[f]->name, '/') ||
		    strlen(im.files[f]->sum) != SHA_HEX - 1)
			abort();
	return 0;
}
