/* SPDX-License-Identifier: Apache-2.0 */
/* fsd env list, fsd env show: which environments exist, and what an environment
 * contains. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_env.h"
#include "layout/json.h"

const struct cli_option env_list_cli_options[] = {
	{ 'j', "json", NULL, "a JSON object a line, for programs", CLI_TEXT,
	  NULL },
	ENV_DIR_OPTION,
	{ 0 },
};

const struct cli_option env_show_cli_options[] = {
	{ 'j', "json", NULL, "a JSON object, for programs", CLI_TEXT, NULL },
	ENV_DIR_OPTION,
	{ 0 },
};

/* Gives the parent's name, or twelve digits of its id if it has none. */
static void parent_name(const struct env_call *call, const char *id,
			char ret[ENVIRONMENT_NAME_MAX + 1])
{
	snprintf(ret, ENVIRONMENT_NAME_MAX + 1, "%.12s", id);
	for (size_t i = 0; i < call->names.count; i++)
		if (!strcmp(call->names.name[i].id, id))
			memcpy(ret, call->names.name[i].name,
			       ENVIRONMENT_NAME_MAX + 1);
}

/* Appends the modules that are imported before a job comes, for people. */
static void warm_modules(const struct environment *e, struct buf *out)
{
	auto_buf struct buf text = { 0 };
	struct environment_warm w = { 0 };

	if (environment_read(e, ENV_WARM, &text, NULL) == 0 &&
	    environment_warm_read(text.data, text.len, &w, NULL) == 0)
		buf_add(out, w.modules.data ? w.modules.data : "",
			w.modules.len);
	environment_warm_done(&w);
}

static void quoted(struct buf *out, const char *key, const char *text)
{
	buf_fmt(out, "\"%s\": ", key);
	json_quote(out, text, strlen(text));
}

/* --- list ------------------------------------------------------------------- */

#define ROW "%-16s %-12s  %-12s %8s %8s  %-8s %s\n"

struct row {
	const char *name, *state;
	char id[16], parent[ENVIRONMENT_NAME_MAX + 1], packages[24], size[32];
	uint64_t bytes, count;
	struct buf warm; /* owned */
	struct err why;
};

static void row_print(const struct row *row)
{
	printf(ROW, row->name, row->id, row->parent, row->packages, row->size,
	       row->state, row->warm.len ? row->warm.data : "-");
	if (row->why.code)
		fprintf(stderr, "fsd env: %s: %s\n", row->name, row->why.text);
}

static void row_json(const struct row *row, const char *id, struct buf *out)
{
	buf_str(out, "{");
	quoted(out, "name", row->name);
	buf_str(out, ", ");
	quoted(out, "id", id);
	buf_str(out, ", ");
	quoted(out, "parent", row->parent);
	buf_fmt(out, ", \"packages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", ",
		row->count, row->bytes);
	quoted(out, "state", row->state);
	buf_str(out, ", ");
	quoted(out, "why", row->why.text);
	buf_str(out, ", ");
	quoted(out, "warm", row->warm.len ? row->warm.data : "");
	buf_str(out, "}\n");
}

static void row_fill(const struct env_call *call, const struct environment *e,
		     struct row *row)
{
	row->bytes = e->layers[0].size;
	row->count = e->packages;
	env_size(row->bytes, row->size);
	snprintf(row->packages, sizeof(row->packages), "%" PRIu64,
		 e->packages);
	parent_name(call, e->parent, row->parent);
	warm_modules(e, &row->warm);
}

static int list_one(const struct env_call *call,
		    const struct environment_name *n,
		    const struct env_image *image)
{
	struct row row = { .name = n->name, .parent = "-", .packages = "-",
			   .size = "-" };
	struct environment *e;
	auto_buf struct buf text = { 0 };

	row.state = env_state(&call->dirs.places, n, image, false, &e,
			      &row.why);
	snprintf(row.id, sizeof(row.id), "%.12s", n->id[0] ? n->id : "-");
	if (e)
		row_fill(call, e, &row);
	environment_unref(e);
	if (!call->json)
		row_print(&row);
	else
		row_json(&row, n->id, &text);
	if (call->json)
		fputs(text.data ? text.data : "", stdout);
	buf_done(&row.warm);
	return text.failed ? complain("env", 1, "out of memory") : 0;
}

static void list_base(bool json)
{
	static const struct row base = {
		.name = ENVIRONMENT_BASE, .state = "ready", .id = "-",
		.parent = "-", .packages = "-", .size = "-",
	};

	if (!json)
		row_print(&base);
}

int env_list(const struct cli_command *self, int argc, char **argv)
{
	auto_free char *dir = default_image_dir();
	struct env_call call;
	struct env_image image = { 0 };
	struct err err = { 0 };
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	if (optind < argc)
		r = usage(self);
	if (r == 0 && dir)
		env_image_read(dir, &image, &err);
	if (r == 0 && !image.known && call.names.count)
		fprintf(stderr, "fsd env: stale ones are not told: %s\n",
			err.text);
	if (r == 0 && !call.json)
		printf(ROW, "NAME", "ID", "PARENT", "PACKAGES", "SIZE",
		       "STATE", "WARM");
	if (r == 0)
		list_base(call.json);
	for (size_t i = 0; r == 0 && i < call.names.count; i++)
		r = list_one(&call, &call.names.name[i], &image);
	env_image_done(&image);
	env_end(&call);
	return r;
}

/* --- show ------------------------------------------------------------------- */

static int print_package(void *arg, const struct environment_package *p)
{
	unsigned *count = arg;

	if (!(*count)++)
		printf("\n%-8s %-32s %-20s %s\n", "SOURCE", "NAME", "VERSION",
		       "LICENCE");
	printf("%-8s %-32s %-20s %s\n", p->source, p->name, p->version,
	       p->licence[0] ? p->licence : "-");
	return 0;
}

/* Prints the variable in the form that --env takes. */
static void print_variable(const char *variable)
{
	auto_buf struct buf word = { 0 };

	environment_quote(variable, &word);
	printf("env        %s\n", word.failed ? "" : word.data);
}

static int print_manifest(const struct env_call *call,
			  const struct environment *e)
{
	char parent[ENVIRONMENT_NAME_MAX + 1], size[32];
	auto_buf struct buf warm = { 0 };

	parent_name(call, e->parent, parent);
	warm_modules(e, &warm);
	env_size(e->layers[0].size, size);
	printf("environment %s\nid          %s\nparent      %s\nabi         "
	       "%s\npackages    %" PRIu64 "\nsize        %s\n", e->name, e->id,
	       parent, e->abi, e->packages, size);
	if (e->heap) {
		env_size(e->heap, size);
		printf("heap        %s\n", size);
	}
	if (warm.len)
		printf("warm        %s\n", warm.data);
	for (char **need = e->needs; *need; need++)
		printf("%s %s", need == e->needs ? "needs      " : "", *need);
	if (*e->needs)
		puts("");
	for (char **v = e->env; *v; v++)
		print_variable(*v);
	return 0;
}

static int print_texts(const struct environment *e, struct err *err)
{
	auto_buf struct buf lock = { 0 }, recipe = { 0 }, command = { 0 };
	unsigned count = 0;
	int r = environment_read(e, ENV_LOCK, &lock, err);

	if (r == 0)
		r = environment_lock_read(lock.data, lock.len, print_package,
					  &count, err);
	if (r >= 0)
		r = environment_read(e, ENV_RECIPE, &recipe, err);
	if (r == 0)
		r = environment_recipe_read(recipe.data, recipe.len, &command,
					    err);
	if (r < 0)
		return r;
	printf("\nTo make it again:\n  fsd env build %s%s\n", e->name,
	       command.data ? command.data : "");
	return 0;
}

/* Prints the environment as JSON. Its texts are JSON already, and verified by their
 * sums. */
static int print_json(const struct env_call *call, const struct environment *e,
		      struct err *err)
{
	static const struct {
		const char *key;
		enum environment_text text;
	} texts[] = { { "lock", ENV_LOCK }, { "warm", ENV_WARM },
		      { "recipe", ENV_RECIPE } };
	char parent[ENVIRONMENT_NAME_MAX + 1];
	auto_buf struct buf out = { .cap = 64u << 20 };

	parent_name(call, e->parent, parent);
	buf_str(&out, "{");
	quoted(&out, "name", e->name);
	buf_str(&out, ", ");
	quoted(&out, "id", e->id);
	buf_str(&out, ", ");
	quoted(&out, "parent", parent);
	buf_str(&out, ", ");
	quoted(&out, "abi", e->abi);
	buf_fmt(&out, ", \"packages\": %" PRIu64 ", \"bytes\": %" PRIu64
		", \"heap\": %" PRIu64, e->packages, e->layers[0].size,
		e->heap);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_buf struct buf text = { 0 };
		int r = environment_read(e, texts[i].text, &text, err);

		if (r < 0)
			return r;
		buf_fmt(&out, ", \"%s\": ", texts[i].key);
		buf_add(&out, text.data, text.len);
	}
	buf_str(&out, "}\n");
	if (out.failed)
		return err_sys(err, out.failed, "%s", e->name);
	fputs(out.data, stdout);
	return 0;
}

int env_show(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	struct environment *e = NULL;
	struct err err = { 0 };
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	r = argc - optind == 1 ? env_open(&call, argv[optind], &e) :
				 usage(self);
	if (r == 0 && call.json)
		r = print_json(&call, e, &err);
	else if (r == 0)
		r = print_manifest(&call, e) || print_texts(e, &err);
	if (err.code)
		r = complain("env", 1, "%s is damaged: %s; run fsd env build "
			     "%s", e->name, err.text, e->name);
	environment_unref(e);
	env_end(&call);
	return r;
}
