/* SPDX-License-Identifier: Apache-2.0 */
/* fsd: run programs that are written as files, each in a machine of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/fuse/face.h"
#include "fsd/server/holder.h"
#include "fsd/mount/keeper.h"
#include "fsd/mount/notify.h"
#include "fsd/client/private.h"
#include "vm/jail/jailer.h"

static int command_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("fsd %s\n", fsd_version);
	return 0;
}

struct command {
	const char *name;
	int (*fn)(int argc, char **argv);
	const char *usage;
};

static const struct command commands[] = {
	{ "mount", command_mount,
	  "fsd mount [OPTIONS] MNT    serve MNT; stays in the foreground\n"
	  "  --state DIR          durable state (default: /var/lib/fsd for root,\n"
	  "                       else $XDG_STATE_HOME/fsd)\n"
	  "  --image DIR          guest image\n"
	  "  --qemu PATH          the QEMU that runs the machines (default: the\n"
	  "                       one that came with fsd, else the host's)\n"
	  "  --accel auto|kvm|tcg how machines are run (default auto)\n"
	  "  --pool N             warm machines to keep (default 2 a CPU)\n"
	  "  --max-machines N     most machines at once (default 4 a CPU)\n"
	  "  --fork yes|no        yes: emulated machines are forked off one that\n"
	  "                       is hot; no: each is restored by itself\n"
	  "  --policy strict|permissive\n"
	  "                       strict: no job runs when a wall is missing\n"
	  "  --durability full|relaxed\n"
	  "                       full: what was accepted outlives the host\n"
	  "  --uids FIRST-LAST    user ids of machines, each has its own\n"
	  "  --allow-other        let other users use the mount\n"
	  "  --quota-jobs N       most jobs of each user (default: no limit)\n"
	  "  --quota-bytes SIZE   most bytes of each user; 10K, 20M, 30G\n"
	  "  --quota-running N    most jobs of each user that run at a time;\n"
	  "                       the others wait\n"
	  "  --max-queued N       most jobs that wait (default 100000; 0: no limit)\n"
	  "  --quota-queued N     most jobs of each user that wait\n"
	  "  --memory-reserve SIZE  memory that machines leave free (default a 16th)\n"
	  "  --retain-seconds N   remove jobs of each user so long after their end,\n"
	  "  --retain-count N     when more than N are finished, the oldest first,\n"
	  "  --retain-bytes SIZE  or when they hold more (default: keep all)\n"
	  "  --daemon             return when the mount answers\n"
	  "  --log-level LEVEL    error, warn, info or debug\n" },
	{ "umount", command_umount,
	  "fsd umount [--now] MNT     stop: no new jobs, running ones finish\n"
	  "  --now                running jobs end as interrupted\n" },
	{ "upgrade", command_upgrade,
	  "fsd upgrade [--now] MNT    go on with the program as it is installed\n"
	  "                       now, once no job is running; no unmount\n"
	  "  --now                running jobs end as interrupted\n" },
	{ "run", command_run,
	  "fsd run [OPTIONS] FILE|- [ARG]...   one job; its exit code is ours\n"
	  "  -l LANG              python, javascript, typescript, bash\n"
	  "  -t SECONDS           timeout\n"
	  "  -m MB                memory\n"
	  "  -e NAME=VALUE        environment, repeatable\n"
	  "  --json               print result.json instead of the streams\n"
	  "  --mount MNT          through this mount (default: $FSD_MOUNT,\n"
	  "                       /run/fsd/jobs, else a private one)\n"
	  "  --private            through a private mount\n" },
	{ "image", command_image,
	  "fsd image build|list|verify [DIR]   guest images\n" },
	{ "doctor", command_doctor,
	  "fsd doctor                 what works here, and remedies\n" },
	{ "version", command_version, "fsd version\n" },
	{ NOTIFY_COMMAND, notify_helper, "" }, /* fsd mount calls it, */
	{ JAILER_COMMAND, jailer_main, "" },   /* and these */
	{ KEEPER_COMMAND, keeper_main, "" },
	{ HOLDER_SERVES, command_serve, "" },
	{ PRIVATE_COMMAND, private_main, "" }, /* fsd run calls it */
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

int usage(const char *command)
{
	const struct command *c = find(command);

	if (c)
		fprintf(stderr, "usage: %s", c->usage);
	return 2;
}

int complain(const char *command, int code, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "fsd %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}

static void help(FILE *to)
{
	fputs("fsd runs programs that are written as files, each in a virtual "
	      "machine of its own.\n\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fputs(commands[i].usage, to);
}

/* What is opened next would be taken for a stream that the caller has closed:
 * they lead nowhere instead. */
static int open_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

/* `fsd COMMAND --help` and -h; what a program is to be asked comes later. */
static bool wants_help(int argc, char **argv)
{
	return argc > 2 &&
	       (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"));
}

int main(int argc, char **argv)
{
	const struct command *c;

	if (open_streams() < 0) {
		fprintf(stderr, "fsd: /dev/null cannot be opened for reading "
			"and writing: %s\n", strerror(errno));
		return 1;
	}
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		help(stdout);
		return 0;
	}
	c = find(!strcmp(argv[1], "--version") ? "version" : argv[1]);
	if (!c) {
		fprintf(stderr,
			"fsd: there is no command \"%s\"; `fsd help` lists "
			"them\n",
			argv[1]);
		return 2;
	}
	if (wants_help(argc, argv)) {
		fputs(c->usage, stdout);
		return 0;
	}
	return c->fn(argc - 1, argv + 1);
}
