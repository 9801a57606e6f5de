/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a run as files of the store: they are made when something is put into
 * them, or when a reader wants to see them grow, and they are read from there. A piece
 * that is on its way to the disk is not shown.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"

const char *const run_stream_names[VM_STREAM_MAX] = {
	[VM_OUT] = "stdout", [VM_ERR] = "stderr", [VM_RESULT] = "shown",
};

/* A run's streams are made when there is something to put into them, or when
 * somebody wants to see them grow. */
int run_stream_make(struct run *run, enum vm_stream stream)
{
	int fd;

	if (run->stream[stream].fd >= 0)
		return 0;
	fd = depot_stream_open(run->d->depot, run->job->meta.no, run->number,
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

	if (run && run->stored && !run_is_ending(run)) {
		run_hold(run);
		run_stream_make(run, stream);
		run_let_go(run);
	}
	return depot_run_open(job->d->depot, job->meta.no, job->meta.run,
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

	/* What is being written is not there yet. */
	if (job->run && fd >= 0)
		size = bounded(&job->run->stream[stream], size, offset);
	if (!size || !job->meta.run || !job_has_row(job, stream == VM_OUT
							? JOB_ROW_STDOUT
							: JOB_ROW_STDERR))
		return 0;
	if (fd < 0) {
		opened = depot_run_open(job->d->depot, job->meta.no,
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
	    depot_run_stat(job->d->depot, job->meta.no, job->meta.run,
			   run_stream_names[stream], &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}
