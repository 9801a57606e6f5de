/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --program an entry is no program but the input of one: its job has the program and
 * the options of the command line, and the entry under its own name. The program is found
 * once, when the spool starts, and before the process gives up its rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsd/client/job_draft.h"
#include "fsd/client/run_say.h"
#include "spool_int.h"

/* --- its draft ------------------------------------------------------------ */

static int failed(struct spool *s, const struct job_draft *d, struct trouble *t)
{
	switch (d->fault) {
	case DRAFT_MOUNT:
		return trouble_mount(t, -d->error, d->dir);
	case DRAFT_SIGNAL:
		s->ending = true;
		return trouble(t, TROUBLE_SIGNAL, "a signal came");
	case DRAFT_INPUT:
		return trouble(t, TROUBLE_ENTRY, "%s", d->said);
	case DRAFT_FAILED:
	case DRAFT_REFUSED:
		break;
	}
	/* the entry is not the cause: every other one would fail as well */
	return trouble(t, TROUBLE_PROGRAM, "%s", d->said);
}

/* Checks that the entry's name is not that of another file of the job. */
static int check_name(const struct spool *s, const struct claim *c, struct trouble *t)
{
	char place[BELOW_PATH];
	struct err err = { 0 };

	if (input_check(s->o->program, c->name, place, &err) < 0)
		return trouble(t, TROUBLE_ENTRY, "%s", err.text);
	if (!strcmp(c->name, s->program->name))
		return trouble(t, TROUBLE_ENTRY, "the name %s is the program's; rename the "
			       "entry", c->name);
	return 0;
}

static int set_args(struct spool *s, struct claim *c, struct job_args *args,
		    struct trouble *t)
{
	const char *name = c->name;
	int r = job_args_make(args, s->o->program, &name, 1, true);

	if (r == -E2BIG)
		return trouble(t, TROUBLE_PROGRAM, "with {} as the name the ARGs are too long "
			       "for a job");
	return r < 0 ? trouble(t, TROUBLE_MOUNT, "out of memory") : 0;
}

/* Return: the value of --retry. */
static unsigned retries_of(const struct spool *s)
{
	const char *text = s->o->program->value[RUN_RETRY];
	uint64_t n;

	return text && parse_u64(text, 0, LIMIT_RETRY, &n) == 0 ? (unsigned)n : 0;
}

int program_put(struct spool *s, struct claim *c, struct trouble *t)
{
	struct job_draft d = JOB_DRAFT(s->o->program, s->program, &s->mount, &s->signals);
	struct job_args args = { 0 };
	char name[JOB_NAME];
	int r = check_name(s, c, t);

	c->retries = retries_of(s);
	if (r == 0)
		r = set_args(s, c, &args, t);
	d.args = args.arg;
	d.arg_count = args.count;
	claim_job_name(c->id, JOB_DRAFT_OF_CLAIM, name);
	if (r == 0) {
		claim_job_remove(s, name, true); /* the draft may remain from an earlier
						  * attempt */
		r = job_draft_make(&d, name, false) ? failed(s, &d, t) : 0;
	}
	if (r == 0)
		r = put_copy(s, c->dir, CLAIM_INPUT, d.dir, c->name, t);
	fd_close(&d.dir); /* the claim finds the draft by its name */
	job_args_done(&args);
	return r;
}

/* --- once ----------------------------------------------------------------- */

int program_begin(struct spool *s)
{
	struct job_draft d = { .c = s->o->program };
	auto_buf struct buf config = { 0 };
	int r;

	s->program = calloc(1, sizeof(*s->program));
	if (!s->program) {
		client_complain(0, "out of memory");
		return 1;
	}
	d.program = s->program;
	r = program_find(s->o->program, s->program);
	if (r == 0)
		r = inputs_check(s->o->program);
	return r ? r : client_config(&d, &config); /* says which value is wrong */
}

void program_end(struct spool *s)
{
	if (s->program)
		program_done(s->program);
	free(s->program);
	s->program = NULL;
}
