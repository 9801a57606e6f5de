/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine must not share these with the others made from its template: the time,
 * the kernel's random numbers, its name.
 *
 * The template's clock stands at a fixed day long ago. So every generator
 * that reseeds itself by age (OpenSSL's inside an interpreter that was
 * started before the template was saved) does so at its first use in a job,
 * when the clock has come to the present; and a clock that nobody has set is
 * plain to see.
 */
#ifndef GUEST_CLONE_H
#define GUEST_CLONE_H

#include <stdint.h>

#include "layout/base/err.h"
#include "port.h"

/* Once, before any runner is started. */
int clone_stop_clock(struct err *err);
/* Takes WIRE_ENTROPY_SIZE bytes that no other machine has, and draws a
 * machine id. */
int clone_own(const uint8_t *entropy, struct err *err);
/* Job's time, one second early: the time of its inputs (see files.h). */
int clone_set_early_clock(const struct wire_job *job, struct err *err);
/* The right time: the host's at sys_now() since. */
int clone_set_time(uint64_t realtime_ns, uint64_t since, struct err *err);
/* The same: job's, and what has passed since sys_now() was since. */
int clone_set_clock(const struct wire_job *job, uint64_t since,
		    struct err *err);

/* PING: answers, and takes the host's time if that is in it and later than this. */
int clone_answer_ping(struct port *port, const struct frame *f, struct err *err);

#endif
