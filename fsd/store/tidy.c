/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes what a killed server left in a job's directory and no later one needs. A fiber
 * of the start calls store_tidy() for each job.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store.h"
#include "fsd/base/read_dir.h"

/* True for: runs older than `run`, which is on record; a sink/ that no job uses; inputs
 * removed from another submission than queued_no; a half-written log. Entries with other
 * names stay. */
static bool is_stale(const char *name, unsigned run, bool sink, uint64_t queued_no)
{
	uint64_t number;

	if (!strncmp(name, STORE_REMOVED, strlen(STORE_REMOVED)))
		return parse_u64(name + strlen(STORE_REMOVED), 1, UINT64_MAX,
				 &number) || number != queued_no;
	if (!strcmp(name, "sink"))
		return !sink;
	if (!strcmp(name, "log.new"))
		return true;
	return name[0] == 'r' &&
	       parse_u64(name + 1, 1, UINT32_MAX, &number) == 0 && number < run;
}

static int drop(struct store *s, uint64_t no, const char *name)
{
	char path[STORE_PATH_MAX];

	store_job_path(no, name, path);
	return store_trash(s, path);
}

int store_tidy(struct store *s, uint64_t no, unsigned run, bool sink,
	       uint64_t queued_no)
{
	char id[STORE_ID_SIZE];
	struct dirent *e;
	DIR *dir;
	int r;

	store_id(no, id);
	r = begin_entries(openat(store_jobs_fd(s), id,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					 O_NOFOLLOW),
			  &dir);
	if (r < 0)
		return r;
	while (r == 0 && (r = next_entry(dir, &e)) == 0 && e)
		if (is_stale(e->d_name, run, sink, queued_no))
			r = drop(s, no, e->d_name);
	closedir(dir);
	return r;
}
