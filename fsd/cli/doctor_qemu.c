/* SPDX-License-Identifier: Apache-2.0 */
/* fsd doctor: the QEMU of this host's machines, how old it is, and whether its files
 * are as they were brought. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "doctor.h"
#include "fsd/fsd.h"
#include "fsd/server/paths.h"
#include "vm/os/spawn.h"

/* Before 10, programs that start others take up to three times as long. */
#define QEMU_MAJOR 10
#define PACKAGE "qemu-system-x86"
#define APT_LISTS "/var/lib/apt/lists"
#define APT_WAIT_MS 20000
#define APT_SAYS_MAX 8192

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

/* The version behind a key; "": it is not there. */
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

/* When apt has last fetched a list. */
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

/* The tree that the path is in: it is .../usr/bin/NAME. */
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
