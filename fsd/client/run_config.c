/* SPDX-License-Identifier: Apache-2.0 */
/* Makes config.json of the command line. The mount checks the values: only it knows
 * what its operator allows. */
#include <stdio.h>
#include <string.h>

#include "run_int.h"
#include "run_options.h"

/* --- the options: the table of run_options.h as an array ------------------------------- */

#define ROW(number, letter, name, arg, kind, key, ...) \
	[number] = { letter, name, arg, kind, key },

const struct run_option run_options[RUN_OPTIONS] = { RUN_OPTION_TABLE(ROW) };

const char *run_option_word(enum run_opt opt, char room[32])
{
	const struct run_option *o = &run_options[opt];

	if (o->letter)
		snprintf(room, 32, "-%c", o->letter);
	else
		snprintf(room, 32, "--%s", o->name);
	return room;
}

/* --- config.json ------------------------------------------------------------------------ */

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

/* Appends a text. If it is no UTF-8, appends the list of its bytes, which config.json
 * takes as well. */
static void json_bytes(struct buf *b, const char *text)
{
	size_t len = strlen(text);

	if (utf8_valid(text, len)) {
		json_text(b, text, len);
		return;
	}
	for (size_t i = 0; i < len; i++)
		buf_fmt(b, "%s%u", i ? "," : "[", (unsigned char)text[i]);
	buf_str(b, "]");
}

/* Begins another member. */
static void key(struct buf *b, const char *name)
{
	buf_fmt(b, "%s\"%s\":", b->len > 1 ? "," : "", name);
}

static void list(struct buf *b, const char *name, const char *const *item,
		 unsigned count)
{
	key(b, name);
	for (unsigned i = 0; i < count; i++) {
		buf_str(b, i ? "," : "[");
		json_bytes(b, item[i]);
	}
	buf_str(b, "]");
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

	key(b, o->key);
	if (o->kind == RUN_FLAG)
		return MIN(buf_str(b, "true"), 0);
	if (o->kind == RUN_NUMBER)
		return number(b, opt, text);
	if (o->kind == RUN_SIZE)
		return size(b, opt, text);
	if (!utf8_valid(text, strlen(text)))
		return wrong(opt, text, "valid UTF-8");
	json_text(b, text, strlen(text));
	return 0;
}

/* Runs a program below the directory of -C where it is, as a command. */
static void add_command(const struct program *p, struct buf *b)
{
	key(b, "mode");
	buf_str(b, "\"command\"");
	key(b, "command");
	buf_str(b, "[");
	if (p->interpreter) {
		json_text(b, p->interpreter, strlen(p->interpreter));
		buf_str(b, ",");
	}
	json_bytes(b, p->what);
	buf_str(b, "]");
}

static void add_env(const struct run_client *c, struct buf *b)
{
	key(b, "env");
	for (unsigned i = 0; i < c->env_count; i++) {
		size_t name = strcspn(c->env[i], "=");

		buf_str(b, i ? "," : "{");
		json_text(b, c->env[i], name);
		buf_str(b, ":");
		json_bytes(b, c->env[i] + name + 1);
	}
	buf_str(b, "}");
}

static void add_ports(const struct run_client *c, struct buf *b)
{
	key(b, "ports");
	for (unsigned i = 0; i < c->port_count; i++)
		buf_fmt(b, "%s%u", i ? "," : "[", c->ports[i]);
	buf_str(b, "]");
}

bool run_is_given(const struct run_client *c, enum run_opt opt)
{
	return opt == RUN_ENV ? c->env_count
	     : opt == RUN_PACKAGES ? c->package_count
	     : opt == RUN_NETWORK ? c->network_count
	     : opt == RUN_PORT ? c->port_count
				   : is_set(c, opt);
}

static int check_env(const struct run_client *c)
{
	for (unsigned i = 0; i < c->env_count; i++)
		if (!utf8_valid(c->env[i], strcspn(c->env[i], "=")))
			return wrong(RUN_ENV, c->env[i], "a name in UTF-8, = and "
				     "a value");
	return 0;
}

int client_config(const struct job_draft *d, struct buf *b)
{
	const struct run_client *c = d->c;
	const struct program *p = d->program;
	bool command = p->interpreter || p->itself;
	int r = check_env(c);

	buf_str(b, "{");
	if (command)
		add_command(p, b);
	if (d->arg_count)
		list(b, "args", (const char *const *)d->args, d->arg_count);
	if (p->python && p->named) { /* the file's name does not show the language */
		key(b, "language");
		buf_fmt(b, "\"%s\"", langs[LANG_DEFAULT].name);
	}
	if (p->named) {
		key(b, "main");
		json_text(b, p->name, strlen(p->name));
	}
	if (c->env_count)
		add_env(c, b);
	if (c->package_count)
		list(b, "packages", c->packages, c->package_count);
	if (c->network_count)
		list(b, "network", c->networks, c->network_count);
	if (c->port_count)
		add_ports(c, b);
	for (int i = 0; i < RUN_OPTIONS && r == 0; i++)
		if (run_options[i].key && is_set(c, i) &&
		    !(command && i == RUN_LANGUAGE))
			r = value(b, i, c->value[i]);
	if (d->stdin_open) {
		key(b, "stdin_open");
		buf_str(b, "true");
	}
	buf_str(b, "}\n");
	return r ? r : b->failed ? client_complain(1, "out of memory") : 0;
}
