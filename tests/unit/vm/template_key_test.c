/* SPDX-License-Identifier: Apache-2.0 */
/* What a template's key depends on of an environment, and of QEMU. */
#include <stdio.h>
#include <string.h>

#include "vm/qemu/template_key.h"
#include "tests/unit/tap.h"

static struct manifest_part part = { .name = "x", .size = 1, .sum = "00" };

static struct vm_options options;
static const struct backend_host host = { .options = &options };
static struct template_context context = {
	.host = &host,
	.qemu = { .version = "10.0" },
	.image = { .files = { &part, &part, &part } },
};

/* Of an environment with these sums; layers NULL: base. */
static const char *key(const char *layers, const char *warm, unsigned cpus)
{
	static char keys[8][SHA_HEX];
	static unsigned next;
	struct environment e = { .id = "an id" };
	struct vm_class cls = { .memory_mib = 1024, .cpus = cpus };
	char *ret = keys[next++ % 8];

	for (const char *p = layers; p && *p; p++)
		snprintf(e.layers[e.layer_count++].sum, SHA_HEX, "%c", *p);
	snprintf(e.warm_sum, sizeof(e.warm_sum), "%s", warm ? warm : "");
	cls.environment = layers ? &e : NULL;
	is_int(template_key(&context, &cls, VM_ACCEL_TCG, 3, ret), 0,
	       "there is a key");
	return ret;
}

static void differ(const char *a, const char *b, const char *name)
{
	ok(strcmp(a, b) != 0, "%s", name);
}

int main(void)
{
	struct environment a = { .id = "1" }, b = { .id = "1" };
	struct environment c = { .id = "2" };
	struct vm_class x = { 1024, 1, NULL }, y = { 2048, 1, NULL };
	const char *before;

	is_str(key("ab", "w", 1), key("ab", "w", 1),
	       "an environment has one key");
	differ(key(NULL, NULL, 1), key("a", "w", 1), "not that of base");
	differ(key("a", "w", 1), key("b", "w", 1), "nor of another layer");
	differ(key("ab", "w", 1), key("ba", "w", 1),
	       "nor of its layers in another order");
	differ(key("a", "w", 1), key("a", "v", 1), "nor of another warm list");
	differ(key("a", "w", 1), key("a", "w", 2), "nor with more processors");

	before = key("a", "w", 1);
	options.plain = true;
	differ(before, key("a", "w", 1), "nor of a plain machine");

	before = key("a", "w", 1);
	strcpy(context.qemu.package, "1:10.0+deb13u2");
	differ(before, key("a", "w", 1), "nor of another upload of QEMU");

	ok(vm_class_shares(&x, &y), "classes of base share a template");
	x.environment = &a;
	ok(!vm_class_shares(&x, &y), "an environment shares none with base");
	y.environment = &b;
	ok(vm_class_shares(&x, &y), "two of one id share one");
	y.environment = &c;
	ok(!vm_class_shares(&x, &y), "two of different ids do not");
	return done_testing();
}
