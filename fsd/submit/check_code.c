/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the program of a job that is about to start: its language, its first bytes, and
 * whether it may run in the way that the config asks for. */
#include "submit_int.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fsd/living/sandboxes.h"
#include "fsd/run/sched_open.h"
#include "submit_state_int.h"

static const char bom[] = { (char)0xef, (char)0xbb, (char)0xbf };

struct opening {
	off_t size;
	uint64_t skip; /* bytes of a byte order mark */
	bool shebang, blank; /* shebang: it begins with "#!"; blank: it has only spaces */
};

static size_t blanks(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && isspace((unsigned char)text[n]))
		n++;
	return n;
}

/* Reads until the first character that is not blank. */
static int read_opening(struct submit *s, const struct node *code,
			struct opening *ret)
{
	char *block = s->block;
	auto_close int fd = node_open(code, O_RDONLY);
	struct stat st;
	size_t at;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, block, sizeof(s->block));
	if (n < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct opening){ .size = st.st_size };
	if (n >= (ssize_t)sizeof(bom) && !memcmp(block, bom, sizeof(bom)))
		ret->skip = sizeof(bom);
	at = ret->skip;
	ret->shebang = (size_t)n >= at + 2 && !memcmp(block + at, "#!", 2);
	if (st.st_size > (off_t)LIMIT_CODE_BYTES)
		return 0;
	while (n > 0 && at + blanks(block + at, (size_t)n - at) == (size_t)n) {
		n = read(fd, block, sizeof(s->block));
		at = 0;
	}
	ret->blank = n == 0;
	return n < 0 ? -errno : 0;
}

int submit_code_too_large(const struct node *code, struct err *err)
{
	return err_set(err, -EFBIG,
		       "%s: the program is larger than 1 MiB; put data into "
		       "other files", code->name);
}

static enum verdict check_opening(struct run_spec *spec,
				  const struct opening *o, struct err *err)
{
	const char *name = spec->code->name;

	spec->code_skip = o->skip;
	if (o->size > (off_t)LIMIT_CODE_BYTES) {
		submit_code_too_large(spec->code, err);
		return WRONG;
	}
	if (o->blank) {
		err_set(err, -EINVAL, "%s: the program is empty", name);
		return WRONG;
	}
	if (!spec->lang && !o->shebang) {
		err_set(err, -EINVAL,
			"%s: it does not begin with #! and config.json has no "
			"\"language\"; one of the two is needed",
			name);
		return WRONG;
	}
	return READY;
}

static const char *name_of(const struct run_spec *spec)
{
	return spec->code ? spec->code->name : "\"code\"";
}

static int check_living(const struct run_spec *spec, struct err *err)
{
	const struct job_config *c = spec->config;

	if (!c->session && c->mode != MODE_CELL)
		return 0;
	if (!spec->lang)
		return err_set(err, -EINVAL,
			       "config.json: %s is for %s; %s is something else",
			       c->session ? "\"session\"" : "\"mode\" \"cell\"",
			       lang_names_sentence().text, name_of(spec));
	return 0;
}

/* Checks whether the sandbox or the session of the config can run the program. A sandbox
 * has sessions of its own, and also runs programs without a language. */
static int check_place(struct job *job, const struct run_spec *spec,
		       struct err *err)
{
	const struct job_config *c = spec->config;
	bool accepted = sched_was_accepted(job);

	return c->sandbox || c->session
		       ? sandboxes_check(job->d, job->meta.uid, c, spec->lang,
					 accepted, err)
		       : 0;
}

enum verdict submit_check_code(struct job *job, struct run_spec *spec,
			       struct err *err)
{
	struct opening opening = { 0 };
	int r;

	if (!spec->code && !spec->config->code)
		return verdict_of(check_place(job, spec, err));
	spec->lang = spec->config->lang ? spec->config->lang
					: lang_by_ending(spec->code->name);
	if (spec->config->mode == MODE_CALL &&
	    (!spec->lang || !spec->lang->callable)) {
		err_set(err, -EINVAL,
			"config.json: \"mode\" is \"call\", which %s does not "
			"have; python, javascript and typescript do",
			spec->lang ? spec->lang->name : name_of(spec));
		return WRONG;
	}
	r = check_living(spec, err);
	if (r == 0)
		r = check_place(job, spec, err);
	if (r < 0)
		return verdict_of(r);
	if (!spec->code)
		return READY;
	r = read_opening(job->d->submit, spec->code, &opening);
	if (r < 0) {
		err_sys(err, r, "%s: cannot be read", spec->code->name);
		return FAILED;
	}
	return check_opening(spec, &opening, err);
}
