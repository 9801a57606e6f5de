/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: every key, its bounds, and the sentence of every refusal. */
#include "layout/config.h"

#include <errno.h>
#include <stdlib.h>

#include "layout/config_merge.h"
#include "layout/env.h"
#include "layout/limits.h"
#include "tests/unit/tap.h"

static const struct config_limits limits = {
	.timeout_ms = DEFAULT_TIMEOUT_MAX_MS,
	.memory_mb = 4096,
	.cpus = 4,
};

static int parse_len(const char *text, size_t len, struct job_config *c,
		     struct err *e)
{
	*e = (struct err){ .code = 0 };
	return config_parse(text, len, &limits, c, e);
}

static bool good(const char *text, struct job_config *c)
{
	struct err e;
	int r = parse_len(text, strlen(text), c, &e);

	if (!is_int(r, 0, "%.60s is taken", text)) {
		printf("#  says %s\n", e.text);
		*c = (struct job_config){ 0 };
		return false;
	}
	return true;
}

static void bad_len(const char *text, size_t len, int code, const char *want)
{
	struct job_config c;
	struct err e;

	is_int(parse_len(text, len, &c, &e), code, "%.60s is refused", text);
	is_int(e.code, code, "and the error has the same code");
	is_str(e.text, want, "and says why");
}

static void bad(const char *text, const char *want)
{
	bad_len(text, strlen(text), -EINVAL, want);
}

static void early(const char *text)
{
	struct job_config c;
	struct err e;

	is_int(parse_len(text, strlen(text), &c, &e), -ENODATA,
	       "%.60s merely ends too early", text);
	ok(!strncmp(e.text, "config.json: ", 13), "and says so");
}

static void test_defaults(void)
{
	struct job_config c;

	if (!good(" {} \n", &c))
		return;
	ok(!c.lang && !c.manual && !c.input_json && !c.stdin_text,
	   "nothing is set that was not asked for");
	ok(!c.args.count && !c.env.count && !c.inputs.count &&
	   !c.command.count, "the lists are empty");
	is_int((long long)c.timeout_ms, 30000, "timeout 30 s");
	is_int((long long)c.grace_ms, 0, "grace 0");
	is_int((long long)c.linger_ms, 1000, "linger 1 s");
	is_int((long long)c.memory_mb, 256, "256 MiB");
	is_int((long long)c.cpus, 1, "one cpu");
	is_int((long long)c.processes, 256, "256 processes");
	is_int((long long)c.stdout_limit, 64 << 20, "stdout 64 MiB");
	is_int((long long)c.stderr_limit, 16 << 20, "stderr 16 MiB");
	is_int((long long)c.output_limit, 256 << 20, "output 256 MiB");
	is_int(c.mode, MODE_SCRIPT, "script");
	is_str(c.call, "main", "call main");
	config_done(&c);
	config_done(&c);
	ok(true, "a released config can be released again");
}

static void test_operator(void)
{
	static const struct config_limits small = { 5000, 64, 1 };
	struct job_config c;
	struct err e;

	is_int(config_parse("{}", 2, &small, &c, &e), 0,
	       "a default is never over the operator's maximum");
	is_int((long long)c.timeout_ms, 5000, "timeout follows it");
	is_int((long long)c.memory_mb, 64, "memory follows it");
	config_done(&c);
	is_int(config_parse("{\"timeout\": 6}", 14, &small, &c, &e), -EINVAL,
	       "the operator's maximum holds");
	is_str(e.text, "config.json: \"timeout\" is 6; it must be a number of "
	       "seconds from 0.1 to 5", "and the sentence has it");
	is_int(config_parse("[]", 2, &small, &c, NULL), -EINVAL,
	       "nobody needs to listen to the sentence");
}

static void is_packages(const char *text, const char *want)
{
	struct buf options = { 0 };
	struct job_config c;

	if (!good(text, &c))
		return;
	for (size_t i = 0; i < c.packages.count; i++)
		package_print_option(&c.packages.item[i], &options);
	is_str(options.len ? options.data : "", want, "and sorted");
	buf_done(&options);
	config_done(&c);
}

static void bad_package(const char *item, const char *why)
{
	char text[256], want[256];

	snprintf(text, sizeof(text), "{\"packages\": [\"%s\"]}", item);
	snprintf(want, sizeof(want), "config.json: \"packages\" has \"%s\"; "
		 "%s", item, why);
	bad(text, want);
}

#define PYPI_NAME "a name has letters, digits, \".\", \"-\" and \"_\" only"
#define PYPI_VERSION "it must name one version, as pandas==2.2.3"
#define NPM_NAME "a name of npm has letters, digits, \".\", \"-\" and \"_\" " \
		 "only, behind @SCOPE/ if it has a scope"
#define NPM_VERSION "it must name one version, as npm:lodash@4.17.21"
#define DEB_NAME "a name of Debian has small letters, digits, \".\", \"-\" " \
		 "and \"+\" only"
#define DEB_VERSION "it must name one version, as deb:jq=1.7.1-6"

static void test_packages(void)
{
	static const char *const bad_ones[][2] = {
		{ "pandas", PYPI_VERSION },
		{ "", PYPI_VERSION },
		{ "pandas>=2", PYPI_VERSION },
		{ "pandas==2.*", PYPI_VERSION },
		{ "pandas==", PYPI_VERSION },
		{ "pandas===2", PYPI_VERSION },
		{ "lodash@4.17.21", PYPI_VERSION },
		{ "../x==1", PYPI_NAME },
		{ "-e==1", PYPI_NAME },
		{ "git+https://x/y==1", PYPI_NAME },
		{ "pandas[all]==1", PYPI_NAME },
		{ "a b==1", PYPI_NAME },
		{ "npm:lodash", NPM_VERSION },
		{ "npm:@babel/core", NPM_VERSION },
		{ "npm:lodash@latest", NPM_VERSION },
		{ "npm:lodash@^4", NPM_VERSION },
		{ "npm:a/b@1", NPM_NAME },
		{ "npm:@a/../b@1", NPM_NAME },
		{ "npm:-g@1", NPM_NAME },
		{ "deb:jq", DEB_VERSION },
		{ "deb:jq=$(id)", DEB_VERSION },
		{ "deb:JQ=1", DEB_NAME },
		{ "deb:-o=1", DEB_NAME },
	};

	is_packages("{\"packages\": []}", "");
	is_packages("{\"packages\": [\"npm:lodash@4.17.21\", "
		    "\"Typing_.Extensions==4.12.2RC1\", \"pypi:a==1!2\", "
		    "\"deb:jq=1:1.7~rc1-6+b1\", \"npm:@babel/core@7.26.0\"]}",
		    " --pypi 'a==1!2' --pypi typing-extensions==4.12.2rc1 "
		    "--npm @babel/core@7.26.0 --npm lodash@4.17.21 "
		    "--debian 'jq=1:1.7~rc1-6+b1'");
	is_packages("{\"packages\": [\"npm:a@1.0\", \"a==1.0\"]}",
		    " --pypi a==1.0 --npm a@1.0");
	for (size_t i = 0; i < sizeof(bad_ones) / sizeof(bad_ones[0]); i++)
		bad_package(bad_ones[i][0], bad_ones[i][1]);
	bad("{\"packages\": \"pandas==1\"}", "config.json: \"packages\" is "
	    "\"pandas==1\"; it must be a list of packages, as "
	    "[\"pandas==2.2.3\"]");
	bad("{\"packages\": [1]}", "config.json: \"packages\" has 1; it must "
	    "be a text, as \"pandas==2.2.3\"");
	bad("{\"packages\": [\"a-b==1.0\", \"A_b==1.0.0\"]}", "config.json: "
	    "\"packages\" has a-b 1.0.0 twice; name it once");
	bad("{\"packages\": [\"a==1.0\", \"A==2.0\"]}", "config.json: "
	    "\"packages\" has a 1.0 and 2.0; it must have one version of a "
	    "package");
}

static void is_debian(const char *name, const char *version, const char *want)
{
	struct package p, other;
	struct buf text = { 0 };

	if (package_of_lock("debian", name, version, &p) &&
	    package_of_debian(&p, &other))
		package_print_option(&other, &text);
	is_str(text.len ? text.data : "", want, "%s %s elsewhere", name,
	       version);
	buf_done(&text);
}

static void test_debian(void)
{
	is_debian("python3-pandas", "2.2.3+dfsg-9", " --pypi pandas==2.2.3");
	is_debian("python3-numpy", "1:2.2.4+ds-1", " --pypi numpy==2.2.4");
	is_debian("node-lodash", "4.17.21+dfsg+~cs8.31-9",
		  " --npm lodash@4.17.21");
	is_debian("python3-x", "2+really1-1", " --pypi x==2+really1");
	is_debian("jq", "1.7.1-6", "");
}

static void test_environment(void)
{
	struct job_config c;

	if (good("{}", &c)) {
		ok(!c.environment && !c.fresh && !c.memory_given,
		   "no environment, a warm interpreter, a default of memory");
		config_done(&c);
	}
	if (good("{\"environment\": \"data@0123456789ab\", \"warm\": false, "
		 "\"memory_mb\": 64}", &c)) {
		is_str(c.environment, "data@0123456789ab",
		       "an environment is kept as it was written");
		ok(c.fresh && c.memory_given, "and so are the others");
		config_done(&c);
	}
	bad("{\"environment\": \"data@0f3e\"}", "config.json: \"environment\" "
	    "is \"data@0f3e\"; it must have 12 to 64 digits of the id behind "
	    "the @");
	bad("{\"environment\": 3}", "config.json: \"environment\" is 3; it must "
	    "be a name of fsd env list");
	bad("{\"environment\": \"a\\u0000\"}", "config.json: \"environment\" is "
	    "\"a\\u0000\"; it must be a name of fsd env list");
	bad("{\"warm\": 1}", "config.json: \"warm\" is 1; it must be true or "
	    "false");
}

static void test_values(void)
{
	struct job_config c;

	if (good("{\"language\": \"bash\", \"args\": [\"a\", \"\", \"\xe6\x97\xa5\"],"
		 "\"env\": {\"A\": \"1\", \"_b2\": \"x\\ty\", \"HOME\": \"/x\"},"
		 "\"stdin\": \"a\\u0000b\", \"timeout\": 0.1, \"grace\": 60,"
		 "\"memory_mb\": 32, \"cpus\": 4, \"processes\": 4096,"
		 "\"stdout_limit\": 0, \"stderr_limit\": 4294967296,"
		 "\"output_limit\": 1, \"inputs\": [\"data.csv\", \"a/b\"],"
		 "\"start\": \"manual\"}", &c)) {
		is_str(c.lang->name, "bash", "language");
		is_int((long long)c.args.count, 3, "three args");
		is_str(c.args.item[2], "\xe6\x97\xa5", "the third one");
		ok(!c.args.item[3], "and NULL behind them");
		is_str(c.env.item[1], "_b2=x\ty", "a TAB in a value");
		is_str(c.env.item[2], "HOME=/x", "HOME may be set");
		is_int((long long)c.stdin_len, 3, "stdin may hold NUL");
		ok(!memcmp(c.stdin_text, "a\0b", 4), "and keeps it");
		is_int((long long)c.timeout_ms, 100, "0.1 s are 100 ms");
		is_int((long long)c.grace_ms, 60000, "60 s of grace");
		is_int((long long)c.stderr_limit, 4294967296, "4 GiB");
		is_str(c.inputs.item[1], "a/b", "an input in a directory");
		ok(c.manual, "manual start");
		config_done(&c);
	}
	if (good("\xef\xbb\xbf{\"timeout\": 1.5, \"mode\": \"call\","
		 "\"call\": \"f.g\"}", &c)) {
		is_int((long long)c.timeout_ms, 1500, "1.5 s are 1500 ms");
		is_int(c.mode, MODE_CALL, "mode call");
		is_str(c.call, "f.g", "a function's name");
		config_done(&c);
	}
	if (good("{\"mode\": \"command\", \"command\": [\"ls\", \"-l\"]}",
		 &c)) {
		is_int(c.mode, MODE_COMMAND, "mode command");
		is_str(c.command.item[1], "-l", "its second word");
		config_done(&c);
	}
}

/* A text that is no UTF-8 is a list of its bytes. */
static void test_bytes(void)
{
	struct job_config c;

	if (good("{\"args\": [[99, 233], []], \"env\": {\"A\": [233, 9]}}", &c)) {
		is_str(c.args.item[0], "c\xe9", "an argument of bytes");
		is_str(c.args.item[1], "", "one without any");
		is_str(c.env.item[0], "A=\xe9\t", "a variable of bytes");
		config_done(&c);
	}
	if (good("{\"mode\": \"command\", \"command\": [[108, 233]]}", &c)) {
		is_str(c.command.item[0], "l\xe9", "a command of bytes");
		config_done(&c);
	}
}

static void merges(const char *file, const char *over, const char *want)
{
	auto_buf struct buf b = { 0 };

	is_int(config_merge(file, strlen(file), over, strlen(over), &b), 0,
	       "%.40s is merged", file);
	is_str(b.data ? b.data : "", want, "to this");
}

static void test_merge(void)
{
	merges("", "{\"a\":1}", "{\"a\":1}");
	merges("{}", "{\"a\":1}", "{\"a\":1}\n");
	merges("{\"a\": 2, \"b\": 3}", "{\"a\":1}", "{\"a\":1,\"b\":3}\n");
	merges("\xef\xbb\xbf{\"b\": 3}", "{\"a\":1}", "{\"b\":3,\"a\":1}\n");
	merges("{\"b\":  3}\n", "{}", "{\"b\":  3}\n");
	merges("{\"input\": 1e400, \"b\": 3}", "{\"a\":1}",
	       "{\"b\":3,\"a\":1,\"input\": 1e400}\n");
	merges("{\"env\": {\"A\": \"x\", \"B\": \"y\"}}", "{\"env\":{\"A\":\"z\"}}",
	       "{\"env\":{\"A\":\"z\",\"B\":\"y\"}}\n");
	/* who reads these says what is wrong */
	merges("[1]", "{\"a\":1}", "[1]");
	merges("{\"b\": 3,}", "{\"a\":1}", "{\"b\": 3,}");
}

static void test_code(void)
{
	struct job_config c;

	if (good("{\"language\": \"python\", \"code\": \"\xef\xbb\xbf" "a\\u0000b\"}",
		 &c)) {
		is_int((long long)c.code_len, 3, "a byte order mark is left out");
		ok(!memcmp(c.code, "a\0b", 4), "and NUL is kept");
		config_done(&c);
	}
	bad("{\"code\": \"1\"}",
	    "config.json: \"code\" is there, but no \"language\"; it must be one "
	    "of python, javascript, typescript, bash");
	bad("{\"code\": 1, \"language\": \"python\"}",
	    "config.json: \"code\" is 1; it must be a string, the program's "
	    "text");
	bad("{\"code\": \" \\n\", \"language\": \"python\"}",
	    "config.json: \"code\" is empty; it must be the program's text");
	bad("{\"code\": \"1\", \"mode\": \"command\", \"command\": "
	    "[\"ls\"]}",
	    "config.json: \"code\" is there, and \"mode\" is \"command\", "
	    "which has no program of its own: one of the two must go");
}

static void test_note(void)
{
	auto_buf struct buf text = { 0 };
	struct job_config c;

	if (good("{\"note\": {\"a\": [1, null]}}", &c))
		config_done(&c);
	buf_str(&text, "{\"note\": \"");
	for (int i = 0; i < 4095; i++)
		buf_str(&text, "x");
	buf_str(&text, "\"}");
	bad(text.data, "config.json: \"note\" has 4097 bytes of JSON; at most "
		       "4096 are allowed");
}

static void test_sandbox(void)
{
	struct job_config c;

	if (good("{\"sandbox\": \"s\", \"cwd\": \"a/b\", \"timeout\": 0}",
		 &c)) {
		is_str(c.sandbox, "s", "a sandbox");
		is_str(c.cwd, "a/b", "a directory");
		is_int((long long)c.timeout_ms, 0, "no end");
		config_done(&c);
	}
	if (good("{\"main\": \"a b.py\"}", &c)) {
		is_str(c.main, "a b.py", "main is kept");
		config_done(&c);
	}
	bad("{\"main\": \"a/b.py\"}",
	    "config.json: \"main\" is \"a/b.py\"; it must be the name of a file in "
	    "the job's directory");
	bad("{\"main\": \"a.py\", \"sandbox\": \"s\"}",
	    "config.json: \"main\" is there, and \"sandbox\" is \"s\": the job's "
	    "files lie among those of others there; leave the key out");
	bad("{\"cwd\": \"/\"}",
	    "config.json: \"cwd\" is there, but no \"sandbox\"; a job without one "
	    "begins in /home/user: leave the key out");
	bad("{\"timeout\": 0}",
	    "config.json: \"timeout\" is 0; it must be a number of seconds from "
	    "0.1 to 3600: only in a sandbox may a job go without");
	bad("{\"sandbox\": \"s\", \"memory_mb\": 64}",
	    "config.json: \"memory_mb\" is there, and \"sandbox\" is \"s\": all "
	    "that is in the sandbox shares its memory; leave the key out");
	bad("{\"sandbox\": \"s\", \"retry\": 0}",
	    "config.json: \"retry\" is there, and \"sandbox\" is \"s\": what a "
	    "lost sandbox held cannot be had again; leave the key out");
	bad("{\"sandbox\": \".s\"}",
	    "config.json: \"sandbox\" is \".s\"; it must be a sandbox's name: 1 "
	    "to 200 bytes without \"/\" and control characters that do not "
	    "begin with \".\"");
}

static void network_is(const char *text, const char *want)
{
	struct job_config c;

	if (!good(text, &c))
		return;
	is_str(c.network_text, want, "network is kept in its shortest form");
	config_done(&c);
}

static void test_ports(void)
{
	struct job_config c, any;

	if (!good("{\"ports\": [8080, 1024, 65535]}", &c) || !good("{\"ports\": true}", &any))
		return;
	ok(c.ports.count == 3 && c.ports.item[0] == 8080 && c.ports.item[2] == 65535 &&
	   !c.ports.any && config_has_ports(&c.ports), "ports stay in their order");
	ok(any.ports.any && config_has_ports(&any.ports), "or are any");
	ok(config_ports_equal(&c.ports, &c.ports) && !config_ports_equal(&c.ports, &any.ports),
	   "and can be compared");
	config_done(&c);
	config_done(&any);
}

static void test_network(void)
{
	struct job_config c;
	auto_buf struct buf text = { 0 };

	network_is("{}", NULL);
	network_is("{\"network\": []}", "[]");
	network_is("{\"network\": true}", "true");
	network_is("{\"network\": {}}", "true");
	network_is("{\"network\": [\"API.example.org.:443\", \"*:80\"]}",
		   "[\"api.example.org\", \"*:80\"]");
	network_is("{\"network\": {\"deny\": [\"a.example:443/tcp\"]}}",
		   "{\"allow\": [], \"deny\": [\"a.example:443/tcp\"]}");
	if (good("{\"network\": true, \"retry\": 2, \"retry_network\": true}", &c)) {
		ok(c.retry_network, "a retry may use the network again");
		is_int(c.network.form, NET_WISH_ALL, "network is there, parsed");
		config_done(&c);
	}
	buf_str(&text, "{\"network\": {");
	for (int k = 0; k < 2; k++) {
		buf_fmt(&text, "%s: [", k ? "], \"deny\"" : "\"allow\"");
		for (int i = 0; i < 256; i++)
			buf_fmt(&text, "%s\"%0*d.%0*d.%0*d.%0*d.example:1,3,5,7,9,11,13,"
				"15\"", i ? ", " : "", 63, i, 63, i, 63, i, 40, i);
	}
	buf_str(&text, "]}}");
	bad(text.data, "config.json: \"network\" has 134677 bytes of rules; at most 131072 "
	    "are allowed: one rule with \"*.\" covers all names below a name");
}

static void bad_sandbox(const char *text, const char *want)
{
	struct sandbox_config c;
	struct err e = { .code = 0 };

	is_int(sandbox_config_parse(text, strlen(text), &limits, &c, &e),
	       -EINVAL, "%.60s is refused", text);
	is_str(e.text, want, "and says why");
}

static void test_sandboxes_own(void)
{
	static const char all[] =
		"{\"environment\": \"data\", \"memory_mb\": 512, \"cpus\": 2, "
		"\"processes\": 9, \"env\": {\"A\": \"1\"}, \"idle\": 0, "
		"\"life\": 1.5, \"at_end\": \"pause\", \"pause_life\": 2.5, "
		"\"network\": [\"A.example.\", \"10.0.0.0/24:80\"], "
		"\"meta\": [null, {\"a\": 1}]}";
	struct sandbox_config c;
	struct err e = { .code = 0 };

	if (is_int(sandbox_config_parse("", 0, &limits, &c, &e), 0,
		   "an empty file is all defaults")) {
		is_int((long long)c.idle_ms, 600000, "idle for 600 s");
		is_int((long long)c.life_ms, 0, "alive for ever");
		is_int(c.pauses, 0, "it ends at its end");
		is_int((long long)c.machine.memory_mb, 256, "256 MiB");
		sandbox_config_done(&c);
	}
	if (is_int(sandbox_config_parse(all, strlen(all), &limits, &c, &e), 0,
		   "all keys are taken")) {
		is_str(c.machine.environment, "data", "environment");
		is_int((long long)c.machine.memory_mb, 512, "memory_mb");
		is_int((long long)c.machine.cpus, 2, "cpus");
		is_int((long long)c.machine.processes, 9, "processes");
		is_str(c.machine.env.item[0], "A=1", "env");
		is_int((long long)c.idle_ms, 0, "idle");
		is_int((long long)c.life_ms, 1500, "life");
		is_int(c.pauses, 1, "at_end");
		is_int((long long)c.pause_life_ms, 2500, "pause_life");
		is_str(c.machine.network_text, "[\"a.example\", \"10.0.0.0/24:80\"]",
		       "network");
		sandbox_config_done(&c);
	}
	bad_sandbox("{\"timeout\": 1}",
		    "config.json: \"timeout\" is not a key; allowed: "
		    "\"environment\", \"packages\", \"memory_mb\", \"cpus\", \"processes\", "
		    "\"env\", \"idle\", \"life\", \"at_end\", \"pause_life\", \"network\", \"ports\", "
		    "\"meta\"");
	bad_sandbox("{\"at_end\": \"stop\"}",
		    "config.json: \"at_end\" is \"stop\"; it must be \"end\" or "
		    "\"pause\"");
	bad_sandbox("{\"idle\": -1}",
		    "config.json: \"idle\" is -1; it must be a number of seconds "
		    "from 0 to 31536000");
	bad_sandbox("{\"env\": {\"PATH\": \"/x\"}}",
		    "config.json: \"env\" sets \"PATH\", which is refused: it "
		    "would change what the loader, the shell or the interpreter "
		    "runs");
	bad_sandbox("{} {}", "config.json: line 1, column 4: a second object "
			     "begins here; there is to be one");
}

static void input_is(const char *text, const char *want)
{
	struct job_config c;

	if (!good(text, &c))
		return;
	is_str(c.input_json, want, "input is kept as it was written");
	is_int((long long)c.input_len, want ? (long long)strlen(want) : 0,
	       "with its length");
	config_done(&c);
}

static void test_input(void)
{
	input_is("{}", NULL);
	input_is("{\"input\": null}", "null");
	input_is("{\"input\": 0.1}", "0.1");
	input_is("{\"input\":  [ 1.0 , 1e400, -12345678901234567890 ] }",
		 "[1.0,1e400,-12345678901234567890]");
	input_is("{\"input\": {\"a b\": \" \\\" , } \\\\\", \"c\": [ ]}, "
		 "\"timeout\": 5}", "{\"a b\":\" \\\" , } \\\\\",\"c\":[]}");
	input_is("{\"timeout\": 5, \"input\"\n:\ttrue\n}", "true");
	input_is("{\"args\": [\"input\"], \"input\": \"\\u0000\"}",
		 "\"\\u0000\"");
	input_is("{\"\\u0069nput\": [ 1 ]}", "[1]");
	bad("{\"input\": [01]}", "config.json: line 1, column 12: 01 is no "
	    "number of JSON; a number does not begin with a 0 that says "
	    "nothing");
	bad("{\"input\": {\"a\": 1, \"a\": 2}}",
	    "config.json: line 1, column 22: duplicate object key near "
	    "'\"a\"'");
	bad("{\"input\": 1, \"input\": 2}",
	    "config.json: line 1, column 20: duplicate object key near "
	    "'\"input\"'");
}

static void test_numbers(void)
{
	bad("{\"timeout\": -3}", "config.json: \"timeout\" is -3; it must be a "
	    "number of seconds from 0.1 to 3600");
	bad("{\"timeout\": 0.09}", "config.json: \"timeout\" is 0.09; it must "
	    "be a number of seconds from 0.1 to 3600");
	bad("{\"timeout\": 3600.5}", "config.json: \"timeout\" is 3600.5; it "
	    "must be a number of seconds from 0.1 to 3600");
	bad("{\"timeout\": \"30\"}", "config.json: \"timeout\" is \"30\"; it "
	    "must be a number of seconds from 0.1 to 3600");
	bad("{\"timeout\": true}", "config.json: \"timeout\" is true; it must "
	    "be a number of seconds from 0.1 to 3600");
	bad("{\"timeout\": null}", "config.json: \"timeout\" is null; it must "
	    "be a number of seconds from 0.1 to 3600");
	bad("{\"timeout\": NaN}",
	    "config.json: line 1, column 13: NaN is no number of JSON");
	bad("{\"grace\": 61}", "config.json: \"grace\" is 61; it must be a "
	    "number of seconds from 0 to 60");
	bad("{\"linger\": 60.1}", "config.json: \"linger\" is 60.1; it must be a "
	    "number of seconds from 0 to 60");
	bad("{\"memory_mb\": 31}", "config.json: \"memory_mb\" is 31; it must "
	    "be an integer of MiB from 32 to 4096");
	bad("{\"memory_mb\": 4097}", "config.json: \"memory_mb\" is 4097; it "
	    "must be an integer of MiB from 32 to 4096");
	bad("{\"memory_mb\": 64.0}", "config.json: \"memory_mb\" is 64.0; it "
	    "must be an integer of MiB from 32 to 4096");
	bad("{\"cpus\": 0}", "config.json: \"cpus\" is 0; it must be an "
	    "integer from 1 to 4");
	bad("{\"processes\": true}", "config.json: \"processes\" is true; it "
	    "must be an integer from 1 to 4096");
	bad("{\"stdout_limit\": -1}", "config.json: \"stdout_limit\" is -1; it "
	    "must be an integer of bytes from 0 to 4294967296");
	bad("{\"output_limit\": 4294967297}", "config.json: \"output_limit\" "
	    "is 4294967297; it must be an integer of bytes from 0 to "
	    "4294967296");
	bad("{\"cpus\": 99999999999999999999}", "config.json: \"cpus\" is "
	    "99999999999999999999; an integer is at most 9223372036854775807");
	bad("{\"cpus\" : -99999999999999999999 }", "config.json: \"cpus\" is "
	    "-99999999999999999999; an integer is at most "
	    "9223372036854775807");
	bad("{\"args\": [\"a\", 1e999]}", "config.json: 1e999; a number is at "
	    "most 1.7e308");
	bad("{\"timeout\": 1.5e999}", "config.json: \"timeout\" is 1.5e999; a "
	    "number is at most 1.7e308");
	bad("{\"cpus\": []}", "config.json: \"cpus\" is a list; it must be an "
	    "integer from 1 to 4");
}

static void test_words(void)
{
	bad("{\"language\": \"Python\"}", "config.json: \"language\" is "
	    "\"Python\"; it must be one of python, javascript, typescript, "
	    "bash");
	bad("{\"language\": \"bash\\u0000\"}", "config.json: \"language\" is "
	    "\"bash\\u0000\"; it must be one of python, javascript, "
	    "typescript, bash");
	bad("{\"retry\": 11}", "config.json: \"retry\" is 11; it must be an "
	    "integer from 0 to 10");
	bad("{\"retry\": true}", "config.json: \"retry\" is true; it must be an "
	    "integer from 0 to 10");
	bad("{\"retry\": 1, \"session\": \"s\"}", "config.json: \"retry\" is 1, "
	    "and \"session\" is there; what a lost session held cannot be had "
	    "again: one of the two must go");
	bad("{\"retain\": 0}", "config.json: \"retain\" is 0; it must be an "
	    "integer of seconds from 1 to 31536000");
	bad("{\"start\": \"later\"}", "config.json: \"start\" is \"later\"; it "
	    "must be \"auto\" or \"manual\"");
	bad("{\"mode\": \"repl\"}", "config.json: \"mode\" is \"repl\"; it "
	    "must be \"script\", \"call\", \"cell\" or \"command\"");
	bad("{\"mode\": 1}", "config.json: \"mode\" is 1; it must be "
	    "\"script\", \"call\", \"cell\" or \"command\"");
	bad("{\"session\": \"a/b\"}", "config.json: \"session\" is \"a/b\"; it "
	    "must be a session's name: 1 to 200 bytes without \"/\" and "
	    "control characters that do not begin with \".\"");
	bad("{\"session\": \".a\"}", "config.json: \"session\" is \".a\"; it "
	    "must be a session's name: 1 to 200 bytes without \"/\" and "
	    "control characters that do not begin with \".\"");
	bad("{\"session_idle\": 0}", "config.json: \"session_idle\" is 0; it "
	    "must be a number of seconds from 1 to 86400");
	bad("{\"session\": \"a\", \"mode\": \"call\"}", "config.json: "
	    "\"session\" is there, and \"mode\" is \"call\"; in a session it "
	    "must be \"script\" or \"cell\"");
	bad("{\"network\": [\"10.0.0.5\"]}", "config.json: \"network\" has "
	    "\"10.0.0.5\"; an address needs its port, such as \"10.0.0.5:443\"");
	bad("{\"network\": false}", "config.json: \"network\" must be a list of rules, "
	    "such as [\"example.org\"], or true, or an object of \"allow\" and \"deny\"");
	bad("{\"network\": [\"a.example\"], \"retry\": 1}", "config.json: \"retry\" with "
	    "\"network\": what the program did to others would be done twice; "
	    "\"retry_network\": true says that this is fine");
	bad("{\"network\": [\"a.example\"], \"sandbox\": \"s\"}", "config.json: "
	    "\"network\" is there, and \"sandbox\" is \"s\": the sandbox's config.json "
	    "says what its programs reach; leave the key out");
	bad("{\"ports\": [80]}", "config.json: \"ports\" has 80; programs cannot listen "
	    "below 1024: allowed are 1024 to 65535");
	bad("{\"ports\": [65536]}", "config.json: \"ports\" has 65536; allowed are 1024 "
	    "to 65535");
	bad("{\"ports\": [\"8080\"]}", "config.json: \"ports\"[0] is no integer; it "
	    "must be a port from 1024 to 65535");
	bad("{\"ports\": [8080, 8080]}", "config.json: \"ports\" has 8080 twice");
	bad("{\"ports\": []}", "config.json: \"ports\" must be a list of 1 to 10 ports, "
	    "or true");
	bad("{\"retry_network\": 1}", "config.json: \"retry_network\" must be true or "
	    "false");
	bad("{\"mode\": \"command\"}", "config.json: \"mode\" is \"command\", "
	    "but there is no \"command\"; it must be a list of strings, the "
	    "program first");
	bad("{\"command\": [\"ls\"]}", "config.json: \"command\" is there, but "
	    "\"mode\" is not \"command\"; it must be, or \"command\" must go");
	bad("{\"call\": \"f\"}", "config.json: \"call\" is there, but \"mode\" "
	    "is not \"call\"; it must be, or \"call\" must go");
	bad("{\"mode\": \"call\", \"call\": \"\"}", "config.json: \"call\" is "
	    "\"\"; it must be a function's name of 1 to 255 bytes");
	bad("{\"mode\": \"call\", \"call\": \"a\\u0000\"}", "config.json: "
	    "\"call\" is \"a\\u0000\"; it must be a function's name of 1 to "
	    "255 bytes");
	bad("{\"mode\": \"call\", \"call\": \"a\\n\"}", "config.json: \"call\" "
	    "is \"a\\n\"; it must be a function's name without control "
	    "characters");
	bad("{\"mode\": \"call\", \"language\": \"bash\"}", "config.json: "
	    "\"mode\" is \"call\", but \"language\" is \"bash\", which has no "
	    "functions to call; it must be \"script\" or \"command\"");
}

static void test_lists(void)
{
	bad("{\"args\": \"a\"}", "config.json: \"args\" is \"a\"; it must be a "
	    "list of strings");
	bad("{\"args\": [\"a\", 1]}", "config.json: \"args\"[1] is 1; it must "
	    "be a string");
	bad("{\"args\": [[99, 256]]}", "config.json: \"args\"[0] is a list; it must "
	    "be a string, or a list of its bytes, each from 1 to 255");
	bad("{\"args\": [[0]]}", "config.json: \"args\"[0] is a list; it must "
	    "be a string, or a list of its bytes, each from 1 to 255");
	bad("{\"args\": [[\"a\"]]}", "config.json: \"args\"[0] is a list; it must "
	    "be a string, or a list of its bytes, each from 1 to 255");
	bad("{\"env\": {\"A\": [10]}}", "config.json: \"env\": \"A\" has a control "
	    "character (0x0a); a value must have none but TAB");
	bad("{\"env\": {\"A\": [0]}}", "config.json: \"env\": \"A\" is a list; it must "
	    "be a string");
	bad("{\"args\": [\"a\\u0000b\"]}", "config.json: \"args\"[0] contains a "
	    "NUL character, which it cannot hold");
	bad("{\"mode\": \"command\", \"command\": []}", "config.json: "
	    "\"command\" has 0 entries; 1 to 1024 are allowed");
	bad("{\"mode\": \"command\", \"command\": [\"\"]}", "config.json: "
	    "\"command\"[0] is empty; it must name a program");
	bad("{\"inputs\": [\"/etc/passwd\"]}", "config.json: \"inputs\"[0] is "
	    "\"/etc/passwd\"; it must be relative to the job's directory");
	bad("{\"inputs\": [\"a\", \"a/../b\"]}", "config.json: \"inputs\"[1] "
	    "is \"a/../b\"; it must have no empty, \".\" or \"..\" part");
	bad("{\"inputs\": [\"\"]}", "config.json: \"inputs\"[0] is \"\"; it "
	    "must have no empty, \".\" or \"..\" part");
	bad("{\"inputs\": [\"a//b\"]}", "config.json: \"inputs\"[0] is "
	    "\"a//b\"; it must have no empty, \".\" or \"..\" part");
	bad("{\"inputs\": [\"a/\"]}", "config.json: \"inputs\"[0] is \"a/\"; "
	    "it must have no empty, \".\" or \"..\" part");
	bad("{\"inputs\": [\"output/x\"]}", "config.json: \"inputs\"[0] is "
	    "\"output/x\"; that is a file of the job tree itself, not an "
	    "input");
	bad("{\"inputs\": [\"a\\u0001\"]}", "config.json: \"inputs\"[0] is "
	    "\"a\\u0001\"; it must not contain control characters");
}

static void test_env(void)
{
	static const char *const refused[] = {
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_ANYTHING", "ld_preload",
		"PATH", "Path", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME",
		"PYTHONINSPECT", "PYTHONWARNINGS", "NODE_OPTIONS",
		"node_options", "BASH_ENV", "ENV", "GLIBC_TUNABLES",
		"PROMPT_COMMAND", "IFS", "CDPATH", "PS4", "GCONV_PATH",
		"SHELLOPTS", "PERL5OPT", "OPENSSL_CONF",
	};
	static const char *const taken[] = {
		"HOME", "TZ", "LANG", "LC_ALL", "PYTHONHASHSEED", "NODE_DEBUG",
		"TMPDIR", "TZDIR", "LOCPATH", "NLSPATH", "HOSTALIASES",
		"RES_OPTIONS", "MALLOC_PERTURB_", "PYTHONUSERBASE",
		"NODE_REPL_HISTORY", "BASH_XTRACEFD",
		"L", "LD", "_LD_PRELOAD", "PATHS", "MY_PATH", "DEBUG",
	};
	struct job_config c;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		ok(env_is_hijack(refused[i]), "%s is refused", refused[i]);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		ok(!env_is_hijack(taken[i]), "%s is taken", taken[i]);
	bad("{\"env\": {\"ld_PreLoad\": \"x\"}}", "config.json: \"env\" sets "
	    "\"ld_PreLoad\", which is refused: it would change what the "
	    "loader, the shell or the interpreter runs");
	if (good("{\"env\": {\"PATH\": \"x\"}, \"session\": \"s\"}", &c)) {
		is_str(c.env.item[0], "PATH=x", "a step may set any variable");
		config_done(&c);
	}
	bad("{\"env\": []}", "config.json: \"env\" is a list; it must be an "
	    "object of names and strings");
	bad("{\"env\": {\"A\": 1}}", "config.json: \"env\": \"A\" is 1; it "
	    "must be a string");
	bad("{\"env\": {\"\": \"\"}}", "config.json: \"env\" has the name \"\"; "
	    "a name must be of letters, digits and _, and not begin with a "
	    "digit");
	bad("{\"env\": {\"1A\": \"\"}}", "config.json: \"env\" has the name "
	    "\"1A\"; a name must be of letters, digits and _, and not begin "
	    "with a digit");
	bad("{\"env\": {\"A=B\": \"\"}}", "config.json: \"env\" has the name "
	    "\"A=B\"; a name must be of letters, digits and _, and not begin "
	    "with a digit");
	bad("{\"env\": {\"A\": \"x\\ny\"}}", "config.json: \"env\": \"A\" has "
	    "a control character (0x0a); a value must have none but TAB");
	bad("{\"env\": {\"A\": \"\\u0000\"}}", "config.json: \"env\": \"A\" "
	    "has a control character (0x00); a value must have none but TAB");
	bad("{\"env\": {\"A\": \"\\u001b[\"}}", "config.json: \"env\": \"A\" "
	    "has a control character (0x1b); a value must have none but TAB");
	bad("{\"env\": {\"A\": \"\\u007f\"}}", "config.json: \"env\": \"A\" "
	    "has a control character (0x7f); a value must have none but TAB");
}

static void test_keys(void)
{
	bad("{\"timout\": 3}", "config.json: \"timout\" is not a key; did you "
	    "mean \"timeout\"?");
	bad("{\"Timeout\": 3}", "config.json: \"Timeout\" is not a key; did "
	    "you mean \"timeout\"?");
	bad("{\"timeout_s\": 3}", "config.json: \"timeout_s\" is not a key; "
	    "did you mean \"timeout\"?");
	bad("{\"memory\": 3}", "config.json: \"memory\" is not a key; did you "
	    "mean \"memory_mb\"?");
	bad("{\"lang\": 3}", "config.json: \"lang\" is not a key; did you mean "
	    "\"language\"?");
	bad("{\"stdin_open\": 1}", "config.json: \"stdin_open\" is 1; it must "
	    "be true or false");
	bad("{\"stdin_open\": true, \"stdin\": \"x\"}", "config.json: "
	    "\"stdin\" is there, and \"stdin_open\" is true; only one of them "
	    "is allowed");
	bad("{\"stdin_open\": true, \"retry\": 2}", "config.json: \"retry\" is "
	    "2, and \"stdin_open\" is true; input that was taken cannot be had "
	    "again: one of the two must go");
	bad("{\"cpu\": 3}", "config.json: \"cpu\" is not a key; did you mean "
	    "\"cpus\"?");
	bad("{\"inpts\": 3}", "config.json: \"inpts\" is not a key; did you "
	    "mean \"inputs\", \"input\"?");
	bad("{\"xyzzy\\n\": 3}", "config.json: \"xyzzy\\n\" is not a key; "
	    "allowed: \"language\", \"args\", \"env\", \"stdin\", "
	    "\"stdin_open\", \"timeout\", \"grace\", \"linger\", \"memory_mb\", \"cpus\", \"processes\", "
	    "\"stdout_limit\", \"stderr_limit\", \"output_limit\", "
	    "\"inputs\", \"start\", \"retry\", \"retain\", \"input\", \"mode\", \"call\", "
	    "\"command\", \"session\", \"session_idle\", \"sandbox\", "
	    "\"cwd\", \"main\", \"code\", \"note\", \"priority\", "
	    "\"environment\", \"warm\", \"packages\", \"network\", \"ports\", "
	    "\"retry_network\"");
	bad("{\"\": 1}", "config.json: \"\" is not a key; allowed: "
	    "\"language\", \"args\", \"env\", \"stdin\", \"stdin_open\", \"timeout\", "
	    "\"grace\", \"linger\", \"memory_mb\", \"cpus\", \"processes\", "
	    "\"stdout_limit\", \"stderr_limit\", \"output_limit\", "
	    "\"inputs\", \"start\", \"retry\", \"retain\", \"input\", \"mode\", \"call\", "
	    "\"command\", \"session\", \"session_idle\", \"sandbox\", "
	    "\"cwd\", \"main\", \"code\", \"note\", \"priority\", "
	    "\"environment\", \"warm\", \"packages\", \"network\", \"ports\", "
	    "\"retry_network\"");
	bad("{\"timeout\": 1, \"timeout\": 2}", "config.json: line 1, column "
	    "24: duplicate object key near '\"timeout\"'");
}

static void test_text(void)
{
	bad("[]", "config.json: it is a list; it must be an object, such as "
	    "{}");
	bad("3", "config.json: it is 3; it must be an object, such as {}");
	bad("null", "config.json: it is null; it must be an object, such as "
	    "{}");
	bad("{} x", "config.json: line 1, column 4: x stands behind the end; "
	    "nothing may");
	bad("{}{}", "config.json: line 1, column 3: a second object begins "
	    "here; there is to be one");
	bad("{\n'a': 1}", "config.json: line 2, column 1: keys and strings "
	    "stand in double quotes (\"), not in '");
	bad("{\"a\": 1,}", "config.json: line 1, column 9: the comma before } "
	    "is one too many");
	bad("{} // all defaults", "config.json: line 1, column 4: JSON has no "
	    "comments; this one is to go");
	bad("{\"args\": [\"\xff\"]}", "config.json: byte 11 (0xff) is not "
	    "valid UTF-8");
	bad("{\"args\": [\"\\ud800\"]}", "config.json: line 1, column 18: "
	    "half of a character stands before this; its other half, \\udc00 "
	    "to \\udfff, is missing");
	bad_len("{\"a\0b\": 1}", 10, -EINVAL, "config.json: byte 3 is NUL, "
		"which no JSON text has");
	bad_len("{}\0", 3, -EINVAL, "config.json: byte 2 is NUL, which no "
		"JSON text has");
}

static void test_early(void)
{
	static const char *const texts[] = {
		"", " \n\t", "\xef\xbb\xbf", "{", "{\"", "{\"tim", "{\"timeout\"",
		"{\"timeout\":", "{\"timeout\": ", "{\"timeout\": 3",
		"{\"timeout\": -", "{\"timeout\": 3.", "{\"timeout\": 3e",
		"{\"timeout\": 3e-", "{\"input\": tru", "{\"input\": t",
		"{\"input\": fals", "{\"input\": n", "{\"timeout\": 3,",
		"{\"args\": [\"a\"", "{\"args\": [\"a\",", "{\"args\": [\"\\",
		"{\"args\": [\"\\u", "{\"args\": [\"\\u00", "{\"args\": [\"\\ud83d",
		"{\"args\": [\"\xe6\x97", "{\"input\": [[[[", "{\"input\": -",
		"{\"input\": 1.",
	};
	static const char *const wrongs[] = {
		"{x", "{\"timeout\": x", "{\"timeout\": trux", "{\"args\": [\"\\q",
		"{\"args\": [\"\\ux", "}", "]", "{\"a\"]", "{\"timeout\": 1.e",
		"{\"timeout\": --", "{\"timeout\": +", "{\"timeout\": .",
	};
	struct job_config c;
	struct err e;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		early(texts[i]);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++)
		is_int(parse_len(wrongs[i], strlen(wrongs[i]), &c, &e),
		       -EINVAL, "%s can become nothing good", wrongs[i]);
	ok(config_is_empty("", 0) && config_is_empty(" \t\r\n", 4) &&
	   config_is_empty("\xef\xbb\xbf\n", 4),
	   "no text, blanks and a byte order mark are empty");
	ok(!config_is_empty("{", 1) && !config_is_empty("\0", 1),
	   "any other byte is not");
	bad(" [", "config.json: it begins with [; it must be an object, such "
	    "as {}");
	bad("\"x", "config.json: it begins with \"; it must be an object, such "
	    "as {}");
	is_int(parse_len("", 0, &c, &e), -ENODATA, "no text is too early");
	is_str(e.text, "config.json: it is empty; {} is the least",
	       "and the remedy is there");
}

/* Every start of a good text is either good or merely too early. */
static void test_prefixes(void)
{
	static const char text[] =
		" {\"language\": \"python\", \"args\": [\"a\\u00e9\\n\", "
		"\"\xf0\x9f\x8e\x89\"], \"env\": {\"A\": \"b\"}, \"timeout\": "
		"1.25e1, \"input\": {\"x\": [-1.5E-3, true, false, null, "
		"\"\\ud83d\\ude00\"]}} ";
	unsigned wrong = 0;

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		struct job_config c;
		struct err e;
		int r = parse_len(text, len, &c, &e);

		if (r == 0)
			config_done(&c);
		else if (r != -ENODATA)
			printf("# %zu bytes: %s\n", len, e.text);
		wrong += r != 0 && r != -ENODATA;
	}
	is_int(wrong, 0, "a file that is still being written is never wrong");
}

/* {"input": [[...]]} with so many levels in all. */
static int nested(unsigned levels, struct err *e)
{
	char text[8192] = "{\"input\":";
	size_t at = strlen(text);
	struct job_config c;
	int r;

	for (unsigned i = 1; i < levels; i++)
		text[at++] = '[';
	for (unsigned i = 1; i < levels; i++)
		text[at++] = ']';
	text[at++] = '}';
	r = parse_len(text, at, &c, e);
	if (r == 0)
		config_done(&c);
	return r;
}

static char *big_text(const char *before, size_t len, const char *after)
{
	size_t head = strlen(before);
	char *text = malloc(head + len + strlen(after) + 1);

	if (!text)
		abort();
	memcpy(text, before, head);
	memset(text + head, 'x', len);
	memcpy(text + head + len, after, strlen(after) + 1);
	return text;
}

static void big(const char *before, size_t len, const char *after, int want,
		const char *why)
{
	char *text = big_text(before, len, after);
	struct job_config c;
	struct err e;
	int r = parse_len(text, strlen(text), &c, &e);

	is_int(r, want, "%s: %zu bytes are %s", before, len,
	       want ? "too many" : "taken");
	if (why)
		is_str(e.text, why, "and the sentence says so");
	if (!r)
		config_done(&c);
	free(text);
}

static void test_bounds(void)
{
	char *many = malloc(32 << 10);
	struct job_config c;
	struct err e;
	int r;

	is_int(nested(32, &e), 0, "32 levels are taken");
	is_int(nested(33, &e), -EINVAL, "33 levels are refused");
	is_str(e.text, "config.json: byte 40: nested deeper than 32 levels",
	       "with the place");
	is_int(nested(3000, &e), -EINVAL, "3000 levels are refused");
	big("{\"args\": [\"", (128 << 10) - 1, "\"]}", 0, NULL);
	big("{\"args\": [\"", 128 << 10, "\"]}", -EINVAL,
	    "config.json: \"args\" has more than 131072 bytes in all");
	big("{\"env\": {\"A\": \"", (128 << 10) - 3, "\"}}", 0, NULL);
	big("{\"env\": {\"A\": \"", (128 << 10) - 2, "\"}}", -EINVAL,
	    "config.json: \"env\" has more than 131072 bytes in all");
	big("{\"stdin\": \"", (1 << 20) - 13, "\"}", 0, NULL);
	big("{\"stdin\": \"", (1 << 20) - 12, "\"}", -EFBIG,
	    "config.json: it has 1048577 bytes; at most 1 MiB (1048576) is allowed");
	for (unsigned count = 1024; many && count <= 1025; count++) {
		strcpy(many, "{\"args\": [");
		for (unsigned i = 0; i < count; i++)
			strcat(many + i * 4, i ? ", \"\"" : "\"\"");
		strcat(many, "]}");
		r = parse_len(many, strlen(many), &c, &e);
		is_int(r, count > 1024 ? -EINVAL : 0, "%u args", count);
		if (!r)
			config_done(&c);
	}
	for (unsigned count = 256; many && count <= 257; count++) {
		size_t at = (size_t)sprintf(many, "{\"env\": {");

		for (unsigned i = 0; i < count; i++)
			at += (size_t)sprintf(many + at, "%s\"A%u\": \"\"",
					      i ? ", " : "", i);
		strcpy(many + at, "}}");
		r = parse_len(many, strlen(many), &c, &e);
		is_int(r, count > 256 ? -EINVAL : 0, "%u variables", count);
		if (!r)
			config_done(&c);
	}
	free(many);
}

/* A long foreign word is cut in the sentence, between two characters. */
static void test_long_words(void)
{
	struct job_config c;
	struct err e;
	char text[600] = "{\"start\": \"";

	for (int i = 0; i < 150; i++)
		strcat(text, "\xe6\x97\xa5");
	strcat(text, "\"}");
	is_int(parse_len(text, strlen(text), &c, &e), -EINVAL,
	       "a long word is refused");
	ok(strstr(e.text, "\xe6\x97\xa5...; it must be \"auto\""),
	   "and cut between characters: %s", e.text);
}

int main(void)
{
	test_defaults();
	test_operator();
	test_environment();
	test_packages();
	test_debian();
	test_values();
	test_input();
	test_bytes();
	test_merge();
	test_code();
	test_note();
	test_sandbox();
	test_sandboxes_own();
	test_network();
	test_ports();
	test_numbers();
	test_words();
	test_lists();
	test_env();
	test_keys();
	test_text();
	test_early();
	test_prefixes();
	test_bounds();
	test_long_words();
	return done_testing();
}
