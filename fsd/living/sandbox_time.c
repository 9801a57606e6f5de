/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends or pauses a sandbox: at `until`, after `idle` without use, or when its user writes
 * to ctl. `until` is wall-clock time, and a pause postpones it. The file owns the two
 * timers of a sandbox. All functions run on the loop; only sandbox_control() may wait,
 * for "port N".
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/network/network.h"
#include "fsd/network/ports.h"
#include "sandbox_int.h"

/* Postpones the end by the length of the pause. A sandbox that was paused because its
 * time was over gets its whole "life" again; without "life" it has no end then. */
static void go_on_living(struct sandbox *s, uint64_t now)
{
	uint64_t life = s->config.life_ms * NS_PER_MS;

	s->until_ns += now - MIN(s->paused_ns, now);
	if (s->config.pauses && s->until_ns <= now)
		s->until_ns = life ? now + life : 0;
}

static void set_paused(struct sandbox *s, bool pause)
{
	uint64_t now = realtime_ns();

	if (!s->paused_ns == !pause)
		return;
	if (!pause && s->until_ns)
		go_on_living(s, now);
	s->paused_ns = pause ? now : 0;
	s->used_ns = now_ns();
	sandbox_set_times(s);
	if (s->stage == STAGE_LIVES)
		vm_pause(s->lease, pause);
	log_info("sandbox %s of user %u: %s", s->name, s->uid,
		 pause ? "paused" : "goes on");
	sandbox_changed(s);
}

/* Return: when the sandbox ends or is paused, CLOCK_REALTIME; 0: never. */
static uint64_t due_ns(const struct sandbox *s)
{
	uint64_t most = s->config.pause_life_ms * NS_PER_MS;

	if (!s->paused_ns)
		return s->until_ns;
	return most ? s->paused_ns + most : 0;
}

static void on_until(struct loop_timer *t)
{
	struct sandbox *s = t->arg;

	if (realtime_ns() < due_ns(s)) {
		sandbox_set_times(s); /* the clock was set */
		return;
	}
	log_debug("sandbox %s: its time is over", s->name);
	if (s->config.pauses && s->stage != STAGE_LOST && !s->paused_ns)
		set_paused(s, true);
	else
		sandbox_end(s);
}

static void on_idle(struct loop_timer *t)
{
	struct sandbox *s = t->arg;

	log_debug("%s %s: ended after %" PRIu64 " s without use", sandbox_kind(s),
		  s->name, s->config.idle_ms / 1000);
	sandbox_end(s);
}

static void set_idle(struct sandbox *s)
{
	if (!s->config.idle_ms || s->paused_ns || sandbox_is_in_use(s))
		loop_timer_del(&s->idle);
	else
		loop_timer_set(s->d->loop, &s->idle,
			       s->config.idle_ms * NS_PER_MS);
}

/* The timer runs at least once an hour, since an operator may set the wall clock. */
#define LOOK_NS (3600 * NS_PER_S)

void sandbox_end_at(struct sandbox *s, uint64_t until_ns)
{
	uint64_t waited = s->paused_ns ? realtime_ns() - s->paused_ns : 0;

	s->until_ns = until_ns ? until_ns - MIN(waited, until_ns - 1) : 0;
}

void sandbox_set_times(struct sandbox *s)
{
	uint64_t now = realtime_ns(), due = due_ns(s);

	if (due)
		loop_timer_set(s->d->loop, &s->until,
			       MIN(due - MIN(due, now), LOOK_NS));
	else
		loop_timer_del(&s->until);
	set_idle(s);
	sandbox_keep(s);
}

void sandbox_used(struct sandbox *s)
{
	s->used_ns = now_ns();
	set_idle(s);
}

void sandbox_times_init(struct sandbox *s)
{
	s->until = (struct loop_timer){ .fn = on_until, .arg = s };
	s->idle = (struct loop_timer){ .fn = on_idle, .arg = s };
}

void sandbox_times_done(struct sandbox *s)
{
	loop_timer_del(&s->until);
	loop_timer_del(&s->idle);
}

/* --- its pauses --------------------------------------------------------------------- */

int sandbox_check_pause(const struct sandbox *s, struct err *err)
{
	return s->paused_ns ? err_set(err, -EAGAIN,
				   "sandbox \"%s\" is paused; `echo resume > "
				   ".fsd/sandboxes/%s/ctl` goes on with it",
				   s->name, s->name)
			 : 0;
}

#define PORT_WORD (sizeof("port ") - 1)

/* Opens the port, and waits until its socket is there. The sandbox may be gone then. */
static int open_port(const struct sandbox *s, const char *word, struct err *err)
{
	struct ports *p = ports_find(network_ports(s->d->network),
				     PORTS_KEY(PORT_OF_SANDBOX, s->no));
	int port = ctl_port(word, err);

	if (port < 0)
		return port;
	return p ? ports_ask(p, (unsigned)port, err)
		 : err_set(err, -ESRCH, "ctl: the machine of sandbox \"%s\" does not run "
			   "with \"ports\"", s->name);
}

int sandbox_control(struct sandbox *s, const char *text, size_t len,
		    struct err *err)
{
	static const struct {
		const char *verb;
		bool pause;
	} verbs[] = { { "pause", true }, { "resume", false } };
	char port[8];

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	if (s->stage == STAGE_LOST)
		return err_set(err, -ESTALE, "sandbox \"%s\" is lost: %s",
			       s->name, s->why);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (len == strlen(verbs[i].verb) &&
		    !memcmp(text, verbs[i].verb, len)) {
			set_paused(s, verbs[i].pause);
			return 0;
		}
	if (len > PORT_WORD && len - PORT_WORD < sizeof(port) &&
	    !memcmp(text, "port ", PORT_WORD)) {
		memcpy(port, text + PORT_WORD, len - PORT_WORD);
		port[len - PORT_WORD] = '\0';
		return open_port(s, port, err);
	}
	return err_set(err, -EINVAL, "ctl of a sandbox takes \"pause\", \"resume\" and "
		       "\"port N\"");
}
