/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a run as files of the store. A file is made when the first output comes,
 * or when a reader opens it. Readers read the file, and only up to the size that
 * output_queue.c has set: bytes that are being written are not shown.
 *
 * The file owns run->stream[].fd. All functions run on the loop or in a fiber; those that
 * open or read a file make the fiber wait.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"

const char *const run_stream_names[VM_STREAM_MAX] = {
	[VM_OUT] = "stdout", [VM_ERR] = "stderr", [VM_RESULT] = "shown",
};

void run_streams_init(struct run *run)
{
	const struct job_config *c = run->spec.config;

	for (int i = 0; i < VM_STREAM_MAX; i++)
		run->stream[i] = (struct run_stream){ .fd = -1 };
	if (!c)
		return;
	run->stream[VM_OUT].limit = c->stdout_limit;
	run->stream[VM_ERR].limit = c->stderr_limit;
	run->stream[VM_RESULT].limit = WIRE_SHOWN_MAX;
}

void run_streams_done(struct run *run)
{
	for (int i = 0; i < VM_STREAM_MAX; i++)
		fd_close(&run->stream[i].fd);
}

/* Return: the size of the stored stream. RESULT_UNKNOWN if two attempts have failed: a 0
 * in the result would be wrong, and stay there. */
static uint64_t found_size(const struct job *job, enum vm_stream stream)
{
	struct stat st;
	int r = -EIO;

	for (int i = 0; i < 2 && r < 0 && r != -ENOENT; i++)
		r = store_run_stat(job->d->store, job->meta.no, job->meta.run,
				   run_stream_names[stream], &st);
	if (r < 0)
		return r == -ENOENT ? 0 : RESULT_UNKNOWN;
	return (uint64_t)st.st_size;
}

void run_streams_find(struct run *run)
{
	run->stream[VM_OUT].size = found_size(run->job, VM_OUT);
	run->stream[VM_ERR].size = found_size(run->job, VM_ERR);
}

bool run_streams_take(struct run *run, const struct vm_replay *t)
{
	const struct vm_replay_flow *f = &replay_checkpoint(t)->flow;
	uint64_t shown = replay_checkpoint(t)->got[VM_RESULT];
	uint64_t taken[VM_STREAM_MAX] = {
		f->taken[VM_OUT], f->taken[VM_ERR], MIN(shown, WIRE_SHOWN_MAX),
	};
	uint64_t dropped[VM_STREAM_MAX] = {
		f->dropped[VM_OUT], f->dropped[VM_ERR], shown - taken[VM_RESULT],
	};

	for (int s = 0; s < VM_STREAM_MAX; s++) {
		struct run_stream *stream = &run->stream[s];
		uint64_t size = found_size(run->job, (enum vm_stream)s);

		if (size > INT64_MAX || size < taken[s])
			return false;
		stream->size = size;
		stream->taken = taken[s];
		stream->dropped = dropped[s];
		stream->skip = size - taken[s];
	}
	return true;
}

int run_stream_make(struct run *run, enum vm_stream stream)
{
	int fd;

	if (run->stream[stream].fd >= 0)
		return 0;
	fd = store_stream_open(run->d->store, run->job->meta.no, run->number,
			       run_stream_names[stream]);
	run_stream_made(&run->stream[stream], fd);
	return MIN(fd, 0);
}

void run_stream_made(struct run_stream *s, int fd)
{
	if (s->fd < 0)
		s->fd = MAX(fd, -1);
	else if (fd >= 0 && fd != s->fd)
		close(fd);
}

int run_open(struct job *job, enum vm_stream stream)
{
	struct run *run = job->run;

	if (run && run->record.stored && !run_is_ending(run)) {
		run_hold(run);
		run_stream_make(run, stream);
		run_let_go(run);
	}
	return store_run_open(job->d->store, job->meta.no, job->meta.run,
			      run_stream_names[stream]);
}

static size_t bounded(const struct run_stream *s, size_t size, uint64_t offset)
{
	return (size_t)MIN((uint64_t)size, s->size - MIN(offset, s->size));
}

int run_read(struct job *job, enum vm_stream stream, char *room, size_t size,
	     uint64_t offset)
{
	auto_close int opened = -1;
	int fd = job->run ? job->run->stream[stream].fd : -1;
	ssize_t n;

	/* Bytes that are being written are not shown yet. */
	if (job->run && fd >= 0)
		size = bounded(&job->run->stream[stream], size, offset);
	if (!size || !job->meta.run || !job_has_vfile(job, stream == VM_OUT
							? JOB_VFILE_STDOUT
							: JOB_VFILE_STDERR))
		return 0;
	if (fd < 0) {
		opened = store_run_open(job->d->store, job->meta.no,
					job->meta.run, run_stream_names[stream]);
		fd = opened;
	}
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	n = job_pread(job, fd, room, size, offset);
	return (int)n;
}

uint64_t run_stream_size(const struct job *job, enum vm_stream stream)
{
	struct stat st;

	if (job->run && job->run->stream[stream].fd >= 0)
		return job->run->stream[stream].size;
	if (!job->meta.run ||
	    store_run_stat(job->d->store, job->meta.no, job->meta.run,
			   run_stream_names[stream], &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}
