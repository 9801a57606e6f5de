/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the routes about the gateway itself: health, metrics, and routes that fsd does
 * not have.
 *
 * Health and figures are read from the mount's .fsd at each request, and the gateway
 * adds its own counters. There is no state beyond the request.
 */
#include "info.h"

#include <errno.h>
#include <string.h>

#include "fsd/gateway/http/http.h"
#include "fsd/gateway/http/route.h"
#include "layout/base/cleanup.h"
#include "layout/base/health.h"

/* Returns whether the mount is well but sandboxes use all machines: a request
 * to a sandbox still succeeds. */
static bool is_full(const struct buf *text)
{
	return text->data && (!strncmp(text->data, "full: ", 6) ||
			      !strncmp(text->data, "busy: ", 6));
}

/* Returns whether the mount is well; else text has a line with the reason. */
static bool health(struct request *r, struct buf *text)
{
	struct err err = { 0 };

	if (mount_read(&r->gateway->mount, ".fsd/health", text, &err) < 0) {
		buf_clear(text);
		buf_str(text, err.text);
	}
	if (text->len)
		text->data[strcspn(text->data, "\n")] = '\0';
	return text->len && health_is_ok(text->data);
}

void get_health(struct request *r)
{
	auto_buf struct buf text = { 0 };

	if (health(r, &text))
		reply_json(r, 200, json_pack("{s:s}", "status", "ok"));
	else if (is_full(&text))
		reply_json(r, 200, json_pack("{s:s, s:s}", "status", "full",
					     "message", text.data + 6));
	else
		reply_error(r, 503, "%.400s", text.data ? text.data : "");
}

void get_healthz(struct request *r)
{
	get_health(r);
}

void get_metrics(struct request *r)
{
	struct gateway *g = r->gateway;
	auto_buf struct buf text = { 0 };
	struct err err = { 0 };
	int code = mount_read(&g->mount, ".fsd/stats", &text, &err);

	if (code < 0) {
		reply_failure(r, code, err.text);
		return;
	}
	buf_str(&text, "# TYPE fsd_gateway_requests_total counter\n");
	for (unsigned i = 1; i < ARRAY_SIZE(g->http->by_status); i++)
		buf_fmt(&text, "fsd_gateway_requests_total{status=\"%uxx\"} "
			"%llu\n", i, (unsigned long long)g->http->by_status[i]);
	buf_fmt(&text, "# TYPE fsd_gateway_connections gauge\n"
		"fsd_gateway_connections %u\n", g->http->connections);
	buf_fmt(&text, "# TYPE fsd_gateway_uptime_seconds gauge\n"
		"fsd_gateway_uptime_seconds %.3f\n",
		(double)(text_now_ms() - g->started_ms) / 1000);
	reply_text(r, 200, "text/plain; version=0.0.4; charset=utf-8",
		   text.data ? text.data : "", text.len);
}

void not_there(struct request *r)
{
	reply_error(r, 501, "%s", r->route->topic);
}
