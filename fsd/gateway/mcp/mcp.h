/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol, over HTTP (mcp_http.c) and over standard input and
 * output (mcp_stdio.c). Both hand one message at a time to mcp_begin().
 */
#ifndef GATEWAY_MCP_H
#define GATEWAY_MCP_H

#include "fsd/gateway/http/request.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LINE_MAX (10u << 20)

/* Codes of JSON-RPC, and of the protocol itself. */
#define MCP_PARSE (-32700)
#define MCP_INVALID (-32600)
#define MCP_NO_METHOD (-32601)
#define MCP_BAD_PARAMS (-32602)
#define MCP_BAD_HEADERS (-32020)
#define MCP_BAD_VERSION (-32022)

#define MCP_META "io.modelcontextprotocol/" /* before the names of members of _meta */

/* The values of HTTP's headers; NULL: the header was not sent. */
struct mcp_head {
	const char *version, *method, *name;
};

struct mcp_sink {
	/* On the loop: a notification. Takes it. */
	void (*tell)(void *arg, json_t *message);
	/* On the loop, once, last: the reply. Takes it. */
	void (*reply)(void *arg, json_t *reply);
};

/* A message under way. Its owner is who called mcp_begin(), until the reply. */
struct mcp {
	struct gateway *gateway;
	struct caller caller;
	json_t *message;      /* owned */
	json_t *id, *params;  /* borrowed of it; id NULL: a notification */
	const char *method;
	const json_t *token;  /* of progress; NULL: none is wanted */
	bool modern, rules;   /* rules: those of HTTP's headers hold */
	const struct mcp_sink *sink;
	void *arg;
	json_t *answer;       /* owned; the reply, once it is known */
	unsigned status;      /* of HTTP */
	struct mcp_call *call; /* a job under way, or NULL; mcp_run.c's */
};

enum mcp_state {
	MCP_SILENT,  /* a notification: there is no reply */
	MCP_REPLIED, /* m->answer is the reply */
	MCP_RUNS,    /* sink's reply comes */
};

/* On a worker. head: NULL without HTTP. sink may be called before it returns.
 * Fills *m, which stays the caller's: mcp_done(). */
enum mcp_state mcp_begin(struct mcp *m, const char *text, size_t len,
			 const struct mcp_head *head);
void mcp_done(struct mcp *m);
/* On the loop, while it runs: its client has gone, and no reply comes. */
void mcp_abandon(struct mcp *m);
/* The same, and the reply comes all the same when the run has ended. */
void mcp_interrupt(struct mcp *m);

/* --- replies (mcp_reply.c) -------------------------------------------------------- */

/* Takes result, of a tool or a method: the reply. NULL: no memory. */
json_t *mcp_reply(const struct mcp *m, json_t *result);
json_t *mcp_error(const struct mcp *m, int code, const char *sentence);
/* The same; takes data, NULL: the error has none. */
json_t *mcp_error_with(const struct mcp *m, int code, const char *sentence,
		       json_t *data);
/* An error number of the mount: an error of JSON-RPC, or a result that says so. */
json_t *mcp_failure(const struct mcp *m, int code, const char *sentence);
/* The result of a tool that failed. */
json_t *mcp_tool_failed(const char *sentence);
json_t *mcp_text_part(const char *text, size_t len);
/* The name and version that each server of MCP tells. */
json_t *mcp_server_info(void);

/* --- tools ------------------------------------------------------------------------ */

/* mcp_tools.c: the one table of tools. */
json_t *mcp_tools_list(void);
/* tools/call. The reply is in m->answer, or the state is MCP_RUNS. */
enum mcp_state mcp_tools_call(struct mcp *m);

/* mcp_arguments.c: a tool's arguments, checked; strings are NULL if they were not given. */
const char *mcp_text(const json_t *arguments, const char *name);
int64_t mcp_number(const json_t *arguments, const char *name, int64_t other);
/* JSON Schema takes 30.0 for an integer; models also write "30". Return: false: the value
 * is no whole number. */
bool mcp_read_number(const json_t *value, int64_t *ret);

/* mcp_files.c: tools that need no job; each gives a result or sets m->answer. */
json_t *mcp_write_file(struct mcp *m, const json_t *arguments);
json_t *mcp_read_file(struct mcp *m, const json_t *arguments);
json_t *mcp_list_files(struct mcp *m, const json_t *arguments);
json_t *mcp_stop_sandbox(struct mcp *m, const json_t *arguments);
json_t *mcp_list_sandboxes(struct mcp *m, const json_t *arguments);
/* The sandbox that a client calls so. Returns 0, or a negative errno with a sentence:
 * -ENOENT if there is none. */
int mcp_find_sandbox(struct mcp *m, const char *name, char ret[17],
		     struct err *err);
/* The same, but it is made if it is not there. */
int mcp_open_sandbox(struct mcp *m, const char *name, char ret[17],
		     struct err *err);

/* mcp_run.c */
enum mcp_state mcp_run_code(struct mcp *m, const json_t *arguments);
enum mcp_state mcp_run_command(struct mcp *m, const json_t *arguments);

/* mcp_result.c: what a model gets of a job. Pure, but for `read`. */
struct mcp_stream {
	struct buf text; /* its beginning and its end */
	uint64_t size;   /* bytes in all */
};

struct mcp_end {
	const json_t *result; /* result.json, or NULL */
	const struct mcp_stream *out, *err;
	const char *message;  /* of an `error` event, or NULL */
	bool files;           /* what it made comes along */
	int (*read)(void *arg, const char *path, struct buf *out);
	void *arg;
};

#define MCP_PART_MAX (64u << 10)
json_t *mcp_result(const struct mcp_end *end);

/* mcp_http.c */
void post_mcp(struct request *r);

/* mcp_lines.c: messages, one a line, out of pieces of any size. */
struct mcp_lines {
	struct buf text; /* of a line that has not ended; cap: the most it may have */
	bool drops;      /* that line was longer */
	bool begun;      /* a line has ended, so no byte order mark may come */
	/* Takes text, or leaves it empty; NULL: a line that was too long. */
	void (*fn)(void *arg, struct buf *text);
	void *arg;
};

void mcp_lines_add(struct mcp_lines *l, const char *data, size_t len);
/* No more comes: the last line may have no end. */
void mcp_lines_end(struct mcp_lines *l);

/* mcp_stdio.c: serves until the end of standard input. Returns the exit status. */
int mcp_stdio(struct gateway *g);

#endif
