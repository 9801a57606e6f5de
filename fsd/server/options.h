/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `fsd mount`: one table for the command line, the help text and the
 * completion (cli/cmd_service.c), and what they set.
 *
 * A new option is a row here and a member below. If a room below the server reads it,
 * the member belongs to a struct of that room.
 */
#ifndef FSD_MOUNT_OPTIONS_H
#define FSD_MOUNT_OPTIONS_H

#include "fsd/fsd.h"
#include "layout/network/rule.h"
#include "vm/environment/environment.h"
#include "fsd/users/quota.h"
#include "fsd/jobs/environments.h"
#include "fsd/jobs/retention.h"
#include "fsd/sched/sched.h"

/*
 * Rows: X(name, value or NULL, how it is set (options.c), help or NULL (not for
 * users), the kind of value for completion, its words). cli/ uses help and
 * completion.
 */
#define MOUNT_OPTION_TABLE(X) \
	X("state", "DIR", TEXT(state_dir), \
	  "durable state (default: /var/lib/fsd for root,\n" \
	  "else $XDG_STATE_HOME/fsd)", CLI_DIR, NULL) \
	X("image", "DIR", TEXT(vm.image_dir), "guest image", CLI_DIR, NULL) \
	X("qemu", "PATH", TEXT(vm.qemu.asked), \
	  "the QEMU that runs the machines (default: the\n" \
	  "one that came with fsd, else the host's)", CLI_FILE, NULL) \
	X("accel", "auto|kvm|tcg", BY(set_accel), \
	  "how machines are run (auto)", CLI_WORDS, "auto kvm tcg") \
	X("environments", "DIR", TEXT(environments.asked), \
	  "environments that jobs may ask for\n" \
	  "(default: environments/ beside the image)", CLI_DIR, NULL) \
	X("default-environment", "NAME", TEXT(environments.name), \
	  "of jobs that ask for none (base)", CLI_ENVIRONMENT, NULL) \
	X("warm-environments", "NAME,...", TEXT(environments.warm), \
	  "make the templates of these before a job\n" \
	  "asks for one", CLI_TEXT, NULL) \
	X("build-packages", "no|yes", CHOICE(build_packages), \
	  "yes: what \"packages\" asks for is built\n" \
	  "if no environment has it (no)", CLI_WORDS, "no yes") \
	X("build-sources", "LIST", BY(set_sources), \
	  "from where: debian, pypi, npm,\n" \
	  "wheelhouse=DIR, npm-dir=DIR (the first three)", CLI_TEXT, NULL) \
	X("pool", "N", NUMBER(vm.pool, 0), \
	  "warm machines to keep (2 a CPU)", CLI_TEXT, NULL) \
	X("idle-memory", "SIZE", BY(set_idle), \
	  "most memory of idle machines and fork sources\n" \
	  "together (a quarter)", CLI_TEXT, NULL) \
	X("max-machines", "N", NUMBER(vm.max_machines, 1), \
	  "most machines at once (1 for each 512 MiB)", CLI_TEXT, NULL) \
	X("fork", "yes|no", CHOICE(vm.no_fork), \
	  "yes: emulated machines are forked off one that\n" \
	  "is hot; no: each is restored by itself", CLI_WORDS, "yes no") \
	X("heat", "full|quick", CHOICE(vm.quick_heat), \
	  "quick: a mount of minutes heats its machines\n" \
	  "less, and rests sooner (full)", CLI_WORDS, "full quick") \
	X("policy", "strict|permissive", CHOICE(vm.permissive), \
	  "strict: no job runs when a wall is missing", CLI_WORDS, \
	  "strict permissive") \
	X("durability", "full|relaxed", CHOICE(relaxed), \
	  "full: what was accepted outlives the host", CLI_WORDS, \
	  "full relaxed") \
	X("network", "FILE", BY(set_network), \
	  "what programs may reach of other hosts: the\n" \
	  "operator's policy (nothing)", CLI_FILE, NULL) \
	X("network-allow", "RULE", BY(add_network), \
	  "the same by rules; repeatable", CLI_TEXT, NULL) \
	X("uids", "FIRST-LAST", BY(set_uids), \
	  "user ids of machines, each has its own", CLI_TEXT, NULL) \
	X("allow-other", NULL, FLAG(rooms.allow_other), \
	  "let other users use the mount", CLI_TEXT, NULL) \
	X("quota-jobs", "N", COUNT(quota.jobs), \
	  "most jobs of each user (no limit)", CLI_TEXT, NULL) \
	X("quota-bytes", "SIZE", SIZE(quota.bytes, "no limit"), \
	  "most bytes of each user; 10K, 20M, 30G", CLI_TEXT, NULL) \
	X("quota-running", "N", COUNT(quota.running), \
	  "most jobs of each user that run at a time;\n" \
	  "the others wait", CLI_TEXT, NULL) \
	X("max-timeout", "SECONDS", BY(set_max_timeout), \
	  "longest timeout that a job may ask for\n" \
	  "(3600; 0: a year)", CLI_TEXT, NULL) \
	X("max-memory", "MB", BY(set_max_memory), \
	  "most memory_mb that a job may ask for (half of\n" \
	  "the host's; 0: all of it)", CLI_TEXT, NULL) \
	X("max-queued", "N", COUNT(sched.queued), \
	  "most jobs that wait (100000; 0: no limit)", CLI_TEXT, NULL) \
	X("quota-queued", "N", COUNT(sched.user_queued), \
	  "most jobs of each user that wait", CLI_TEXT, NULL) \
	X("memory-reserve", "SIZE", SIZE(sched.reserve, "none"), \
	  "memory that machines leave free (a 16th)", CLI_TEXT, NULL) \
	X("retain-seconds", "N", COUNT(retain.seconds), \
	  "remove jobs of each user so long after their\n" \
	  "end (default: keep all),", CLI_TEXT, NULL) \
	X("retain-count", "N", COUNT(retain.count), \
	  "when more than N are finished, the oldest first,", CLI_TEXT, NULL) \
	X("retain-bytes", "SIZE", SIZE(retain.bytes, "no limit"), \
	  "or when they hold more", CLI_TEXT, NULL) \
	X("daemon", NULL, FLAG(daemonize), \
	  "return when the mount answers", CLI_TEXT, NULL) \
	X("log-level", "LEVEL", BY(set_level), \
	  "error, warn, info or debug", CLI_WORDS, "error warn info debug") \
	/* used by fsd run */ \
	X("cache", "DIR", TEXT(vm.cache_dir), NULL, CLI_DIR, NULL) \
	X("private", NULL, FLAG(die_with_parent), NULL, CLI_TEXT, NULL) \
	/* used by env build: machines that run one program with a #! line */ \
	X("plain", NULL, FLAG(vm.plain), NULL, CLI_TEXT, NULL) \
	/* used by fsd template: use no template of other directories */ \
	X("alone", NULL, FLAG(alone), NULL, CLI_TEXT, NULL)

/* Texts that the options own. */
enum found {
	FOUND_STATE, FOUND_IMAGE, FOUND_MOUNTPOINT, FOUND_QEMU, FOUND_NETWORK,
	FOUND_ENVIRONMENTS, FOUND_MAX = FOUND_ENVIRONMENTS + ENVIRONMENT_PLACES,
};

struct mount_options {
	struct fsd_options rooms; /* options that lower rooms read */
	const char *state_dir;
	bool relaxed;             /* --durability relaxed */
	/* options of the machines; each server adds its own values to a copy */
	struct vm_options vm;
	bool alone;               /* use no templates of other users */
	struct sched_limits sched; /* reserve UINT64_MAX: the default share */
	struct quota_limits quota; /* limits of each user */
	struct retain_limits retain; /* limits of each user */
	struct environment_options environments;
	const char *network; /* the absolute path of the policy's file, or NULL */
	const char *network_rules[NET_RULES_MAX]; /* borrowed, in place of the file */
	unsigned network_rule_count;
	bool build_packages; /* --build-packages yes */
	/* --build-sources; NULL: the default registries */
	const char *build_sources;
	bool daemonize;
	bool die_with_parent; /* fsd run's private mount */
	/* Borrowed: the arguments that these options were parsed from; each
	 * server parses them again. */
	char **argv;
	int argc;             /* number of entries in argv */
	/* owned; texts that mount_options_parse() found */
	char *found[FOUND_MAX];
};

/*
 * Parses the arguments of `fsd mount`, and fills in defaults. Makes a missing
 * mount point, except for SUPERVISOR_SERVES. Texts are borrowed from argv. Not
 * thread safe (getopt_long(3)). Return: 0; -EINVAL: a value is wrong; -ENOTSUP:
 * an unknown option, which getopt_long() has reported on standard error, or not
 * exactly one operand; -ENOENT: there is no mount point or no state directory.
 * *err has the sentence, "" if getopt_long() has reported it.
 */
int mount_options_parse(struct mount_options *options, int argc, char **argv,
			struct err *err);
/* Frees what mount_options_parse() found, also after it failed. */
void mount_options_done(struct mount_options *options);

#endif
