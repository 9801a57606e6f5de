/* SPDX-License-Identifier: Apache-2.0 */
/* Makes config.json of the command line. The mount checks the values: only it knows
 * what its operator allows. */
#include <stdio.h>
#include <string.h>

#include "run_int.h"

static void json_text(struct buf *b, const char *text, size_t len)
{
	buf_str(b, "\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)text[i];

		if (ch == '"' || ch == '\\')
			buf_fmt(b, "\\%c", ch);
		else if (ch < 0x20)
			buf_fmt(b, "\\u%04x", ch);
		else
			buf_add(b, text + i, 1);
	}
	buf_str(b, "\"");
}

static int wrong(enum run_opt opt, const char *text, const char *must)
{
	char word[32];

	return client_complain(2, "%s is \"%s\"; it must be %s",
			run_option_word(opt, word), text, must);
}

static int number(struct buf *b, enum run_opt opt, const char *text)
{
	const char *digits = text + (text[0] == '-');
	size_t whole = strspn(digits, "0123456789");
	size_t part = digits[whole] == '.'
			      ? strspn(digits + whole + 1, "0123456789") + 1
			      : 0;

	if (!whole || part == 1 || digits[whole + part] ||
	    (digits[0] == '0' && whole > 1))
		return wrong(opt, text, "a number");
	buf_str(b, text);
	return 0;
}

static int size(struct buf *b, enum run_opt opt, const char *text)
{
	static const char units[] = "KMG";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
	char room[24];
	uint64_t n;

	if (!digits || digits >= sizeof(room) ||
	    (text[digits] && (!unit || text[digits + 1])))
		return wrong(opt, text, "a number of bytes, or one with K, M or "
			     "G");
	memcpy(room, text, digits);
	room[digits] = '\0';
	if (parse_u64(room, 0, GIB(1024), &n) < 0)
		return wrong(opt, text, "at most 4G");
	buf_fmt(b, "%llu", (unsigned long long)n
			   << (unit ? 10 * (unit - units + 1) : 0));
	return 0;
}

static int value(struct buf *b, enum run_opt opt, const char *text)
{
	const struct run_option *o = &run_options[opt];

	buf_fmt(b, ",\"%s\":", o->key);
	if (o->kind == RUN_NUMBER)
		return number(b, opt, text);
	if (o->kind == RUN_SIZE)
		return size(b, opt, text);
	json_text(b, text, strlen(text));
	return 0;
}

static void add_args(const struct run_client *c, struct buf *b, bool more)
{
	for (unsigned i = 0; i < c->arg_count; i++) {
		buf_str(b, more || i ? "," : "");
		json_text(b, c->args[i], strlen(c->args[i]));
	}
	buf_str(b, "]");
}

/* A program below the directory of -C is run where it is, as a command. */
static void add_command(const struct run_client *c, const struct program *p,
			struct buf *b)
{
	buf_str(b, "\"mode\":\"command\",\"command\":[");
	if (p->interpreter) {
		json_text(b, p->interpreter, strlen(p->interpreter));
		buf_str(b, ",");
	}
	json_text(b, p->what, strlen(p->what));
	add_args(c, b, true);
}

static void add_env(const struct run_client *c, struct buf *b)
{
	buf_str(b, ",\"env\":{");
	for (unsigned i = 0; i < c->env_count; i++) {
		size_t name = strcspn(c->env[i], "=");

		buf_str(b, i ? "," : "");
		json_text(b, c->env[i], name);
		buf_str(b, ":");
		json_text(b, c->env[i] + name + 1, strlen(c->env[i] + name + 1));
	}
	buf_str(b, "}");
}

int client_config(const struct client *k, struct buf *b)
{
	const struct run_client *c = k->c;
	const struct program *p = &k->program;
	bool command = p->interpreter || p->itself;
	int r = 0;

	buf_str(b, "{");
	if (command) {
		add_command(c, p, b);
	} else {
		buf_str(b, "\"args\":[");
		add_args(c, b, false);
	}
	if (p->named) {
		buf_str(b, ",\"main\":");
		json_text(b, p->name, strlen(p->name));
	}
	add_env(c, b);
	for (int i = 0; i < RUN_OPTIONS && r == 0; i++)
		if (run_options[i].key && is_set(c, i) &&
		    !(command && i == RUN_LANGUAGE))
			r = value(b, i, c->value[i]);
	if (k->input.open)
		buf_str(b, ",\"stdin_open\":true");
	buf_str(b, "}\n");
	return r ? r : b->failed ? client_complain(1, "out of memory") : 0;
}
