/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard: a page, and its view of the mount. The gateway reads the mount
 * only while a browser shows the page, and once for all browsers.
 */
#ifndef GATEWAY_UI_H
#define GATEWAY_UI_H

#include "fsd/gateway/http/request.h"

struct ui;

/* Return: 0 or -ENOMEM. */
int ui_open(struct gateway *g);
/* Call it when no worker runs any more. */
void ui_close(struct gateway *g);

/*
 * Notes an ended job of the gateway; on the loop. result: result.json, or NULL.
 */
void ui_ran(struct gateway *g, const char *job, const char *owner,
	    const json_t *result);

/* Returns what the dashboard shows of a job that exists: its code, the ends of its
 * streams, its log and its error. On a worker. Owned by the caller. */
json_t *ui_peek(struct gateway *g, const char *job);
/* Stores the details of a removed job; on the loop, after ui_ran(). Takes seen. */
void ui_peeked(struct gateway *g, const char *job, json_t *seen);

/* Guards of routes: they reply 404 with --ui no. ui_change_guard() also replies 403
 * without the header X-Fsd-Ui, which a page of another site cannot send. */
bool ui_guard(struct request *r);
bool ui_change_guard(struct request *r);

/* Redirects a browser to the page. */
void get_root(struct request *r);
void get_ui(struct request *r);
void get_ui_state(struct request *r);
void get_ui_events(struct request *r);
void get_ui_sandbox(struct request *r);
void get_ui_job(struct request *r);
void delete_ui_sandbox(struct request *r);
void post_ui_kill(struct request *r);

#endif
