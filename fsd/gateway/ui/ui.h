/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard: a page, and what it shows of the mount. It looks at the mount only
 * while somebody looks at it, once for all of them.
 */
#ifndef GATEWAY_UI_H
#define GATEWAY_UI_H

#include "fsd/gateway/http/request.h"

struct ui;

/* Return: 0 or -ENOMEM. */
int ui_open(struct gateway *g);
/* When no worker runs any more. */
void ui_close(struct gateway *g);

/* On the loop: a job of the gateway's has ended. result: result.json, or NULL. */
void ui_ran(struct gateway *g, const char *job, const char *owner,
	    const json_t *result);

/* On a worker: what is shown of a job that is there: its code, the ends of its streams,
 * its log and its error. The caller's; NULL: it has gone. */
json_t *ui_peek(struct gateway *g, const char *job);
/* On the loop, behind ui_ran(): that of a job that is removed. Takes seen. */
void ui_peeked(struct gateway *g, const char *job, json_t *seen);

/* Guards: 404 with --ui no; a change needs X-Fsd-Ui, too. */
bool ui_guard(struct request *r);
bool ui_change_guard(struct request *r);

void get_root(struct request *r); /* a browser goes on to the page */
void get_ui(struct request *r);
void get_ui_state(struct request *r);
void get_ui_events(struct request *r);
void get_ui_sandbox(struct request *r);
void get_ui_job(struct request *r);
void delete_ui_sandbox(struct request *r);
void post_ui_kill(struct request *r);

#endif
