/* SPDX-License-Identifier: Apache-2.0 */
/* POST /run, in RAGFlow's form: calls a function and replies with its value. */
#ifndef GATEWAY_RAGFLOW_H
#define GATEWAY_RAGFLOW_H

#include "fsd/gateway/http/request.h"

#define RUN_ARTIFACTS "artifacts" /* directory whose files are returned */

/* The parts of a run's answer; all borrowed. */
struct run_end {
	const json_t *result; /* result.json; NULL: fsd lost the job */
	const char *out, *err; /* the streams, as far as wanted */
	size_t out_len, err_len;
	const char *message; /* text of an `error` event, or NULL */
	uint64_t timeout_s, memory_mb;
	/* Appends a file of the job's output to out. Returns 0 or negative
	 * errno. */
	int (*read)(void *arg, const char *path, struct buf *out);
	void *arg;
};

/* Returns the reply's body, owned; NULL without memory. Pure, but for `read`. */
json_t *run_answer(const struct run_end *end);
/* The same for a refused job. code: a negative errno. */
json_t *run_refusal(int code, const char *sentence);

void post_run(struct request *r);

#endif
