/* SPDX-License-Identifier: Apache-2.0 */
/*
 * living_host: the host (fsd/run/run_host.h) of runs in sessions and sandboxes. A run
 * takes a seat; the session or the sandbox, not the run, waits for a machine. The machine
 * stays when the run leaves its seat. All functions run on the loop or in a fiber; none
 * waits.
 */
#include "sandbox_int.h"

#include "vm/environment/environment.h"

/* While the session or sandbox waits for a build of its environment the run is not
 * prepared: run_make_ready() does that later. */
static int ask(struct run *run, struct err *err)
{
	int r = sandbox_enter(run, err);

	run->slot.granted = r == 0;
	return r < 0 || run->living.seat->sandbox->build.build ? r
							       : run_get_ready(run, err);
}

/* Return: NULL if the run has left its seat: it was cancelled while it was accepted. */
static struct sandbox *sandbox_of(const struct run *run)
{
	return run->living.seat ? run->living.seat->sandbox : NULL;
}

static int environment(struct run *run, struct environment **ret, struct err *err)
{
	const struct sandbox *s = sandbox_of(run);

	(void)err;
	*ret = environment_ref(s ? s->environment : NULL);
	return 0;
}

static const struct job_config *shared(const struct run *run)
{
	const struct sandbox *s = sandbox_of(run);

	return s && !s->single ? &s->config.machine : NULL;
}

static int lease(struct run *run, struct err *err)
{
	(void)err;
	if (run->living.seat)
		loop_defer(run->d->loop, &run->living.seat->next);
	return 0;
}

/* Takes the run off its seat. A run without one may still have a lease:
 * sandbox_take_run() has adopted what its machine had sent before it died. */
static void leave(struct run *run)
{
	if (run->living.seat)
		sandbox_leave(run);
	else if (run->lease)
		vm_end(take_ptr(run->lease));
}

const struct run_host living_host = {
	.stays = true,
	.ask = ask,
	.tell = sandbox_tell,
	.environment = environment,
	.shared = shared,
	.lease = lease,
	.leave = leave,
	.put_off = sandbox_put_off,
	.retry = sandbox_retry,
	.outlives = sandbox_outlives,
	.sign = sandbox_sign,
	.adopt = sandbox_take_run,
};
