/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what happens to jobs and runs while a server runs, for .fsd/stats. Each
 * function but statistics_print() counts one event. On the loop's thread.
 */
#ifndef FSD_STATISTICS_H
#define FSD_STATISTICS_H

#include "layout/layout.h"
#include "vm/net/door_wire.h"

struct fsd;

/* Why jobs are refused: their own contents, the owner's quota, a full or drained queue, a
 * failure to store them. */
enum refused {
	REFUSED_CONFIG, REFUSED_QUOTA, REFUSED_QUEUE, REFUSED_ROOM, REFUSED_MAX
};

void statistics_print(const struct fsd *d, struct buf *out);

void statistics_accepted(struct fsd *d);
void statistics_refused(struct fsd *d, enum refused why);
void statistics_retried(struct fsd *d);
void statistics_removed(struct fsd *d); /* a job was removed while it was queued or
					 * running */
/* lang: index in langs[]; LANG_MAX: none. source: one of vm_source_names, or NULL. */
void statistics_ended(struct fsd *d, const struct job_result *res,
		      unsigned lang, const char *source);

/* The first three count connections of programs that were opened, that are open since an
 * earlier server, and that were closed. The fourth counts how a connection or a look-up
 * ended, or why it was refused. The last adds the bytes that a connection has moved. */
void statistics_connection_opened(struct fsd *d);
void statistics_connection_adopted(struct fsd *d);
void statistics_connection_closed(struct fsd *d);
void statistics_connection_ended(struct fsd *d, enum net_told told);
void statistics_network_bytes(struct fsd *d, uint64_t sent, uint64_t received);

#endif
