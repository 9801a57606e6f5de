/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the command line of `fsd mount` by the table in options.h. A row names
 * a member of struct mount_options and how its text is parsed, or a function
 * for a special form. Defaults come from environment variables, this host and
 * the program's path. Owns no state; runs before there is a thread.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor.h"
#include "default_dirs.h"
#include "check_dirs.h"

#define CPUS_EACH 4 /* running machines for each processor */
#define MEMORY_EACH_MB 512 /* memory for each machine */
#define NUMBER_MAX 10000
#define UIDS_LOWEST 1000u

/* --- one option ----------------------------------------------------------------------- */

enum kind {
	KIND_TEXT, /* const char *: the text itself */
	KIND_FLAG,   /* bool: true */
	KIND_CHOICE, /* bool: whether it is the second of two words */
	KIND_NUMBER, /* unsigned, from min to NUMBER_MAX */
	KIND_COUNT,  /* uint64_t; 0: no limit */
	KIND_SIZE,   /* uint64_t: bytes that may end in K, M or G */
	KIND_BY, /* parsed by set() */
};

struct row {
	const char *name, *value, *words;
	enum kind kind;
	size_t at;        /* the member's offset */
	unsigned min;
	const char *zero; /* the meaning of a size of 0, for people */
	int (*set)(struct mount_options *o, const char *text, struct err *err);
};

static int set_accel(struct mount_options *o, const char *text, struct err *err)
{
	for (int i = 0; i < VM_ACCEL_MAX; i++) {
		if (!strcmp(vm_accel_names[i], text)) {
			o->vm.accel = (enum vm_accel)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL,
		       "--accel is \"%s\"; it must be auto, kvm or tcg", text);
}

/* Checks the form; the building program parses it again. */
static int set_sources(struct mount_options *o, const char *text,
		       struct err *err)
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
			return err_set(err, -EINVAL,
				       "--build-sources is \"%s\"; it must be "
				       "some of debian, pypi, npm, "
				       "wheelhouse=DIR and npm-dir=DIR, with "
				       "commas between them and whole paths",
				       text);
	}
	return 0;
}

static int set_network(struct mount_options *o, const char *text, struct err *err)
{
	auto_free char *here = NULL;

	free(take_ptr(o->found[FOUND_NETWORK]));
	o->network = text;
	if (text[0] == '/')
		return 0;
	/* the door, which reads it, has another working directory */
	here = getcwd(NULL, 0);
	if (!here || asprintf(&o->found[FOUND_NETWORK], "%s/%s", here, text) < 0) {
		o->found[FOUND_NETWORK] = NULL;
		return err_sys(err, -errno, "--network %s: the working directory", text);
	}
	o->network = o->found[FOUND_NETWORK];
	return 0;
}

static int add_network(struct mount_options *o, const char *text, struct err *err)
{
	struct net_rule rule;
	struct err why = { 0 };

	if (o->network_rule_count == NET_RULES_MAX)
		return err_set(err, -EINVAL, "--network-allow is there more than %d times",
			       NET_RULES_MAX);
	if (net_rule_read(text, strlen(text), &rule, &why) < 0)
		return err_set(err, -EINVAL, "--network-allow is \"%.100s\"; %s", text,
			       why.text);
	o->network_rules[o->network_rule_count++] = text;
	return 0;
}

static int set_uids(struct mount_options *o, const char *text, struct err *err)
{
	const char *dash = strchr(text, '-');
	char first[16] = "";
	uint64_t a, b;

	if (dash && (size_t)(dash - text) < sizeof(first))
		memcpy(first, text, (size_t)(dash - text));
	if (parse_u64(first, UIDS_LOWEST, UINT32_MAX - 1, &a) < 0 ||
	    parse_u64(dash + 1, UIDS_LOWEST, UINT32_MAX - 1, &b) < 0 || b < a)
		return err_set(err, -EINVAL,
			       "--uids is \"%s\"; it must be FIRST-LAST, from "
			       "%u to %u", text, UIDS_LOWEST, UINT32_MAX - 1);
	o->vm.uid_first = (uint32_t)a;
	o->vm.uid_count = (uint32_t)(b - a + 1);
	return 0;
}

static int set_level(struct mount_options *o, const char *text, struct err *err)
{
	int level = log_level_parse(text);

	(void)o;
	if (level < 0)
		return err_set(err, -EINVAL,
			       "--log-level is \"%s\"; it must be error, warn, "
			       "info or debug", text);
	log_set_level((enum log_level)level);
	return 0;
}

static int set_size(uint64_t *to, const char *name, const char *text,
		    const char *zero, struct err *err)
{
	if (quota_parse_size(text, to) == 0)
		return 0;
	return err_set(err, -EINVAL, "--%s is \"%s\"; it must be a number of "
		       "bytes, or one with K, M or G; 0 is %s", name, text, zero);
}

/* Parses --idle-memory. 0 means no idle machine, for which 1 byte serves, because in
 * struct vm_options 0 means the default. */
static int set_idle(struct mount_options *o, const char *text, struct err *err)
{
	int r = set_size(&o->vm.idle_memory, "idle-memory", text,
			 "no idle machine", err);

	o->vm.idle_memory = MAX(o->vm.idle_memory, (uint64_t)1);
	return r;
}

#define YEAR_S 31536000u

/* Parses seconds; 0 means the longest. */
static int set_max_timeout(struct mount_options *o, const char *text,
			   struct err *err)
{
	uint64_t s;

	if (parse_u64(text, 0, YEAR_S, &s) < 0)
		return err_set(err, -EINVAL,
			       "--max-timeout is \"%s\"; it must be a number of "
			       "seconds from 1 to %u, or 0 for the longest",
			       text, YEAR_S);
	o->rooms.limits.timeout_ms = (s ? s : YEAR_S) * 1000;
	return 0;
}

static int set_max_memory(struct mount_options *o, const char *text,
			  struct err *err)
{
	struct vm_allotment ours;
	uint64_t most, mb;

	vm_allotment(&ours);
	most = MAX(ours.memory >> 20, (uint64_t)DEFAULT_MEMORY_MB);

	if (parse_u64(text, 0, most, &mb) < 0 || (mb && mb < DEFAULT_MEMORY_MB))
		return err_set(err, -EINVAL,
			       "--max-memory is \"%s\"; it must be a number of "
			       "MiB from %u, what a job has that asks for none, "
			       "to %llu, what fsd may use, or 0 for all of that",
			       text, DEFAULT_MEMORY_MB, (unsigned long long)most);
	o->rooms.limits.memory_mb = mb ? mb : most;
	return 0;
}

#define MEMBER(kind_, member) \
	.kind = kind_, .at = offsetof(struct mount_options, member)
#define TEXT(member) MEMBER(KIND_TEXT, member)
#define FLAG(member) MEMBER(KIND_FLAG, member)
#define CHOICE(member) MEMBER(KIND_CHOICE, member)
#define NUMBER(member, min_) MEMBER(KIND_NUMBER, member), .min = min_
#define COUNT(member) MEMBER(KIND_COUNT, member)
#define SIZE(member, zero_) MEMBER(KIND_SIZE, member), .zero = zero_
#define BY(fn) .kind = KIND_BY, .set = fn
#define ROW(name_, value_, how, help, takes, words_) \
	{ .name = name_, .value = value_, .words = words_, how },

static const struct row rows[] = { MOUNT_OPTION_TABLE(ROW) };
#define ROWS ARRAY_SIZE(rows)
#define FIRST_ROW 256 /* value of the first row for getopt_long(): no letter */

static int set_choice(bool *to, const struct row *row, const char *text,
		      struct err *err)
{
	int len = (int)strcspn(row->words, " ");
	const char *second = row->words + len + 1;

	*to = !strcmp(text, second);
	if (*to || (!strncmp(text, row->words, (size_t)len) && !text[len]))
		return 0;
	return err_set(err, -EINVAL, "--%s is \"%s\"; it must be %.*s or %s",
		       row->name, text, len, row->words, second);
}

static int set_number(unsigned *to, const struct row *row, const char *text,
		      struct err *err)
{
	uint64_t n;

	if (parse_u64(text, row->min, NUMBER_MAX, &n) < 0)
		return err_set(err, -EINVAL, "--%s is \"%s\"; it must be a "
			       "number from %u to %u", row->name, text, row->min,
			       NUMBER_MAX);
	*to = (unsigned)n;
	return 0;
}

static int set_count(uint64_t *to, const struct row *row, const char *text,
		     struct err *err)
{
	if (parse_u64(text, 0, UINT32_MAX, to) == 0)
		return 0;
	return err_set(err, -EINVAL, "--%s is \"%s\"; it must be a number from "
		       "0 (no limit) to %u", row->name, text, UINT32_MAX);
}

static int apply(struct mount_options *o, const struct row *row,
		 const char *text, struct err *err)
{
	void *to = (char *)o + row->at;

	switch (row->kind) {
	case KIND_TEXT:
		*(const char **)to = text;
		return 0;
	case KIND_FLAG:
		*(bool *)to = true;
		return 0;
	case KIND_CHOICE:
		return set_choice(to, row, text, err);
	case KIND_NUMBER:
		return set_number(to, row, text, err);
	case KIND_COUNT:
		return set_count(to, row, text, err);
	case KIND_SIZE:
		return set_size(to, row->name, text, row->zero, err);
	case KIND_BY:
		return row->set(o, text, err);
	}
	return 0;
}

/* --- the command line ------------------------------------------------------------------ */

/* Calls getopt_long(3) with the command's name that the user knows, for its
 * messages. */
static int next(int argc, char **argv, const struct option *longs)
{
	char *own = argv[0], name[] = "fsd mount";
	int opt;

	argv[0] = name;
	opt = getopt_long(argc, argv, "", longs, NULL);
	argv[0] = own;
	return opt;
}

static int parse(struct mount_options *o, int argc, char **argv,
		 struct err *err)
{
	struct option longs[ROWS + 1] = { 0 };
	int opt, r = 0;

	for (size_t i = 0; i < ROWS; i++)
		longs[i] = (struct option){
			.name = rows[i].name, .val = FIRST_ROW + (int)i,
			.has_arg = rows[i].value ? required_argument
						 : no_argument,
		};
	optind = 1;
	while (r == 0 && (opt = next(argc, argv, longs)) != -1)
		r = opt < FIRST_ROW ? -ENOTSUP
				    : apply(o, &rows[opt - FIRST_ROW], optarg, err);
	if (r == 0 && optind != argc - 1)
		r = err_set(err, -ENOTSUP, "it takes exactly one mount point");
	return r;
}

/*
 * Returns the absolute mount point; makes it if it is missing. A server gets an
 * absolute one from its supervisor, and must not resolve it again: the
 * directory may have been renamed.
 */
static char *mountpoint_of(const char *path, const char *command,
			   struct err *err)
{
	char *full = !strcmp(command, SUPERVISOR_SERVES) ? strdup(path)
						     : absolute_path(path);

	if (full)
		return full;
	if (errno == ENOENT)
		return place_make(path, err);
	err_sys(err, -errno, "the mount point %s", path);
	return NULL;
}

static int no_state(struct err *err)
{
	int error = errno;

	if (error == ENOENT)
		err_set(err, -ENOENT, "uid %u has no home directory for its "
			"state: say where with --state DIR, or set HOME",
			geteuid());
	else
		err_set(err, -ENOENT, "%s", strerror(error));
	return -ENOENT;
}

/* Finds the directories of environments. Without memory there are none. */
static void find_environments(struct mount_options *o)
{
	struct environment_dirs dirs;

	if (environment_dirs_find(o->environments.asked, o->vm.image_dir,
				  &dirs) < 0)
		return;
	for (unsigned i = 0; i < ENVIRONMENT_PLACES; i++)
		o->found[FOUND_ENVIRONMENTS + i] = dirs.own[i];
	o->environments.places = dirs.places;
}

static void set_defaults(struct mount_options *o)
{
	const char *qemu = getenv("FSD_QEMU");
	struct config_limits *limits = &o->rooms.limits;
	struct vm_allotment ours;
	uint64_t memory_mb;

	vm_allotment(&ours);
	memory_mb = ours.memory >> 20;
	if (!o->vm.cache_dir)
		o->vm.cache_dir = o->state_dir;
	if (!o->alone) {
		o->vm.shared[0] = getenv("FSD_TEMPLATES");
		o->vm.shared[1] = SHARED_TEMPLATES;
	}
	if (o->vm.shared[0] && o->vm.shared[0][0] != '/')
		/* a relative path: a server's working directory is "/" */
		o->vm.shared[0] = NULL;
	if (!o->vm.image_dir)
		o->vm.image_dir = o->found[FOUND_IMAGE] = default_image_dir();
	find_environments(o);
	if (!o->vm.qemu.asked && qemu && *qemu)
		o->vm.qemu.asked = qemu;
	o->vm.qemu.brought = o->found[FOUND_QEMU] = brought_qemu();
	if (o->vm.pool == UINT32_MAX)
		o->vm.pool = ours.processors * 2;
	o->sched.cpus = MAX(o->vm.max_machines, CPUS_EACH * ours.processors);
	if (!o->vm.max_machines)
		o->vm.max_machines = MAX(MAX(o->vm.pool, o->sched.cpus),
					 (unsigned)(memory_mb / MEMORY_EACH_MB));
	o->sched.machines = o->vm.max_machines;
	o->vm.no_renewal = o->die_with_parent;
	if (!limits->timeout_ms)
		limits->timeout_ms = DEFAULT_TIMEOUT_MAX_MS;
	if (!limits->memory_mb)
		limits->memory_mb =
			MAX(memory_mb / 2, (uint64_t)DEFAULT_MEMORY_MB);
	limits->cpus = ours.processors;
}

int mount_options_parse(struct mount_options *o, int argc, char **argv,
			struct err *err)
{
	int r;

	*o = (struct mount_options){
		.vm.pool = UINT32_MAX, .argc = argc, .argv = argv,
		.sched.reserve = UINT64_MAX, .sched.queued = DEFAULT_MAX_QUEUED,
	};
	*err = (struct err){ 0 };
	r = parse(o, argc, argv, err);
	if (r < 0)
		return r;
	o->rooms.mountpoint = o->found[FOUND_MOUNTPOINT] =
		mountpoint_of(argv[optind], argv[0], err);
	if (!o->rooms.mountpoint)
		return -ENOENT;
	if (!o->state_dir)
		o->state_dir = o->found[FOUND_STATE] = default_state_dir();
	if (!o->state_dir)
		return no_state(err);
	set_defaults(o);
	o->quota.count_bytes = o->retain.bytes;
	o->rooms.retain = &o->retain;
	return 0;
}

void mount_options_done(struct mount_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->found); i++)
		free(take_ptr(o->found[i]));
}
