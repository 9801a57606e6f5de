/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: bytes in, a struct or one sentence for `error` out. Pure. */
#ifndef LAYOUT_CONFIG_H
#define LAYOUT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"
#include "lang.h"
#include "packages.h"

enum job_mode { MODE_SCRIPT, MODE_CALL, MODE_COMMAND, MODE_CELL, JOB_MODE_MAX };

/* The operator's own maxima. */
struct config_limits {
	uint64_t timeout_ms; /* e.g. DEFAULT_TIMEOUT_MAX_MS */
	uint64_t memory_mb;
	uint64_t cpus;
};

struct config_strings {
	size_t count;
	char **item; /* owned, each owned; also item[count] == NULL */
};

struct job_config {
	const struct lang *lang; /* NULL: by the file */
	struct config_strings args, env /* "NAME=value" */, inputs, command;
	char *stdin_text;        /* owned; NULL: the file, else empty */
	size_t stdin_len;
	bool stdin_open;         /* standard input comes by stdin.feed */
	uint64_t timeout_ms;     /* 0: none, in a sandbox */
	uint64_t grace_ms;
	uint64_t linger_ms;      /* for what the program leaves running */
	uint64_t memory_mb, cpus, processes;
	bool memory_given;       /* it is the config's, not a default */
	char *environment;       /* owned, a spec; NULL: the operator's default */
	struct packages packages; /* that it must have besides; owned */
	bool fresh;              /* "warm": false: an interpreter of its own */
	uint64_t stdout_limit, stderr_limit, output_limit; /* bytes */
	bool manual;             /* "start": "manual" */
	uint64_t retry;          /* more runs after one that fsd failed */
	uint64_t retain_s;       /* removed so long after its end; 0: never */
	char *input_json;        /* owned, compact; NULL: none */
	size_t input_len;
	enum job_mode mode;
	char *call;              /* owned; "main" by default */
	char *session;           /* owned; NULL: a machine of its own */
	char *sandbox;           /* owned; NULL: no shared machine */
	char *cwd;               /* owned; NULL: the home */
	char *main;              /* owned, the program's file; NULL: code.* */
	char *code;              /* owned, the program; NULL: a file has it */
	size_t code_len;
	int priority;            /* higher ones first, among one user's */
	uint64_t session_idle_ms; /* the session ends after so long without use */
};

/* All defaults, as for `{}`. Free with config_done(). Return: 0 or -ENOMEM. */
int config_defaults(struct job_config *ret_config);
/*
 * Parses and checks. On success *ret_config is to be freed with config_done();
 * on failure it needs no release and err has the sentence, beginning with
 * `config.json: `.
 * Return: 0; -ENODATA: the text merely ends too early (or is empty); -EINVAL:
 * it is wrong; -EFBIG: over 1 MiB; -ENOMEM.
 */
int config_parse(const char *data, size_t len,
		 const struct config_limits *limits,
		 struct job_config *ret_config, struct err *err);
/* True of a text without a word: no bytes, or blanks. It counts as {} once
 * nobody writes to it any more; config_parse() has -ENODATA for it. */
bool config_is_empty(const char *data, size_t len);
void config_done(struct job_config *config);

/* A row of the schema, for the manual. */
struct config_key {
	const char *name;
	uint64_t min, max; /* of its number, bytes or entries; both 0: none */
	bool operators;    /* the operator chooses max */
	bool later;        /* refused: no mount has it yet */
};

/* By index from 0. Return: false behind the last. */
bool config_key(unsigned i, struct config_key *ret);

/* config.json of a sandbox: what its machine has, and how long it lives. */
struct sandbox_config {
	struct job_config machine; /* environment, memory_mb, cpus, processes, env */
	uint64_t idle_ms;          /* 0: for however long it is idle */
	uint64_t life_ms;          /* 0: not given */
	bool pauses;               /* at its end, instead of ending */
	uint64_t pause_life_ms;    /* 0: it may be paused for ever */
};

/* config_sandbox.c; as the three of a job. */
int sandbox_config_parse(const char *data, size_t len,
			 const struct config_limits *limits,
			 struct sandbox_config *ret_config, struct err *err);
void sandbox_config_done(struct sandbox_config *config);
bool sandbox_config_key(unsigned i, struct config_key *ret);

#endif
