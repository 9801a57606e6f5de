/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the file of API keys and finds the caller of a key. Only sums are kept; the text
 * of the file is overwritten after it was parsed.
 *
 * keys_find() compares with all keys, in constant time each, so that its duration does
 * not tell which key was near. keys_load() replaces the table only if the new file is
 * valid.
 */
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/utf8.h"

#define BLANKS " \t\r"
#define FILE_MAX (1u << 20)

static int add_key(struct keys *k, const char *text, const char *label)
{
	struct key *more = reallocarray(k->item, k->count + 1, sizeof(*more));
	struct key *new;

	if (!more)
		return -ENOMEM;
	k->item = more;
	new = &k->item[k->count++];
	*new = (struct key){ 0 };
	text_sum(text, strlen(text), new->sum);
	text_hex(new->sum, (KEY_OWNER - 1) / 2, new->caller.owner);
	snprintf(new->caller.label, sizeof(new->caller.label), "%s",
		 *label ? label : new->caller.owner);
	utf8_make_plain(new->caller.label);
	return 0;
}

int keys_parse(struct keys *k, const char *text, size_t len, struct err *err)
{
	auto_free char *copy = strndup(text, len);
	char *line = copy, *next;

	if (!copy)
		return -ENOMEM;
	for (unsigned number = 1; line; line = next, number++) {
		char *label;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, BLANKS);
		if (!*line || *line == '#')
			continue;
		label = line + strcspn(line, BLANKS);
		if (*label)
			*label++ = '\0';
		label += strspn(label, BLANKS);
		label[strcspn(label, "\r")] = '\0';
		if (strlen(line) < 16)
			return err_set(err, -EINVAL, "line %u: a key has 16 "
				       "characters or more; `fsd gateway "
				       "--new-key` makes one", number);
		if (add_key(k, line, label) < 0)
			return -ENOMEM;
	}
	return k->count ? 0
			: err_set(err, -EINVAL, "there is no key in it; `fsd "
				  "gateway --new-key` makes one");
}

int keys_load(struct keys *k, struct err *err)
{
	auto_close int fd = open(k->file, O_RDONLY | O_CLOEXEC);
	auto_free char *text = malloc(FILE_MAX);
	struct keys new = { .file = k->file };
	struct stat st;
	ssize_t n;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "%s", k->file);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(err, -EACCES, "%s belongs to user %u, who could add "
			       "keys; its owner must be root or who runs the "
			       "gateway (%u): chown it", k->file,
			       (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 077)
		return err_set(err, -EACCES, "%s has mode %04o: others may read "
			       "or write it; chmod 600 it", k->file,
			       st.st_mode & 07777);
	if (!text)
		return -ENOMEM;
	n = read(fd, text, FILE_MAX);
	if (n < 0)
		return err_sys(err, -errno, "%s", k->file);
	r = keys_parse(&new, text, (size_t)n, err);
	explicit_bzero(text, (size_t)n);
	if (r < 0) {
		keys_done(&new);
		return err_wrap(err, "%s", k->file);
	}
	free(k->item);
	*k = new;
	return 0;
}

void keys_done(struct keys *k)
{
	free(k->item);
	k->item = NULL;
	k->count = 0;
}

bool keys_find(const struct keys *k, const char *text, struct caller *ret)
{
	uint8_t sum[SUM_SIZE];
	const struct key *found = NULL;

	*ret = (struct caller){ 0 };
	if (!k->file)
		return true;
	if (!text)
		return false;
	text_sum(text, strlen(text), sum);
	for (size_t i = 0; i < k->count; i++)
		if (text_same_sum(sum, k->item[i].sum))
			found = &k->item[i];
	if (found)
		*ret = found->caller;
	return found != NULL;
}

int keys_new(char ret[45])
{
	uint8_t bytes[20];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	memcpy(ret, "e2b_", 4);
	text_hex(bytes, sizeof(bytes), ret + 4);
	return 0;
}
