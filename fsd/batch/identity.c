/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, reads and compares batch.json. Results of two programs in one directory would
 * look like results of one, so a start with another program is refused.
 */
#include "identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/job_view.h"
#include "fsd/client/run_say.h"
#include "fsd/local/tree_copy.h"
#include "layout/json.h"
#include "paths.h"

#define DEPTH_MOST 200

/* --- the program ---------------------------------------------------------- */

static int add_file(struct sha *s, int fd)
{
	char room[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, room, sizeof(room), at)) > 0) {
		sha_add(s, room, (size_t)n);
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_dir(struct sha *s, int dir, bool follow, unsigned depth);

static int add_entry(struct sha *s, int dir, const char *name, bool follow,
		     unsigned depth)
{
	auto_close int fd = -1;
	char text[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstatat(dir, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	snprintf(text, sizeof(text), "%o", st.st_mode & (S_IFMT | 0777));
	sha_field(s, name);
	sha_field(s, text);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(dir, name, text, sizeof(text) - 1);
		text[MAX(n, 0)] = '\0';
		sha_field(s, text);
		return n < 0 ? -errno : 0;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0; /* the draft says why it cannot be copied */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? add_dir(s, fd, follow, depth + 1) : add_file(s, fd);
}

static int add_dir(struct sha *s, int dir, bool follow, unsigned depth)
{
	struct dirent **names = NULL;
	int count = depth > DEPTH_MOST ? 0 : scandirat(dir, ".", &names, NULL, by_name);
	int r = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		if (r == 0 && !is_dots(names[i]->d_name))
			r = add_entry(s, dir, names[i]->d_name, follow, depth);
		free(names[i]);
	}
	free(names);
	return r;
}

static int add_project(struct sha *s, const struct run_client *c)
{
	auto_close int dir = open(c->value[RUN_PROJECT], O_RDONLY | O_DIRECTORY |
							 O_CLOEXEC);

	return dir < 0 ? -errno
		       : add_dir(s, dir, c->value[RUN_FOLLOW] != NULL, 0);
}

/* Copies a program that is no regular file into memory: a pipe can be read once, and each
 * job needs the program. */
static int keep_program(struct program *p)
{
	auto_close int memory = -1;
	char room[65536];
	struct stat st;
	ssize_t n;

	if (p->fd < 0 || (fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode)))
		return 0;
	memory = memfd_create("program", MFD_CLOEXEC);
	if (memory < 0)
		return -errno;
	while ((n = read(p->fd, room, sizeof(room))) > 0)
		if (write_all(memory, room, (size_t)n) < 0)
			return -errno;
	if (n < 0 || lseek(memory, 0, SEEK_SET) < 0)
		return -errno;
	close(p->fd);
	p->fd = take_fd(&memory);
	return 0;
}

static int sum_program(struct identity *m, const struct run_client *c, struct program *p)
{
	struct sha *s = sha_new();
	int r = s ? keep_program(p) : -ENOMEM;

	if (r == 0 && c->value[RUN_PROJECT])
		r = add_project(s, c);
	if (r == 0 && c->value[RUN_CODE])
		sha_field(s, c->value[RUN_CODE]);
	if (r == 0 && p->fd >= 0)
		r = add_file(s, p->fd);
	if (s)
		sha_hex(s, m->program);
	return r < 0 ? client_complain(2, "%s: %s", c->value[RUN_PROJECT] ?
				       c->value[RUN_PROJECT] : p->what, strerror(-r)) : 0;
}

/* --- the options ---------------------------------------------------------- */

/* The options that can change what a program prints or writes. The others set
 * resources. */
static const enum run_opt counted[] = { RUN_LANGUAGE, RUN_MAIN, RUN_FOLLOW, RUN_RELATIVE,
					RUN_MODE };

static void add_text(struct buf *b, const char *word, const char *text)
{
	buf_str(b, b->len > 1 ? "," : "");
	json_quote(b, word, strlen(word));
	buf_str(b, ",");
	json_quote(b, text, strlen(text));
}

static void add_options(struct buf *b, const struct batch_options *o)
{
	const struct run_client *c = o->run;
	char word[32];

	buf_str(b, "[");
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		if (c->value[counted[i]])
			add_text(b, run_option_word(counted[i], word),
				 c->value[counted[i]]);
	if (o->as_stdin)
		add_text(b, "--stdin", "");
	if (o->source.args)
		add_text(b, "--args", "");
	for (unsigned i = 0; i < c->env_count; i++)
		add_text(b, "-e", c->env[i]);
	for (unsigned i = 0; i < c->package_count; i++)
		add_text(b, "--packages", c->packages[i]);
	for (unsigned i = 0; i < c->network_count; i++)
		add_text(b, "--network", c->networks[i]);
	for (unsigned i = 0; i < c->input_count; i++)
		add_text(b, "-i", c->inputs[i]);
	for (unsigned i = 0; i < c->arg_count; i++)
		add_text(b, "", c->args[i]);
	buf_str(b, "]");
}

int identity_make(struct identity *m, const struct batch_options *o, struct program *p)
{
	*m = (struct identity){ 0 };
	add_options(&m->options, o);
	if (m->options.failed)
		return client_complain(1, "out of memory");
	return sum_program(m, o->run, p);
}

void identity_done(struct identity *m)
{
	buf_done(&m->options);
}

/* Reads the first line of a file of the mount; "": there is none. */
static void read_line(int root, const char *path, char *ret, size_t size)
{
	job_view_text(root, path, ret, size);
	ret[strcspn(ret, "\n")] = '\0';
}

void identity_set_mount(struct identity *m, const struct batch_options *o, int root)
{
	const char *name = o->run->value[RUN_ENVIRONMENT];
	char path[512], id[80];

	read_line(root, ".fsd/templates/base/id", m->image, sizeof(m->image));
	if (!name)
		return;
	snprintf(path, sizeof(path), ".fsd/templates/%s/id", name);
	id[0] = '\0';
	if (!strchr(name, '@') && !strchr(name, '/'))
		read_line(root, path, id, sizeof(id));
	snprintf(m->environment, sizeof(m->environment), "%s%s%s", name, *id ? "@" : "",
		 id);
}

/* --- batch.json ----------------------------------------------------------- */

static int take_all(struct identity *m, const json_t *root)
{
	char *options = json_dumps(json_object_get(root, "options"), JSON_COMPACT);

	json_copy_text(root, "id", m->id, sizeof(m->id));
	json_copy_text(root, "program", m->program, sizeof(m->program));
	json_copy_text(root, "environment", m->environment, sizeof(m->environment));
	json_copy_text(root, "image", m->image, sizeof(m->image));
	buf_str(&m->options, options ? options : "");
	free(options);
	return strlen(m->id) == IDENTITY_ID - 1 && m->options.len ? 0 : -EINVAL;
}

int identity_read(struct identity *m, struct out *out)
{
	auto_close int fd = openat(out->dir, "batch.json", O_RDONLY | O_CLOEXEC);
	auto_buf struct buf text = { 0 };
	auto_json json_t *root = NULL;
	ssize_t n = 1;
	int r;

	*m = (struct identity){ 0 };
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	while (fd >= 0 && n > 0 && buf_reserve(&text, 65536) == 0) {
		n = read(fd, text.data + text.len, 65536);
		text.len += (size_t)MAX(n, 0);
	}
	r = fd < 0 || n < 0 ? -errno : 0;
	if (r == 0)
		r = json_read(text.data, text.len, 16, NULL, &root, NULL);
	if (r == 0)
		r = take_all(m, root);
	return r < 0 ? client_complain(2, "%s/batch.json: %s", out->path,
				       r == -EINVAL || r == -ENODATA ?
				       "it is none of `fsd batch`" : strerror(-r)) : 0;
}

static void add_member(struct buf *b, const char *name, const char *text)
{
	buf_fmt(b, ",\n  \"%s\": ", name);
	json_quote(b, text, strlen(text));
}

static void render(const struct identity *m, struct buf *b)
{
	buf_fmt(b, "{\n  \"schema\": 1");
	add_member(b, "id", m->id);
	add_member(b, "program", m->program);
	buf_fmt(b, ",\n  \"options\": %s", m->options.data);
	add_member(b, "environment", m->environment);
	add_member(b, "fsd", FSD_VERSION);
	add_member(b, "image", m->image);
	buf_str(b, "\n}\n");
}

int identity_write(const struct identity *m, struct out *out, bool replace)
{
	auto_buf struct buf text = { 0 };
	char name[OUT_TEMPORARY];
	int fd, r;

	render(m, &text);
	fd = out_file_begin(out, name);
	r = fd < 0 ? fd : write_all(fd, text.data, text.len);
	if (r == 0) {
		r = replace ? out_file_end(out, fd, name, "batch.json")
			    : out_file_link(out, fd, name, "batch.json");
		if (r == -EEXIST)
			return r;
	}
	return r < 0 ? client_complain(2, "%s/batch.json: %s", out->path, strerror(-r)) : 0;
}

/* --- the same? ------------------------------------------------------------ */

/* True if two lists in JSON are equal; blanks and escapes do not count. */
static bool is_same_list(const struct buf *a, const struct buf *b)
{
	auto_json json_t *one = NULL, *other = NULL;

	return json_read(a->data, a->len, 4, NULL, &one, NULL) == 0 &&
	       json_read(b->data, b->len, 4, NULL, &other, NULL) == 0 &&
	       json_equal(one, other);
}

int identity_check(const struct identity *was, const struct identity *now,
		   const struct batch_options *o, bool mount)
{
	const char *name = o->run->file ? o->run->file :
			   o->run->value[RUN_PROJECT] ? o->run->value[RUN_PROJECT] :
							"the text of -c";

	if (strcmp(was->program, now->program) != 0)
		return client_complain(2, "%s is not the program that %s began with; use "
				       "another --out, or --again", name, o->out);
	if (!is_same_list(&was->options, &now->options))
		return client_complain(2, "the options and ARGs are not those that %s began "
				       "with: %s, now %s; use another --out, or --again",
				       o->out, was->options.data, now->options.data);
	if (mount && strcmp(was->environment, now->environment) != 0)
		return client_complain(2, "the environment is %s, and %s began with %s; use "
				       "another --out, or --again",
				       now->environment[0] ? now->environment :
							     "the mount's default",
				       o->out, was->environment[0] ? was->environment :
							"the mount's default");
	return 0;
}
