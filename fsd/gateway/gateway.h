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
	struct keys keys;        /* the loop's */
	struct mount mount;
	struct reactor reactor;
	struct crew crew;
	struct watcher watcher;
	struct alones alones; /* the workers' */
	/* Each is made, and known, by one file or folder above this header. */
	struct http *http;
	struct tokens *tokens;             /* of all sandboxes, as they are known */
	struct running *running;           /* cells */
	struct upload_names *upload_names; /* of uploads whose file is open */
	struct ui *ui;                     /* the dashboard */
	/* On the loop, for each job of the gateway that has ended: main.c sets it. result:
	 * result.json, or NULL. */
	void (*ran)(struct gateway *g, const char *job, const char *owner,
		    const json_t *result);
	/* The same job before it is removed: on a worker, what is shown of it (the
	 * caller's, or NULL); and with that on the loop (taken). NULL: not wanted. */
	json_t *(*peek)(struct gateway *g, const char *job);
	void (*peeked)(struct gateway *g, const char *job, json_t *seen);
	bool stopping; /* SIGTERM came */
	int64_t started_ms;
	struct crew_work orphans; /* a look for what another one has left */
};

#endif
