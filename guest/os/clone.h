/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a clone of the template differ from others: the time, the kernel's random
 * numbers, the machine id.
 *
 * The template's clock is set to a fixed day long ago. So generators that reseed by age
 * (OpenSSL's in an interpreter that was started before the template was saved) reseed
 * at their first use in a job, when the clock shows the present. And a clock that was
 * never set is easy to see. Runs in init.
 */
#ifndef GUEST_CLONE_H
#define GUEST_CLONE_H

#include <stdint.h>

#include "layout/base/err.h"
#include "port.h"

/* Sets the clock to 2000-01-01; call it once, before any runner is started. */
int clone_stop_clock(struct err *err);
/* Mixes in WIRE_ENTROPY_SIZE bytes that only this machine gets, and draws a
 * machine id. */
int clone_own(const uint8_t *entropy, struct err *err);
/* Sets the clock one second before the job's time: the time of its inputs (see
 * files.h). */
int clone_set_early_clock(const struct wire_job *job, struct err *err);
/* Sets the clock to realtime_ns plus the time since sys_now() was `since`. */
int clone_set_time(uint64_t realtime_ns, uint64_t since, struct err *err);
/* The same with the job's time. */
int clone_set_clock(const struct wire_job *job, uint64_t since,
		    struct err *err);

/* Answers PING. If its payload is the host's time and that is later than the guest's,
 * sets the guest's clock to it. */
int clone_answer_ping(struct port *port, const struct frame *f, struct err *err);

#endif
