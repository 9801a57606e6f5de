/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses config.json: bytes in; a struct, or one sentence for `error`, out.
 * Pure: no I/O, any thread.
 */
#ifndef LAYOUT_CONFIG_H
#define LAYOUT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"
#include "lang.h"
#include "network/wish.h"
#include "limits.h"
#include "packages.h"

enum job_mode { MODE_SCRIPT, MODE_CALL, MODE_COMMAND, MODE_CELL, JOB_MODE_MAX };

/* Maxima that the operator sets. */
struct config_limits {
	uint64_t timeout_ms; /* e.g. DEFAULT_TIMEOUT_MAX_MS */
	uint64_t memory_mb;
	uint64_t cpus;
};

struct config_strings {
	size_t count;
	char **item; /* owned, each owned; also item[count] == NULL */
};

/* Ports of the machine that other programs of the host may reach. */
struct config_ports {
	bool any; /* each port that ctl opens */
	unsigned count;
	uint16_t item[LIMIT_PORTS];
};

struct job_config {
	const struct lang *lang; /* NULL: the file's name decides */
	struct config_strings args, env /* "NAME=value" in env */, inputs, command;
	/* owned; NULL: the file stdin if there is one, else empty */
	char *stdin_text;
	size_t stdin_len;
	bool stdin_open; /* standard input comes through the file stdin.feed */
	uint64_t timeout_ms; /* 0: none; only in a sandbox */
	uint64_t grace_ms;
	/* time for processes that the program leaves running */
	uint64_t linger_ms;
	uint64_t memory_mb, cpus, processes;
	bool memory_given; /* memory_mb is the config's, not a default */
	/* owned, NAME or NAME@ID; NULL: the operator's default */
	char *environment;
	/* owned; packages that the environment must have */
	struct packages packages;
	bool fresh; /* "warm": false: start a fresh interpreter */
	uint64_t stdout_limit, stderr_limit, output_limit; /* bytes */
	bool manual;             /* "start": "manual" */
	uint64_t retry; /* how many more runs after one that fsd failed */
	uint64_t retain_s; /* removed this long after the job's end; 0: never */
	char *input_json;        /* owned, compact; NULL: none */
	size_t input_len;
	enum job_mode mode;
	char *call;              /* owned; "main" by default */
	char *session;           /* owned; NULL: a machine of its own */
	char *sandbox;           /* owned; NULL: no shared machine */
	char *cwd;               /* owned; NULL: the home */
	char *main; /* owned: the program's file; NULL: code.* */
	char *code; /* owned: the program's text; NULL: it is a file */
	size_t code_len;
	int priority; /* higher first, among the jobs of one user */
	/* the session ends after this time without a step */
	uint64_t session_idle_ms;
	struct net_wish network; /* owned; form NET_WISH_NONE: none */
	char *network_text; /* owned: net_wish_print() of it; NULL: none */
	struct config_ports ports;
	bool retry_network; /* a retry may repeat what the program did to others */
};

bool config_has_ports(const struct config_ports *ports);
/* The same ports in the same order? */
bool config_ports_equal(const struct config_ports *a, const struct config_ports *b);

/* Fills in the defaults, as for `{}`. Free with config_done(). Return: 0 or
 * -ENOMEM. */
int config_defaults(struct job_config *ret_config);
/*
 * Parses and checks. On success free *ret_config with config_done(); on failure
 * it needs no release, and err has a sentence that begins with `config.json: `.
 * Return: 0; -ENODATA: the text ends too early or is empty; -EINVAL: it is
 * wrong; -EFBIG: over 1 MiB; -ENOMEM.
 */
int config_parse(const char *data, size_t len,
		 const struct config_limits *limits,
		 struct job_config *ret_config, struct err *err);
/*
 * Returns true for a text without content: no bytes, or blanks. It counts as {}
 * once no process writes to it any more; config_parse() returns -ENODATA for
 * it.
 */
bool config_is_empty(const char *data, size_t len);
void config_done(struct job_config *config);

/* A row of the schema, for the manual. */
struct config_key {
	const char *name;
	uint64_t min, max; /* bounds of a number's value, a text's bytes or a list's
			    * entries; both 0: none */
	bool operators;    /* the operator sets max */
};

/* Returns the key at index i, from 0. Return: false behind the last one. */
bool config_key(unsigned i, struct config_key *ret);

/* config.json of a sandbox: the needs of its machine, and how long it lives. */
struct sandbox_config {
	/* only environment, memory_mb, cpus, processes, env */
	struct job_config machine;
	uint64_t idle_ms; /* ends after this time without use; 0: never */
	uint64_t life_ms; /* ends after this time; 0: not given */
	bool pauses; /* at its end the sandbox is paused instead of ended */
	uint64_t pause_life_ms; /* longest pause; 0: for ever */
};

/* config_sandbox.c: like the three functions for a job. */
int sandbox_config_parse(const char *data, size_t len,
			 const struct config_limits *limits,
			 struct sandbox_config *ret_config, struct err *err);
void sandbox_config_done(struct sandbox_config *config);
bool sandbox_config_key(unsigned i, struct config_key *ret);

#endif
