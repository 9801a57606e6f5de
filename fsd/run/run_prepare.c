/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine is told of a job: resolved fields, no JSON. The inputs are
 * held as they are now; a file that is removed later is still sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fsd/users/people.h"
#include "run_int.h"

#define INPUT_JSON "input.json" /* what "input" is in the machine */

static const char *const base_env[] = { WIRE_BASE_ENV };

static const uint32_t lang_runner[LANG_MAX] = {
	[LANG_PYTHON] = WIRE_RUN_PYTHON,
	[LANG_JAVASCRIPT] = WIRE_RUN_NODE,
	[LANG_TYPESCRIPT] = WIRE_RUN_TYPESCRIPT,
	[LANG_BASH] = WIRE_RUN_BASH,
};

/* --- lists of strings ------------------------------------------------------ */

static int push(struct wire_strings *list, const char *text)
{
	const char **item = reallocarray(list->item, list->count + 1,
					 sizeof(*item));

	if (!item)
		return -ENOMEM;
	list->item = item;
	item[list->count] = strdup(text);
	if (!item[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

static void strings_done(struct wire_strings *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free((char *)(uintptr_t)list->item[i]);
	free(list->item);
	*list = (struct wire_strings){ 0 };
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !strncmp(a, b, n);
}

static bool is_step(const struct run *run)
{
	return run->spec.config->session || run->spec.config->mode == MODE_CELL;
}

static bool has_name(const char *const *list, size_t count, const char *item)
{
	for (size_t i = 0; i < count; i++)
		if (same_name(list[i], item))
			return true;
	return false;
}

/* Those of its sandbox, but for what the job sets itself. */
static int fill_sandbox_env(struct run *run)
{
	const struct config_strings *own = &run->spec.config->env, *all;
	int r = 0;

	if (!run->seat)
		return 0;
	all = &sandbox_config_of(run)->machine.env;
	for (size_t i = 0; r == 0 && i < all->count; i++)
		if (!has_name((const char *const *)own->item, own->count,
			      all->item[i]))
			r = push(&run->envp, all->item[i]);
	return r;
}

static bool is_in_sandbox(const struct run *run, const char *item)
{
	const struct config_strings *all =
		run->seat ? &sandbox_config_of(run)->machine.env : NULL;

	return all && has_name((const char *const *)all->item, all->count, item);
}

/* A variable of the environment stands in for one of the base set, one of the
 * sandbox for both, and one of the job's for all. */
static int fill_env(struct run *run)
{
	const struct config_strings *env = &run->spec.config->env;
	const char *const *own = (const char *const *)env->item;
	const char *const *more = run->environment ?
		(const char *const *)run->environment->env : NULL;
	size_t count = 0;
	int r = 0;

	while (more && more[count])
		count++;
	/* A session's environment is what its steps have made of it. */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(base_env) && !is_step(run);
	     i++)
		if (!has_name(own, env->count, base_env[i]) &&
		    !is_in_sandbox(run, base_env[i]) &&
		    !has_name(more, count, base_env[i]))
			r = push(&run->envp, base_env[i]);
	for (size_t i = 0; r == 0 && i < count && !is_step(run); i++)
		if (!has_name(own, env->count, more[i]) &&
		    !is_in_sandbox(run, more[i]))
			r = push(&run->envp, more[i]);
	if (r == 0)
		r = fill_sandbox_env(run);
	for (size_t i = 0; r == 0 && i < env->count; i++)
		r = push(&run->envp, own[i]);
	return r;
}

/* --- who runs it, with which arguments --------------------------------------- */

const char *run_code_name(const struct run *run)
{
	return run->spec.code ? run->spec.code->name : run->spec.lang->code;
}

/* The warm shell knows nothing of arguments or of other variables. */
static bool fits_bash(const struct run *run)
{
	const struct job_config *c = run->spec.config;

	return !c->args.count && !c->env.count &&
	       !strcmp(run_code_name(run), "code.sh");
}

#define BASH_WHY "a warm bash has no arguments and no variables of its own"

/* Return: 0 or -ENOMEM. */
static int choose_runner(struct run *run)
{
	const struct lang *lang = run->spec.lang;
	uint32_t *ret = &run->vm_job.wire.runner;
	int r = run_find_why(run);

	*ret = WIRE_RUN_EXEC;
	if (!lang || r < 0)
		return r;
	if (is_step(run)) {
		*ret = lang_runner[lang->id];
		return 0;
	}
	/* A warm runner was started before these variables were known; only
	 * a program run by itself can be given to a fresh interpreter. */
	if (run->spec.config->mode == MODE_SCRIPT && run->fresh_why &&
	    lang->id != LANG_TYPESCRIPT)
		return 0;
	if (lang->id == LANG_BASH && !fits_bash(run))
		return run_say_why(run, "%s", BASH_WHY);
	*ret = lang_runner[lang->id];
	return 0;
}

/* The environment is likely the one that the user had last. */
void run_expect(struct fsd *d, uid_t uid, const char *name)
{
	const struct lang *lang = lang_by_ending(name);
	const struct person *p = lang ? person_of(d->users, uid) : NULL;

	if (p)
		vm_expect(d->vm, lang_runner[lang->id],
			  p->environment_id[lang->id]);
}

void run_note_environment(const struct run *run)
{
	const struct lang *lang = run->spec.lang;
	struct person *p = lang ? person_of(run->d->users, run->job->meta.uid)
				: NULL;

	if (p)
		snprintf(p->environment_id[lang->id],
			 sizeof(p->environment_id[0]), "%s",
			 run->environment_id ? run->environment_id :
					       ENVIRONMENT_BASE);
}

static int fill_argv(struct run *run)
{
	const struct job_config *c = run->spec.config;
	const struct config_strings *tail = &c->args;
	char path[512];
	int r = 0;

	if (c->mode == MODE_COMMAND) {
		for (size_t i = 0; r == 0 && i < c->command.count; i++)
			r = push(&run->argv, c->command.item[i]);
	} else {
		snprintf(path, sizeof(path), WIRE_HOME "/%s",
			 run_code_name(run));
		if (run->spec.lang &&
		    run->vm_job.wire.runner == WIRE_RUN_EXEC)
			r = push(&run->argv, run->spec.lang->interpreter);
		if (r == 0)
			r = push(&run->argv, path);
	}
	for (size_t i = 0; r == 0 && i < tail->count; i++)
		r = push(&run->argv, tail->item[i]);
	return r;
}

/* --- inputs --------------------------------------------------------------------- */

static int make_room(struct run *run)
{
	unsigned room = run->input_room ? run->input_room * 2 : 16;
	void *inputs, *nodes;

	if (run->input_count < run->input_room)
		return 0;
	inputs = reallocarray(run->inputs, room, sizeof(*run->inputs));
	if (!inputs)
		return -ENOMEM;
	run->inputs = inputs;
	nodes = reallocarray(run->input_nodes, room, sizeof(*run->input_nodes));
	if (!nodes)
		return -ENOMEM;
	run->input_nodes = nodes;
	run->input_room = room;
	return 0;
}

static int add_input(struct run *run, struct node *node, const char *path,
		     const struct vm_input *input)
{
	const char *copy = arena_text(&run->texts, path);
	unsigned i = run->input_count;

	if (!copy || make_room(run) < 0)
		return -ENOMEM;
	run->inputs[i] = *input;
	run->inputs[i].path = copy;
	run->input_nodes[i] = node;
	if (node)
		node_ref(node);
	run->input_count++;
	return 0;
}

/* config.json and stdin are for us, a swap file is for its editor; the rest is
 * the program's. */
static bool is_ours(const struct run *run, const struct node *node)
{
	if (!node->is_dir && file_is_swap(node->name))
		return true;
	return node->parent == run->job->files &&
	       (!strcmp(node->name, "config.json") ||
		(!strcmp(node->name, "stdin") && !node->is_dir));
}

static int add_node(struct run *run, struct node *node, struct err *err)
{
	char path[LIMIT_PATH + 1], target[LIMIT_PATH + 1];
	struct vm_input in = { 0 };
	struct stat st;
	int r = node_rel_path(node, path, sizeof(path));

	if (r >= 0)
		r = node_stat(node, &st);
	if (r < 0)
		return err_sys(err, r, "%s: cannot be read", node->name);
	in.kind = node->is_dir ? WIRE_FILE_DIR
		  : node->is_link ? WIRE_FILE_LINK
				  : WIRE_FILE_REG;
	in.mode = st.st_mode & 0777;
	in.mtime = wire_time_of(&st.st_mtim);
	if (node->is_link) {
		r = node_read_link(node, target);
		if (r < 0) {
			job_log(run->job, "the link %s is not given to the "
				"program: it leads outside of the job", path);
			return 0;
		}
		in.target = arena_text(&run->texts, target);
		if (!in.target)
			return err_sys(err, -ENOMEM, "the inputs");
	}
	if (in.kind == WIRE_FILE_REG)
		in.size = (uint64_t)st.st_size;
	if (node == run->spec.code) {
		in.skip = run->spec.code_skip;
		in.size -= MIN(in.skip, in.size);
		if (!run->spec.lang)
			in.mode |= 0111; /* the kernel reads its #! line */
	}
	r = add_input(run, node, path, &in);
	return r < 0 ? err_sys(err, r, "the inputs") : 0;
}

/* The directory that is listed next: the job's own, then those that were added,
 * so that each comes before what is in it. NULL at the end. */
static struct node *next_dir(struct run *run)
{
	if (!run->root_listed) {
		run->root_listed = true;
		return run->job->files;
	}
	while (run->next_dir < run->input_count) {
		struct node *node = run->input_nodes[run->next_dir++];

		if (node->is_dir && !node->unlinked)
			return node;
	}
	return NULL;
}

/* To the next directory, which is loaded. Return: as add_tree(); 0 with
 * run->dir NULL at the end. */
static int enter_dir(struct run *run, uint64_t until, struct err *err)
{
	int r;

	if (!run->dir)
		run->dir = next_dir(run);
	if (!run->dir)
		return 0;
	r = run->dir->unlinked ? 0 : node_load_some(run->dir, until);
	if (r < 0)
		return err_sys(err, r, "%s: cannot be listed", run->dir->name);
	if (r == 0)
		node_walk(&run->walk, run->dir);
	return r;
}

/* Return: 0, 1 if there are more, negative errno. */
static int add_tree(struct run *run, uint64_t until, struct err *err)
{
	struct node *node;
	int r = 0;

	while (r == 0) {
		node = run->walk.head ? node_walk_next(&run->walk) : NULL;
		if (node) {
			r = is_ours(run, node) ? 0 : add_node(run, node, err);
		} else if (run->walk.head) {
			walk_end(&run->walk);
			run->dir = NULL;
		} else {
			r = enter_dir(run, until, err);
			if (r == 0 && !run->dir)
				return 0;
		}
		if (r == 0 && now_ns() >= until)
			r = 1;
	}
	return r;
}

/* The program gets a file, which it may map and read twice, or a pipe if that is
 * more than memory should hold. */
static int fill_stdin(struct run *run)
{
	struct node *node = node_find(run->job->files, "stdin");
	struct vm_input in = { .kind = WIRE_FILE_STDIN, .mode = 0444,
			       .size = run->spec.config->stdin_len };
	struct stat st;
	int r;

	run->vm_job.stdin_open = run->spec.config->stdin_open;
	if (run->spec.config->stdin_open)
		return 0;
	if (run->spec.config->stdin_text || (node && node->is_dir))
		node = NULL;
	if (node) {
		r = node_stat(node, &st);
		if (r < 0)
			return r;
		in.size = (uint64_t)st.st_size;
		in.mtime = wire_time_of(&st.st_mtim);
	}
	if (!in.size)
		return 0;
	if (in.size <= LIMIT_STDIN_FILE)
		return add_input(run, node, "stdin", &in);
	run->stdin_node = node;
	node_ref(node);
	run->vm_job.stdin_size = in.size;
	return 0;
}

int run_collect(struct run *run, uint64_t until, struct err *err)
{
	const struct job_config *c = run->spec.config;
	const struct vm_input json = { .kind = WIRE_FILE_REG, .mode = 0644,
				       .size = c->input_len };
	const struct vm_input code = { .kind = WIRE_FILE_REG, .mode = 0644,
				       .size = c->code_len };
	int r = add_tree(run, until, err);

	if (r)
		return r;
	if (c->code)
		r = add_input(run, NULL, run_code_name(run), &code);
	if (r == 0 && c->input_json)
		r = add_input(run, NULL, INPUT_JSON, &json);
	if (r == 0)
		r = fill_stdin(run);
	if (r < 0)
		return err_sys(err, r, "the inputs cannot be listed");
	run->vm_job.inputs = run->inputs;
	run->vm_job.input_count = run->input_count;
	return 0;
}

/* --- together --------------------------------------------------------------------- */

void run_fill_limits(struct run *run)
{
	const struct job_config *c = run->spec.config;
	const struct job_config *m = run->seat
		? &sandbox_config_of(run)->machine : c;
	struct wire_job *w = &run->vm_job.wire;

	w->mode = c->mode == MODE_CALL   ? WIRE_MODE_CALL
		  : c->mode == MODE_CELL ? WIRE_MODE_CELL
		  : c->session		 ? WIRE_MODE_SESSION
					 : WIRE_MODE_SCRIPT;
	w->call = c->call ? c->call : "";
	w->cpus = (uint32_t)m->cpus;
	w->processes = (uint32_t)m->processes;
	w->memory_bytes = MIB(m->memory_mb);
	w->stdout_limit = c->stdout_limit;
	w->stderr_limit = c->stderr_limit;
	w->output_limit = c->output_limit;
	w->output_files = LIMIT_OUTPUT_FILES;
	w->linger_ms = (uint32_t)c->linger_ms;
	w->fresh = c->fresh;
}

/* Relative to the home, like all that a program is given. */
static int fill_cwd(struct run *run)
{
	const char *cwd = run->spec.config->cwd;
	auto_buf struct buf path = { 0 };

	if (!cwd)
		return 0;
	buf_fmt(&path, "%s%s", cwd[0] == '/' ? "" : WIRE_HOME "/", cwd);
	run->vm_job.wire.cwd = path.failed
				       ? NULL : arena_text(&run->texts, path.data);
	return run->vm_job.wire.cwd ? 0 : -ENOMEM;
}

int run_prepare(struct run *run, struct err *err)
{
	int r = run_find_environment(run, err);

	if (r < 0)
		return r;
	run_fill_limits(run);
	if (fill_cwd(run) < 0)
		return err_sys(err, -ENOMEM, "the job cannot be queued");
	r = choose_runner(run);
	if (r == 0)
		r = fill_argv(run);
	if (r == 0)
		r = fill_env(run);
	if (r < 0)
		return err_sys(err, r, "the job cannot be queued");
	run->vm_job.wire.argv = run->argv;
	run->vm_job.wire.envp = run->envp;
	return 0;
}

void run_sent_inputs(struct run *run)
{
	for (unsigned i = 0; run->input_nodes && i < run->input_count; i++)
		if (run->input_nodes[i])
			node_unref(run->input_nodes[i]);
	free(take_ptr(run->input_nodes));
}

void run_inputs_done(struct run *run)
{
	walk_end(&run->walk);
	run_sent_inputs(run);
	run->input_count = run->input_room = run->next_dir = 0;
	run->root_listed = false;
	run->dir = NULL;
	if (run->stdin_node)
		node_unref(take_ptr(run->stdin_node));
	free(take_ptr(run->inputs));
}

void run_unprepare(struct run *run)
{
	turn_stop(&run->collect);
	run_inputs_done(run);
	strings_done(&run->argv);
	strings_done(&run->envp);
	environment_unref(take_ptr(run->environment));
	run->vm_job.wire.argv.count = 0; /* it is not prepared any more */
}

/* A descriptor to read these bytes from. */
static int memory_file(const char *data, size_t len)
{
	auto_close int fd = memfd_create("fsd-input", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return take_fd(&fd);
}

int run_open_input(struct run *run, unsigned i)
{
	const struct job_config *c = run->spec.config;

	if (i == run->input_count && c->stdin_open)
		return feed_make(run);
	if (i == run->input_count && run->stdin_node)
		return node_open(run->stdin_node, O_RDONLY);
	if (i >= run->input_count || !run->input_nodes)
		return -EINVAL;
	if (run->input_nodes[i])
		return node_open(run->input_nodes[i], O_RDONLY);
	if (run->inputs[i].kind == WIRE_FILE_STDIN)
		return memory_file(c->stdin_text, c->stdin_len);
	return strcmp(run->inputs[i].path, INPUT_JSON)
		       ? memory_file(c->code, c->code_len)
		       : memory_file(c->input_json, c->input_len);
}

uint64_t run_room_need(const struct run *run)
{
	uint64_t need = run_memory_need(run);

	return add_checked(&need, run->environment ? run->environment->heap :
						     0) ? need : UINT64_MAX;
}

uint64_t run_memory_need(const struct run *run)
{
	uint64_t need = run->vm_job.wire.memory_bytes;

	for (unsigned i = 0; i < run->input_count; i++)
		if (!add_checked(&need, run->inputs[i].size))
			return UINT64_MAX;
	return need;
}
