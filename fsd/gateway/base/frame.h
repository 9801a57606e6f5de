/* SPDX-License-Identifier: Apache-2.0 */
/* The envelopes of Connect's streams: flags (1), length (4, big-endian), JSON. Pure. */
#ifndef GATEWAY_FRAME_H
#define GATEWAY_FRAME_H

#include <stddef.h>

#include "layout/base/buf.h"
#include "layout/json.h"

#define FRAME_HEAD 5u
#define FRAME_PACKED 1u
#define FRAME_END 2u

/* Takes json. */
void frame_put(struct buf *out, unsigned flags, json_t *json);
/* The last one; code NULL: all is well. */
void frame_put_end(struct buf *out, const char *code, const char *message);

/* The first frame of many; *used: its bytes. Return: as below. */
int frame_next(const char *data, size_t len, size_t *used, json_t **ret,
	       struct err *err);
/* The one frame of a request's body. Return: 0; -EINVAL with a sentence. */
int frame_take(const char *data, size_t len, json_t **ret, struct err *err);

/* {"event":{"end":...}} of a job's result, or NULL: it has none, and *code and *message
 * are the end frame's. */
json_t *frame_exit(const json_t *result, const char **code, const char **message);
/* {"event":{"data":...}} of one of `events`. */
json_t *frame_data(const char *name, const json_t *event);

#endif
