/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all commands, in the order in which `fsd help` lists them. */
#include "commands.h"
#include "fsd/client/private.h"
#include "fsd/mount/keeper.h"
#include "fsd/mount/notify.h"
#include "fsd/server/holder.h"
#include "fsd/server/paths.h"
#include "options.h"
#include "vm/jail/jailer.h"

#define JOB_NOTE \
	"JOB is the path of a job's directory in any mount, or a name in the\n" \
	"mount of --mount, $FSD_MOUNT or /run/fsd/jobs."

const struct cli_command cli_commands[] = {
	{ "run", command_run, "Jobs", "[OPTIONS] FILE|- [ARG]...",
	  "run one job; its exit code is ours", run_cli_options, CLI_FILE,
	  NULL,
	  "With -c CODE or -C DIR there is no FILE. Behind the program all belongs\n"
	  "to it. EXAMPLES are in fsd(8)." },
	{ "submit", command_submit, "Jobs", "[OPTIONS] FILE|- [ARG]... | DIR [NAME]",
	  "make a job of a program or a directory, and go on",
	  submit_cli_options, CLI_FILE, NULL,
	  "It prints the job's path. Without a NAME the job is called like FILE\n"
	  "or DIR, and a number is added if that name is taken. With -c CODE or\n"
	  "-C DIR all operands are ARGs. All is copied under a name with a dot\n"
	  "first, so that the job starts whole. EXAMPLES are in fsd(8)." },
	{ "ls", command_ls, "Jobs", "[OPTIONS] [MNT]",
	  "list the jobs of a mount", ls_cli_options, CLI_MOUNT, NULL, NULL },
	{ "status", command_status, "Jobs", "[OPTIONS] JOB...",
	  "tell how jobs are, and what they wait for", status_cli_options,
	  CLI_JOB, NULL, JOB_NOTE },
	{ "wait", command_wait, "Jobs", "[OPTIONS] JOB...",
	  "wait until jobs have ended", wait_cli_options, CLI_JOB, NULL,
	  "The exit status is 0 if each ended with exit code 0. It is 1 if any\n"
	  "did not, was refused or is a draft: each of them is a line on\n"
	  "standard output. It is 124 if the time was over first.\n\n" JOB_NOTE },
	{ "logs", command_logs, "Jobs", "[OPTIONS] JOB...",
	  "print what jobs have written", logs_cli_options, CLI_JOB, NULL,
	  "Their stdout goes to standard output, their stderr to standard error.\n"
	  "Several jobs come one after the other, each below a line with its\n"
	  "name.\n\n"
	  JOB_NOTE },
	{ "kill", command_kill, "Jobs", "[OPTIONS] JOB...",
	  "end jobs, or send them a signal", kill_cli_options, CLI_JOB, NULL,
	  JOB_NOTE },
	{ "rm", command_rm, "Jobs", "[OPTIONS] JOB...",
	  "remove jobs with all that is in them", rm_cli_options, CLI_JOB, NULL,
	  "A job that runs is ended. It is quicker than to remove file by file.\n\n"
	  JOB_NOTE },
	{ "sandbox", command_sandbox, "Jobs", "COMMAND [OPTIONS] [NAME]...",
	  "make, list and end sandboxes: machines that jobs share", NULL,
	  CLI_TEXT, NULL,
	  "`fsd run --sandbox NAME` and `fsd submit --sandbox NAME` run jobs in one." },
	{ "top", command_top, "Jobs", "[OPTIONS] [MNT]",
	  "show what a mount does, again and again", top_cli_options, CLI_MOUNT,
	  NULL, "k ends a job, l shows its log, q ends fsd top." },
	{ "mount", command_mount, "Mounts", "[OPTIONS] MNT",
	  "serve MNT; stays in the foreground", mount_cli_options, CLI_MOUNT,
	  NULL, NULL },
	{ "umount", command_umount, "Mounts", "[--now] MNT",
	  "stop: no new jobs, running ones finish", umount_cli_options,
	  CLI_MOUNT, NULL, NULL },
	{ "upgrade", command_upgrade, "Mounts", "[--now] MNT",
	  "go on with the program as it is installed now", umount_cli_options,
	  CLI_MOUNT, NULL,
	  "It waits until no job is running; there is no unmount." },
	{ "gateway", command_gateway, "Mounts", "[OPTIONS]",
	  "serve a mount's sandboxes by HTTP", NULL, CLI_TEXT, NULL,
	  "fsd-gateway(8) tells more." },
	{ "mcp", command_mcp, "Mounts", "[OPTIONS]",
	  "serve MCP on standard input and output", NULL, CLI_TEXT, NULL,
	  "Without a mount it makes a private one, which ends with it.\n"
	  "fsd-gateway(8) tells more." },
	{ "template", command_template, "This host", "[OPTIONS] [DIR]",
	  "make a template, so that first starts are short",
	  template_cli_options, CLI_DIR, NULL,
	  "By root it is for all users of this host, in\n"
	  SHARED_TEMPLATES "; else for this user." },
	{ "image", command_image, "This host", "build|list|verify [DIR]",
	  "make and check guest images", NULL, CLI_WORDS, "build list verify",
	  NULL },
	{ "qemu", command_qemu, "This host", "bring|list|verify [DIR]",
	  "bring a newer QEMU, and check the one that was brought", NULL,
	  CLI_WORDS, "bring list verify",
	  "bring asks Debian's archives, of which the host's apt knows, for Debian\n"
	  "13's QEMU, and puts it beside fsd with all that it needs. Nothing is\n"
	  "installed. A mount goes on with it after fsd upgrade." },
	{ "env", command_env, "This host", "COMMAND [OPTIONS] [ARG]...",
	  "make, list and move environments: sets of software for jobs", NULL,
	  CLI_TEXT, NULL, "fsd-env(8) tells of each." },
	{ "doctor", command_doctor, "This host", "[MNT | --state DIR]",
	  "tell what works here, and remedies", doctor_cli_options, CLI_MOUNT,
	  NULL, "With MNT it looks at that mount instead." },
	{ "version", command_version, "This host", "",
	  "print the version", NULL, CLI_TEXT, NULL, NULL },
	{ "help", command_help, "This host", "[COMMAND]",
	  "list the commands, or tell of one", NULL, CLI_WORDS, NULL, NULL },
	/* fsd mount starts these, */
	{ .name = NOTIFY_COMMAND, .fn = notify_helper },
	{ .name = JAILER_COMMAND, .fn = jailer_main },
	{ .name = KEEPER_COMMAND, .fn = keeper_main },
	{ .name = HOLDER_SERVES, .fn = command_serve },
	/* fsd run this one, */
	{ .name = PRIVATE_COMMAND, .fn = private_main },
	/* and a shell this one. */
	{ .name = COMPLETE_COMMAND, .fn = command_complete },
	{ 0 },
};

const struct cli_command *cli_verbs(const struct cli_command *command)
{
	return command->fn == command_env     ? env_verbs
	     : command->fn == command_sandbox ? sandbox_verbs
					      : NULL;
}

void cli_option_lines(const struct cli_command *command,
		      void (*fn)(void *arg, const char *line), void *arg)
{
	if (command->fn == command_gateway || command->fn == command_mcp)
		gateway_option_lines(fn, arg);
}
