/* SPDX-License-Identifier: Apache-2.0 */
/* Which mount a command takes that names none: what the user says comes first, and the
 * mount of a stranger never. */
#include <stdlib.h>
#include <unistd.h>

#include "fsd/client/where.h"
#include "fsd/client/which_mount.h"
#include "tests/unit/tap.h"

static char table[] = "/tmp/fsd-test.XXXXXX";

/* What a command takes when these lines are the table of mounts. */
static const char *taken(const char *lines)
{
	FILE *f = fopen(table, "w");

	if (f) {
		fputs(lines, f);
		fclose(f);
	}
	return which_mount_by(NULL, table);
}

#define AT " " SERVICE_MOUNT " "
#define OTHER "fsd /elsewhere fuse.fsd rw,user_id=0 0 0\n"

static void test_asked(void)
{
	setenv("FSD_MOUNT", "/by/env", 1);
	is_str(which_mount_by("/by/option", table), "/by/option",
	       "the option is first");
	is_str(which_mount_by(NULL, table), "/by/env", "$FSD_MOUNT is next");
	setenv("FSD_MOUNT", "", 1);
	is_str(which_mount_by(NULL, table), NULL,
	       "an empty $FSD_MOUNT names none");
	unsetenv("FSD_MOUNT");
	is_str(which_mount_by(NULL, "/no/such/table"), NULL,
	       "without a table of mounts there is none");
}

static void test_service(void)
{
	char lines[400];

	is_str(taken(OTHER), NULL, "a mount elsewhere is not taken");
	is_str(taken(OTHER "fsd" AT "fuse.fsd rw,user_id=0,group_id=0 0 0\n"),
	       SERVICE_MOUNT, "root's service is taken");
	snprintf(lines, sizeof(lines), "fsd" AT "fuse.fsd rw,user_id=%u 0 0\n",
		 geteuid());
	is_str(taken(lines), SERVICE_MOUNT, "so is one of this user");
	snprintf(lines, sizeof(lines), "fsd" AT "fuse.fsd rw,user_id=%u 0 0\n",
		 geteuid() + 1);
	is_str(taken(lines), NULL, "one of another user is not");
	is_str(taken("fsd" AT "fuse.fsd rw 0 0\n"), NULL,
	       "nor one without a user");
	is_str(taken("fsd" AT "fuse.sshfs rw,user_id=0 0 0\n"), NULL,
	       "nor another kind of file system");
	is_str(taken("fsd" AT "fuse.fsd rw,user_id=0 0 0\n"
		     "tmpfs" AT "tmpfs rw 0 0\n"),
	       NULL, "nor one that something else is mounted on");
	is_str(taken("tmpfs" AT "tmpfs rw 0 0\n"
		     "fsd" AT "fuse.fsd rw,user_id=0 0 0\n"),
	       SERVICE_MOUNT, "the uppermost one counts");
}

static void test_own(void)
{
	char lines[400], own[200];

	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	snprintf(own, sizeof(own), "fsd /run/user/7" USER_MOUNT " fuse.fsd rw,user_id=%u 0 0\n",
		 geteuid());
	snprintf(lines, sizeof(lines), "%sfsd" AT "fuse.fsd rw,user_id=0 0 0\n", own);
	is_str(taken(lines), "/run/user/7" USER_MOUNT,
	       "the mount of this user's service comes before the host's");
	snprintf(lines, sizeof(lines), "fsd /run/user/7" USER_MOUNT
		 " fuse.fsd rw,user_id=%u 0 0\nfsd" AT "fuse.fsd rw,user_id=0 0 0\n",
		 geteuid() + 1);
	is_str(taken(lines), SERVICE_MOUNT, "not if another user made it");
	setenv("FSD_MOUNT", "/by/env", 1);
	is_str(taken(own), "/by/env", "and $FSD_MOUNT comes before both");
	unsetenv("FSD_MOUNT");
	setenv("XDG_RUNTIME_DIR", "run/user/7", 1);
	is_str(taken(own), NULL, "a $XDG_RUNTIME_DIR that is no absolute path names none");
	unsetenv("XDG_RUNTIME_DIR");
}

static void test_answers(void)
{
	char mnt[PATH_MAX];
	struct err err = { 0 };

	ok(where_mount("/tmp", mnt, &err) < 0, "a plain directory is no mount");
	is_str(err.text, "/tmp is not a mount of fsd", "which has its sentence");
	ok(where_mount("/no/such", mnt, &err) < 0, "neither is what is not there");
	is_str(err.text, "/no/such is not a mount of fsd: it does not exist",
	       "which says so");
}

int main(void)
{
	int fd = mkstemp(table);

	unsetenv("XDG_RUNTIME_DIR");
	ok(fd >= 0, "(there is a file for the table)");
	close(fd);
	test_asked();
	test_service();
	test_own();
	test_answers();
	unlink(table);
	return done_testing();
}
