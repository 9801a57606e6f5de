/* SPDX-License-Identifier: Apache-2.0 */
#include "parsed.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "chores.h"
#include "depot.h"

/* Up to here a text is parsed at once: about 2 ms. */
#define QUICK_BYTES 32768

void parsed_unref(struct parsed *p)
{
	if (!p || --p->refs)
		return;
	if (p->result == 0)
		config_done(&p->config);
	free(p);
}

struct parsed *parsed_defaults(void)
{
	struct parsed *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->refs = 1;
	p->result = config_defaults(&p->config);
	return p;
}

static int read_text(int fd, struct buf *text)
{
	ssize_t n;

	do {
		if (buf_reserve(text, 65536) < 0)
			return -ENOMEM;
		n = read(fd, text->data + text->len, 65536);
		if (n < 0)
			return -errno;
		text->len += (size_t)n;
	} while (n > 0 && text->len <= LIMIT_CONFIG_BYTES);
	return 0;
}

/* Reads fd and parses; on either thread. */
static struct parsed *parse(int fd, const struct config_limits *limits)
{
	auto_buf struct buf text = { .cap = 2 * LIMIT_CONFIG_BYTES };
	struct parsed *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->refs = 1;
	p->result = fd < 0 ? fd : read_text(fd, &text);
	if (p->result < 0)
		err_sys(&p->err, p->result, "config.json: cannot be read");
	else
		p->result = config_parse(text.data ? text.data : "", text.len,
					 limits, &p->config, &p->err);
	return p;
}

static bool is_fresh(const struct job *job, const struct node *node)
{
	return job->parsed && job->parsed_ino == node->ino &&
	       job->parsed_version == node->version;
}

/* Takes the reference. */
static void keep(struct job *job, const struct node *node, uint64_t version,
		 struct parsed *p)
{
	parsed_unref(job->parsed);
	job->parsed = p;
	job->parsed_ino = node->ino;
	job->parsed_version = version;
}

struct parsed *parsed_get(struct job *job, struct node *node)
{
	auto_close int fd = -1;

	if (!is_fresh(job, node)) {
		fd = node_open(node, O_RDONLY);
		keep(job, node, node->version,
		     parse(fd, &job->d->options->limits));
	}
	if (job->parsed)
		job->parsed->refs++;
	return job->parsed;
}

bool parsed_is_slow(const struct job *job, const struct node *node)
{
	struct stat st;

	return !is_fresh(job, node) && node_stat(node, &st) == 0 &&
	       st.st_size > QUICK_BYTES;
}

/* --- on the chores' thread ------------------------------------------------------ */

struct prefetch {
	struct task task;
	struct job *job;   /* borrowed, as node */
	struct node *node;
	uint64_t version;  /* the node's when fd was opened */
	int fd;            /* owned */
	struct parsed *p;
	void (*done)(void *arg);
	void *arg;
};

static int prefetch_work(struct task *t)
{
	struct prefetch *f = container_of(t, struct prefetch, task);

	f->p = parse(f->fd, &f->job->d->options->limits);
	return 0;
}

static void prefetch_done(struct task *t, int result)
{
	struct prefetch *f = container_of(t, struct prefetch, task);

	(void)result;
	if (f->p)
		keep(f->job, f->node, f->version, f->p);
	f->done(f->arg);
	fd_close(&f->fd);
	free(f);
}

int parsed_prefetch(struct job *job, struct node *node, void (*done)(void *arg),
		    void *arg)
{
	struct prefetch *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*f = (struct prefetch){
		.task = { .work = prefetch_work, .done = prefetch_done },
		.job = job, .node = node, .version = node->version,
		.fd = node_open(node, O_RDONLY), .done = done, .arg = arg,
	};
	depot_chore(job->d->depot, &f->task);
	return 0;
}
