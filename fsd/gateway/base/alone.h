/* SPDX-License-Identifier: Apache-2.0 */
/* A lock by name: of the workers that use one thing, one at a time has it. */
#ifndef GATEWAY_ALONE_H
#define GATEWAY_ALONE_H

#include "layout/base/list.h"

struct alone {
	const char *what; /* borrowed until alone_end() */
	struct list node;
};

/* On a worker: waits until no other one has a thing of that name. Things of other names
 * do not wait for it. */
void alone_begin(struct alone *a, const char *what);
void alone_end(struct alone *a);

#endif
