/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines what an entry of a spool may be: names that are ignored, file types that are
 * not opened, and the check of an entry that was just claimed.
 */
#include "entries.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "survey.h"

bool entry_is_ignored(const char *name)
{
	static const char *const begins[] = { ".", "~$" };
	static const char *const ends[] = { "~", ".part", ".partial", ".tmp",
					    ".filepart", ".crdownload", ".swp",
					    ".lock", ".ready" };
	static const char *const names[] = { "Thumbs.db", "desktop.ini" };
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (len >= strlen(ends[i]) &&
		    !strcmp(name + len - strlen(ends[i]), ends[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int refuse_type(const char *path, mode_t type, struct err *err)
{
	return err_set(err, -EINVAL, "%s is %s; fsd spool takes files and "
		       "directories with files and directories in them only",
		       path, survey_type_name(type));
}

int entry_open(int dir, const char *name, bool *ret_is_dir, struct err *err)
{
	auto_close int fd = -1;
	struct stat st;

	if (!*name || strchr(name, '/') || is_dots(name))
		return err_set(err, -EINVAL, "\"%s\" is not the name of an entry", name);
	/* do not even open it: what open(2) does to a device depends on the device */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, -errno, "%s", name);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse_type(name, st.st_mode & S_IFMT, err);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "%s", name);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse_type(name, st.st_mode & S_IFMT, err);
	if (ret_is_dir)
		*ret_is_dir = S_ISDIR(st.st_mode);
	return take_fd(&fd);
}

bool survey_is_lasting(int r)
{
	return r == -EACCES || r == -EPERM || r == -ENAMETOOLONG;
}

int survey_judge(const struct survey *s, int r, const char *name, struct err *err)
{
	if (r == -ENAMETOOLONG)
		return err_set(err, r, "%s is deeper than %d directories", s->path,
			       SURVEY_DEPTH);
	if (r < 0)
		return err_sys(err, survey_is_lasting(r) ? r : -EBUSY,
			       "%s cannot be read", s->path);
	if (s->odd)
		return refuse_type(s->path, s->odd, err);
	if (s->writer == WRITER_OPEN)
		return err_set(err, -EBUSY, "%s is still being written", name);
	return 0;
}

int entry_check(int dir, const char *name, struct err *err)
{
	struct survey s = { .deep = true, .ask_writers = true };
	int r = survey_take(&s, dir, name);

	return survey_judge(&s, r, name, err);
}
