/* SPDX-License-Identifier: Apache-2.0 */
#include "template_key.h"

#include <stdio.h>

#include "../layout/base/cleanup.h"
#include "store.h"

void template_verdict_key(const struct template_ground *g, char ret[SHA_HEX])
{
	struct sha *s = sha_new();

	ret[0] = '\0';
	if (!s)
		return;
	sha_field(s, g->version);
	sha_field(s, g->image.kernel);
	sha_field(s, g->cpu.model);
	sha_hex(s, ret);
}

int template_key(const struct template_ground *g, const struct argv_spec *boot,
		 unsigned heat_rounds, char ret[SHA_HEX])
{
	auto_buf struct buf joined = { 0 };
	struct argv argv;
	struct sha *s;
	char number[64];

	if (argv_make(boot, &argv) < 0)
		return -E2BIG;
	argv_join(&argv, &joined);
	s = joined.failed ? NULL : sha_new();
	if (!s)
		return -ENOMEM;
	for (unsigned f = 0; f < IMAGE_FILE_MAX; f++)
		sha_field(s, g->image.files[f]->sum);
	sha_field(s, g->version);
	sha_field(s, joined.data);
	snprintf(number, sizeof(number), "%u %u %u", WIRE_VERSION, heat_rounds,
		 STORE_FORMAT);
	sha_field(s, number);
	sha_field(s, vm_accel_names[boot->accel]);
	snprintf(number, sizeof(number), "%08x", g->cpu.flags);
	sha_field(s, g->cpu.model);
	sha_field(s, boot->accel == VM_ACCEL_KVM ? number : "");
	sha_hex(s, ret);
	return 0;
}
