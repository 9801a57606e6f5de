/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the inputs of a run from the job's files, a time slice at a time, and takes a
 * reference to each. Users may remove an input while the job is queued or runs, or rm -r
 * would fail. The run and its retries still need the file, so it moves to a directory
 * that users do not see (jobs/removed_files.h).
 *
 * The file writes run->inputs. All functions run on the loop or in a fiber;
 * run_needs_input() may wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fsd/jobs/removed_files.h"
#include "vm/environment/environment.h"
#include "run_int.h"

#define INPUT_JSON "input.json" /* the file that has the value of "input" */

static int make_room(struct run *run)
{
	unsigned room = run->inputs.room ? run->inputs.room * 2 : 16;
	void *inputs, *nodes;

	if (run->inputs.count < run->inputs.room)
		return 0;
	inputs = reallocarray(run->inputs.list, room, sizeof(*run->inputs.list));
	if (!inputs)
		return -ENOMEM;
	run->inputs.list = inputs;
	nodes = reallocarray(run->inputs.nodes, room, sizeof(*run->inputs.nodes));
	if (!nodes)
		return -ENOMEM;
	run->inputs.nodes = nodes;
	run->inputs.room = room;
	return 0;
}

static int add_input(struct run *run, struct node *node, const char *path,
		     const struct vm_input *input)
{
	const char *copy = arena_text(&run->texts, path);
	unsigned i = run->inputs.count;

	if (!copy || make_room(run) < 0)
		return -ENOMEM;
	run->inputs.list[i] = *input;
	run->inputs.list[i].path = copy;
	run->inputs.nodes[i] = node;
	if (node)
		node_ref(node);
	run->inputs.count++;
	return 0;
}

/* True for files that the program does not get: config.json and stdin, which fsd reads, and
 * an editor's swap files. */
static bool is_ours(const struct node *node)
{
	if (!node->is_dir && file_is_swap(node->name))
		return true;
	return !node->parent->parent &&
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

/* Return: the next directory to list, or NULL. The job's own comes first, then those in the
 * list of inputs, so that the list has each directory before its entries. */
static struct node *next_dir(struct run *run)
{
	if (!run->inputs.root_listed) {
		run->inputs.root_listed = true;
		return run->job->files;
	}
	while (run->inputs.next_dir < run->inputs.count) {
		struct node *node = run->inputs.nodes[run->inputs.next_dir++];

		if (node->is_dir && !node->unlinked)
			return node;
	}
	return NULL;
}

/* Loads the next directory and begins to list it. Return: as add_tree(); at the end 0, and
 * run->inputs.dir is NULL. */
static int enter_dir(struct run *run, uint64_t until, struct err *err)
{
	int r;

	if (!run->inputs.dir)
		run->inputs.dir = next_dir(run);
	if (!run->inputs.dir)
		return 0;
	r = run->inputs.dir->unlinked ? 0 : node_load_some(run->inputs.dir, until);
	if (r < 0)
		return err_sys(err, r, "%s: cannot be listed", run->inputs.dir->name);
	if (r == 0)
		node_walk(&run->inputs.cursor, run->inputs.dir);
	return r;
}

/* Lists files until `until`. Return: 0: all are listed; 1: there are more; negative
 * errno. */
static int add_tree(struct run *run, uint64_t until, struct err *err)
{
	struct node *node;
	int r = 0;

	while (r == 0) {
		node = run->inputs.cursor.head ? node_walk_next(&run->inputs.cursor) : NULL;
		if (node) {
			r = is_ours(node) ? 0 : add_node(run, node, err);
		} else if (run->inputs.cursor.head) {
			list_cursor_end(&run->inputs.cursor);
			run->inputs.dir = NULL;
		} else {
			r = enter_dir(run, until, err);
			if (r == 0 && !run->inputs.dir)
				return 0;
		}
		if (r == 0 && now_ns() >= until)
			r = 1;
	}
	return r;
}

/* Adds the inputs that a user has removed. If their directory is still in files/, it is in
 * the list already, and only its removed entries are added. */
static int add_removed(struct run *run, struct node *dir, struct err *err)
{
	char path[LIMIT_PATH + 1];
	struct node *there;
	int r = node_load(dir);

	list_for_each(pos, tmp, &dir->children) {
		struct node *node = list_entry(pos, struct node, sibling);

		if (r >= 0)
			r = node_rel_path(node, path, sizeof(path));
		if (r >= 0)
			r = job_input(run->job, path, &there);
		if (r >= 0 && there == node && !is_ours(node))
			r = add_node(run, node, err);
		if (r >= 0 && node->is_dir)
			r = add_removed(run, node, err);
	}
	return MIN(r, 0);
}

/* Adds standard input. Up to LIMIT_STDIN_FILE it is a file in the machine, which the
 * program may map or read twice; a larger one is a pipe, to save the machine's memory. */
static int fill_stdin(struct run *run)
{
	struct node *node;
	struct vm_input in = { .kind = WIRE_FILE_STDIN, .mode = 0444,
			       .size = run->spec.config->stdin_len };
	struct stat st;
	int r = job_input(run->job, "stdin", &node);

	if (r < 0)
		return r;
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
	run->inputs.stdin_node = node;
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
	struct node *removed;
	int r = add_tree(run, until, err);

	if (r)
		return r;
	r = removed_files(run->job, &removed);
	if (r == 0 && removed)
		r = add_removed(run, removed, err);
	if (r == 0 && c->code)
		r = add_input(run, NULL, run_code_name(run), &code);
	if (r == 0 && c->input_json)
		r = add_input(run, NULL, INPUT_JSON, &json);
	if (r == 0)
		r = fill_stdin(run);
	if (r < 0)
		return err_sys(err, r, "the inputs cannot be listed");
	run->vm_job.inputs = run->inputs.list;
	run->vm_job.input_count = run->inputs.count;
	run->inputs.collected = true;
	return 0;
}

void run_sent_inputs(struct run *run)
{
	for (unsigned i = 0; run->inputs.nodes && i < run->inputs.count; i++)
		if (run->inputs.nodes[i])
			node_unref(run->inputs.nodes[i]);
	free(take_ptr(run->inputs.nodes));
}

void run_inputs_done(struct run *run)
{
	list_cursor_end(&run->inputs.cursor);
	run_sent_inputs(run);
	run->inputs.count = run->inputs.room = run->inputs.next_dir = 0;
	run->inputs.root_listed = run->inputs.collected = false;
	run->inputs.dir = NULL;
	if (run->inputs.stdin_node)
		node_unref(take_ptr(run->inputs.stdin_node));
	free(take_ptr(run->inputs.list));
}

/* Return: a descriptor from which these bytes can be read, or negative errno. */
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

	if (i == run->inputs.count && c->stdin_open)
		return feed_make(run);
	if (i == run->inputs.count && run->inputs.stdin_node)
		return node_open(run->inputs.stdin_node, O_RDONLY);
	if (i >= run->inputs.count || !run->inputs.nodes)
		return -EINVAL;
	if (run->inputs.nodes[i])
		return node_open(run->inputs.nodes[i], O_RDONLY);
	if (run->inputs.list[i].kind == WIRE_FILE_STDIN)
		return memory_file(c->stdin_text, c->stdin_len);
	return strcmp(run->inputs.list[i].path, INPUT_JSON)
		       ? memory_file(c->code, c->code_len)
		       : memory_file(c->input_json, c->input_len);
}

uint64_t run_room_need(const struct run *run)
{
	const struct environment *e = run->environment.of;
	uint64_t need = run_memory_need(run);

	return add_checked(&need, e ? e->heap : 0) ? need : UINT64_MAX;
}

uint64_t run_memory_need(const struct run *run)
{
	uint64_t need = run->vm_job.wire.memory_bytes;

	for (unsigned i = 0; i < run->inputs.count; i++)
		if (!add_checked(&need, run->inputs.list[i].size))
			return UINT64_MAX;
	return need;
}

int run_take_inputs(struct run *run, bool has_stdin)
{
	run->inputs.collected = true;
	if (!has_stdin)
		return 0;
	if (job_input(run->job, "stdin", &run->inputs.stdin_node) < 0 ||
	    !run->inputs.stdin_node)
		return -ESRCH;
	node_ref(run->inputs.stdin_node);
	return 0;
}

/* --- inputs that a user removes --------------------------------------------- */

bool run_needs_input(struct job *job, const struct node *node)
{
	const struct job_meta *m = &job->meta;
	struct run *run;

	/* The program does not get swap files. */
	if (!job_is_frozen(job) || (!node->is_dir && file_is_swap(node->name)))
		return false;
	/* Lists all inputs first, so that the run has this one. Between slices other fibers
	 * run, and may end the run. */
	while ((run = job->run) && !run_is_ending(run) && !run->inputs.collected) {
		run_collect_more(run);
		if (fiber_self())
			fiber_breathe();
	}
	run = job->run;
	return m->attempt <= m->retry || m->state == JOB_QUEUED ||
	       (run && !run_has_started(run));
}
