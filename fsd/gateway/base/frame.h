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

/* Appends a frame. Takes json. */
void frame_put(struct buf *out, unsigned flags, json_t *json);
/* Appends the last frame; code NULL: success. */
void frame_put_end(struct buf *out, const char *code, const char *message);

/* Parses the first of several frames; *used: its bytes. Return: as
 * frame_take(). */
int frame_next(const char *data, size_t len, size_t *used, json_t **ret,
	       struct err *err);
/* Parses the only frame of a request's body. Return: 0; -EINVAL with a
 * sentence. */
int frame_take(const char *data, size_t len, json_t **ret, struct err *err);

/* Makes {"event":{"end":...}} of a job's result. NULL: it has none; then *code
 * and *message are for the end frame. */
json_t *frame_exit(const json_t *result, const char **code, const char **message);
/* Makes {"event":{"data":...}} of an event with output. */
json_t *frame_data(const char *name, const json_t *event);

#endif
