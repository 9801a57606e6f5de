/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code service of a sandbox: cells in contexts. A context is a session in
 * the sandbox.
 */
#ifndef GATEWAY_CODE_H
#define GATEWAY_CODE_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"
#include "layout/limits.h"

#define CONTEXT_ID 37u /* a UUID and a NUL */
#define CODE_MAX (1u << 20)

struct context {
	char id[CONTEXT_ID];
	char language[16]; /* python, javascript, bash */
	char cwd[1024];
};

/* Returns fsd's name for a language that a client names; NULL: there is none. */
const char *code_language(const char *name);
/* Returns the context that a sandbox has for a language from the start. */
void context_default(const struct sandbox *s, const char *language,
		     struct context *ret);
/* Finds a context. Return: false: there is none of that id. */
bool context_find(const struct sandbox *s, const char *id, struct context *ret);

void get_code_health(struct request *r);
void get_contexts(struct request *r);
void post_contexts(struct request *r);
void restart_context(struct request *r);
void delete_context(struct request *r);

void post_execute(struct request *r);

/* cell.c: makes the lines that follow a cell's output. Pure, except `read`. */
#define CELL_SHOWN (LIMIT_RESULTS + 1)

struct cell_end {
	/* Appends a file of the job's output to out. Return: 0 or negative
	 * errno; -EAGAIN: no memory for it now. */
	int (*read)(void *arg, const char *path, struct buf *out);
	void *arg;
	uint64_t memory_mb;  /* memory of the sandbox */
	bool restarted; /* the cell's context was restarted */
	/* array of CELL_SHOWN: display n was already sent */
	const bool *shown;
	const char *message; /* text of an `error` event, or NULL */
};
/* Writes the lines that end a cell: what was not shown yet, its error, and the last line.
 * result: result.json, or NULL. */
void cell_lines(struct buf *out, const json_t *result,
		const struct cell_end *end);
/* Writes the line of one display, from an event "shown". told: of CELL_SHOWN
 * displays; marks this one. */
void cell_shown(struct buf *out, const json_t *shown, bool *told);
/* Writes the lines of an event "stdout" or "stderr". */
void cell_output(struct buf *out, const char *name, const json_t *event);
/* Writes the line of an event "stdout" from an unparsed line of `events`. Most text needs
 * no conversion and is copied. Return: false: another event, or it must be parsed. */
bool cell_copy(struct buf *out, const char *line, size_t len);
void cell_error(struct buf *out, const char *name, const char *value,
		const char *traceback);

#endif
