/* SPDX-License-Identifier: Apache-2.0 */
/* Who writes a program: an idle machine of the environment that is likely wakes,
 * on the fake backend. */
#include <stdlib.h>
#include <string.h>

#include "vm/backend.h"
#include "vm/vm.h"
#include "tests/unit/tap.h"

static struct environment other = { .refs = 1, .name = "other" };
static struct vm_backend watched;
static struct {
	const struct backend_machine *m;
	bool has_other;
} started[16];
static unsigned count, woken[2]; /* of base, of the other */

static int on_open(const struct backend_host *host, struct backend **ret,
		   struct err *err)
{
	int r = vm_backend_fake.open(host, ret, err);

	if (r == 0)
		(*ret)->ops = &watched;
	return r;
}

static int on_start(struct backend *b, const struct vm_class *cls, bool hot,
		    const struct backend_machine_events *ev, void *arg,
		    struct backend_machine **ret, int *ret_wire,
		    struct err *err)
{
	int r = vm_backend_fake.start(b, cls, hot, ev, arg, ret, ret_wire, err);

	if (r == 0 && count < 16) {
		started[count].m = *ret;
		started[count++].has_other = cls->environment;
	}
	return r;
}

static void on_resume(struct backend_machine *m, uint64_t limit_ns)
{
	for (unsigned i = count; i-- > 0;)
		if (started[i].m == m) {
			woken[started[i].has_other]++;
			break;
		}
	vm_backend_fake.resume(m, limit_ns);
}

static int on_find(void *arg, const char *spec, struct environment **ret)
{
	(void)arg;
	*ret = spec ? NULL : environment_ref(&other);
	return 0;
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_progress(void *arg, const char *sentence)
{
	(void)arg;
	(void)sentence;
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	(void)arg;
	(void)why;
	ok(false, "a lease failed: %s", sentence);
}

static void on_again(struct loop_timer *t)
{
	loop_quit(t->arg);
}

static void add_idle(void *arg, const struct vm_class_stats *s)
{
	((unsigned *)arg)[!strcmp(s->environment, "other")] += s->idle;
}

/* The loop goes on until so many are idle; bounded. */
static bool becomes(struct loop *loop, struct machines *vm, unsigned base,
		    unsigned others)
{
	struct loop_timer again = { .fn = on_again, .arg = loop };

	for (int i = 0; i < 5000; i++) {
		unsigned idle[2] = { 0 };

		vm_each_class(vm, add_idle, idle);
		if (idle[0] == base && idle[1] == others)
			return true;
		loop_timer_set(loop, &again, NS_PER_MS);
		loop_run(loop);
	}
	return false;
}

static void expects(struct machines *vm, const char *id, bool has_other,
		    const char *what)
{
	unsigned before[2] = { woken[0], woken[1] };

	vm_expect(vm, WIRE_RUN_PYTHON, id);
	ok(woken[has_other] == before[has_other] + 1 &&
		   woken[!has_other] == before[!has_other],
	   "%s", what);
}

/* A new room for each: one that is awake keeps the others asleep. */
static void test(const char *id, bool has_other, const char *what)
{
	const struct vm_watch watch = {
		.changed = on_nothing, .progress = on_progress,
		.environment = on_find,
	};
	const struct vm_events events = { .granted = on_nothing,
					  .failed = on_failed };
	struct vm_options o = {
		.backend = &watched, .cache_dir = "/dev/null/none",
		.image_dir = "/nonexistent", .pool = 2, .max_machines = 8,
	};
	struct vm_need need = { .runner = WIRE_RUN_PYTHON, .cpus = 1,
				.memory_bytes = 64 << 20 };
	struct vm_lease *leases[4];
	struct loop *loop;
	struct machines *vm;
	struct err err;

	count = 0;
	if (loop_new(&loop) < 0 || vm_new(loop, &o, &watch, &vm, &err) < 0)
		exit(1);
	ok(becomes(loop, vm, 0, 2), "machines of the default are idle");
	for (unsigned i = 0; i < 4; i++)
		leases[i] = vm_lease(vm, &need, &events, NULL);
	for (unsigned i = 0; i < 4; i++)
		vm_end(leases[i]);
	ok(becomes(loop, vm, 1, 1), "one of each environment is idle");
	expects(vm, id, has_other, what);
	vm_free(vm);
	loop_free(loop);
}

int main(void)
{
	memset(other.id, 'a', sizeof(other.id) - 1);
	watched = vm_backend_fake;
	watched.open = on_open;
	watched.start = on_start;
	watched.resume = on_resume;
	test(other.id, true, "a program in an environment wakes one of it");
	test("base", false, "one of the base wakes one of the base");
	test("", true, "one of somebody new wakes one of the default");
	return done_testing();
}
