/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims entries, and keeps what is known of them in their directories. Each change is
 * one call that a crash cannot split: mkdir, rename, open(O_CREAT), an appended line.
 *
 * If several spools rename one entry, one rename succeeds. A server of NFS may do a
 * rename and lose its answer; the client then gets ENOENT for its second request, so the
 * target is looked at.
 */
#include "claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/beside.h"
#include "fsd/local/rename.h"
#include "fsd/local/tree_copy.h"

#define TRIES "tries"
#define TRIES_BYTES 8192
#define CLAIMED "claimed "
#define LATER "later"
#define LOST "lost"
#define NEW_TRIES ".tries"
#define SUBMITTED "submitted"
#define EXIT_CODE "exit_code"
#define NEW_EXIT_CODE ".exit_code"

static const char *const results[] = { "stdout", "stderr", "output", "result.json",
				       "log", "error", NEW_EXIT_CODE, NEW_TRIES };

static struct claim *new_claim(const char *id, int dir)
{
	struct claim *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	snprintf(c->id, sizeof(c->id), "%s", id);
	c->dir = dir;
	c->wait = -1;
	return c;
}

void claim_free(struct claim *c)
{
	list_del(&c->node);
	fd_close(&c->dir);
	fd_close(&c->wait);
	free(c);
}

static bool has(const struct claim *c, const char *name)
{
	return faccessat(c->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- tries -------------------------------------------------------------------------- */

/* Appends a name, which may have any byte but "/" and NUL, in one line. */
static void escape(struct buf *b, const char *name)
{
	for (; *name; name++) {
		unsigned char ch = (unsigned char)*name;

		if (ch < 0x20 || ch == 0x7f || ch == '%')
			buf_fmt(b, "%%%02X", ch);
		else
			buf_add(b, name, 1);
	}
}

static void unescape(char ret[NAME_MAX + 1], const char *text, size_t len)
{
	size_t n = 0;
	unsigned ch;

	for (size_t i = 0; i < len && n < NAME_MAX; i++) {
		if (text[i] == '%' && i + 2 < len &&
		    sscanf(text + i + 1, "%2X", &ch) == 1) {
			ret[n++] = (char)ch;
			i += 2;
		} else {
			ret[n++] = text[i];
		}
	}
	ret[n] = '\0';
}

static int add_line(const struct claim *c, const char *text, size_t len)
{
	auto_close int fd = openat(c->dir, TRIES, O_WRONLY | O_CREAT | O_APPEND |
							   O_NOFOLLOW | O_CLOEXEC,
				   0666);
	ssize_t n = fd < 0 ? -1 : write(fd, text, len);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

static void add_name(struct buf *b, const char *name)
{
	buf_str(b, CLAIMED);
	escape(b, name);
	buf_str(b, "\n");
}

static int note_name(const struct claim *c)
{
	auto_buf struct buf line = { 0 };

	add_name(&line, c->name);
	return line.failed ? line.failed : add_line(c, line.data, line.len);
}

static const char *const words[] = { "put", "unpack", "take", LOST, LATER };

static void read_line(struct claim *c, const char *line, size_t len)
{
	if (len > strlen(CLAIMED) && !memcmp(line, CLAIMED, strlen(CLAIMED))) {
		unescape(c->name, line + strlen(CLAIMED), len - strlen(CLAIMED));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (len != strlen(words[i]) || memcmp(line, words[i], len) != 0)
			continue;
		c->tries = c->tried == words[i] ? c->tries + 1 : 1;
		c->tried = words[i];
		c->lost += !strcmp(words[i], LOST);
	}
}

/* Reads the end of `tries`. A last line without its newline is ignored: it was being
 * written when the host died. */
static void read_tries(struct claim *c)
{
	auto_close int fd = openat(c->dir, TRIES, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[TRIES_BYTES + 1], *line = text, *end;
	ssize_t n = fd < 0 ? -1 : read(fd, text, TRIES_BYTES);

	text[MAX(n, 0)] = '\0';
	for (; (end = strchr(line, '\n')); line = end + 1)
		read_line(c, line, (size_t)(end - line));
	if (!c->name[0] || is_dots(c->name) || strchr(c->name, '/'))
		snprintf(c->name, sizeof(c->name), "%s", c->id);
}

int claim_begin(struct claim *c, const char *word)
{
	char line[16];
	int len = snprintf(line, sizeof(line), "%s\n", word);

	c->tries = c->tried && !strcmp(c->tried, word) ? c->tries + 1 : 1;
	c->tried = word;
	return add_line(c, line, (size_t)len);
}

/* Replaces the lines of `tries` by a few with the same meaning: a disk that is full for
 * days would add thousands. */
static int shorten(struct claim *c)
{
	auto_buf struct buf text = { 0 };
	struct stat st;
	int r;

	if (fstatat(c->dir, TRIES, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size < TRIES_BYTES / 2)
		return 0;
	add_name(&text, c->name);
	for (unsigned i = 0; i < c->lost; i++)
		buf_str(&text, LOST "\n");
	r = text.failed ? text.failed : claim_write(c, NEW_TRIES, text.data, text.len);
	return r == 0 && renameat(c->dir, NEW_TRIES, c->dir, TRIES) < 0 ? -errno : r;
}

void claim_later(struct claim *c)
{
	/* after an error here the next step reports it */
	if (shorten(c) == 0)
		claim_begin(c, LATER);
}

bool claim_is_fatal(const struct claim *c, const char *word)
{
	return c->tried && !strcmp(c->tried, word) && c->tries >= CLAIM_TRIES_MOST;
}

/* --- claiming ------------------------------------------------------------- */

/* Makes the claim's directory, without an input. */
static int make_dir(const struct place *p, struct claim **ret)
{
	char id[CLAIM_ID];
	uint64_t random;
	int fd;

	if (getentropy(&random, sizeof(random)) < 0)
		return -EIO;
	snprintf(id, sizeof(id), "%s%016llx", p->prefix, (unsigned long long)random);
	if (mkdirat(p->mine, id, 0777) < 0)
		return -errno;
	fd = openat(p->mine, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = new_claim(id, fd);
	if (*ret)
		return 0;
	close(fd);
	return -ENOMEM;
}

/* Undoes claim_make(). */
static int undo(const struct place *p, struct claim *c, int r)
{
	unlinkat(c->dir, TRIES, 0);
	unlinkat(p->mine, c->id, AT_REMOVEDIR);
	claim_free(c);
	return r;
}

int claim_make(const struct place *p, const char *name, struct claim **ret)
{
	struct claim *c = NULL;
	int r = make_dir(p, &c);

	if (r < 0)
		return r;
	snprintf(c->name, sizeof(c->name), "%s", name);
	r = note_name(c);
	if (r < 0)
		return undo(p, c, r);
	if (renameat(p->new, name, c->dir, CLAIM_INPUT) < 0 &&
	    !(errno == ENOENT && has(c, CLAIM_INPUT)))
		return undo(p, c, -errno);
	*ret = c;
	return 0;
}

int claim_give_back(const struct place *p, struct claim *c)
{
	/* Without such a rename the entry stays claimed: a plain rename could replace
	 * another entry. */
	int r = rename_new(c->dir, CLAIM_INPUT, p->new, c->name);

	return r < 0 ? r : undo(p, c, 0);
}

/* True if the last step that handles files had ended, and only waited for a sync when the
 * spool ended. Then the entry is not the reason for that end. */
static bool has_ended_well(const struct claim *c)
{
	bool takes = c->tried && !strcmp(c->tried, "take");

	return has(c, takes ? NEW_EXIT_CODE : SUBMITTED);
}

static void read_retries(struct claim *c)
{
	auto_close int fd = openat(c->dir, SUBMITTED, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[16];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[MAX(n, 0)] = '\0';
	c->retries = (unsigned)strtoul(text, NULL, 10);
}

int claim_find(const struct place *p, const char *id, struct claim **ret)
{
	int fd = openat(p->mine, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct claim *c = fd < 0 ? NULL : new_claim(id, fd);

	if (!c) {
		int r = fd < 0 ? -errno : -ENOMEM;

		fd_close(&fd);
		return r;
	}
	c->recovered = true;
	read_tries(c);
	if (has(c, EXIT_CODE)) {
		c->step = STEP_PUBLISH;
	} else if (!has(c, CLAIM_INPUT)) {
		claim_free(c);
		tree_remove(p->mine, id);
		return -ENOENT;
	} else {
		if (has_ended_well(c))
			claim_later(c);
		read_retries(c);
		claim_clear_results(c);
		c->step = has(c, SUBMITTED) ? STEP_SUBMIT : STEP_CHECK;
	}
	*ret = c;
	return 0;
}

int claim_set_submitted(struct claim *c)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u\n", c->retries);
	int r = claim_write(c, SUBMITTED, text, (size_t)len);

	if (r < 0)
		claim_clear_submitted(c); /* the draft will be removed, to be made again */
	return r;
}

int claim_clear_submitted(struct claim *c)
{
	return unlinkat(c->dir, SUBMITTED, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* --- results -------------------------------------------------------------- */

int claim_write(struct claim *c, const char *name, const void *data, size_t len)
{
	auto_close int fd = openat(c->dir, name, O_WRONLY | O_CREAT | O_TRUNC |
							 O_NOFOLLOW | O_CLOEXEC,
				   0666);
	ssize_t n = fd < 0 ? -1 : write(fd, data, len);

	if (n < 0 || close(take_fd(&fd)) < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

void claim_clear_results(struct claim *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (has(c, results[i]))
			tree_remove(c->dir, results[i]);
}

int claim_write_exit_code(struct claim *c, const char *text)
{
	return claim_write(c, NEW_EXIT_CODE, text, strlen(text));
}

/* --- publishing ----------------------------------------------------------- */

/* Writes NAME for number 1, "NAME.7" for number 7, in at most NAME_MAX bytes. */
static void number_name(const char *base, unsigned number, char ret[NAME_MAX + 1])
{
	char end[16] = "";
	size_t len = strlen(base), most;

	if (number > 1)
		snprintf(end, sizeof(end), ".%u", number);
	most = NAME_MAX - strlen(end);
	if (len > most) /* do not cut a UTF-8 character */
		for (len = most; len && ((unsigned char)base[len] & 0xc0) == 0x80; len--)
			;
	snprintf(ret, NAME_MAX + 1, "%.*s%s", (int)len, base, end);
}

static int rename_to(const struct place *p, const struct claim *c, int to,
		     const char *base, unsigned number)
{
	char name[NAME_MAX + 1];

	number_name(base, number, name);
	return rename_fresh(p->mine, c->id, to, name);
}

static bool is_taken(int dir, const char *base, unsigned number)
{
	char name[NAME_MAX + 1];

	number_name(base, number, name);
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Finds a free number behind one that is taken, in few steps: thousands may be taken. */
static unsigned find_number(int dir, const char *base)
{
	unsigned taken = 1, free = 2;

	while (free < 1u << 30 && is_taken(dir, base, free)) {
		taken = free;
		free *= 2;
	}
	while (free - taken > 1) {
		unsigned middle = taken + (free - taken) / 2;

		if (is_taken(dir, base, middle))
			taken = middle;
		else
			free = middle;
	}
	return free;
}

static bool is_good(const struct claim *c)
{
	auto_close int fd = openat(c->dir, EXIT_CODE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[8] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) == 2 && !strcmp(text, "0\n");
}

int claim_publish(const struct place *p, struct claim *c, const char *base,
		  bool keep_input, bool *ret_good)
{
	int to, r;

	if (renameat(c->dir, NEW_EXIT_CODE, c->dir, EXIT_CODE) < 0 &&
	    !(errno == ENOENT && has(c, EXIT_CODE)))
		return -errno;
	*ret_good = is_good(c);
	to = *ret_good ? p->done : p->failed;
	if (*ret_good && !keep_input)
		tree_remove(c->dir, CLAIM_INPUT);
	claim_clear_submitted(c);
	r = rename_to(p, c, to, base, 1);
	while (r == -EEXIST)
		r = rename_to(p, c, to, base, find_number(to, base));
	return r;
}
