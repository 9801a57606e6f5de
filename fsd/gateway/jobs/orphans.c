/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends the jobs of a dead gateway. Such a job has the gateway's mark, and a
 * lock that no process holds. Runs on a worker, at the start and now and then.
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "follow.h"
#include "layout/base/cleanup.h"
#include "layout/base/log.h"

#define ORPHAN_MS 5000u
#define DRAFT_S 60 /* seconds; a younger draft may be in the making */

static void orphan_over(void *arg, int error)
{
	(void)arg;
	(void)error;
}

static const struct follow_ops orphan_ops = { .over = orphan_over };

static bool is_in(const struct mount *own, const char *state)
{
	auto_buf struct buf text = { 0 };

	return mount_line(own, "state", &text) == 0 && !strcmp(text.data, state);
}

static bool is_young(const struct mount *own)
{
	struct stat st;

	return fstat(own->fd, &st) < 0 ||
	       st.st_ctim.tv_sec + DRAFT_S >= time(NULL);
}

static const char *mark_of(const struct mount *own, json_t **config)
{
	if (mount_json(own, "config.json", config, NULL) < 0)
		return NULL;
	return text_member(json_object_get(*config, "note"), FOLLOW_MARK);
}

/* Ends a half-made job. Without the gateway's mark the job is only removed if its
 * directory is empty: rmdir(2) fails otherwise. */
static void end_draft(struct gateway *g, const char *name, const struct mount *own,
		      bool marked)
{
	auto_close int fd = is_young(own) ? -1 : follow_events(own, NULL);

	if (fd >= 0 && marked)
		mount_remove_job(&g->mount, name, NULL);
	else if (fd >= 0)
		mount_rmdir(&g->mount, name, NULL);
}

/* Ends a job that is queued, running or over. */
static void end_whole(struct gateway *g, const char *name, const struct mount *own,
		      json_t *config)
{
	auto_close int fd = follow_events(own, NULL);
	struct follow *f;

	if (fd < 0)
		return;
	if (!is_in(own, "queued") && !is_in(own, "running")) {
		mount_remove_job(&g->mount, name, NULL);
		return;
	}
	follow_join(g, &(struct follow_job){ .name = name, .config = config,
					     .patience_ms = ORPHAN_MS,
					     .ops = &orphan_ops },
		    take_fd(&fd), &f, NULL);
}

/* Ends a dead gateway's job. A refused job is of no use to a client, so it is removed even
 * if its mark says that it stays. */
static void end_orphan(struct gateway *g, const char *name,
		       const struct mount *own)
{
	auto_json json_t *config = NULL;
	const char *mark = mark_of(own, &config);

	if (is_in(own, "draft"))
		end_draft(g, name, own, mark);
	else if (mark && (strcmp(mark, FOLLOW_STAYS) != 0 || is_in(own, "refused")))
		end_whole(g, name, own, config);
}

/* Returns whether its name ends as follow_new_name() makes it. */
static bool has_our_tail(const char *name)
{
	const char *tail = strrchr(name, '.') + 1;

	return strlen(tail) == FOLLOW_TAIL &&
	       strspn(tail, "abcdefghijklmnopqrstuvwxyz0123456789") == FOLLOW_TAIL;
}

static int look_at(void *arg, const char *name)
{
	struct gateway *g = arg;
	struct mount own;
	struct stat st;

	if (strncmp(name, "gw.", 3) != 0 || strlen(name) >= FOLLOW_NAME ||
	    !has_our_tail(name) || mount_below(&g->mount, name, &own, NULL) < 0)
		return 0;
	if (fstat(own.fd, &st) == 0 && st.st_uid == geteuid())
		end_orphan(g, name, &own);
	mount_close(&own);
	return 0;
}

static void end_orphans(struct crew_work *work)
{
	struct gateway *g = container_of(work, struct gateway, orphans);

	mount_list(&g->mount, ".", look_at, g, NULL);
	log_info("looked for jobs of a gateway that has ended");
}

void follow_orphans(struct gateway *g)
{
	g->orphans.run = end_orphans;
	g->orphans.light = g->orphans.patient = true;
	crew_put(&g->crew, &g->orphans);
}
