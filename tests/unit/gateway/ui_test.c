/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard: figures of the mount, runs of one owner, their last hour. */
#include "fsd/gateway/ui/ui_int.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define NOW INT64_C(1800000000000)

static void test_figures(void)
{
	const char *stats = "# HELP fsd_a A\n# TYPE fsd_a gauge\nfsd_a 3\n"
			    "fsd_ab 4\nfsd_c{x=\"y\"} 5\nfsd_d 2.5";

	is_int((int)ui_figure(stats, "fsd_a"), 3, "a figure");
	is_int((int)ui_figure(stats, "fsd_ab"), 4, "one whose name begins alike");
	is_int((int)ui_figure(stats, "fsd_c"), 0, "one with labels is another");
	ok(ui_figure(stats, "fsd_d") > 2.4, "the last line");
	is_int((int)ui_figure(NULL, "fsd_a"), 0, "no figures");
}

static void test_names(void)
{
	ok(ui_is_name("job.1"), "a job's name");
	ok(!ui_is_name(""), "an empty name");
	ok(!ui_is_name(".fsd"), "a name that begins with a dot");
	ok(!ui_is_name("a/b"), "a name with a slash");
}

static void set_run(struct ui_run *run, const char *name, const char *owner,
		    int64_t ms, int exit_code)
{
	*run = (struct ui_run){ .run_ms = ms, .exit_code = exit_code,
				.status = "exited", .ended_ms = NOW - ms };
	snprintf(run->name, sizeof(run->name), "%s", name);
	snprintf(run->owner, sizeof(run->owner), "%s", owner);
}

static long figure(const json_t *view, const char *name)
{
	return (long)json_integer_value(
		json_object_get(json_object_get(view, "figures"), name));
}

static void test_runs(void)
{
	struct ui_ring ring = { .run = calloc(UI_KEPT, sizeof(*ring.run)) };
	struct ui_run other[2];
	json_t *view = json_object();
	char name[16];

	for (ring.count = 0; ring.count < 300; ring.count++) {
		snprintf(name, sizeof(name), "gw.%zu", ring.count);
		set_run(&ring.run[ring.count], name, "me",
			(int64_t)ring.count + 1, ring.count == 7);
	}
	ring.next = ring.count;
	set_run(&other[0], "theirs", "you", 1, 0);
	set_run(&other[1], "old", "me", UI_HOUR_MS, 1);
	ui_runs_show(&ring, other, 2, "me", NOW, view);
	is_int((long)json_array_size(json_object_get(view, "runs")), UI_RUNS,
	       "as many runs are shown as may be");
	is_str(text_member(json_array_get(json_object_get(view, "runs"), 0),
			   "name"), "gw.0", "the newest is first");
	is_int(figure(view, "runs"), 300, "an hour is counted, of one owner");
	is_int(figure(view, "failures"), 1, "an exit code is a failure");
	is_int(figure(view, "p50"), 150, "half of them were as fast");
	is_int(figure(view, "p95"), 285, "95 of 100 were as fast");
	ok(ui_ring_has(&ring, "gw.299"), "the last one is known");
	ok(!ui_ring_has(&ring, "gw.0"), "one of long ago is not looked for");
	json_decref(view);
	view = json_object();
	ui_runs_show(&ring, other, 2, "nobody", NOW, view);
	is_int(figure(view, "runs"), 0, "an owner without runs");
	json_decref(view);
	free(ring.run);
}

int main(void)
{
	test_figures();
	test_names();
	test_runs();
	return done_testing();
}
