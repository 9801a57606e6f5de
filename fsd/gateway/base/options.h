/* SPDX-License-Identifier: Apache-2.0 */
/* The options of fsd-gateway(8): one table, by which they are parsed and printed. */
#ifndef GATEWAY_OPTIONS_H
#define GATEWAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/err.h"
#include "origin.h"

#define LISTEN_MAX 16u
#define SIZES_MAX 32u

/* --template NAME=MB[,CPUS] */
struct template_size {
	char name[65];
	unsigned memory_mb, cpus; /* cpus 0: as --cpus */
};

enum ports { PORTS_YES, PORTS_TOKEN, PORTS_NO };

enum debug_ports { DEBUG_NONE, DEBUG_FRESH, DEBUG_SHARED };

struct options {
	const char *mount;
	const char *environment; /* NULL: data if it is there, else base */
	const char *listen[LISTEN_MAX];
	unsigned listens;
	const char *run_listen;
	enum debug_ports debug_ports;
	enum ports ports; /* may clients reach ports of sandboxes? */
	const char *api_key_file;
	const char *domain; /* value of --domain, perhaps with a port; NULL: not given */
	char domain_name[256]; /* the domain without its port */
	struct hosts hosts;
	struct template_size size[SIZES_MAX];
	unsigned sizes;
	uint64_t max_sandboxes, max_life, life, idle, memory, cpus, run_timeout,
		run_memory, max_upload, workers;
	bool ui;
	bool stdio; /* MCP on standard input and output, no HTTP */
	bool new_key, help, version;
};

/* Return: 0 or -EINVAL with a sentence. Texts are argv's. */
int options_parse(struct options *o, int argc, char **argv, struct err *err);
void options_help(void);

/* Parses "4096", "64K", "1G". Return: 0 or -EINVAL. */
int size_parse(const char *text, uint64_t *ret);

#endif
