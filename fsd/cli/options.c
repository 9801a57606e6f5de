/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tables of options.h: for getopt_long(3), and for help. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "layout/layout.h"

#define LEFT 26 /* columns of an option's name */

const char *cli_word(const struct cli_command *verb)
{
	const char *blank = strrchr(verb->name, ' ');

	return blank ? blank + 1 : verb->name;
}

const struct cli_command *cli_verb(const struct cli_command *c,
				   const char *word)
{
	for (const struct cli_command *v = c->verbs; v && v->name; v++)
		if (!strcmp(cli_word(v), word))
			return v;
	return NULL;
}

void cli_getopt(const struct cli_command *c, struct cli_getopt *ret)
{
	size_t letters = 0, longs = 0;

	*ret = (struct cli_getopt){ 0 };
	if (c->in_order)
		ret->letters[letters++] = '+';
	for (const struct cli_option *o = c->options;
	     o && o->id && longs < CLI_OPTIONS_MAX; o++) {
		if (o->id < CLI_LONG) {
			ret->letters[letters++] = (char)o->id;
			if (o->value)
				ret->letters[letters++] = ':';
		}
		if (o->name)
			ret->longs[longs++] = (struct option){
				.name = o->name, .val = o->id,
				.has_arg = o->value ? required_argument :
						      no_argument,
			};
	}
}

int cli_next(const struct cli_command *c, int argc, char **argv,
	     const struct cli_getopt *g)
{
	char *own = argv[0], name[64];
	int opt;

	snprintf(name, sizeof(name), "fsd %s", c->name);
	argv[0] = name;
	opt = getopt_long(argc, argv, g->letters, g->longs, NULL);
	argv[0] = own;
	return opt;
}

/* Prints the text with so many blanks before each line. */
static void indented(const char *text, int columns, FILE *to)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		fprintf(to, "%.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
		if (*line)
			fprintf(to, "%*s", columns, "");
	}
}

static void option_help(const struct cli_option *o, FILE *to)
{
	char left[96];
	int n;

	if (o->id < CLI_LONG)
		n = snprintf(left, sizeof(left), "  -%c%s%s", o->id,
			     o->name ? ", --" : "", o->name ? o->name : "");
	else
		n = snprintf(left, sizeof(left), "  --%s", o->name);
	if (o->value)
		n += snprintf(left + n, sizeof(left) - (size_t)n, " %s",
			      o->value);
	if (n >= LEFT)
		fprintf(to, "%s\n%*s", left, LEFT, "");
	else
		fprintf(to, "%-*s", LEFT, left);
	indented(o->help, LEFT, to);
}

struct lines {
	FILE *to;
	bool any;
};

static void print_line(void *arg, const char *line)
{
	struct lines *l = arg;

	fprintf(l->to, "%s%s\n", l->any ? "" : "\n", line);
	l->any = true;
}

void cli_help(const struct cli_command *c, FILE *to)
{
	struct lines more = { .to = to };

	fprintf(to, "usage: fsd %s%s%s\n\n%s\n", c->name,
		c->synopsis[0] ? " " : "", c->synopsis, c->summary);
	for (const struct cli_command *v = c->verbs; v && v->name; v++)
		if (v->summary)
			fprintf(to, "%s  fsd %-*s %s\n",
				v == c->verbs ? "\n" : "", LEFT - 7,
				v->name, v->summary);
	for (const struct cli_option *o = c->options; o && o->id; o++) {
		if (o == c->options)
			fputc('\n', to);
		if (o->help)
			option_help(o, to);
	}
	if (c->option_lines)
		c->option_lines(print_line, &more);
	if (c->notes)
		fprintf(to, "\n%s\n", c->notes);
}

int usage(const struct cli_command *c)
{
	fprintf(stderr, "usage: fsd %s %s\n`fsd help %s` tells more\n", c->name,
		c->synopsis, c->name);
	return 2;
}
