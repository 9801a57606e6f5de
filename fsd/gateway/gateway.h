/* SPDX-License-Identifier: Apache-2.0 */
/* The things that all parts of the gateway share. main.c makes them once. */
#ifndef GATEWAY_H
#define GATEWAY_H

#include "fsd/gateway/base/alone.h"
#include "fsd/gateway/base/crew.h"
#include "fsd/gateway/base/keys.h"
#include "fsd/gateway/base/options.h"
#include "fsd/gateway/base/reactor.h"
#include "fsd/gateway/mount/mount.h"
#include "fsd/gateway/mount/watcher.h"

struct http;
struct running;
struct tokens;
struct ui;
struct upload_names;

struct gateway {
	struct options options;
	struct keys keys; /* used by the loop */
	struct mount mount;
	struct reactor reactor;
	struct crew crew;
	struct watcher watcher;
	struct alones alones; /* used by the workers */
	/* Each of these structs is defined and used only in the file or folder
	 * of its name. */
	struct http *http;
	struct tokens *tokens; /* known tokens of all sandboxes */
	struct running *running; /* running cells */
	struct upload_names *upload_names; /* uploads whose file is open */
	struct ui *ui;                     /* the dashboard */
	/* Called on the loop when a job of the gateway has ended; set by
	 * main.c. result: result.json, or NULL. */
	void (*ran)(struct gateway *g, const char *job, const char *owner,
		    const json_t *result);
	/*
	 * For the same job, before it is removed. peek(), on a worker: returns
	 * what the dashboard shows of it (owned by the caller, or NULL);
	 * peeked(), on the loop, gets that (takes it). NULL: not wanted.
	 */
	json_t *(*peek)(struct gateway *g, const char *job);
	void (*peeked)(struct gateway *g, const char *job, json_t *seen);
	bool stopping; /* the gateway got SIGTERM */
	int64_t started_ms;
	/* work that ends the jobs that a dead gateway has left (orphans.c) */
	struct crew_work orphans;
};

#endif
