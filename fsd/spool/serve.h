/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FSD_SPOOL_SERVE_H
#define FSD_SPOOL_SERVE_H

#include "spool.h"

#define SERVE_AGAIN 75 /* the mount is dead: another process is to use a new one */

/* Serves until a signal comes. SIGINT, SIGTERM and SIGHUP are blocked. again: waits for the
 * mount. Return: an exit code, or SERVE_AGAIN. */
int spool_serve(const struct spool_options *o, bool again);

#endif
