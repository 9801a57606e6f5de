/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the output tree. A hostile guest chooses names, sizes and modes. The wire and
 * this file check each component of a path (no "/", ".", ".."), this file makes each
 * parent directory, and makes files with O_EXCL. So no file or link that existed before
 * is opened or followed. A link is stored as text (node_link.c). An incomplete file is
 * removed. The log and result.json name everything that a limit has cut.
 *
 * The file writes run->tree. run_output.h says which functions wait for the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/store/store_io.h"
#include "run_int.h"

/* --- left out --------------------------------------------------------------- */

#define LOGGED_MOST 32 /* so many entries that are left out get a line in the log */

static const char *const left_reasons[WIRE_OMITTED_MAX] = {
	[WIRE_OMITTED_LIMIT] = "over output_limit",
	[WIRE_OMITTED_MANY] = "too many files",
	[WIRE_OMITTED_LINK] = "a link that leads outside of the job",
	[WIRE_OMITTED_SPECIAL] = "a device, a socket or a fifo",
	[WIRE_OMITTED_DEEP] = "its path is too long or too deep",
	[WIRE_OMITTED_UNREAD] = "it could not be read",
};

const char *run_left_reason(uint32_t left)
{
	return left < WIRE_OMITTED_MAX ? left_reasons[left] : "?";
}

static void remember_left(struct run *run, const char *path, uint64_t bytes,
			  const char *reason)
{
	if (run->tree.left_count == LIMIT_LEFT_OUT)
		return;
	if (!run->tree.left)
		run->tree.left = calloc(LIMIT_LEFT_OUT, sizeof(*run->tree.left));
	if (!run->tree.left)
		return;
	run->tree.left[run->tree.left_count] = (struct result_left){
		.path = arena_text(&run->texts, path),
		.bytes = MIN(bytes, (uint64_t)INT64_MAX), .reason = reason,
	};
	run->tree.left_count += !!run->tree.left[run->tree.left_count].path;
}

void run_left_out(struct run *run, const char *path, uint64_t bytes,
		  const char *reason)
{
	auto_buf struct buf name = { 0 };

	remember_left(run, path, bytes, reason);
	run->tree.dropped++;
	if (run->tree.left_count > LOGGED_MOST)
		return;
	result_show_name(&name, path);
	job_log(run->job, "output/%s was left out: %s",
		name.failed ? "?" : name.data, reason);
}

void run_over_quota(struct run *run)
{
	if (run->tree.over_quota)
		return;
	run->tree.over_quota = true;
	if (run->vm_job.replay)
		run->vm_job.replay->spoiled = 1;
	job_log(run->job, "some of the output is left out: " RUN_OVER_QUOTA);
}

/* Adds the entries that the guest has not named; the others were counted when their names
 * came. */
void run_guest_left_out(struct run *run, uint32_t count)
{
	run->tree.dropped += count - MIN(count, run->output_queue.announced_left);
}

/* --- entries ---------------------------------------------------------------- */

#define NOT_WHOLE "it did not come whole"
#define NOT_STORED "it could not be stored"

static const char *not_stored(int r)
{
	switch (r) {
	case -ENOSPC:
	case -EDQUOT:
		return NOT_STORED ": No space left on device";
	case -EIO:
		return NOT_STORED ": Input/output error";
	default:
		return NOT_STORED;
	}
}

/* Closes the present file, and frees the quota for its bytes that did not come. */
static void close_file(struct run *run)
{
	if (run->tree.fd >= 0 && run->job)
		quota_run_sub(&run->job->file_owner, run->tree.missing);
	fd_close(&run->tree.fd);
}

/* Removes the present file, which is incomplete. Without one it does nothing. */
static void cut(struct run *run, const char *reason)
{
	struct node *node = take_ptr(run->tree.file);
	const struct result_file *f;

	if (run->tree.fd < 0)
		return;
	close_file(run);
	f = &run->tree.files[--run->tree.count];
	run_left_out(run, f->path, f->bytes, reason);
	run->tree.bytes -= f->bytes;
	run->tree.half |= node_unlink(node) < 0;
}

void run_drop_output(struct job *job)
{
	store_output_drop(job->d->store, job->meta.no, job->meta.run);
	job_output_find(job);
	quota_run_recount(&job->file_owner);
	quota_unpublish(&job->file_owner);
}

void run_output_cut(struct run *run)
{
	cut(run, NOT_WHOLE);
	if (!run->tree.half)
		return;
	log_warn("job %s: its output is dropped, since the disk keeps half a file",
		 run->job->meta.name);
	run->tree.dropped += run->tree.count;
	run->tree.count = 0;
	run_drop_output(run->job);
	run->tree.half = job_output(run->job);
}

void run_tree_init(struct run *run)
{
	run->tree.fd = -1;
}

void run_output_done(struct run *run)
{
	close_file(run);
	free(run->tree.left);
	run->tree.left = NULL;
	free(run->tree.files);
	run->tree.files = NULL;
	run->tree.count = run->tree.room = 0;
}

static int remember(struct run *run, uint32_t kind, uint32_t mode,
		    uint64_t size, const char *path, const char *target)
{
	struct result_file *f;

	run->tree.path_bytes += strlen(path) + (target ? strlen(target) : 0);
	if (run->tree.path_bytes > LIMIT_OUTPUT_PATHS)
		return -EFBIG;
	if (run->tree.count == run->tree.room) {
		unsigned room = run->tree.room ? run->tree.room * 2 : 16;
		void *files = reallocarray(run->tree.files, room,
					   sizeof(*run->tree.files));

		if (!files)
			return -ENOMEM;
		run->tree.files = files;
		run->tree.room = room;
	}
	f = &run->tree.files[run->tree.count];
	*f = (struct result_file){
		.path = arena_text(&run->texts, path), .bytes = size, .mode = mode & 0777,
		.is_dir = kind == WIRE_FILE_DIR,
	};
	if (target)
		f->target = arena_text(&run->texts, target);
	if (!f->path || (target && !f->target))
		return -ENOMEM;
	run->tree.count++;
	return 0;
}

static int output_root(struct run *run, struct node **ret_root)
{
	int r = job_output_make(run->job, run->number);

	*ret_root = job_output(run->job);
	return r;
}

/* Checks the name and the number of entries before one is made. */
static int check_entry(struct run *run, const char *name)
{
	int r = file_name_check(name);

	if (r < 0)
		return r;
	return run->tree.entries++ < LIMIT_OUTPUT_FILES ? 0 : -EFBIG;
}

static int make_dir(struct run *run, struct node *in, const char *name,
		    uint32_t mode, struct node **ret)
{
	int r = check_entry(run, name);

	return r < 0 ? r : node_make_dir(in, name, mode | 0700, ret);
}

/* Finds the parent directory of path, and makes each directory that the guest did not
 * announce. *ret_name: the last component, inside path. */
static int parent_of(struct run *run, char *path, struct node **ret_dir,
		     char **ret_name)
{
	struct node *dir, *next;
	char *name = path, *slash;
	int r = output_root(run, &dir);

	while (r == 0 && (slash = strchr(name, '/'))) {
		*slash = '\0';
		next = node_find(dir, name);
		if (!next)
			r = make_dir(run, dir, name, 0755, &next);
		else if (!next->is_dir)
			r = -ENOTDIR;
		*slash = '/';
		dir = next;
		name = slash + 1;
	}
	*ret_dir = dir;
	*ret_name = name;
	return r;
}

static int make_entry(struct run *run, uint32_t kind, uint32_t mode,
		      const char *path, const char *target)
{
	auto_free char *copy = strdup(path);
	struct node *dir, *node;
	char *name;
	int r;

	if (!copy)
		return -ENOMEM;
	r = parent_of(run, copy, &dir, &name);
	if (r < 0)
		return r;
	if (node_find(dir, name))
		return -EEXIST;
	if (kind == WIRE_FILE_DIR)
		return make_dir(run, dir, name, mode, &node);
	r = check_entry(run, name);
	if (r == 0 && kind == WIRE_FILE_LINK)
		return node_make_link(dir, name, target, &node);
	if (r == 0)
		r = node_make_file(dir, name, (mode & 0777) | 0600, O_WRONLY,
				   &run->tree.file, &run->tree.fd);
	if (r < 0)
		run->tree.half |= node_find(dir, name) != NULL;
	return r;
}

/* Return: why an entry exceeds a limit, or NULL. counts: its bytes for the quota. */
static const char *over_limit(struct run *run, uint64_t size, uint64_t counts)
{
	const uint64_t limit = run->spec.config->output_limit;

	if (run->tree.count >= LIMIT_OUTPUT_FILES)
		return run_left_reason(WIRE_OMITTED_MANY);
	if (size > limit - MIN(run->tree.bytes, limit))
		return run_left_reason(WIRE_OMITTED_LIMIT);
	if (counts <= quota_run_room(&run->job->file_owner))
		return NULL;
	run_over_quota(run);
	return RUN_OVER_QUOTA;
}

static const char *reason_of(int r)
{
	switch (r) {
	case -EFBIG:
		return run_left_reason(WIRE_OMITTED_MANY);
	case -EEXIST:
	case -ENOTDIR:
		return "another entry has its name";
	default:
		return not_stored(r);
	}
}

int run_output_file(struct run *run, uint32_t kind, uint32_t mode,
		    uint64_t size, const char *path, const char *target)
{
	/* bytes that count for the owner's quota */
	uint64_t counts = target ? strlen(target) : size;
	const char *reason;
	int r = 0;

	cut(run, NOT_WHOLE);
	reason = kind == WIRE_FILE_OMITTED ? run_left_reason(mode)
					: over_limit(run, size, counts);
	if (!reason)
		r = remember(run, kind, mode, size, path, target);
	if (!reason && r == 0) {
		r = make_entry(run, kind, mode, path, target);
		run->tree.count -= r < 0;
	}
	if (!reason && r < 0)
		reason = reason_of(r);
	if (reason) {
		run_left_out(run, path, size, reason);
		return -EINVAL;
	}
	run->tree.bytes += size;
	quota_run_add(&run->job->file_owner, counts);
	run->tree.missing = size;
	return 0;
}

/* Removes a file that could not be written whole: result.json may need its space. */
static int give_up_file(struct run *run, int r)
{
	cut(run, not_stored(r));
	run->tree.missing = 0;
	return r;
}

int run_output_data(struct run *run, const void *data, size_t len)
{
	const struct result_file *f = run->tree.files + run->tree.count - 1;
	ssize_t n;

	if (run->tree.fd < 0 || len > run->tree.missing)
		return -EPROTO;
	n = call_write(run->d->store, run->tree.fd, data, len,
		       (off_t)(f->bytes - run->tree.missing));
	if (n < 0)
		return give_up_file(run, (int)n);
	run->tree.missing -= (uint64_t)n;
	return n == (ssize_t)len ? 0 : give_up_file(run, -ENOSPC);
}

int run_output_end(struct run *run, struct wire_time mtime)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		wire_time_to_set(mtime),
	};

	if (run->tree.missing) {
		cut(run, NOT_WHOLE);
		return -EPROTO;
	}
	/* Errors are ignored: only the mtime would be wrong. */
	if (mtime.known && run->tree.fd >= 0)
		node_utimens(run->tree.file, times);
	close_file(run);
	return 0;
}

/* --- the sentences of the end ----------------------------------------------- */

static void say_end(const struct run *run, struct buf *out)
{
	const struct job_config *c = run->spec.config;
	enum job_status status = run->end.res.status;

	if (!c)
		return;
	if (status == STATUS_TIMEOUT)
		buf_fmt(out, "over its %g s (timeout)",
			(double)c->timeout_ms / 1000);
	else if (status == STATUS_OUT_OF_MEMORY)
		buf_fmt(out, "needed more than %" PRIu64 " MiB (memory_mb)",
			(uint64_t)(run->vm_job.wire.memory_bytes >> 20));
}

/* Appends a sentence to the message, and with `log` a line to the log. */
static void add(struct run *run, struct buf *out, const struct buf *sentence,
		bool log)
{
	if (!sentence->len || sentence->failed)
		return;
	buf_fmt(out, "%s%s", out->len ? "; " : "", sentence->data);
	if (log)
		job_log_line(&run->ending.lines.log, "%s", sentence->data);
}

static void add_stream(struct run *run, struct buf *out,
		       const struct run_stream *s, const char *name)
{
	auto_buf struct buf cut = { 0 };

	if (s->dropped == RESULT_UNKNOWN)
		return; /* the disk failed, and the message says so already */
	if (s->dropped > s->unpaid)
		buf_fmt(&cut, "%s: %" PRIu64 " bytes over %s_limit were dropped",
			name, s->dropped - s->unpaid, name);
	add(run, out, &cut, true);
}

static void add_tree(struct run *run, struct buf *out)
{
	auto_buf struct buf text = { 0 };

	if (run->tree.dropped == 1)
		buf_str(&text, "output: 1 entry was left out "
			"(output_left_out)");
	else if (run->tree.dropped)
		buf_fmt(&text, "output: %" PRIu64 " entries were left out "
			"(output_left_out)", run->tree.dropped);
	add(run, out, &text, true);
}

static void add_value(struct run *run, struct buf *out)
{
	auto_buf struct buf text = { 0 };

	if (run->value.overflow && !run->tree.over_quota)
		buf_str(&text, "the program's value is larger than 16 MiB and "
			"was dropped");
	add(run, out, &text, true);
}

void run_say_cuts(struct run *run)
{
	struct run_end *end = &run->end;
	auto_buf struct buf all = { 0 }, why = { 0 }, before = { 0 },
			    quota = { 0 };

	if (end->cuts_said)
		return; /* an earlier attempt to store the end has done it */
	end->cuts_said = true;
	if (end->res.message)
		buf_str(&before, end->res.message);
	if (run->tree.over_quota)
		buf_str(&quota, "some of the output is left out: "
			RUN_OVER_QUOTA);
	say_end(run, &why);
	add(run, &all, &why, false); /* not to the log: the log's last line has the
				      * message */
	add(run, &all, &before, false);
	add(run, &all, &quota, false); /* run_over_quota() has logged it */
	add_stream(run, &all, &run->stream[VM_OUT], "stdout");
	add_stream(run, &all, &run->stream[VM_ERR], "stderr");
	add_tree(run, &all);
	add_value(run, &all);
	if (!all.len || all.failed)
		return;
	snprintf(end->message, sizeof(end->message), "%s", all.data);
	end->res.message = end->message;
}
