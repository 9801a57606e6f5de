/* SPDX-License-Identifier: Apache-2.0 */
/* A request from its message to its end, in a fiber of its own. */
#include "ops.h"

#define SPARE_MOST 8 /* messages' buffers, of 1 MiB each if they were used */

static struct fuse_buf spare[SPARE_MOST];
static unsigned spares;

struct request {
	struct fuse_session *session;
	struct fuse_buf *buf;
};

static void give_back(struct fuse_buf *buf)
{
	if (spares < SPARE_MOST)
		spare[spares++] = *buf;
	else
		free(buf->mem);
}

static void on_request(void *arg)
{
	const struct request *r = arg; /* until the first wait */
	struct fuse_buf own = *r->buf;

	*r->buf = (struct fuse_buf){.mem = NULL};
	if (spares)
		*r->buf = spare[--spares];
	fuse_session_process_buf(r->session, &own);
	jobs_let_go();
	give_back(&own);
}

void ops_serve(struct fuse_session *session, struct fuse_buf *buf)
{
	struct request r = {.session = session, .buf = buf};

	if (fiber_start(on_request, &r) < 0)
		fuse_session_process_buf(session, buf);
}

void ops_serve_done(void)
{
	while (spares)
		free(spare[--spares].mem);
}
