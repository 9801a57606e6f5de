/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --program an entry is no program but the input of one: its job has the program and the
 * options of the command line, and the entry under its own name. The program is found once, when
 * the spool starts, and before the process gives up its rights.
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

/* --- arguments ------------------------------------------------------------------------- */

#define NAME "{}"

/* The argument with the name wherever {} stands. Return: false: no memory. */
static bool replace(const char *arg, const char *name, char **ret)
{
	auto_buf struct buf b = { 0 };
	const char *next;

	for (; (next = strstr(arg, NAME)); arg = next + strlen(NAME)) {
		buf_add(&b, arg, (size_t)(next - arg));
		buf_str(&b, name);
	}
	buf_str(&b, arg);
	*ret = b.failed ? NULL : take_ptr(b.data);
	return *ret;
}

static void free_all(char **args)
{
	for (size_t i = 0; args && args[i]; i++)
		free(args[i]);
	free(args);
}

/* The program's arguments; the name comes last if none has {}. Return: NULL: no memory. */
static char **make_args(const struct run_client *c, const char *name, unsigned *ret_count)
{
	char **args = calloc(c->arg_count + 2, sizeof(*args));
	bool has_name = false, good = args;
	unsigned n = 0;

	for (; good && n < c->arg_count; n++) {
		has_name = has_name || strstr(c->args[n], NAME);
		good = replace(c->args[n], name, &args[n]);
	}
	if (good && !has_name)
		good = replace(NAME, name, &args[n++]);
	*ret_count = n;
	if (good)
		return args;
	free_all(args);
	return NULL;
}

/* --- its draft --------------------------------------------------------------------------- */

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
	/* It is not the entry's fault: all others would fail, too. */
	return trouble(t, TROUBLE_PROGRAM, "%s", d->said);
}

/* The entry's name must not be that of another file of the job. */
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

int program_put(struct spool *s, struct claim *c, struct trouble *t)
{
	struct job_draft d = JOB_DRAFT(s->o->program, s->program, &s->mount, &s->signals);
	char name[JOB_NAME];
	char **args = make_args(s->o->program, c->name, &d.arg_count);
	int r = args ? check_name(s, c, t) : trouble(t, TROUBLE_MOUNT, "out of memory");

	d.args = args;
	claim_job_name(c->id, JOB_DRAFT_OF_CLAIM, name);
	if (r == 0) {
		claim_job_remove(s, name, true); /* of a try before */
		r = job_draft_make(&d, name, false) ? failed(s, &d, t) : 0;
	}
	if (r == 0)
		r = put_copy(s, c->dir, CLAIM_INPUT, d.dir, c->name, t);
	fd_close(&d.dir); /* its claim knows it by its name */
	free_all(args);
	return r;
}

/* --- once -------------------------------------------------------------------------------- */

unsigned program_retries(const struct spool *s)
{
	const char *text = s->o->program->value[RUN_RETRY];
	uint64_t n;

	return text && parse_u64(text, 0, LIMIT_RETRY, &n) == 0 ? (unsigned)n : 0;
}

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
