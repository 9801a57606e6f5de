/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text format of Prometheus as far as .fsd/stats uses it. */
#include "figures.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int figures_read(const char *mnt, struct figures *ret)
{
	char path[PATH_MAX + 16];
	auto_close int fd = -1;
	ssize_t n = 1;

	*ret = (struct figures){ 0 };
	snprintf(path, sizeof(path), "%s/" FSD_DIR_NAME "/stats", mnt);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (n > 0 && buf_reserve(&ret->text, 8192) == 0) {
		n = read(fd, ret->text.data + ret->text.len, 8192);
		if (n < 0)
			return -errno;
		ret->text.len += (size_t)n;
	}
	buf_str(&ret->text, "\n"); /* ends the text; a NUL follows */
	return ret->text.failed;
}

void figures_done(struct figures *f)
{
	buf_done(&f->text);
}

bool figures_get(const struct figures *f, const char *name, double *ret)
{
	size_t len = strlen(name);

	for (const char *line = f->text.data; line && *line;) {
		if (!strncmp(line, name, len) && line[len] == ' ') {
			*ret = strtod(line + len, NULL);
			return true;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

unsigned figures_machines(const char *mnt)
{
	struct figures f;
	double most = 0;

	if (figures_read(mnt, &f) == 0)
		figures_get(&f, "fsd_machines_max", &most);
	figures_done(&f);
	return most >= 1 ? (unsigned)MIN(most, 1e6) : 0;
}

void figures_each(const struct figures *f, const char *name,
		  void (*fn)(void *arg, const char *label, double value),
		  void *arg)
{
	size_t len = strlen(name);

	for (const char *line = f->text.data; line && *line;) {
		char label[64];
		double value;

		if (!strncmp(line, name, len) && line[len] == '{' &&
		    sscanf(line + len, "{%*[a-z_]=\"%63[^\"]\"} %lf", label,
			   &value) == 2)
			fn(arg, label, value);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}
