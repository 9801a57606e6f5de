/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks config.json while it is written, so that write(2) itself fails: a
 * shell, PHP and Rust ignore the result of close(2). That is possible while one
 * writer writes from the start and in order. Other writes, and a correct
 * config, are judged at close. Owns handle->prefix. All functions run on the
 * loop, in a fiber.
 */
#include "ops_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fsd/jobs/parsed_config.h"
#include "fsd/submit/submit.h"

static bool is_config(const struct node *node)
{
	const struct job *job = job_of_node(node);

	return job && node->area == AREA_FILES && !node->unlinked &&
	       node->parent == job->files &&
	       !strcmp(node->name, "config.json");
}

/* Returns where the written bytes continue the checked ones, or NULL: they do
 * not follow each other, or other bytes exist. */
static struct json_prefix *find_prefix(struct handle *h, size_t n, off_t off)
{
	bool append = h->kept->flags & O_APPEND;
	struct json_prefix *p = h->prefix;
	struct stat st;

	if (h->t.node->writers > 1 || fstat(h->fd, &st) < 0)
		return NULL;
	if (p && (append || (uint64_t)off == p->at) &&
	    (uint64_t)st.st_size == p->at + n)
		return p;
	if ((!append && off != 0) || (uint64_t)st.st_size != n)
		return NULL;
	if (!p)
		p = h->prefix = malloc(sizeof(*p));
	if (p)
		*p = (struct json_prefix){ .max_depth = LIMIT_CONFIG_DEPTH,
					   .bom = true, .object = true };
	return p;
}

static int judge(fuse_req_t req, struct handle *h)
{
	struct err err = { 0 };
	struct job *job;
	int r;

	ops_hold_job_of(h);
	if (!is_config(h->t.node))
		return 0;
	parsed_config_prepare(job_of_node(h->t.node), h->t.node);
	job = job_of_node(h->t.node); /* the job that has the file now */
	r = is_config(h->t.node) ? submit_judge(job, h->t.node, &err) : 0;
	return r < 0 ? ops_refuse(req, r, job->meta.name, "%s", err.text) : 0;
}

/* Returns whether the text has just become complete, too long, or wrong. */
static bool is_due(const struct json_prefix *before,
		   const struct json_prefix *now)
{
	return (now->state == JSON_WRONG && before->state != JSON_WRONG) ||
	       (now->state == JSON_WHOLE && before->state != JSON_WHOLE) ||
	       (now->at > LIMIT_CONFIG_BYTES &&
		before->at <= LIMIT_CONFIG_BYTES);
}

int ops_config_written(fuse_req_t req, struct handle *h, const char *data,
		       size_t n, off_t off)
{
	struct json_prefix *p, next;
	int r = 0;

	if (!is_config(h->t.node))
		return 0;
	p = find_prefix(h, n, off);
	if (!p) {
		free(take_ptr(h->prefix));
		return 0;
	}
	next = *p;
	json_prefix_feed(&next, data, n);
	if (is_due(p, &next))
		r = judge(req, h);
	/* A refused write may be repeated at the same offset. */
	if (r == 0 && h->prefix)
		*h->prefix = next;
	return r;
}
