/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job: every pair of state and event, and every name. */
#include "layout/state.h"
#include "layout/base/health.h"

#include "tests/unit/tap.h"

static const struct {
	enum job_state from;
	enum job_event event;
	enum job_state to;
} moves[] = {
	{ JOB_DRAFT, EV_SUBMIT, JOB_QUEUED },
	{ JOB_DRAFT, EV_REFUSE, JOB_REFUSED },
	{ JOB_DRAFT, EV_REOPEN, JOB_DRAFT },
	{ JOB_QUEUED, EV_GRANT, JOB_RUNNING },
	{ JOB_QUEUED, EV_FAIL, JOB_DONE },
	{ JOB_QUEUED, EV_AGAIN, JOB_QUEUED },
	{ JOB_RUNNING, EV_AGAIN, JOB_QUEUED },
	{ JOB_RUNNING, EV_END, JOB_DONE },
	{ JOB_RUNNING, EV_FAIL, JOB_DONE },
	{ JOB_DONE, EV_SUBMIT, JOB_QUEUED },
	{ JOB_DONE, EV_REFUSE, JOB_REFUSED },
	{ JOB_DONE, EV_REOPEN, JOB_DRAFT },
	{ JOB_REFUSED, EV_SUBMIT, JOB_QUEUED },
	{ JOB_REFUSED, EV_REFUSE, JOB_REFUSED },
	{ JOB_REFUSED, EV_REOPEN, JOB_DRAFT },
};

static enum job_state expected(enum job_state state, enum job_event event)
{
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].from == state && moves[i].event == event)
			return moves[i].to;
	return JOB_BAD;
}

static void test_moves(void)
{
	for (int s = 0; s < JOB_STATE_MAX; s++)
		for (int e = 0; e < JOB_EVENT_MAX; e++)
			is_int(state_next((enum job_state)s,
					  (enum job_event)e),
			       expected((enum job_state)s, (enum job_event)e),
			       "%s on %s leads to %s",
			       state_name((enum job_state)s),
			       event_name((enum job_event)e),
			       state_name(expected((enum job_state)s,
						   (enum job_event)e)));
	is_int(state_next(JOB_STATE_MAX, EV_SUBMIT), JOB_BAD,
	       "a state that is none leads nowhere");
	is_int(state_next(JOB_DRAFT, JOB_EVENT_MAX), JOB_BAD,
	       "an event that is none leads nowhere");
}

static void test_names(void)
{
	for (int s = 0; s < JOB_STATE_MAX; s++)
		is_int(state_parse(state_name((enum job_state)s)), s,
		       "the name %s is read back",
		       state_name((enum job_state)s));
	is_int(state_parse("Done"), -1, "a state's name has one spelling");
	is_str(state_name(JOB_STATE_MAX), "?", "no state has the name ?");
	is_str(event_name(JOB_EVENT_MAX), "?", "no event has the name ?");
	is_str(status_name(STATUS_OUT_OF_MEMORY), "out_of_memory",
	       "statuses have names");
	is_str(status_name(JOB_STATUS_MAX), "?", "no status has the name ?");
}

static void test_exit_codes(void)
{
	is_int(status_exit_code(STATUS_EXITED, 0), 0, "exited keeps 0");
	is_int(status_exit_code(STATUS_EXITED, 255), 255, "exited keeps 255");
	is_int(status_exit_code(STATUS_SIGNALED, 11), 139, "signal 11 is 139");
	is_int(status_exit_code(STATUS_SIGNALED, 64), 192, "signal 64 is 192");
	is_int(status_exit_code(STATUS_TIMEOUT, 0), 124, "timeout is 124");
	is_int(status_exit_code(STATUS_OUT_OF_MEMORY, 0), 137, "oom is 137");
	is_int(status_exit_code(STATUS_CANCELLED, 0), 137, "killed is 137");
	is_int(status_exit_code(STATUS_FAILED, 3), 125, "failed is 125");
	is_int(status_exit_code(STATUS_INTERRUPTED, 0), 125,
	       "interrupted is 125");
}

static void test_signals(void)
{
	char room[16];

	is_str(signal_name(11, room), "SIGSEGV", "11 is SIGSEGV");
	is_str(signal_name(32, room), "SIG32", "32 has only its number");
	is_str(signal_name(34, room), "SIGRTMIN", "34 is SIGRTMIN");
	is_str(signal_name(64, room), "SIGRTMIN+30", "64 is SIGRTMIN+30");
	is_str(signal_name(0, room), NULL, "0 is no signal");
	is_str(signal_name(65, room), NULL, "65 is no signal");
	for (unsigned n = 1; n <= 64; n++)
		is_int(signal_parse(signal_name(n, room)), n,
		       "%s is read back as %u", room, n);
	is_int(signal_parse("TERM"), 15, "TERM needs no SIG");
	is_int(signal_parse("9"), 9, "a number is a signal");
	is_int(signal_parse("RTMAX-1"), 63, "RTMAX-1 is 63");
	is_int(signal_parse("0"), -22, "0 is refused");
	is_int(signal_parse("65"), -22, "65 is refused");
	is_int(signal_parse("term"), -22, "term in small letters is refused");
	is_int(signal_parse(""), -22, "nothing is refused");
	is_int(signal_parse("SIG"), -22, "SIG alone is refused");
	is_int(signal_parse("-9"), -22, "-9 is refused");
	is_int(signal_parse("RTMIN-1"), -22, "RTMIN-1 is refused");
	is_int(signal_parse("RTMIN+31"), -22, "RTMIN+31 is refused");
	is_int(signal_parse("RTMIN+"), -22, "RTMIN+ is refused");
	is_int(signal_parse("9 "), -22, "a blank behind it is refused");
}

static void test_health(void)
{
	ok(health_is_ok("ok") && health_is_ok("ok\n"), "ok is well");
	ok(health_is_ok("ok (emulated: KVM does not work here)\n"),
	   "and with a remark");
	ok(!health_is_ok("okay") && !health_is_ok("full: 2 machines"),
	   "another word is not");
	ok(!health_is_ok("") && !health_is_ok("o"), "nor is less");
}

int main(void)
{
	test_moves();
	test_names();
	test_exit_codes();
	test_signals();
	test_health();
	return done_testing();
}
