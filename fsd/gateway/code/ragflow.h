/* SPDX-License-Identifier: Apache-2.0 */
/* POST /run, as RAGFlow asks for it: a function is called, its value is the answer. */
#ifndef GATEWAY_RAGFLOW_H
#define GATEWAY_RAGFLOW_H

#include "fsd/gateway/http/request.h"

#define RUN_ARTIFACTS "artifacts" /* the directory of what goes back as files */

/* The parts of a run's answer; all borrowed. */
struct run_end {
	const json_t *result;  /* result.json; NULL: the appliance lost the job */
	const char *out, *err; /* the streams, as far as they are wanted */
	size_t out_len, err_len;
	const char *message;   /* of an `error` event, or NULL */
	uint64_t timeout_s, memory_mb;
	/* A file of the job's output, into out. Returns 0 or negative errno. */
	int (*read)(void *arg, const char *path, struct buf *out);
	void *arg;
};

/* Returns the reply's body, owned; NULL without memory. Pure, but for `read`. */
json_t *run_answer(const struct run_end *end);
/* The same for a job that the mount refused: code is a negative errno. */
json_t *run_refusal(int code, const char *sentence);

void post_run(struct request *r);

#endif
