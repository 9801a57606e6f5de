/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd doctor MNT checks a mount by its files; fsd doctor --state DIR checks a state
 * directory, whether a daemon serves it or not. It changes no file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "commands.h"
#include "doctor.h"
#include "fsd/client/where.h"
#include "fsd/control/control.h"
#include "fsd/local/remote.h"
#include "fsd/store/store.h"

#define ROOM_MIB 1024u /* space for a template and some results */

/* The directory that is checked, and its name for messages. */
struct place {
	int dir;
	const char *name;
};

struct place_check {
	const char *name;
	void (*fn)(const struct place *at, struct finding *f);
};

/* Return: bytes, or negative errno; text ends with a NUL. */
static ssize_t read_file(int dir, const char *name, char *text, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && len < size - 1) {
		n = read(fd, text + len, size - 1 - len);
		len += (size_t)MAX(n, 0);
	}
	text[len] = '\0';
	return n < 0 ? -errno : (ssize_t)len;
}

/* Return: the number of entries of a directory, without hidden ones; -1: it does not
 * exist. */
static int entries(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					 O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int count = 0;

	if (!dir) {
		fd_close(&fd);
		return -1;
	}
	while ((e = readdir(dir)))
		count += e->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void check_room(const struct place *at, struct finding *f)
{
	struct statvfs st;
	uint64_t mib;

	if (fstatvfs(at->dir, &st) < 0) {
		found(f, BAD, "%s: %s", at->name, strerror(errno));
		return;
	}
	mib = (uint64_t)st.f_bavail * st.f_frsize >> 20;
	found(f, mib < ROOM_MIB ? POOR : GOOD, "%llu MiB free%s",
	      (unsigned long long)mib, mib < ROOM_MIB ?
	      "; a template takes 400 MiB, and without room no job begins: "
	      "remove finished jobs, or mount with --retain-seconds" : "");
}

static int run_checks(const struct place *at, const struct place_check *checks,
		      size_t count)
{
	bool bad = false;

	for (size_t i = 0; i < count; i++) {
		struct finding f = { 0 };

		checks[i].fn(at, &f);
		bad |= finding_print(checks[i].name, &f);
	}
	return bad ? 1 : 0;
}

/* --- a mount ------------------------------------------------------------------- */

/* Reads the first line of a file. Return: false: it cannot be read, which is found
 * then. */
static bool first_line(const struct place *at, const char *path, char *text,
		       size_t size, struct finding *f)
{
	ssize_t n = read_file(at->dir, path, text, size);

	text[strcspn(text, "\n")] = '\0';
	if (n < 0)
		found(f, BAD, "%s/%s: %s", at->name, path, strerror((int)-n));
	return n >= 0;
}

static void check_version(const struct place *at, struct finding *f)
{
	char text[128];

	if (!first_line(at, FSD_DIR_NAME "/version", text, sizeof(text), f))
		return;
	if (!strstr(text, fsd_version))
		found(f, POOR, "it is served by fsd %s, this program is fsd %s; "
		      "`fsd upgrade %s` goes on with the program that is "
		      "installed", text, fsd_version, at->name);
	else
		found(f, GOOD, "it is served by fsd %s, as this program is",
		      text);
}

static void check_health(const struct place *at, struct finding *f)
{
	char text[500];

	if (!first_line(at, FSD_DIR_NAME "/health", text, sizeof(text), f))
		return;
	if (health_is_ok(text))
		found(f, GOOD, "jobs can run%s", text + strlen(HEALTH_OK));
	else
		found(f, strstr(text, "being made") ? POOR : BAD, "%s", text);
}

/* Names the walls that are not whole; .fsd/security has the remedies. */
static void check_security(const struct place *at, struct finding *f)
{
	char text[16384], *line = text, *end;
	auto_buf struct buf names = { 0 };
	ssize_t n = read_file(at->dir, FSD_DIR_NAME "/security", text,
			      sizeof(text));

	if (n < 0) {
		found(f, BAD, "%s/" FSD_DIR_NAME "/security: %s", at->name,
		      strerror((int)-n));
		return;
	}
	while ((end = strchr(line, '\n'))) {
		char *state = strstr(line, "  ");

		*end = '\0';
		if (state && strncmp(state, "  active", 8) != 0)
			buf_fmt(&names, "%s%.*s is %.*s", names.len ? ", " : "",
				(int)(state - line), line,
				(int)strcspn(state + 2, " "), state + 2);
		line = end + 1;
	}
	found(f, names.len ? POOR : GOOD, "%.400s%s%s%s",
	      names.len ? names.data : "all walls stand",
	      names.len ? "; " : "", names.len ? at->name : "",
	      names.len ? "/" FSD_DIR_NAME "/security says what each stops" :
			  "");
}

/* Says whether this user's jobs may have a network. */
static void check_mount_network(const struct place *at, struct finding *f)
{
	char text[16384];
	ssize_t n = read_file(at->dir, FSD_DIR_NAME "/network", text, sizeof(text));

	if (n < 0)
		found(f, BAD, "%s/" FSD_DIR_NAME "/network: %s", at->name,
		      strerror((int)-n));
	else if (!strstr(text, "network yes"))
		found(f, GOOD, "programs have none; `fsd mount --network FILE` gives them "
			       "what a policy allows");
	else if (!strstr(text, "\nallow "))
		found(f, POOR, "the operator's policy allows you nothing: he may add rules to "
			       "\"allow\" and write reload-network to .fsd/ctl");
	else
		found(f, GOOD, "%s/" FSD_DIR_NAME "/network says what programs may reach",
		      at->name);
}

static void lost(int count, const char *where, struct finding *f)
{
	if (count <= 0)
		found(f, GOOD, "nothing was damaged");
	else
		found(f, POOR, "%d damaged entr%s set aside; %s says why: mend "
		      "what you need and remove the rest", count,
		      count == 1 ? "y was" : "ies were", where);
}

static void check_lost(const struct place *at, struct finding *f)
{
	lost(entries(at->dir, FSD_DIR_NAME "/lost+found"),
	     "each file in .fsd/lost+found", f);
}

int doctor_mount(const char *mnt)
{
	static const struct place_check checks[] = {
		{ "version", check_version }, { "health", check_health },
		{ "security", check_security }, { "network", check_mount_network },
		{ "lost", check_lost }, { "room", check_room },
	};
	struct err err = { 0 };
	struct place at = { .name = mnt };
	auto_close int dir = -1;

	if (where_is_mount(mnt, &err) < 0)
		return complain("doctor", 1, "%s", err.text);
	dir = at.dir = open(mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return complain("doctor", 1, "%s: %s", mnt, strerror(errno));
	return run_checks(&at, checks, ARRAY_SIZE(checks));
}

/* --- a state directory ------------------------------------------------------------ */

static void check_owner(const struct place *at, struct finding *f)
{
	struct stat st;

	if (fstat(at->dir, &st) < 0)
		found(f, BAD, "%s: %s", at->name, strerror(errno));
	else if (st.st_uid != geteuid())
		found(f, POOR, "it belongs to uid %u, and you are uid %u: mount "
		      "it as that user", st.st_uid, geteuid());
	else if (st.st_mode & 022)
		found(f, BAD, "others can write it, mode %o: `chmod go-w %s`",
		      st.st_mode & 07777, at->name);
	else
		found(f, GOOD, "it is yours, and no other user can write it");
}

static void check_format(const struct place *at, struct finding *f)
{
	char text[64];
	unsigned number = 0;
	ssize_t n = read_file(at->dir, "format", text, sizeof(text));

	text[strcspn(text, "\n")] = '\0';
	if (n == -ENOENT && entries(at->dir, "jobs") < 0)
		found(f, POOR, "no mount was made on it yet");
	else if (n == -ENOENT)
		found(f, GOOD, "of the first format; the next mount takes it "
		      "over");
	else if (n < 0)
		found(f, BAD, "%s/format: %s", at->name, strerror((int)-n));
	else if (sscanf(text, "format %u", &number) != 1)
		found(f, BAD, "%s/format is \"%.40s\"; it must be \"format "
		      "N\": restore it from a backup", at->name, text);
	else if (number > STORE_FORMAT)
		found(f, BAD, "%s is that of a newer fsd, and %u the newest "
		      "that this one knows: use the newer one", text,
		      STORE_FORMAT);
	else
		found(f, GOOD, "%s, %d jobs", text,
		      MAX(entries(at->dir, "jobs"), 0));
}

/* True if a process has locked the file, by the kernel's list of locks. To try the lock
 * could make a starting daemon fail. */
static bool is_locked(ino_t ino)
{
	auto_fclose FILE *list = fopen("/proc/locks", "re");
	char line[256], wanted[32];

	snprintf(wanted, sizeof(wanted), ":%llu ", (unsigned long long)ino);
	while (list && fgets(line, sizeof(line), list))
		if (strstr(line, wanted))
			return true;
	return false;
}

static void check_served(const struct place *at, struct finding *f)
{
	struct stat st;

	if (fstatat(at->dir, "lock", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_locked(st.st_ino))
		found(f, GOOD, "a daemon serves it");
	else
		found(f, GOOD, "no daemon serves it; jobs that wait begin with "
		      "the next `fsd mount`");
}

static void check_templates(const struct place *at, struct finding *f)
{
	int count = entries(at->dir, "templates");

	if (count <= 0)
		found(f, POOR, "there are no templates: the first start takes "
		      "20 s or more");
	else
		found(f, GOOD, "templates are there; each is verified before "
		      "it is used");
}

static void check_state_lost(const struct place *at, struct finding *f)
{
	lost(entries(at->dir, "lost+found"), "the file why beside each", f);
}

/* Checks the file system of a state directory. One in memory is poor: the holes of a
 * template become its pages there, and are charged to the machine that reads them. Its
 * control group may then end it. */
static void check_disk(const struct place *at, struct finding *f)
{
	struct statfs fs;

	if (fstatfs(at->dir, &fs) < 0)
		found(f, BAD, "%s: %s", at->name, strerror(errno));
	else if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		found(f, POOR, "it is in memory: a new start of the host loses "
		      "all jobs, and a job that fills its memory_mb may lose its "
		      "machine; use a directory on a disk");
	else if (is_remote(at->dir))
		found(f, POOR, "it " STATE_IS_REMOTE ": use a directory on a disk of this "
			       "host");
	else
		found(f, GOOD, "jobs and results outlive a new start of the host");
}

static void check_own_image(const struct place *at, struct finding *f)
{
	(void)at;
	check_image(f);
}

int doctor_state(const char *path)
{
	static const struct place_check checks[] = {
		{ "owner", check_owner }, { "format", check_format },
		{ "daemon", check_served }, { "template", check_templates },
		{ "disk", check_disk }, { "lost", check_state_lost },
		{ "room", check_room }, { "image", check_own_image },
	};
	struct place at = { .name = path };
	auto_close int dir = -1;

	dir = at.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return complain("doctor", 1, "the state directory %s: %s", path,
				strerror(errno));
	return run_checks(&at, checks, ARRAY_SIZE(checks));
}
