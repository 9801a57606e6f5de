/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The viewers of the dashboard. While there is a viewer, a worker reads the mount
 * for all of them, at most twice a second; each stream then gets what has changed.
 * A request that wants one answer does not wait for that pace: a new reading begins
 * as soon as the present one ends. The loop owns all of this state, except `jobs`
 * and `fresh` while a worker reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "ui_int.h"

#define PACE_MS 500u
#define QUIET_MS 15000u
/* most bytes that wait for a viewer to read; above, it gets no changes */
#define WAITING_MAX (1u << 20)
#define SEATS 64u /* most viewers; each owner has a share (share.h) */
#define SHARE 4u /* reading the mount takes at most 1/SHARE of the time */

struct ui {
	struct gateway *gateway;
	struct ui_ring ring;
	struct list viewers;
	struct shares seats;
	struct ui_jobs jobs; /* used by the worker: as at the last reading */
	struct ui_look fresh; /* the result of a reading */
	struct crew_work work;
	struct reactor_timer pace;
	uint64_t begun_ms;
	unsigned looks; /* readings that have begun */
	bool busy;
};

/* A request that waits for a reading: GET /ui/events is a stream; GET /ui/state and
 * the callers of ui_behind_look() get one answer. */
struct viewer {
	struct list node;
	struct request *request;
	struct reactor_timer patience;
	struct holding seat;
	/* number of the first reading that began after the request */
	unsigned wanted;
	bool streams;
	ui_then *then; /* of ui_behind_look(); NULL: the client wants the whole state */
	void *arg; /* owned; argument of then */
	uint64_t told_ms;
	json_t *last; /* owned; the state that was sent last */
};

static void free_viewer(void *arg)
{
	struct viewer *v = arg;

	list_del(&v->node);
	reactor_timer_stop(&v->patience);
	holding_set(&v->seat, 0);
	json_decref(v->last);
	free(v->arg);
	free(v);
}

int ui_open(struct gateway *g)
{
	struct ui *ui = calloc(1, sizeof(*ui));

	if (!ui)
		return -ENOMEM;
	ui->gateway = g;
	list_init(&ui->viewers);
	shares_init(&ui->seats, SEATS);
	g->ui = ui;
	return 0;
}

void ui_close(struct gateway *g)
{
	struct ui *ui = g->ui;

	if (!ui)
		return;
	g->ui = NULL;
	reactor_timer_stop(&ui->pace);
	ui_jobs_done(&ui->jobs);
	ui_look_done(&ui->fresh);
	shares_done(&ui->seats);
	ui_ring_done(&ui->ring);
	free(ui);
}

void ui_ran(struct gateway *g, const char *job, const char *owner,
	    const json_t *result)
{
	struct ui_ring *ring = g->ui ? &g->ui->ring : NULL;
	struct ui_run *run;

	if (!ring || !result || ui_ring_has(ring, job))
		return; /* two clients may follow one command */
	if (!ring->run)
		ring->run = calloc(UI_KEPT, sizeof(*ring->run));
	if (!ring->run)
		return;
	run = &ring->run[ring->next];
	*run = (struct ui_run){ 0 };
	snprintf(run->name, sizeof(run->name), "%s", job);
	snprintf(run->owner, sizeof(run->owner), "%s", owner);
	ui_run_read(run, result);
	if (!run->ended_ms)
		run->ended_ms = text_now_ms();
	ring->next = (ring->next + 1) % UI_KEPT;
	if (ring->count < UI_KEPT)
		ring->count++;
}

void ui_peeked(struct gateway *g, const char *job, json_t *seen)
{
	if (g->ui)
		ui_ring_see(&g->ui->ring, job, seen);
	else
		json_decref(seen);
}

const struct ui_ring *ui_ring_of(const struct gateway *g)
{
	return &g->ui->ring;
}

/* --- a viewer's changes ------------------------------------------------- */

static json_t *view_of(struct ui *ui, const struct viewer *v)
{
	const char *owner = v->request->caller.owner;
	json_t *view = ui_look_show(&ui->fresh, owner);

	if (view)
		ui_runs_show(&ui->ring, ui->fresh.run, ui->fresh.runs, owner,
			     text_now_ms(), view);
	return view;
}

static void set_now(json_t *view)
{
	json_object_set_new(view, "now", json_integer(text_now_ms()));
}

/* Returns the members that have changed; NULL: none. */
static json_t *changes(const json_t *last, json_t *view)
{
	json_t *ret = NULL, *value;
	const char *name;

	json_object_foreach(view, name, value) {
		if (json_equal(json_object_get(last, name), value))
			continue;
		if (!ret)
			ret = json_object();
		json_object_set(ret, name, value);
	}
	return ret;
}

static void tell(struct viewer *v, const char *event, json_t *json)
{
	auto_buf struct buf line = { 0 };

	set_now(json);
	buf_fmt(&line, "event: %s\ndata: ", event);
	if (text_json(&line, json) == 0 && buf_str(&line, "\n\n") == 0)
		stream_add(v->request, line.data, line.len);
	json_decref(json);
}

static void end_viewer(struct viewer *v)
{
	struct request *r = v->request;

	r->state = NULL;
	if (v->streams)
		stream_end(r);
	else
		request_answer(r);
	free_viewer(v);
}

static void show_changes(struct ui *ui, struct viewer *v)
{
	uint64_t now = reactor_now_ms();
	json_t *view, *changed;

	if (stream_waiting(v->request) > WAITING_MAX ||
	    (v->last && now < v->told_ms + PACE_MS))
		return; /* the next reading will send it */
	view = view_of(ui, v);
	if (!view)
		return;
	changed = v->last ? changes(v->last, view) : json_copy(view);
	if (changed) {
		tell(v, v->last ? "change" : "snapshot", changed);
		v->told_ms = now;
	}
	json_decref(v->last);
	v->last = view;
}

static void answer_state(struct ui *ui, struct viewer *v)
{
	json_t *view = view_of(ui, v);

	if (view)
		set_now(view);
	reply_json(v->request, 200, view);
	end_viewer(v);
}

static void answer_then(struct ui *ui, struct viewer *v)
{
	struct request *r = v->request;
	ui_then *then = v->then;
	void *arg = take_ptr(v->arg);

	r->state = NULL;
	free_viewer(v);
	then(r, arg, &ui->jobs);
}

/* --- readings ----------------------------------------------------------- */

static void begin_look(struct ui *ui);

static void look(struct crew_work *work)
{
	struct ui *ui = container_of(work, struct ui, work);

	ui_look_done(&ui->fresh);
	ui_look_at(ui->gateway, &ui->jobs, &ui->fresh);
}

static void on_pace(struct reactor_timer *timer)
{
	struct ui *ui = container_of(timer, struct ui, pace);

	if (!ui->busy && !list_empty(&ui->viewers))
		begin_look(ui);
}

static bool somebody_waits(const struct ui *ui)
{
	list_for_each(pos, tmp, &ui->viewers)
		if (list_entry(pos, struct viewer, node)->wanted > ui->looks)
			return true;
	return false;
}

static void looked(struct crew_work *work)
{
	struct ui *ui = container_of(work, struct ui, work);
	struct reactor *reactor = &ui->gateway->reactor;
	uint64_t took = reactor_now_ms() - ui->begun_ms;

	ui->busy = false;
	list_for_each(pos, tmp, &ui->viewers) {
		struct viewer *v = list_entry(pos, struct viewer, node);

		if (v->wanted > ui->looks)
			continue;
		if (v->then)
			answer_then(ui, v);
		else if (!v->streams)
			answer_state(ui, v);
		else if (ui->gateway->stopping)
			end_viewer(v);
		else
			show_changes(ui, v);
	}
	if (somebody_waits(ui))
		begin_look(ui);
	else if (!list_empty(&ui->viewers))
		reactor_timer_set(reactor, &ui->pace,
				  MAX(PACE_MS, (SHARE - 1) * took));
}

static void begin_look(struct ui *ui)
{
	reactor_timer_stop(&ui->pace);
	ui->busy = true;
	ui->looks++;
	ui->begun_ms = reactor_now_ms();
	ui->pace.fn = on_pace;
	ui->work.light = true;
	ui->work.run = look;
	ui->work.done = looked;
	crew_put(&ui->gateway->crew, &ui->work);
}

/* --- requests ------------------------------------------------------------------------------ */

static void on_impatient(struct reactor_timer *timer)
{
	struct viewer *v = container_of(timer, struct viewer, patience);

	reply_error(v->request, 503, CREW_LATE);
	end_viewer(v);
}

static void on_begun(struct request *r)
{
	struct viewer *v = r->state;
	struct ui *ui = r->gateway->ui;

	list_add_tail(&ui->viewers, &v->node);
	v->wanted = ui->looks + 1;
	v->patience.fn = on_impatient;
	if (!v->streams)
		reactor_timer_set(&r->gateway->reactor, &v->patience,
				  CREW_MS);
	if (!ui->busy)
		begin_look(ui);
}

static void on_gone(struct request *r)
{
	struct viewer *v = r->state;

	r->state = NULL;
	if (v)
		free_viewer(v);
}

static void on_quiet(struct request *r)
{
	stream_add(r, ":\n\n", 3);
}

static const struct stream_ops stream_ops = {
	.begun = on_begun, .gone = on_gone, .quiet = on_quiet,
	.quiet_ms = QUIET_MS,
};
static const struct stream_ops later_ops = { .begun = on_begun,
					     .gone = on_gone };

static struct viewer *add_viewer(struct request *r, bool streams)
{
	struct viewer *v = calloc(1, sizeof(*v));

	if (!v) {
		reply_failure(r, -ENOMEM, "no memory for a viewer");
		return NULL;
	}
	v->request = r;
	v->streams = streams;
	v->seat.shares = &r->gateway->ui->seats;
	memcpy(v->seat.owner, r->work.owner, sizeof(v->seat.owner));
	r->state = v;
	r->state_free = free_viewer;
	if (holding_set(&v->seat, 1))
		return v;
	reply_error(r, 429, "too many look at the dashboard: %u may at a time, and one "
		    "key or address half of them; close one", SEATS);
	return NULL;
}

void ui_behind_look(struct request *r, ui_then *then, void *arg)
{
	struct viewer *v = arg ? add_viewer(r, false) : NULL;

	if (!v) {
		free(arg);
		if (!r->reply.status)
			reply_failure(r, -ENOMEM, "no memory for a viewer");
		return;
	}
	v->then = then;
	v->arg = arg;
	reply_later(r, &later_ops);
}

void get_ui_state(struct request *r)
{
	if (add_viewer(r, false))
		reply_later(r, &later_ops);
}

void get_ui_events(struct request *r)
{
	if (!add_viewer(r, true))
		return;
	reply_stream(r, 200, "text/event-stream", SIZE_UNKNOWN, &stream_ops);
}

bool ui_guard(struct request *r)
{
	if (r->gateway->ui && r->gateway->options.ui)
		return true;
	reply_error(r, 404, "there is no such path here");
	return false;
}

bool ui_change_guard(struct request *r)
{
	const char *sent = request_header(r, "X-Fsd-Ui");

	if (!ui_guard(r))
		return false;
	if (sent && !strcmp(sent, "1"))
		return true;
	reply_error(r, 403, "a change needs the header X-Fsd-Ui: 1");
	return false;
}

/* A client that accepts text/html is a browser; others get 404. */
void get_root(struct request *r)
{
	const char *accepted = request_header(r, "Accept");

	if (!accepted || !strstr(accepted, "text/html")) {
		reply_error(r, 404, "there is no such path here");
		return;
	}
	reply_empty(r, 302);
	reply_header(r, "Location", "/ui");
}

void get_ui(struct request *r)
{
	reply_text(r, 200, "text/html; charset=utf-8", ui_page, ui_page_len);
	reply_header(r, "Content-Security-Policy", ui_policy);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Referrer-Policy", "no-referrer");
	reply_header(r, "Cache-Control", "no-cache");
}
