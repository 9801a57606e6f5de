/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the parser: shared by config*.c. Pure. */
#ifndef LAYOUT_CONFIG_INT_H
#define LAYOUT_CONFIG_INT_H

#include "config.h"
#include "json.h"

struct parse {
	const struct schema *schema;
	const struct config_limits *limits;
	struct job_config *config; /* being filled */
	/* JSON text of the member that is kept as text: "input", or a sandbox's
	 * "meta" */
	struct json_raw input;
	bool has_call, has_command;
	struct err *err;
};

struct field {
	const char *key;
	int (*set)(struct parse *p, const struct field *f, json_t *value);
	size_t offset;     /* offset of the member in struct job_config */
	uint64_t min, max; /* max 0: the operator's, at max_from */
	size_t max_from;   /* offset in struct config_limits */
	const char *note; /* a further argument of `set` */
};

struct schema {
	const struct field *fields;
	size_t count;
	/* Checks keys against each other. Return: 0 or -EINVAL. */
	int (*relate)(struct parse *p, const json_t *root);
};

/* Like config_parse(), into p->config; the sentence has no file name. */
int config_read(struct parse *p, const char *data, size_t len);
/* Like config_key(). */
bool config_row(const struct schema *schema, unsigned i,
		struct config_key *ret);

/* Prints a value as a person would write it, cut to a readable length. Return:
 * room. */
const char *config_found(const json_t *value, char room[96]);
/* Sets the sentence `"key" is VALUE; it must be ...`. Return: -EINVAL. */
int config_wrong(struct parse *p, const struct field *f, const json_t *value,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int config_no_memory(struct parse *p);
/* Returns the text of a string; NULL: it is no string, or has a NUL inside. */
const char *config_text(const json_t *value);
/*
 * Reads a string, or a list of bytes for one that is not UTF-8, as [99, 97,
 * 102, 233]. *ret_len: bytes. Return: owned; NULL: it is neither, has a NUL
 * inside, or there is no memory (errno).
 */
char *config_bytes(const json_t *value, size_t *ret_len);
/* Returns the address of the row's member in p->config. */
void *config_at(struct parse *p, const struct field *f);

int config_set_integer(struct parse *p, const struct field *f, json_t *value);
int config_set_seconds(struct parse *p, const struct field *f, json_t *value);
int config_set_memory(struct parse *p, const struct field *f, json_t *value);
/* Setters of lists; f->min and f->max count the entries. */
int config_set_strings(struct parse *p, const struct field *f, json_t *value);
int config_set_command(struct parse *p, const struct field *f, json_t *value);
int config_set_inputs(struct parse *p, const struct field *f, json_t *value);
int config_set_env(struct parse *p, const struct field *f, json_t *value);
/*
 * Checks whether the job may set its variables; call it when all keys are read.
 */
int config_check_env(struct parse *p);
/* setters in config_environment.c */
int config_set_environment(struct parse *p, const struct field *f,
			   json_t *value);
int config_set_packages(struct parse *p, const struct field *f, json_t *value);
int config_set_warm(struct parse *p, const struct field *f, json_t *value);
/* setters in config_program.c */
int config_set_call(struct parse *p, const struct field *f, json_t *value);
int config_set_session(struct parse *p, const struct field *f, json_t *value);
int config_set_sandbox(struct parse *p, const struct field *f, json_t *value);
int config_set_cwd(struct parse *p, const struct field *f, json_t *value);
int config_set_main(struct parse *p, const struct field *f, json_t *value);
int config_set_code(struct parse *p, const struct field *f, json_t *value);
int config_set_kept(struct parse *p, const struct field *f, json_t *value);
/* setters in config_network.c */
int config_set_network(struct parse *p, const struct field *f, json_t *value);
int config_set_ports(struct parse *p, const struct field *f, json_t *value);
int config_set_retry_network(struct parse *p, const struct field *f, json_t *value);
/* functions of config_relate.c */
int config_relate(struct parse *p, const json_t *root);
void config_strings_done(struct config_strings *strings);

#endif
