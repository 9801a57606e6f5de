/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the QEMU that machines run on (vm_qemu_choose()): the one asked for,
 * the brought one, or the host's. Starts it once to read its version, and finds
 * its age. Owns no state; waits for a process and the disk, so it runs before
 * the loop.
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "origin.h"
#include "vm/jail/qemu_program.h"
#include "vm/os/spawn.h"

#define HOSTS_OWN "qemu-system-x86_64"
#define VERSION_WAIT_MS 10000

/* Reads the version that QEMU prints: "QEMU emulator version 10.0.13 (Debian
 * 1:10.0.13+...)". */
static int ask_version(const struct qemu_program *program, struct vm_qemu *ret,
		       struct err *err)
{
	const char *argv[QEMU_WORDS + 2] = { NULL };
	struct spawn s = { .argv = argv, .want_stdout = true };
	struct child c;
	char text[256];
	unsigned n = 0;
	int r;

	while (program->word[n]) {
		argv[n] = program->word[n];
		n++;
	}
	argv[n] = "--version";
	r = spawn(&s, &c, err);
	if (r < 0)
		return r;
	r = child_read(&c, text, sizeof(text), VERSION_WAIT_MS) > 0 ? 0 : -EIO;
	child_end(&c);
	if (r < 0 || sscanf(text, "QEMU emulator version %31[0-9.] (Debian "
			    "%63[0-9A-Za-z.:+~-]", ret->version,
			    ret->package) < 1)
		return err_set(err, -EINVAL, "%s --version says no version",
			       program->path);
	return 0;
}

static int read_origin(const char *root, struct vm_qemu *q, struct err *err)
{
	auto_free char *text = NULL;
	struct vm_qemu said = *q;
	int r = origin_read(root, &text, err);

	if (r == 0)
		r = origin_parse(text, &said, err);
	if (r == 0 && strcmp(said.package, q->package) != 0)
		r = err_set(err, -EBADMSG, "it is that of %s", said.package);
	if (r == 0)
		*q = said;
	return r;
}

/* Finds QEMU's age: from its tree's origin file; without a tree, from the program
 * file's mtime, which the package has set. */
static void find_age(const struct qemu_program *program, struct vm_qemu *q)
{
	struct err err = { 0 };
	struct stat st;

	if (program->root[0] && read_origin(program->root, q, &err) < 0)
		snprintf(q->doubt, sizeof(q->doubt), "its origin is not right: "
			 "%.120s", err.text);
	else if (!program->root[0] && stat(program->path, &st) == 0)
		q->date = st.st_mtime;
}

static int take(const char *name, const char *why, struct vm_qemu *ret,
		struct err *err)
{
	struct qemu_program program;
	char path[PATH_MAX];
	int r = spawn_find(name, path);

	*ret = (struct vm_qemu){ .version = "" };
	if (r < 0)
		return err_sys(err, r, "%s", name);
	if (strlen(path) >= sizeof(ret->path))
		return err_sys(err, -ENAMETOOLONG, "%s", path);
	memcpy(ret->path, path, strlen(path) + 1);
	snprintf(ret->why, sizeof(ret->why), "%s", why);
	qemu_program_find(path, &program);
	r = ask_version(&program, ret, err);
	if (r == 0)
		find_age(&program, ret);
	return r;
}

int vm_qemu_choose(const struct vm_qemu_places *places, struct vm_qemu *ret,
		   struct err *err)
{
	struct err first = { 0 };
	char why[sizeof(ret->why)] = "the host's own";

	if (places->asked &&
	    take(places->asked, "--qemu names it", ret, &first) < 0)
		return err_set(err, first.code, "--qemu is \"%s\"; it must be a "
			       "QEMU that runs here: %.200s", places->asked,
			       first.text);
	if (places->asked)
		return 0;
	if (places->brought &&
	    take(places->brought, "it came with fsd", ret, &first) == 0)
		return 0;
	if (places->brought)
		snprintf(why, sizeof(why), "the host's own, since the one that "
			 "came with fsd does not run: %.80s", first.text);
	if (take(HOSTS_OWN, why, ret, err) < 0)
		return err_set(err, err->code, "there is no QEMU that runs here "
			       "(%.200s); install the package qemu-system-x86",
			       err->text);
	return 0;
}
