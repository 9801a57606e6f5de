/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, grouped by the file that has their code, and functions that these files
 * share. */
#ifndef FSD_COMMANDS_H
#define FSD_COMMANDS_H

#include "fsd/base/complain.h"
#include "layout/layout.h"
#include "options.h"
#include "vm/vm.h"

extern const struct cli_command run_command, submit_command, batch_command, ls_command,
	status_command, wait_command, logs_command, kill_command, rm_command,
	sandbox_command, forward_command, spool_command, top_command, mount_command,
	umount_command, upgrade_command, gateway_command, mcp_command, template_command,
	image_command, qemu_command, env_command, doctor_command;

/* The help text of a command that takes jobs explains JOB by this note. */
#define JOB_NOTE \
	"JOB is the path of a job's directory in any mount, or a name in the\n" \
	"mount of --mount, $FSD_MOUNT or /run/fsd/jobs."

int private_main(int argc, char **argv);  /* the process that `fsd run` starts to hold a
					   * private mount */
/* Return: how many machines a private mount for so many jobs can have at a time. 0: no
 * private mount is possible, and standard error has the sentence. */
unsigned private_machines(unsigned jobs);
int command_serve(int argc, char **argv); /* the server process, which the supervisor
					   * starts */

/* Does what fsd template does, for these environments; dir NULL: the usual
 * directories. */
int template_of_environments(const char *dir, char **names, int count);

struct run_client;
/* cmd_run.c: takes the options up to the first operand, which optind is then. c->inputs,
 * c->packages and c->networks have room for argc each. Return: 0 or the exit code, and the
 * reason was said. */
int run_options_take(struct run_client *c, const struct cli_command *self,
		     int argc, char **argv);
/* Handles one of these options; its value is optarg. Return: as run_options_take(). */
int run_option_take(struct run_client *c, const struct cli_command *self, int opt);
/* A row of the tables in run_options.h as an option of a command. */
#define RUN_OPTION_ROW(number, letter, name, arg, kind, key, help, takes, words) \
	{ (letter) ? (letter) : CLI_LONG + (number), name, arg, help, takes, \
	  words },
/* The options of `fsd sandbox new`, which are some of run's. */
extern const struct cli_option sandbox_new_cli_options[];

struct mount_options;
/* Calls mount_options_parse(). Return: 0 or an exit code; standard error has the
 * sentence. */
int mount_options_take(struct mount_options *o, int argc, char **argv);

#endif
