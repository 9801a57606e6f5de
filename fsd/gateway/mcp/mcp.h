/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol, over HTTP (mcp_http.c) and over standard input
 * and output (mcp_stdio.c). Both pass one message at a time to mcp_begin().
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

#define MCP_META "io.modelcontextprotocol/" /* prefix of names in _meta */

/* Values of HTTP headers; NULL: not sent. */
struct mcp_head {
	const char *version, *method, *name;
};

struct mcp_sink {
	/* Called on the loop with a notification, which it takes. */
	void (*tell)(void *arg, json_t *message);
	/* Called on the loop, once, last, with the reply, which it takes. */
	void (*reply)(void *arg, json_t *reply);
};

/* A message in work. Owned by the caller of mcp_begin() until the reply. */
struct mcp {
	struct gateway *gateway;
	struct caller caller;
	json_t *message;      /* owned */
	json_t *id, *params;  /* borrowed from the message; id NULL: a notification */
	const char *method;
	const json_t *token; /* token for reports of progress; NULL: not wanted */
	/* modern: the message is of revision MCP_MODERN; rules: the rules of HTTP headers
	 * apply */
	bool modern, rules;
	const struct mcp_sink *sink;
	void *arg;
	json_t *answer; /* owned; NULL: not known yet */
	unsigned status;      /* HTTP status of the reply */
	struct mcp_call *call; /* the running job, or NULL; of mcp_run.c */
};

enum mcp_state {
	MCP_SILENT, /* a notification, which has no reply */
	MCP_REPLIED, /* m->answer is the reply */
	MCP_RUNS, /* sink->reply() will be called */
};

/* Handles a message; on a worker. head: NULL without HTTP. sink may be called
 * before it returns. The caller frees *m with mcp_done(). */
enum mcp_state mcp_begin(struct mcp *m, const char *text, size_t len,
			 const struct mcp_head *head);
void mcp_done(struct mcp *m);
/* Ends the job of a message (MCP_RUNS): the client is gone, and no reply follows. On the
 * loop. */
void mcp_abandon(struct mcp *m);
/* The same, but the reply comes when the run has ended. */
void mcp_interrupt(struct mcp *m);

/* --- replies (mcp_reply.c) -------------------------------------------------------- */

/* Makes the reply of a result, which it takes. NULL: no memory. */
json_t *mcp_reply(const struct mcp *m, json_t *result);
json_t *mcp_error(const struct mcp *m, int code, const char *sentence);
/* The same with data, which it takes; NULL: none. */
json_t *mcp_error_with(const struct mcp *m, int code, const char *sentence,
		       json_t *data);
/* Makes the reply of a mount's errno: an error of JSON-RPC, or a result that
 * reports it. */
json_t *mcp_failure(const struct mcp *m, int code, const char *sentence);
/* Makes the result of a failed tool. */
json_t *mcp_tool_failed(const char *sentence);
json_t *mcp_text_part(const char *text, size_t len);
/* Returns name and version of this server. */
json_t *mcp_server_info(void);

/* --- tools ------------------------------------------------------------------------ */

/* mcp_tools.c: the one table of tools. */
json_t *mcp_tools_list(const struct mcp *m);
/* Handles tools/call. The reply is in m->answer, or the state is MCP_RUNS. */
enum mcp_state mcp_tools_call(struct mcp *m);

/* mcp_arguments.c: reads a tool's arguments, which were checked; a string that
 * was not given is NULL. */
const char *mcp_text(const json_t *arguments, const char *name);
int64_t mcp_number(const json_t *arguments, const char *name, int64_t other);
/* Reads an integer: JSON Schema accepts 30.0, and models also write "30".
 * Return: false: it is no integer. */
bool mcp_read_number(const json_t *value, int64_t *ret);

/*
 * mcp_files.c: tools that need no job. Each returns its result, or NULL after it has set
 * m->answer to an error.
 */
json_t *mcp_write_file(struct mcp *m, const json_t *arguments);
json_t *mcp_read_file(struct mcp *m, const json_t *arguments);
json_t *mcp_list_files(struct mcp *m, const json_t *arguments);
json_t *mcp_stop_sandbox(struct mcp *m, const json_t *arguments);
json_t *mcp_list_sandboxes(struct mcp *m, const json_t *arguments);
/* Finds the sandbox by the client's name for it. Returns 0, or a negative errno
 * with a sentence: -ENOENT if there is none. */
int mcp_find_sandbox(struct mcp *m, const char *name, char ret[17],
		     struct err *err);
/* The same; makes it if it is missing. */
int mcp_open_sandbox(struct mcp *m, const char *name, char ret[17],
		     struct err *err);

/* functions of mcp_run.c */
enum mcp_state mcp_run_code(struct mcp *m, const json_t *arguments);
enum mcp_state mcp_run_command(struct mcp *m, const json_t *arguments);

/* mcp_result.c: the result of a job for a model. Pure, except `read`. */
struct mcp_stream {
	struct buf text; /* the beginning and the end of the output */
	uint64_t size;   /* bytes in all */
};

struct mcp_end {
	const json_t *result; /* result.json, or NULL */
	const struct mcp_stream *out, *err;
	const char *message; /* text of an `error` event, or NULL */
	bool files; /* add the files that the job has made */
	int (*read)(void *arg, const char *path, struct buf *out);
	void *arg;
};

#define MCP_PART_MAX (64u << 10)
json_t *mcp_result(const struct mcp_end *end);

/* functions of mcp_http.c */
void post_mcp(struct request *r);

/* mcp_lines.c: splits pieces of any size into messages, one a line. */
struct mcp_lines {
	struct buf text; /* an incomplete line; cap: its longest length */
	bool drops; /* the present line is too long: drop it */
	bool begun; /* a line has ended, so no byte order mark may follow */
	/* Gets a line; it may take text or leave it empty. NULL: a line that
	 * was too long. */
	void (*fn)(void *arg, struct buf *text);
	void *arg;
};

void mcp_lines_add(struct mcp_lines *l, const char *data, size_t len);
/* Ends the input: the last line may have no end. */
void mcp_lines_end(struct mcp_lines *l);

/* mcp_stdio.c: serves until the end of standard input. Returns the exit status. */
int mcp_stdio(struct gateway *g);

#endif
