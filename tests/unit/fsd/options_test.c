/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of fsd mount: what each form of value sets, and the sentence for a
 * value that is wrong. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fsd/server/supervisor.h"
#include "fsd/server/options.h"
#include "tests/unit/tap.h"

#define WORDS_MAX 20

static struct mount_options o;
static struct err err;

/* Parses "WORD... /mnt", as a server does: it takes the mount point as it is. */
static int parse(const char *const *words)
{
	static char copy[WORDS_MAX][200];
	static char *argv[WORDS_MAX + 3];
	int argc = 0;

	mount_options_done(&o);
	argv[argc++] = (char[]){ SUPERVISOR_SERVES };
	for (int i = 0; words[i]; i++) {
		snprintf(copy[i], sizeof(copy[i]), "%s", words[i]);
		argv[argc++] = copy[i];
	}
	argv[argc] = NULL;
	return mount_options_parse(&o, argc, argv, &err);
}

#define PARSE(...) parse((const char *const[]){ __VA_ARGS__, NULL })

static void test_values(void)
{
	is_int(PARSE("--state", "/s", "--image=/i", "--allow-other", "--policy",
		     "permissive", "--fork", "no", "--pool", "3",
		     "--quota-jobs", "7", "/mnt"),
	       0, "each form of value is taken");
	is_str(o.state_dir, "/s", "a text stays as it is");
	is_str(o.vm.image_dir, "/i", "also behind a =");
	is_str(o.rooms.mountpoint, "/mnt", "the operand is the mount point");
	ok(o.rooms.allow_other, "a flag is set");
	ok(!o.daemonize, "a flag that is not given is not");
	ok(o.vm.permissive, "--policy permissive is the second word");
	ok(o.vm.no_fork, "--fork no is the second word");
	is_int(o.vm.pool, 3, "a number is read");
	is_int((long long)o.quota.jobs, 7, "a count is read");
	is_int(PARSE("--policy", "strict", "--quota-bytes", "2K",
		     "--idle-memory", "0", "--uids", "2000-2009", "--state",
		     "/s", "/mnt"),
	       0, "the first word of a choice is taken");
	ok(!o.vm.permissive, "--policy strict is the first word");
	is_int((long long)o.quota.bytes, 2048, "a size may end in K");
	is_int((long long)o.vm.idle_memory, 1,
	       "--idle-memory 0 is not the default");
	ok(o.vm.uid_first == 2000 && o.vm.uid_count == 10,
	   "--uids is a range with both ends");
}

static void test_defaults(void)
{
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

	is_int(PARSE("--state", "/s", "/mnt"), 0, "no option is needed");
	is_int(o.vm.pool, 2 * cpus, "there are two warm machines a CPU");
	is_str(o.vm.cache_dir, "/s", "templates are in the state directory");
	is_int((long long)o.sched.queued, DEFAULT_MAX_QUEUED,
	       "the queue has a limit");
	ok(o.sched.machines == o.vm.max_machines && o.sched.machines,
	   "the scheduler has as many machines as the pool");
	ok(o.rooms.retain == &o.retain && !o.retain.seconds,
	   "results stay");
	ok(o.rooms.limits.timeout_ms == 3600000 && o.rooms.limits.memory_mb >= 256,
	   "a job may ask for an hour, and for some memory");
	is_int(PARSE("--max-timeout", "7200", "--max-memory", "300", "--state",
		     "/s", "/mnt"), 0, "the operator's limits are taken");
	ok(o.rooms.limits.timeout_ms == 7200000 &&
	   o.rooms.limits.memory_mb == 300, "and count");
	is_int(PARSE("--max-timeout", "0", "--max-memory", "0", "--state", "/s",
		     "/mnt"), 0, "0 is taken");
	ok(o.rooms.limits.timeout_ms == 31536000000 &&
	   o.rooms.limits.memory_mb > 300, "and is the most");
	is_int(PARSE("--max-timeout", "31536001", "--state", "/s", "/mnt"),
	       -EINVAL, "more than a year is refused");
	is_int(PARSE("--max-memory", "255", "--state", "/s", "/mnt"), -EINVAL,
	       "less memory than the default is refused");
	is_int(PARSE("--max-machines", "1", "--state", "/s", "/mnt"), 0,
	       "--max-machines is taken");
	is_int(o.sched.machines, 1, "the scheduler has no more than that");
}

static void test_wrong(void)
{
	static const struct {
		const char *name, *value, *sentence;
	} wrong[] = {
		{ "--accel", "xen",
		  "--accel is \"xen\"; it must be auto, kvm or tcg" },
		{ "--policy", "lax",
		  "--policy is \"lax\"; it must be strict or permissive" },
		{ "--policy", "strict permissive",
		  "--policy is \"strict permissive\"; it must be strict or "
		  "permissive" },
		{ "--fork", "", "--fork is \"\"; it must be yes or no" },
		{ "--pool", "10001",
		  "--pool is \"10001\"; it must be a number from 0 to 10000" },
		{ "--max-machines", "0",
		  "--max-machines is \"0\"; it must be a number from 1 to "
		  "10000" },
		{ "--quota-running", "-1",
		  "--quota-running is \"-1\"; it must be a number from 0 (no "
		  "limit) to 4294967295" },
		{ "--memory-reserve", "1T",
		  "--memory-reserve is \"1T\"; it must be a number of bytes, or "
		  "one with K, M or G; 0 is none" },
		{ "--uids", "999-2000",
		  "--uids is \"999-2000\"; it must be FIRST-LAST, from 1000 to "
		  "4294967294" },
		{ "--build-sources", "pypi,cpan",
		  "--build-sources is \"pypi,cpan\"; it must be some of debian, "
		  "pypi, npm, wheelhouse=DIR and npm-dir=DIR, with commas "
		  "between them and whole paths" },
		{ "--log-level", "loud",
		  "--log-level is \"loud\"; it must be error, warn, info or "
		  "debug" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		is_int(PARSE(wrong[i].name, wrong[i].value, "/mnt"), -EINVAL,
		       "%s \"%s\" is refused", wrong[i].name, wrong[i].value);
		is_str(err.text, wrong[i].sentence, "%s has its sentence",
		       wrong[i].name);
	}
}

static void test_command_line(void)
{
	is_int(PARSE("--nonsense", "/mnt"), -ENOTSUP,
	       "there is no other option");
	is_str(err.text, "", "of which getopt_long() has complained");
	is_int(PARSE("--state"), -ENOTSUP, "an option needs its value");
	is_int(PARSE("--daemon=yes", "/mnt"), -ENOTSUP,
	       "a flag takes no value");
	is_int(PARSE("--daemon"), -ENOTSUP, "the mount point is needed");
	is_str(err.text, "it takes exactly one mount point",
	       "which has its sentence");
	is_int(PARSE("/a", "/b"), -ENOTSUP, "two of them are too many");
	is_int(PARSE("/mnt", "--daemon", "--state", "/s"), 0,
	       "options may be behind the operand");
	ok(o.daemonize, "and count there");
}

int main(void)
{
	unsetenv("FSD_QEMU");
	unsetenv("FSD_TEMPLATES");
	test_values();
	test_defaults();
	test_wrong();
	test_command_line();
	mount_options_done(&o);
	return done_testing();
}
