/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest of any bytes, an image's or an environment's: it is refused with a
 * sentence, or it is sound. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vm/environment/set.h"
#include "vm/qemu/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is sound is what would be written. */
static void environment(const char *text, size_t size)
{
	auto_buf struct buf again = { 0 };
	struct set_manifest m;
	struct err err = { 0 };
	int r = set_parse(text, size, &m, &err);

	if (r < 0 && !err.text[0])
		abort();
	if (r == 0 && (set_print(&m, &again) < 0 || again.len != size ||
		       memcmp(again.data, text, size) != 0))
		abort();
	for (unsigned i = 0; r == 0 && i < SET_FILES; i++)
		if (strcmp(m.part[i].name, set_files[i]) != 0)
			abort();
	set_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image im;
	struct err err = { 0 };
	int r;

	environment((const char *)data, size);
	r = image_parse((const char *)data, size, &im, &err);

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
