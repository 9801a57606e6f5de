/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options as a table, from which both getopt_long(3) and --help work. A row
 * sets a number in a range, a text, a flag, or calls a function. Runs before
 * there is a thread.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/log.h"
#include "layout/base/num.h"

typedef int (*set_fn)(struct options *o, const char *value, struct err *err);

struct row {
	const char *name;
	const char *value; /* NULL: no value; "[X]": an optional one */
	const char *help;
	size_t number; /* offset of a uint64_t + 1, from min to max */
	uint64_t min, max;
	size_t text;   /* offset of a const char * + 1 */
	size_t flag;   /* offset of a bool + 1 */
	set_fn set;
};

static int set_listen(struct options *o, const char *value, struct err *err)
{
	if (o->listens == LISTEN_MAX)
		return err_set(err, -EINVAL, "--listen: at most %u", LISTEN_MAX);
	o->listen[o->listens++] = value;
	return 0;
}

static int set_debug(struct options *o, const char *value, struct err *err)
{
	if (value && strcmp(value, "shared") != 0)
		return err_set(err, -EINVAL, "--debug-ports=%.40s: it takes "
			       "\"shared\" or no value", value);
	o->debug_ports = value ? DEBUG_SHARED : DEBUG_FRESH;
	return 0;
}

static int set_host(struct options *o, const char *value, struct err *err)
{
	if (o->hosts.hosts == HOSTS_MAX)
		return err_set(err, -EINVAL, "--allow-host: at most %u",
			       HOSTS_MAX);
	o->hosts.host[o->hosts.hosts++] = value;
	return 0;
}

static int set_origin(struct options *o, const char *value, struct err *err)
{
	if (o->hosts.origins == HOSTS_MAX)
		return err_set(err, -EINVAL, "--allow-origin: at most %u",
			       HOSTS_MAX);
	if (strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0)
		return err_set(err, -EINVAL, "--allow-origin %.80s: an origin "
			       "is such as https://app.example", value);
	o->hosts.origin[o->hosts.origins++] = value;
	return 0;
}

static int set_template(struct options *o, const char *value, struct err *err)
{
	struct template_size *s = &o->size[o->sizes];
	char end;

	if (o->sizes == SIZES_MAX)
		return err_set(err, -EINVAL, "--template: at most %u", SIZES_MAX);
	*s = (struct template_size){ 0 };
	if (sscanf(value, "%64[^=]=%u,%u%c", s->name, &s->memory_mb, &s->cpus,
		   &end) != 3 &&
	    sscanf(value, "%64[^=]=%u%c", s->name, &s->memory_mb, &end) != 2)
		return err_set(err, -EINVAL, "--template %.80s: it is NAME=MB "
			       "or NAME=MB,CPUS", value);
	o->sizes++;
	return 0;
}

static int set_ui(struct options *o, const char *value, struct err *err)
{
	o->ui = !strcmp(value, "yes");
	return o->ui || !strcmp(value, "no")
		       ? 0
		       : err_set(err, -EINVAL, "--ui %.40s: it is yes or no",
				 value);
}

static int set_ports(struct options *o, const char *value, struct err *err)
{
	static const char *const words[] = {
		[PORTS_YES] = "yes", [PORTS_TOKEN] = "token", [PORTS_NO] = "no",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(value, words[i])) {
			o->ports = (enum ports)i;
			return 0;
		}
	return err_set(err, -EINVAL, "--ports %.40s: it is yes, token or no", value);
}

static int set_domain(struct options *o, const char *value, struct err *err)
{
	if (!host_name(value, o->domain_name, sizeof(o->domain_name)))
		return err_set(err, -EINVAL, "--domain %.80s: it is a name such as "
			       "sandboxes.example or localhost:3000", value);
	o->domain = value;
	o->hosts.domain = o->domain_name;
	return 0;
}

static int set_upload(struct options *o, const char *value, struct err *err)
{
	return size_parse(value, &o->max_upload) == 0
		       ? 0
		       : err_set(err, -EINVAL, "--max-upload %.40s: it is a "
				 "number of bytes, or one with K, M or G",
				 value);
}

static int set_level(struct options *o, const char *value, struct err *err)
{
	int level = log_level_parse(value);

	(void)o;
	if (level < 0)
		return err_set(err, -EINVAL, "--log-level %.40s: it is error, "
			       "warn, info or debug", value);
	log_set_level((enum log_level)level);
	return 0;
}

#define NUMBER(member, low, high) \
	.number = offsetof(struct options, member) + 1, .min = low, .max = high
#define TEXT(member) .text = offsetof(struct options, member) + 1
#define FLAG(member) .flag = offsetof(struct options, member) + 1

static const struct row rows[] = {
	{ "mount", "MNT", "the mount (else $FSD_MOUNT)", TEXT(mount) },
	{ "environment", "NAME", "of templates that are no environment, of "
	  "/run\nand of MCP (else data, or base)", TEXT(environment) },
	{ "listen", "ADDR:PORT", "repeated (127.0.0.1:3000 and [::1]:3000)",
	  .set = set_listen },
	{ "run-listen", "ADDR:PORT", "serve /run and /healthz there, without "
	  "a key", TEXT(run_listen) },
	{ "debug-ports", "[shared]", "serve old clients on 49983 and 49999, "
	  "loopback\nonly", .set = set_debug },
	{ "domain", "NAME", "sandboxes are PORT-ID.NAME; a proxy ends TLS",
	  .set = set_domain },
	{ "ports", "yes|token|no", "requests for other ports of a sandbox go to its\n"
	  "programs (yes); token: only with its traffic token", .set = set_ports },
	{ "api-key-file", "FILE", "one KEY [label] a line", TEXT(api_key_file) },
	{ "allow-host", "NAME", "a further name in Host", .set = set_host },
	{ "allow-origin", "ORIGIN", "web pages of it may ask", .set = set_origin },
	{ "max-sandboxes", "N", "of one key (100)",
	  NUMBER(max_sandboxes, 1, 100000) },
	{ "max-life", "S", "the longest life of a sandbox (86400)",
	  NUMBER(max_life, 1, 31536000) },
	{ "life", "S", "if the client names none (300)",
	  NUMBER(life, 1, 31536000) },
	{ "idle", "S", "a sandbox without work ends then (0: never)",
	  NUMBER(idle, 0, 31536000) },
	{ "memory", "MB", "of a sandbox (512)", NUMBER(memory, 32, 1048576) },
	{ "cpus", "N", "of a sandbox (1)", NUMBER(cpus, 1, 1024) },
	{ "template", "NAME=MB[,CPUS]", "the size of one template",
	  .set = set_template },
	{ "run-timeout", "S", "of /run (30)", NUMBER(run_timeout, 1, 86400) },
	{ "run-memory", "MB", "of /run (256)", NUMBER(run_memory, 32, 1048576) },
	{ "max-upload", "SIZE", "of one file (1G)", .set = set_upload },
	{ "workers", "N", "threads for calls on the mount (16)",
	  NUMBER(workers, 1, 64) },
	{ "ui", "yes|no", "the dashboard at /ui (yes)", .set = set_ui },
	{ "log-level", "LEVEL", "error, warn, info (default) or debug",
	  .set = set_level },
	{ "stdio", NULL, "speak MCP on standard input and output; no HTTP",
	  FLAG(stdio) },
	{ "new-key", NULL, "print a key for the key file, and end",
	  FLAG(new_key) },
	{ "help", NULL, "this text", FLAG(help) },
	{ "version", NULL, "the version", FLAG(version) },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

int size_parse(const char *text, uint64_t *ret)
{
	static const char units[] = "KMG";
	size_t len = strlen(text);
	char number[24];
	unsigned shift = 0;
	const char *unit;

	if (!len || len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len + 1);
	unit = strchr(units, number[len - 1]);
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		number[len - 1] = '\0';
	}
	if (parse_u64(number, 1, UINT64_MAX >> shift, ret) < 0)
		return -EINVAL;
	*ret <<= shift;
	return 0;
}

static int set_number(const struct row *row, uint64_t *to, const char *value,
		      struct err *err)
{
	if (parse_u64(value, row->min, row->max, to) == 0)
		return 0;
	return err_set(err, -EINVAL, "--%s %.40s: it is a whole number from "
		       "%llu to %llu", row->name, value,
		       (unsigned long long)row->min,
		       (unsigned long long)row->max);
}

static int apply(struct options *o, const struct row *row, const char *value,
		 struct err *err)
{
	char *base = (char *)o;

	if (row->set)
		return row->set(o, value, err);
	if (row->number)
		return set_number(row, (void *)(base + row->number - 1), value,
				  err);
	if (row->text)
		*(const char **)(void *)(base + row->text - 1) = value;
	else
		*(bool *)(base + row->flag - 1) = true;
	return 0;
}

static void set_defaults(struct options *o)
{
	*o = (struct options){
		.max_sandboxes = 100, .max_life = 86400, .life = 300,
		.memory = 512, .cpus = 1, .run_timeout = 30, .run_memory = 256,
		.max_upload = 1u << 30, .workers = 16, .ui = true,
	};
}

int options_parse(struct options *o, int argc, char **argv, struct err *err)
{
	struct option longs[ROWS + 1] = { 0 };
	int opt, r = 0;

	for (size_t i = 0; i < ROWS; i++)
		longs[i] = (struct option){
			rows[i].name,
			!rows[i].value ? no_argument
			: *rows[i].value == '[' ? optional_argument
						: required_argument,
			NULL, 256 + (int)i };
	set_defaults(o);
	opterr = 0;
	while (r == 0 && (opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt == ':')
			return err_set(err, -EINVAL, "%s needs a value",
				       argv[optind - 1]);
		if (opt == '?')
			return err_set(err, -EINVAL, "there is no option %s",
				       argv[optind - 1]);
		r = apply(o, &rows[opt - 256], optarg, err);
	}
	if (r == 0 && optind < argc)
		return err_set(err, -EINVAL, "%.80s: there are no operands",
			       argv[optind]);
	if (r == 0 && o->life > o->max_life)
		return err_set(err, -EINVAL, "--life %llu is over --max-life "
			       "%llu", (unsigned long long)o->life,
			       (unsigned long long)o->max_life);
	return r;
}

static void print_row(const struct row *row)
{
	char head[48];
	const char *line = row->help;

	snprintf(head, sizeof(head), "--%s%s%s", row->name,
		 !row->value ? "" : *row->value == '[' ? "[=" : " ",
		 !row->value ? "" : *row->value == '[' ? row->value + 1
						       : row->value);
	while (line) {
		const char *next = strchr(line, '\n');
		int len = next ? (int)(next - line) : (int)strlen(line);

		printf("  %-26s %.*s\n", head, len, line);
		head[0] = '\0';
		line = next ? next + 1 : NULL;
	}
}

void options_help(void)
{
	printf("usage: fsd gateway [OPTIONS]\n"
	       "serve a mount's sandboxes by HTTP\n\n");
	for (size_t i = 0; i < ROWS; i++)
		print_row(&rows[i]);
	printf("\nfsd-gateway(8) tells more.\n");
}
