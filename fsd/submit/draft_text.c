/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the missing parts of a draft, and for each the file whose name is nearest. Pure
 * but for loading directories. */
#include "draft_int.h"

#include <string.h>

#include "fsd/jobs/removed_files.h"

/* Most entries of a directory that are compared. */
#define COMPARED 4096u
/* Most subdirectories that are searched: each must be loaded. */
#define DIRS 16u

#define NO_PROGRAM "a program (code.py, code.js, ...)"
#define NO_CONFIG "config.json ({} is enough)"

/* --- the nearest -------------------------------------------------------------- */

struct nearest {
	const struct node *node; /* the first of the nearest, or NULL */
	unsigned score, others;  /* its score; how many other names have the same */
};

typedef unsigned score_fn(const char *name, const char *wanted);

static unsigned score_program(const char *name, const char *wanted)
{
	(void)wanted;
	return near_to_program(name);
}

static unsigned score_config(const char *name, const char *wanted)
{
	(void)wanted;
	return near_to_config(name);
}

static unsigned score_same(const char *name, const char *wanted)
{
	return !strcmp(name, wanted);
}

static unsigned score_any_program(const char *name, const char *wanted)
{
	enum code_kind kind = code_kind(name);

	(void)wanted;
	return kind == CODE_KNOWN || kind == CODE_BARE;
}

/* Finds the nearest of dir's files, or directories; dir is loaded. */
static struct nearest nearest_in(const struct node *dir, bool is_dir,
				 score_fn *score, const char *wanted)
{
	struct nearest found = { 0 };
	unsigned compared = 0;

	list_for_each(pos, tmp, &dir->children) {
		const struct node *n = list_entry(pos, struct node, sibling);
		unsigned s;

		if (compared++ == COMPARED)
			break;
		s = n->is_dir == is_dir ? score(n->name, wanted) : NEAR_NOT;
		if (s == NEAR_NOT || s < found.score)
			continue;
		if (s == found.score)
			found.others++;
		else
			found = (struct nearest){ .node = n, .score = s };
	}
	return found;
}

/* Like nearest_in(), but for the files in dir's subdirectories. */
static struct nearest nearest_below(struct node *dir, score_fn *score,
				    const char *wanted)
{
	struct nearest found = { 0 };
	unsigned looked = 0;

	list_for_each(pos, tmp, &dir->children) {
		struct node *sub = list_entry(pos, struct node, sibling);

		if (!sub->is_dir || node_load(sub) < 0)
			continue;
		if (found.node || looked++ == DIRS)
			break;
		found = nearest_in(sub, false, score, wanted);
	}
	return found;
}

/* Scores a file that may be a program under a wrong name: not hidden, no backup, not
 * stdin, and not config.json or a name near to it. */
static unsigned score_plain(const char *name, const char *wanted)
{
	(void)wanted;
	return name[0] != '.' && strcmp(name, "config.json") != 0 &&
	       strcmp(name, "stdin") != 0 && near_to_config(name) == NEAR_NOT &&
	       !strchr(name, '~');
}

static void say_there_is(struct buf *out, const struct nearest *n)
{
	buf_fmt(out, "; there is %s", n->node->name);
	if (n->others)
		buf_fmt(out, " (and %u more like it)", n->others);
}

static void say_too_deep(struct buf *out, const struct nearest *n)
{
	buf_fmt(out, "; there is %s/%s, one directory too deep",
		n->node->parent->name, n->node->name);
}

/* --- the items ---------------------------------------------------------------- */

/* The list of missing parts, joined by "and for". */
struct waits {
	struct job *job;
	struct buf *out;
	unsigned items;
};

static void begin_item(struct waits *w)
{
	buf_str(w->out, !w->items++ ? "waits for " : "; and for ");
}

static void say_open(struct waits *w, const struct node *n, const char *path)
{
	begin_item(w);
	buf_fmt(w->out, "%s to be closed: %u writer%s open", path,
		n->writers, n->writers == 1 ? " has it" : "s have it");
}

static void say_config(struct waits *w)
{
	struct node *files = w->job->files;
	struct nearest n;

	begin_item(w);
	buf_str(w->out, NO_CONFIG);
	if (node_find(files, "config.json")) { /* the name exists, but not as a file */
		buf_str(w->out, "; config.json is a directory");
		return;
	}
	n = nearest_in(files, false, score_config, NULL);
	if (n.node) {
		say_there_is(w->out, &n);
		return;
	}
	n = nearest_below(files, score_same, "config.json");
	if (n.node)
		say_too_deep(w->out, &n);
}

static void say_program(struct waits *w)
{
	struct node *files = w->job->files;
	struct nearest n, plain;

	begin_item(w);
	buf_str(w->out, NO_PROGRAM);
	n = nearest_in(files, false, score_program, NULL);
	plain = nearest_in(files, false, score_plain, NULL);
	if (n.score > 1) {
		say_there_is(w->out, &n);
		return;
	}
	n = nearest_below(files, score_any_program, NULL);
	if (n.node) {
		say_too_deep(w->out, &n);
		return;
	}
	n = nearest_in(files, true, score_any_program, NULL);
	if (n.node)
		buf_fmt(w->out, "; %s is a directory", n.node->name);
	else if (plain.node && !plain.others)
		say_there_is(w->out, &plain);
}

static void say_two(struct waits *w, const struct node *a, const struct node *b)
{
	begin_item(w);
	buf_fmt(w->out, "a single program; there are %s and %s", a->name,
		b->name);
}

/* Adds the program, if it is missing, open, or not alone. */
static void look_at_programs(struct waits *w, const struct job_config *c)
{
	const struct node *first = NULL, *second = NULL, *open = NULL;

	list_for_each(pos, tmp, &w->job->files->codes) {
		const struct node *n = list_entry(pos, struct node, code);

		if (n->is_dir || code_kind(n->name) == CODE_NO ||
		    (code_kind(n->name) == CODE_UNKNOWN && !(c && c->lang)))
			continue;
		if (n->writers)
			open = n;
		if (!first)
			first = n;
		else
			second = n;
	}
	if (second)
		say_two(w, first, second);
	else if (open)
		say_open(w, open, open->name);
	else if (!first)
		say_program(w);
}

/* Adds the file that "main" names, if it is missing or open. */
static void look_at_main(struct waits *w, const char *name)
{
	const struct node *node = node_find(w->job->files, name);
	struct nearest n;

	if (node && node->writers)
		say_open(w, node, name);
	if (node)
		return;
	begin_item(w);
	buf_fmt(w->out, "the program %s", name);
	n = nearest_in(w->job->files, false, near_to_name, name);
	if (n.node)
		say_there_is(w->out, &n);
}

/* Return: the deepest directory of path that exists; *ret_rest: the missing rest. */
static struct node *deepest(struct job *job, char *path, const char **ret_rest)
{
	struct node *dir = job->files, *next;
	char *slash;

	for (; (slash = strchr(path, '/')); path = slash + 1) {
		*slash = '\0';
		next = node_load(dir) < 0 ? NULL : node_find(dir, path);
		if (!next || !next->is_dir)
			break;
		dir = next;
	}
	*ret_rest = path;
	return node_load(dir) < 0 ? NULL : dir;
}

static void say_path(struct buf *out, const struct node *n)
{
	char path[LIMIT_PATH + 1];

	if (node_rel_path(n, path, sizeof(path)) >= 0)
		buf_fmt(out, "; there is %s", path);
}

static void say_input(struct waits *w, const char *input)
{
	auto_free char *copy = strdup(input);
	const char *name = strrchr(input, '/'), *rest = NULL;
	struct node *dir = copy ? deepest(w->job, copy, &rest) : NULL;
	bool leaf = rest && rest[strlen(rest)] == '\0' &&
		    rest + strlen(rest) == copy + strlen(input);
	struct nearest n = { 0 };

	begin_item(w);
	buf_fmt(w->out, "the input %s", input);
	name = name ? name + 1 : input;
	if (dir)
		n = nearest_in(dir, !leaf, near_to_name, rest);
	if (!n.node && dir != w->job->files)
		n = nearest_in(w->job->files, false, score_same, name);
	if (!n.node)
		n = nearest_below(w->job->files, score_same, name);
	if (n.node)
		say_path(w->out, n.node);
}

static void look_at_inputs(struct waits *w, const struct job_config *c)
{
	unsigned missing = 0;

	for (size_t i = 0; i < c->inputs.count; i++) {
		struct node *node;

		if (job_input(w->job, c->inputs.item[i], &node) < 0)
			continue;
		if (node && node->writers)
			say_open(w, node, c->inputs.item[i]);
		if (!node && missing++ < 3)
			say_input(w, c->inputs.item[i]);
	}
	if (missing > 3)
		buf_fmt(w->out, "; and for %u more inputs", missing - 3);
}

void draft_text(struct job *job, struct buf *out)
{
	struct waits w = { .job = job, .out = out };
	struct node *node = parsed_config_node(job);
	struct parsed_config *p = node && !node->writers ? parsed_closed(job, node)
						  : NULL;
	const struct job_config *c = p && p->result == 0 ? &p->config : NULL;

	if (c && c->main)
		look_at_main(&w, c->main);
	else if (!c || (c->mode != MODE_COMMAND && !c->code))
		look_at_programs(&w, c);
	if (!node)
		say_config(&w);
	else if (node->writers)
		say_open(&w, node, node->name);
	if (c)
		look_at_inputs(&w, c);
	if (c && !w.items && c->manual)
		buf_str(out, "waits for start in ctl (\"start\" is \"manual\")");
	parsed_config_unref(p);
}
