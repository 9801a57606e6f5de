/* SPDX-License-Identifier: Apache-2.0 */
/* fsd mount. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fsd/mount/mounts.h"
#include "fsd/server/background.h"
#include "fsd/server/holder.h"
#include "commands.h"
#include "fsd/server/options.h"
#include "fsd/server/paths.h"
#include "fsd/server/places.h"
#include "fsd/server/serve.h"

enum { OPT_STATE = CLI_LONG, OPT_IMAGE, OPT_ACCEL, OPT_POOL, OPT_MAX, OPT_POLICY,
       OPT_OTHER, OPT_DAEMON, OPT_LEVEL, OPT_QUOTA_JOBS, OPT_QUOTA_BYTES,
       OPT_QUOTA_RUNNING, OPT_RETAIN_SECONDS, OPT_RETAIN_COUNT,
       OPT_RETAIN_BYTES, OPT_UIDS, OPT_DURABILITY, OPT_CACHE, OPT_PRIVATE,
       OPT_PLAIN,
       OPT_MAX_QUEUED, OPT_QUOTA_QUEUED, OPT_RESERVE, OPT_FORK, OPT_HEAT, OPT_QEMU,
       OPT_ALONE, OPT_ENVIRONMENTS, OPT_ENVIRONMENT, OPT_IDLE, OPT_WARM,
       OPT_BUILD, OPT_SOURCES };

#define UIDS_LOWEST 1000u

const struct cli_option mount_cli_options[] = {
	{ OPT_STATE, "state", "DIR", "durable state (default: /var/lib/fsd for "
	  "root,\nelse $XDG_STATE_HOME/fsd)", CLI_DIR, NULL },
	{ OPT_IMAGE, "image", "DIR", "guest image", CLI_DIR, NULL },
	{ OPT_QEMU, "qemu", "PATH", "the QEMU that runs the machines (default: "
	  "the\none that came with fsd, else the host's)", CLI_FILE, NULL },
	{ OPT_ACCEL, "accel", "auto|kvm|tcg", "how machines are run (auto)",
	  CLI_WORDS, "auto kvm tcg" },
	{ OPT_ENVIRONMENTS, "environments", "DIR", "environments that jobs may "
	  "ask for\n(default: environments/ beside the image)", CLI_DIR, NULL },
	{ OPT_ENVIRONMENT, "default-environment", "NAME", "of jobs that ask for "
	  "none (base)", CLI_ENVIRONMENT, NULL },
	{ OPT_WARM, "warm-environments", "NAME,...", "make the templates of "
	  "these before a job\nasks for one", CLI_TEXT, NULL },
	{ OPT_BUILD, "build-packages", "no|yes", "yes: what \"packages\" asks for "
	  "is built\nif no environment has it (no)", CLI_WORDS, "no yes" },
	{ OPT_SOURCES, "build-sources", "LIST", "from where: debian, pypi, npm,"
	  "\nwheelhouse=DIR, npm-dir=DIR (the first three)", CLI_TEXT, NULL },
	{ OPT_POOL, "pool", "N", "warm machines to keep (2 a CPU)", CLI_TEXT,
	  NULL },
	{ OPT_IDLE, "idle-memory", "SIZE", "most memory of idle machines and "
	  "zygotes\ntogether (a quarter)", CLI_TEXT, NULL },
	{ OPT_MAX, "max-machines", "N", "most machines at once (1 for each 512 MiB)",
	  CLI_TEXT, NULL },
	{ OPT_FORK, "fork", "yes|no", "yes: emulated machines are forked off "
	  "one that\nis hot; no: each is restored by itself", CLI_WORDS,
	  "yes no" },
	{ OPT_HEAT, "heat", "full|quick", "quick: a mount of minutes heats its "
	  "machines\nless, and rests sooner (full)", CLI_WORDS, "full quick" },
	{ OPT_POLICY, "policy", "strict|permissive",
	  "strict: no job runs when a wall is missing", CLI_WORDS,
	  "strict permissive" },
	{ OPT_DURABILITY, "durability", "full|relaxed",
	  "full: what was accepted outlives the host", CLI_WORDS,
	  "full relaxed" },
	{ OPT_UIDS, "uids", "FIRST-LAST", "user ids of machines, each has its "
	  "own", CLI_TEXT, NULL },
	{ OPT_OTHER, "allow-other", NULL, "let other users use the mount",
	  CLI_TEXT, NULL },
	{ OPT_QUOTA_JOBS, "quota-jobs", "N", "most jobs of each user (no "
	  "limit)", CLI_TEXT, NULL },
	{ OPT_QUOTA_BYTES, "quota-bytes", "SIZE", "most bytes of each user; "
	  "10K, 20M, 30G", CLI_TEXT, NULL },
	{ OPT_QUOTA_RUNNING, "quota-running", "N", "most jobs of each user "
	  "that run at a time;\nthe others wait", CLI_TEXT, NULL },
	{ OPT_MAX_QUEUED, "max-queued", "N", "most jobs that wait (100000; 0: "
	  "no limit)", CLI_TEXT, NULL },
	{ OPT_QUOTA_QUEUED, "quota-queued", "N", "most jobs of each user that "
	  "wait", CLI_TEXT, NULL },
	{ OPT_RESERVE, "memory-reserve", "SIZE", "memory that machines leave "
	  "free (a 16th)", CLI_TEXT, NULL },
	{ OPT_RETAIN_SECONDS, "retain-seconds", "N", "remove jobs of each user "
	  "so long after their\nend (default: keep all),", CLI_TEXT, NULL },
	{ OPT_RETAIN_COUNT, "retain-count", "N", "when more than N are "
	  "finished, the oldest first,", CLI_TEXT, NULL },
	{ OPT_RETAIN_BYTES, "retain-bytes", "SIZE", "or when they hold more",
	  CLI_TEXT, NULL },
	{ OPT_DAEMON, "daemon", NULL, "return when the mount answers", CLI_TEXT,
	  NULL },
	{ OPT_LEVEL, "log-level", "LEVEL", "error, warn, info or debug",
	  CLI_WORDS, "error warn info debug" },
	/* fsd run's */
	{ OPT_CACHE, "cache", "DIR", NULL, CLI_DIR, NULL },
	{ OPT_PRIVATE, "private", NULL, NULL, CLI_TEXT, NULL },
	/* env build's: what is made for one program that brings its #! */
	{ OPT_PLAIN, "plain", NULL, NULL, CLI_TEXT, NULL },
	/* fsd template's: no template of others */
	{ OPT_ALONE, "alone", NULL, NULL, CLI_TEXT, NULL },
	{ 0 },
};

static int set_accel(struct mount_options *o, const char *text)
{
	for (int i = 0; i < VM_ACCEL_MAX; i++) {
		if (!strcmp(vm_accel_names[i], text)) {
			o->vm.accel = (enum vm_accel)i;
			return 0;
		}
	}
	return complain("mount", 2,
			"--accel is \"%s\"; it must be auto, kvm or tcg", text);
}

static int set_number(unsigned *ret, const char *name, const char *text,
		      unsigned min)
{
	uint64_t n;

	if (parse_u64(text, min, 10000, &n) < 0)
		return complain("mount", 2,
				"%s is \"%s\"; it must be a number from %u to "
				"10000",
				name, text, min);
	*ret = (unsigned)n;
	return 0;
}

static int set_quota(uint64_t *ret, const char *name, const char *text)
{
	if (parse_u64(text, 0, UINT32_MAX, ret) < 0)
		return complain("mount", 2,
				"%s is \"%s\"; it must be a number from 0 (no "
				"limit) to %u",
				name, text, UINT32_MAX);
	return 0;
}

static int set_size(uint64_t *ret, const char *name, const char *text,
		    const char *zero)
{
	if (quota_parse_size(text, ret) < 0)
		return complain("mount", 2,
				"%s is \"%s\"; it must be a number of bytes, "
				"or one with K, M or G; 0 is %s",
				name, text, zero);
	return 0;
}

/* 0 stands for the default elsewhere: here it is nothing, as a byte is. */
static int set_idle(struct mount_options *o, const char *text)
{
	int r = set_size(&o->vm.idle_memory, "--idle-memory", text,
			 "no idle machine");

	o->vm.idle_memory = MAX(o->vm.idle_memory, (uint64_t)1);
	return r;
}

/* *ret: is it the first of the two words? */
static int set_choice(bool *ret, const char *name, const char *text,
		      const char *yes, const char *no)
{
	*ret = !strcmp(text, yes);
	if (!*ret && strcmp(text, no) != 0)
		return complain("mount", 2, "%s is \"%s\"; it must be %s or %s",
				name, text, no, yes);
	return 0;
}

/* The program that builds reads them again. */
static int set_sources(struct mount_options *o, const char *text)
{
	static const char *const words[] = { "debian", "pypi", "npm",
					     "wheelhouse=/", "npm-dir=/" };

	o->build_sources = text;
	for (const char *at = text; at; at = strchr(at, ',')) {
		bool known = false;

		at += *at == ',';
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			size_t len = strlen(words[i]);

			known |= !strncmp(at, words[i], len) &&
				 (words[i][len - 1] == '/' || !at[len] ||
				  at[len] == ',');
		}
		if (!known)
			return complain("mount", 2, "--build-sources is \"%s\"; "
					"it must be some of debian, pypi, npm, "
					"wheelhouse=DIR and npm-dir=DIR, with "
					"commas between them and whole paths",
					text);
	}
	return 0;
}

static int set_uids(struct mount_options *o, const char *text)
{
	const char *dash = strchr(text, '-');
	char first[16] = "";
	uint64_t a, b;

	if (dash && (size_t)(dash - text) < sizeof(first))
		memcpy(first, text, (size_t)(dash - text));
	if (parse_u64(first, UIDS_LOWEST, UINT32_MAX - 1, &a) < 0 ||
	    parse_u64(dash + 1, UIDS_LOWEST, UINT32_MAX - 1, &b) < 0 || b < a)
		return complain("mount", 2,
				"--uids is \"%s\"; it must be FIRST-LAST, from "
				"%u to %u", text, UIDS_LOWEST, UINT32_MAX - 1);
	o->vm.uid_first = (uint32_t)a;
	o->vm.uid_count = (uint32_t)(b - a + 1);
	return 0;
}

static int set_level(const char *text)
{
	int level = log_level_parse(text);

	if (level < 0)
		return complain("mount", 2,
				"--log-level is \"%s\"; it must be error, warn, "
				"info or debug",
				text);
	log_set_level((enum log_level)level);
	return 0;
}

/* Options that are taken as they stand. */
static const char **text_of(struct mount_options *o, int opt)
{
	const struct {
		int opt;
		const char **text;
	} texts[] = {
		{ OPT_STATE, &o->state_dir },
		{ OPT_IMAGE, &o->vm.image_dir },
		{ OPT_QEMU, &o->vm.qemu.asked },
		{ OPT_ENVIRONMENTS, &o->environments_dir },
		{ OPT_ENVIRONMENT, &o->rooms.environment },
		{ OPT_WARM, &o->rooms.warm },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].opt == opt)
			return texts[i].text;
	return NULL;
}

/* Return: 0 or the exit code. */
static int one_option(struct mount_options *o, int opt)
{
	const char **text = text_of(o, opt);

	if (text) {
		*text = optarg;
		return 0;
	}
	switch (opt) {
	case OPT_ACCEL:
		return set_accel(o, optarg);
	case OPT_BUILD:
		return set_choice(&o->build_packages, "--build-packages",
				  optarg, "yes", "no");
	case OPT_SOURCES:
		return set_sources(o, optarg);
	case OPT_POOL:
		return set_number(&o->vm.pool, "--pool", optarg, 0);
	case OPT_IDLE:
		return set_idle(o, optarg);
	case OPT_MAX:
		return set_number(&o->vm.max_machines, "--max-machines", optarg,
				  1);
	case OPT_POLICY:
		return set_choice(&o->vm.permissive, "--policy", optarg,
				  "permissive", "strict");
	case OPT_FORK:
		return set_choice(&o->vm.no_fork, "--fork", optarg, "no", "yes");
	case OPT_HEAT:
		return set_choice(&o->vm.quick_heat, "--heat", optarg, "quick",
				  "full");
	case OPT_DURABILITY:
		return set_choice(&o->relaxed, "--durability", optarg,
				  "relaxed", "full");
	case OPT_UIDS:
		return set_uids(o, optarg);
	case OPT_OTHER:
		o->rooms.allow_other = true;
		return 0;
	case OPT_DAEMON:
		o->daemonize = true;
		return 0;
	case OPT_LEVEL:
		return set_level(optarg);
	case OPT_CACHE:
		o->vm.cache_dir = optarg;
		return 0;
	case OPT_ALONE:
		o->alone = true;
		return 0;
	case OPT_PRIVATE:
		o->die_with_parent = true;
		return 0;
	case OPT_PLAIN:
		o->vm.plain = true;
		return 0;
	case OPT_QUOTA_JOBS:
		return set_quota(&o->quota.jobs, "--quota-jobs", optarg);
	case OPT_QUOTA_BYTES:
		return set_size(&o->quota.bytes, "--quota-bytes", optarg,
				"no limit");
	case OPT_QUOTA_RUNNING:
		return set_quota(&o->quota.running, "--quota-running", optarg);
	case OPT_QUOTA_QUEUED:
		return set_quota(&o->sched.user_queued, "--quota-queued", optarg);
	case OPT_MAX_QUEUED:
		return set_quota(&o->sched.queued, "--max-queued", optarg);
	case OPT_RESERVE:
		return set_size(&o->sched.reserve, "--memory-reserve", optarg,
				"none");
	case OPT_RETAIN_SECONDS:
		return set_quota(&o->retain.seconds, "--retain-seconds",
				 optarg);
	case OPT_RETAIN_COUNT:
		return set_quota(&o->retain.count, "--retain-count", optarg);
	case OPT_RETAIN_BYTES:
		return set_size(&o->retain.bytes, "--retain-bytes", optarg,
				"no limit");
	default:
		return usage("mount");
	}
}

static int parse(int argc, char **argv, struct mount_options *o)
{
	struct cli_getopt g;
	int opt, r = 0;

	cli_getopt(mount_cli_options, false, &g);
	optind = 1;
	while (r == 0 && (opt = cli_next("mount", argc, argv, &g)) != -1)
		r = one_option(o, opt);
	if (r == 0 && optind != argc - 1)
		r = complain("mount", usage("mount"),
			     "it takes exactly one mount point");
	return r;
}

/* Absolute. A server gets it so from its holder, and the directory may have
 * another name by then. One that is missing is made. */
static char *mountpoint_of(const char *path, const char *command,
			   struct err *err)
{
	char *full;

	if (!strcmp(command, HOLDER_SERVES))
		return strdup(path);
	full = absolute_path(path);
	if (!full && errno == ENOENT)
		full = place_make(path, err);
	else if (!full)
		err_sys(err, -errno, "the mount point %s", path);
	return full;
}

static int no_state(void)
{
	if (errno == ENOENT)
		return complain("mount", 1, "uid %u has no home directory for "
				"its state: say where with --state DIR, or "
				"set HOME", geteuid());
	return complain("mount", 1, "%s", strerror(errno));
}

int mount_options_parse(struct mount_options *o, int argc, char **argv)
{
	struct err err = { .text = "out of memory" };
	int r;

	*o = (struct mount_options){
		.vm.pool = UINT32_MAX, .argc = argc, .argv = argv,
		.sched.reserve = UINT64_MAX, .sched.queued = DEFAULT_MAX_QUEUED,
	};
	r = parse(argc, argv, o);
	if (r)
		return r;
	o->rooms.mountpoint = o->found[2] =
		mountpoint_of(argv[optind], argv[0], &err);
	if (!o->rooms.mountpoint)
		return complain("mount", 1, "%s", err.text);
	mount_options_defaults(o);
	if (!o->state_dir)
		return no_state();
	o->quota.count_bytes = o->retain.bytes;
	o->rooms.retain = &o->retain;
	return 0;
}

/* Later it may go, and a server that takes over does not end for that. */
static int check_environment(const struct mount_options *o)
{
	struct environment *e = NULL;
	struct err err = { 0 };
	int r = 0;

	if (o->rooms.environment)
		r = environment_open(&o->rooms.environments,
				     o->rooms.environment, &e, &err);
	environment_unref(e);
	return r < 0 ? complain("mount", 2, "--default-environment: %s",
				err.text) : 0;
}

int command_mount(int argc, char **argv)
{
	struct mount_options o = { 0 };
	struct err err = { 0 };
	uid_t owner;
	int r = mount_options_parse(&o, argc, argv);

	if (r == 0 && places_check(&o, &err) < 0)
		r = complain("mount", 1, "%s", err.text);
	if (r == 0)
		r = check_environment(&o);
	/* hold() refuses a mount of fsd, which hides nothing. */
	if (r == 0 && !mounts_is_fsd_at(o.rooms.mountpoint, &owner) &&
	    place_hides(o.rooms.mountpoint, &err))
		complain("mount", 0, "%s", err.text);
	if (r == 0)
		r = o.daemonize ? hold_in_background(&o) : hold(&o, NULL);
	mount_options_done(&o);
	return r;
}

int command_serve(int argc, char **argv)
{
	struct mount_options o = { 0 };
	int r = mount_options_parse(&o, argc, argv);

	if (r == 0)
		r = serve(&o);
	mount_options_done(&o);
	return r;
}
