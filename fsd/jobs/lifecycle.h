/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage of this server on its way to its end, for rooms that begin something: a job,
 * a run. submit/drain.c and server/shutdown.c change it. Context: the loop or a fiber; no
 * function waits.
 */
#ifndef FSD_LIFECYCLE_H
#define FSD_LIFECYCLE_H

#include <stdbool.h>

struct loop;
struct lifecycle;

/* on_idle(arg) is called from the loop after lifecycle_post_idle(). Return: 0 or
 * -ENOMEM. */
int lifecycle_new(struct loop *loop, void (*on_idle)(void *arg), void *arg,
	      struct lifecycle **ret);
void lifecycle_free(struct lifecycle *s); /* NULL is fine */

/* Return: true if no new jobs start: the operator drains the mount, or the server
 * stops. */
bool lifecycle_is_draining(const struct lifecycle *s);
void lifecycle_set_draining(struct lifecycle *s, bool draining);
/* Return: true if the service ends as soon as no run needs this server. A stopping server
 * drains, too. */
bool lifecycle_is_stopping(const struct lifecycle *s);
void lifecycle_stop(struct lifecycle *s);
/* Return: true if this server ends as soon as no run needs it, and another one takes
 * over. A stop ends this stage. */
bool lifecycle_is_handing_over(const struct lifecycle *s);
void lifecycle_hand_over(struct lifecycle *s);
/* Return: true if runs begin: the server neither stops nor hands over. */
bool lifecycle_begins_runs(const struct lifecycle *s);
/* Return: true if no machine can be started any more. */
bool lifecycle_is_broken(const struct lifecycle *s);
void lifecycle_break(struct lifecycle *s);

/* Call it when a run has ended, or when all inotify notes were sent: a server that ends
 * may have waited for that. */
void lifecycle_post_idle(struct lifecycle *s);

#endif
