/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a list of system calls, by seccomp. All others fail with EPERM, so that a library
 * that tries one does not end. It is no part of rights.c, since a zygote is linked with that
 * one and has no libseccomp.
 */
#include "rights.h"

#include <errno.h>
#include <seccomp.h>

#include "layout/base/num.h"

static int add_argument(scmp_filter_ctx ctx, const struct rights_argument *a)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, a->call, 1,
				SCMP_CMP(a->argument, SCMP_CMP_MASKED_EQ, a->mask, a->value));
}

static int add_all(scmp_filter_ctx ctx, const struct rights_calls *calls)
{
	/* Deny clone3 as unknown: a filter cannot see its flags, and the C
	 * library works without it. */
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (size_t i = 0; r == 0 && i < calls->count; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls->call[i], 0);
	for (size_t i = 0; r == 0 && i < calls->argument_count; i++)
		r = add_argument(ctx, &calls->argument[i]);
	return r;
}

int rights_keep_calls(const struct rights_calls *calls)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? add_all(ctx, calls) : -ENOMEM;

	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
}
