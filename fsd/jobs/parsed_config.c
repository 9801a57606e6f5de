/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps one parsed config.json for each job, with the version of the file that it was
 * made of. A large file can be parsed by a worker thread beforehand.
 */
#include "parsed_config.h"
#include "removed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fsd/base/worker_pool.h"
#include "fsd/store/store.h"
#include "fsd/base/fiber.h"
#include "environments.h"

/* Texts of up to this size are parsed on the loop, because it takes less than 2 ms. */
#define QUICK_BYTES 16384

void parsed_config_unref(struct parsed_config *p)
{
	if (!p || --p->refs)
		return;
	if (p->result == 0 || p->misplaced)
		config_done(&p->config);
	free(p->err);
	free(p);
}

/* If p has a result < 0, adds a copy of err to it. Return: p; NULL: out of memory, and p
 * is freed. */
static struct parsed_config *with_sentence(struct parsed_config *p, const struct err *err)
{
	if (p->result == 0)
		return p;
	p->err = malloc(sizeof(*p->err));
	if (!p->err) {
		parsed_config_unref(p);
		return NULL;
	}
	*p->err = *err;
	return p;
}

/* Checks the environment. The result depends on the host and not on the text, so it is
 * not cached for later: `misplaced`. */
static void check_environment(struct parsed_config *p, const struct job *job,
			      struct err *err)
{
	p->result = environments_check(job->d, job->meta.uid, &p->config, err);
	p->misplaced = p->result < 0;
}

static void parse_text(struct parsed_config *p, const char *text, size_t len,
		       const struct job *job, struct err *err)
{
	p->result = config_parse(text, len, &job->d->options->limits, &p->config,
				 err);
	p->empty = p->result == -ENODATA && config_is_empty(text, len);
	if (p->result == 0)
		check_environment(p, job, err);
}

static struct parsed_config *parsed_config_new(void)
{
	struct parsed_config *p = calloc(1, sizeof(*p));

	if (p)
		p->refs = 1;
	return p;
}

struct parsed_config *parsed_config_ref(struct parsed_config *p)
{
	p->refs++;
	return p;
}

struct parsed_config *parsed_config_defaults(const struct job *job)
{
	struct parsed_config *p = parsed_config_new();
	struct err err;

	if (!p)
		return NULL;
	parse_text(p, "{}", 2, job, &err);
	return with_sentence(p, &err);
}

/* Reads and parses fd, on the loop or on a worker thread. */
static struct parsed_config *parse(int fd, const struct job *job)
{
	auto_buf struct buf text = { 0 };
	struct parsed_config *p = parsed_config_new();
	struct err err;

	if (!p)
		return NULL;
	p->result = fd < 0 ? fd : node_read(fd, LIMIT_CONFIG_BYTES, &text);
	p->unread = p->result < 0;
	if (p->unread)
		err_sys(&err, p->result, "config.json: cannot be read");
	else
		parse_text(p, text.data ? text.data : "", text.len, job, &err);
	return with_sentence(p, &err);
}

static bool is_fresh(const struct job *job, const struct node *node)
{
	return job->config.parsed && job->config.ino == node->ino &&
	       job->config.version == node->version;
}

/* Caches p in the job, which becomes the owner of the caller's reference. */
static void keep(struct job *job, const struct node *node, uint64_t version,
		 struct parsed_config *p)
{
	parsed_config_unref(job->config.parsed);
	job->config.parsed = p;
	job->config.ino = node->ino;
	job->config.version = version;
}

struct parsed_config *parsed_config_get(struct job *job, struct node *node)
{
	auto_close int fd = -1;

	if (!is_fresh(job, node)) {
		fd = node_open(node, O_RDONLY);
		keep(job, node, node->version,
		     parse(fd, job));
	}
	if (job->config.parsed && (job->config.parsed->unread || job->config.parsed->misplaced))
		return take_ptr(job->config.parsed); /* do not cache it: another attempt
						      * may give another result */
	return job->config.parsed ? parsed_config_ref(job->config.parsed) : NULL;
}

struct parsed_config *parsed_closed(struct job *job, struct node *node)
{
	struct parsed_config *p = parsed_config_get(job, node);
	struct err err;

	if (!p || !p->empty)
		return p;
	parsed_config_unref(p);
	if (!node->cut)
		return parsed_config_defaults(job);
	p = parsed_config_new(); /* an empty file is not {}: a write to it has failed */
	if (!p)
		return NULL;
	p->result = err_set(&err, -ENODATA,
			    "config.json: it is empty, since writing it failed; "
			    "write it again");
	return with_sentence(p, &err);
}

struct node *parsed_config_node(struct job *job)
{
	struct node *node;

	if (job_input(job, "config.json", &node) < 0)
		return NULL;
	return node && !node->is_dir ? node : NULL;
}

struct parsed_config *parsed_begun(struct job *job)
{
	struct node *node;
	struct parsed_config *p;

	node_load_all(job->files);
	node = parsed_config_node(job);
	/* A job may run before the kernel has released its config. */
	if (node && node->writers && job->meta.state != JOB_RUNNING)
		return NULL;
	p = node ? parsed_closed(job, node) : parsed_config_defaults(job);
	if (p && p->result < 0 && !p->misplaced) {
		parsed_config_unref(p);
		return NULL;
	}
	return p;
}

bool parsed_config_is_wrong(const struct parsed_config *p)
{
	return !p->unread && (!p->misplaced || p->result == -EINVAL);
}

bool parsed_config_is_slow(const struct job *job, const struct node *node)
{
	struct stat st;

	return !is_fresh(job, node) && node_stat(node, &st) == 0 &&
	       st.st_size > QUICK_BYTES;
}

/* --- on a worker thread --------------------------------------------------------- */

struct prefetch {
	struct task task;
	struct job *job;   /* a reference, as node */
	struct node *node;
	uint64_t version;  /* the node's when fd was opened */
	int fd;            /* owned */
	struct parsed_config *p;
	void (*done)(void *arg);
	void *arg;
};

static int prefetch_work(struct task *t)
{
	struct prefetch *f = container_of(t, struct prefetch, task);

	f->p = parse(f->fd, f->job);
	return 0;
}

static void prefetch_free(struct prefetch *f)
{
	node_unref(f->node);
	job_unref(f->job);
	fd_close(&f->fd);
	free(f);
}

static void prefetch_done(struct task *t, int result)
{
	struct prefetch *f = container_of(t, struct prefetch, task);

	(void)result;
	keep(f->job, f->node, f->version, f->p);
	f->done(f->arg);
	prefetch_free(f);
}

int parsed_config_prefetch(struct job *job, struct node *node, void (*done)(void *arg),
			   void *arg)
{
	struct prefetch *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	*f = (struct prefetch){
		.task = { .work = prefetch_work, .done = prefetch_done },
		.job = job_ref(job), .node = node, .version = node->version,
		.fd = node_open(node, O_RDONLY), .done = done, .arg = arg,
	};
	node_ref(node);
	r = store_add_task(job->d->store, STORE_BACKGROUND, &f->task);
	if (r < 0)
		prefetch_free(f);
	return r;
}

static void on_prepared(void *arg)
{
	fiber_wake(arg);
}

void parsed_config_prepare(struct job *job, struct node *node)
{
	if (fiber_self() && parsed_config_is_slow(job, node) &&
	    parsed_config_prefetch(job, node, on_prepared, fiber_self()) == 0)
		fiber_pause();
}
