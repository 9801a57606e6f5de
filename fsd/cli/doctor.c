/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd doctor: how a finding looks, and what a machine is made of: the QEMU, how old it is
 * and whether its files are as they were brought; the image and what it contains; the
 * environments; the program that connects for jobs, and the operator's policy.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "cmd_env.h"
#include "doctor.h"
#include "fsd/server/default_dirs.h"
#include "vm/os/spawn.h"

/* older ones need up to three times as long for programs that start others */
#define QEMU_MAJOR 10
#define PACKAGE "qemu-system-x86"
#define APT_LISTS "/var/lib/apt/lists"
#define APT_WAIT_MS 20000
#define APT_SAYS_MAX 8192
#define DOOR "fsd-door"
#define DOOR_WAIT_MS 20000
#define RESOLV_CONF "/etc/resolv.conf"

static const char *const verdict_names[] = {
	[GOOD] = "ok", [POOR] = "note", [BAD] = "MISSING",
};

void found(struct finding *f, enum verdict verdict, const char *fmt, ...)
{
	va_list ap;

	f->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

bool finding_print(const char *name, const struct finding *f)
{
	printf("%-8s %-8s %s\n", name, verdict_names[f->verdict], f->text);
	return f->verdict == BAD;
}

/* --- QEMU ------------------------------------------------------------------------- */

int choose_qemu(struct vm_qemu *ret, struct err *err)
{
	auto_free char *brought = brought_qemu();
	const char *asked = getenv("FSD_QEMU");
	struct vm_qemu_places places = {
		.asked = asked && *asked ? asked : NULL, .brought = brought,
	};

	return vm_qemu_choose(&places, ret, err);
}

/* --- what apt knows --------------------------------------------------------------- */

/* Finds the version behind a key; "": it is not there. */
static void version_behind(const char *text, const char *key, char ret[64])
{
	const char *at = strstr(text, key);

	ret[0] = '\0';
	if (at)
		sscanf(at + strlen(key), " %63s", ret);
}

static int ask_apt(char *text, size_t size)
{
	static const char *const argv[] = {
		"/usr/bin/env", "LC_ALL=C", "apt-cache", "policy", PACKAGE, NULL,
	};
	struct spawn s = { .argv = argv, .want_stdout = true };
	struct child c;
	ssize_t n;
	int r = spawn(&s, &c, NULL);

	if (r < 0)
		return r;
	n = child_read(&c, text, size, APT_WAIT_MS);
	child_end(&c);
	return n < 0 ? (int)n : 0;
}

/* Returns when apt last fetched its lists of packages. */
static int64_t apt_asked(void)
{
	static const char *const places[] = { APT_LISTS, APT_LISTS "/partial" };
	struct stat st;
	int64_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (stat(places[i], &st) == 0)
			at = MAX(at, (int64_t)st.st_mtime);
	return at;
}

/* Asks apt for the package of this QEMU. It sets ret_newer to the version that apt would
 * install in its place; "": there is none. */
static void look_at_apt(struct vm_qemu *q, char ret_newer[64])
{
	char text[APT_SAYS_MAX], installed[64], candidate[64];

	ret_newer[0] = '\0';
	if (q->suite[0] || !q->package[0] || ask_apt(text, sizeof(text)) < 0)
		return;
	version_behind(text, "Installed:", installed);
	version_behind(text, "Candidate:", candidate);
	if (strcmp(installed, q->package) != 0)
		return;
	if (!strcmp(installed, candidate))
		q->asked = apt_asked();
	else if (candidate[0] && strcmp(candidate, "(none)") != 0)
		memcpy(ret_newer, candidate, sizeof(candidate));
}

/* --- the finding ------------------------------------------------------------------ */

/* Verifies the tree of a QEMU that was brought, whose path is .../usr/bin/NAME. */
static int verify(const struct vm_qemu *q, struct err *err)
{
	char root[VM_QEMU_PATH_MAX];
	char *end;

	memcpy(root, q->path, sizeof(root));
	end = strstr(root, "/usr/bin/");
	if (!q->suite[0] || !end)
		return 0;
	*end = '\0';
	return vm_qemu_verify(root, err);
}

static void add_remedies(const struct vm_qemu *q, const char *newer,
			 struct buf *out)
{
	if (newer[0])
		buf_fmt(out, "; apt knows %s: `apt-get install " PACKAGE
			"` brings it", newer);
	if (q->doubt[0])
		buf_str(out, "; `fsd qemu bring` brings it anew");
	if (vm_qemu_is_old(q, time(NULL)))
		buf_str(out, "; faults that a guest may use are mended since: "
			     "`fsd qemu bring` brings a newer one, if there is "
			     "one");
	if (strtoul(q->version, NULL, 10) < QEMU_MAJOR)
		buf_str(out, "; a program that starts many others is up to three "
			     "times as quick with QEMU 10: `fsd qemu bring` "
			     "brings it");
}

void check_qemu(struct finding *f)
{
	auto_buf struct buf text = { 0 };
	struct vm_qemu qemu;
	struct err err = { 0 };
	char newer[64];
	size_t well;

	if (choose_qemu(&qemu, &err) < 0 || verify(&qemu, &err) < 0) {
		found(f, BAD, "%s%s", err.text, qemu.suite[0] ?
		      "; `fsd qemu bring` brings it anew" : "");
		return;
	}
	look_at_apt(&qemu, newer);
	buf_fmt(&text, "QEMU %s, %s: %s; ", qemu.version, qemu.path, qemu.why);
	vm_qemu_age_text(&qemu, time(NULL), &text);
	well = text.len;
	add_remedies(&qemu, newer, &text);
	found(f, text.len > well ? POOR : GOOD, "%s",
	      text.failed ? strerror(ENOMEM) : text.data);
}

/* --- the image ---------------------------------------------------------------------- */

/* The packages whose versions are printed, in this order: the one of Debian itself, which
 * has the release, and those of the languages. */
#define RELEASE LANG_MAX
#define PARTS (LANG_MAX + 1)

static const char *part_package(unsigned part)
{
	return part == RELEASE ? "base-files" : langs[part].package;
}

/* Return: NULL: the part is not shown. */
static const char *part_title(unsigned part)
{
	return part == RELEASE ? "Debian" : langs[part].title;
}

/* The last day of security updates by Debian itself, from www.debian.org/releases. It
 * holds for all packages, Node included. */
static const struct release {
	const char *number, *until;
} releases[] = {
	{ "12", "2026-06-10" },
	{ "13", "2028-08-09" },
};

struct found {
	char version[PARTS][32];
};

/* Reads a line "name version"; takes the author's version without Debian's suffix. */
static void take_line(struct found *f, const char *line)
{
	char name[128], version[128];

	if (sscanf(line, "%127s %127s", name, version) != 2)
		return;
	version[strcspn(version, "+-~")] = '\0';
	for (unsigned i = 0; i < PARTS; i++)
		if (!strcmp(part_package(i), name))
			snprintf(f->version[i], sizeof(f->version[i]), "%.31s",
				 version);
}

static const char *until_of(char *debian)
{
	debian[strcspn(debian, ".")] = '\0'; /* 13.2 is 13 */
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
		if (!strcmp(releases[i].number, debian))
			return releases[i].until;
	return NULL;
}

static void add_part(const struct found *f, unsigned part, struct buf *out)
{
	if (f->version[part][0] && part_title(part))
		buf_fmt(out, "%s%s %s", out->len ? ", " : "", part_title(part),
			f->version[part]);
}

static void today(char ret[16])
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(ret, 16, "%Y-%m-%d", &tm))
		ret[0] = '\0';
}

/*
 * Writes to *out what the image in dir contains, as "Debian 13, Python 3.13.5, Node
 * 20.19.2, bash 5.2.37; security updates until 2028-08-09". The list of packages is
 * read as it is. *ret_over: that day has passed. Return: 0 or negative errno.
 */
static int image_contents(const char *dir, struct buf *out, bool *ret_over)
{
	char path[PATH_MAX], line[512], day[16];
	auto_fclose FILE *f = NULL;
	struct found found = { 0 };
	const char *until;

	*ret_over = false;
	snprintf(path, sizeof(path), "%s/packages.list", dir);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		take_line(&found, line);
	until = until_of(found.version[RELEASE]);
	add_part(&found, RELEASE, out);
	for (unsigned i = 0; i < LANG_MAX; i++)
		add_part(&found, i, out);
	today(day);
	*ret_over = until && strcmp(day, until) > 0;
	if (until)
		buf_fmt(out, "; security updates until %s", until);
	return out->failed ? -ENOMEM : 0;
}

void check_image(struct finding *f)
{
	auto_free char *dir = default_image_dir();
	auto_buf struct buf text = { 0 }, has = { 0 };
	struct err err = { 0 };
	bool over = false;
	int r = 0;

	if (dir && vm_image_verify(dir, &text, &err) == 0)
		r = image_contents(dir, &has, &over);
	if (!dir)
		found(f, BAD, "%s", strerror(ENOMEM));
	else if (err.code)
		found(f, BAD, "%s; install the package fsd-image, or run `make image` "
			      "in the sources",
		      err.text);
	else if (r < 0)
		found(f, BAD, "%s/packages.list: %s", dir, strerror(-r));
	else
		found(f, over ? POOR : GOOD, "%s is whole: %s%s", dir,
		      has.data, over ? "; that day has gone: a newer fsd makes "
				       "a newer image" : "");
}

/* --- environments ------------------------------------------------------------------- */

void check_environments(struct finding *f)
{
	auto_free char *dir = default_image_dir();
	auto_buf struct buf bad = { 0 };
	struct env_image image = { 0 };
	struct environment_dirs dirs;
	struct environment_names names = { 0 };
	struct err err = { 0 };

	if (!dir || environment_dirs_find(NULL, dir, &dirs) < 0) {
		found(f, BAD, "%s", strerror(ENOMEM));
		return;
	}
	env_image_read(dir, &image, NULL); /* the image has a line of its own */
	environment_names(&dirs.places, &names, &err);
	for (size_t i = 0; i < names.count; i++) {
		struct environment *e;
		struct err why = { 0 };
		const char *state = env_state(&dirs.places, &names.name[i],
					      &image, true, &e, &why);

		if (strcmp(state, "ready") != 0)
			buf_fmt(&bad, "%s%s is %s: %s", bad.len ? "; " : "",
				names.name[i].name, state, why.text);
		if (!strcmp(state, "damaged"))
			buf_fmt(&bad, ": run fsd env build %s",
				names.name[i].name);
		environment_unref(e);
	}
	if (err.code || bad.len)
		found(f, POOR, "%s", err.code ? err.text : bad.data);
	else if (names.count)
		found(f, GOOD, "%zu environments are whole%s", names.count,
		      image.known ? " and fit the image" : "");
	else
		found(f, GOOD, "no environment but base; fsd env build makes "
			       "one");
	environment_names_done(&names);
	environment_dirs_done(&dirs);
	env_image_done(&image);
}

/* --- the network of jobs -------------------------------------------------------------- */

/* Runs the program. text: what it has written. Return: whether it found nothing wrong. */
static bool try_door(const char *path, const char *policy, char *text, size_t size)
{
	const char *const argv[] = { path, "--check", policy ? "--policy" : NULL, policy,
				     NULL };
	struct spawn s = { .argv = argv, .want_stdout = true };
	struct err err = { 0 };
	struct child c;
	int status;

	text[0] = '\0';
	if (spawn(&s, &c, &err) < 0) {
		snprintf(text, size, "%s", err.text);
		return false;
	}
	if (child_read(&c, text, size, DOOR_WAIT_MS) < 0)
		snprintf(text, size, "it does not answer");
	poll(&(struct pollfd){ .fd = c.pidfd, .events = POLLIN }, 1, DOOR_WAIT_MS);
	status = child_end(&c);
	text[strcspn(text, "\n")] = '\0';
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Returns how many name servers a resolv.conf names. */
static unsigned name_servers(const char *path)
{
	auto_fclose FILE *file = fopen(path, "re");
	char line[512], address[64];
	unsigned count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += sscanf(line, "nameserver %63s", address) == 1;
	return count;
}

/* Appends what could be better, with the remedy. */
static void add_notes(const char *walls, struct buf *out)
{
	if (!name_servers(RESOLV_CONF))
		buf_str(out, "; " RESOLV_CONF " names no name server, so names resolve only "
			     "if one listens on 127.0.0.1: write `nameserver ADDRESS` "
			     "into it");
	if (!strstr(walls, " landlock"))
		buf_str(out, "; it could open files: use a kernel from 5.13 on with "
			     "Landlock");
	if (!strstr(walls, " user"))
		buf_str(out, "; it runs as fsd's user: to have an own one, run fsd as root");
}

void check_network(const char *policy, struct finding *f)
{
	auto_buf struct buf text = { 0 };
	char path[PATH_MAX], says[1024];
	int r = program_beside(DOOR, path);
	size_t well;

	if (r < 0) {
		found(f, policy ? BAD : POOR, "%s: %s; jobs can have no network: install the "
		      "package fsd anew, or run `make all` in the sources", path,
		      strerror(-r));
		return;
	}
	if (!try_door(path, policy, says, sizeof(says))) {
		found(f, policy ? BAD : POOR, "%s: %s; `fsd mount --network` would not begin",
		      path, says[0] ? says : "it ended by itself; Debian's package "
					    "libc-ares2 brings what it needs");
		return;
	}
	if (policy)
		buf_fmt(&text, "%s is a policy that fsd mount takes", policy);
	else
		buf_str(&text, "fsd mount --network FILE can give programs a network");
	buf_str(&text, "; what connects for them may not do what root may, makes system calls "
		       "for sockets and time only");
	buf_str(&text, strstr(says, " landlock") ? ", opens no file and no listener" : "");
	buf_str(&text, strstr(says, " user") ? ", and has a user id of its own" : "");
	well = text.len;
	add_notes(says, &text);
	found(f, text.len > well ? POOR : GOOD, "%s",
	      text.failed ? strerror(ENOMEM) : text.data);
}
