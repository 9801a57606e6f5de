/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands. Each gets its own argv (argv[0] is its name) and returns
 * the process's exit code: 0, 1 failure, 2 usage; `run`: the job's. */
#ifndef FSD_COMMANDS_H
#define FSD_COMMANDS_H

#include "fsd/base/complain.h"
#include "fsd/fsd.h"
#include "options.h"

int command_mount(int argc, char **argv);
int command_umount(int argc, char **argv);
int command_run(int argc, char **argv);
int command_image(int argc, char **argv);
int command_qemu(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_upgrade(int argc, char **argv);
int private_main(int argc, char **argv);  /* what `fsd run` starts */
int command_version(int argc, char **argv);
int command_help(int argc, char **argv);
int command_env(int argc, char **argv);
int command_gateway(int argc, char **argv); /* becomes fsd-gateway */
int command_mcp(int argc, char **argv); /* the same, on standard input */
/* fn for each line of the help of both that tells of an option, which fsd-gateway knows
 * alone; for none if that is not installed. */
void gateway_option_lines(void (*fn)(void *arg, const char *line), void *arg);
int command_submit(int argc, char **argv);
int command_top(int argc, char **argv);
int command_template(int argc, char **argv);
/* The same for these environments; dir NULL: the usual places. */
int template_of_environments(const char *dir, char **names, int count);
int command_rm(int argc, char **argv);
int command_sandbox(int argc, char **argv);
int command_ls(int argc, char **argv);
int command_status(int argc, char **argv);
int command_wait(int argc, char **argv);
int command_logs(int argc, char **argv);
int command_kill(int argc, char **argv);
int command_serve(int argc, char **argv); /* what the holder starts */

/* Their options, beside each command's code; upgrade has umount's. */
extern const struct cli_option run_cli_options[], submit_cli_options[],
	ls_cli_options[], top_cli_options[], doctor_cli_options[],
	template_cli_options[],
	status_cli_options[], wait_cli_options[], logs_cli_options[],
	kill_cli_options[], rm_cli_options[], sandbox_new_cli_options[], mount_cli_options[], umount_cli_options[];

/* The commands of `fsd env` and `fsd sandbox`. */
extern const struct cli_command env_verbs[], sandbox_verbs[];

struct run_client;
/* cmd_run.c: takes the options up to the first operand, which optind is then. c->inputs and
 * c->packages have room for argc each. Return: 0 or the exit code, and the reason was said. */
int run_options_take(struct run_client *c, const struct cli_option *table,
		     int argc, char **argv);

/* The usage of one command, on standard error; returns 2. */
int usage(const char *command);

struct mount_options;
/* As mount_options_parse(). Return: 0 or an exit code, and standard error has said
 * why. */
int mount_options_take(struct mount_options *o, int argc, char **argv);

#endif
