/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of runners, with the programs that heat them.
 *
 * Python's runner is a sitecustomize module, so the interpreter itself opens and runs
 * the program, as it always does. Node's is a preloaded module, and bash's the file of
 * BASH_ENV, for the same reason. The arguments and the environment given here are
 * replaced by the job's before the program sees them. EXEC's process waits for an argv
 * and executes that.
 */
#include "runner_kind.h"

#include "guest/os/environment.h"
#include "guest/os/sys.h"

/* The later rounds run this: most programs do these things, and the first use is slow.
 * Bash gained nothing from such a program (its programs are processes, which are slow
 * under emulation in any case); Node's part is in nothing.js. */
static const char python_usual[] =
	"import collections, csv, dataclasses, datetime, enum, io\n"
	"import itertools, json, math, os, pathlib, random, re\n"
	"import socket, subprocess, sys, time, typing\n"
	"@dataclasses.dataclass\n"
	"class Point:\n"
	"    x: int = 1\n"
	"text = json.dumps({'a': re.findall('a+', 'caat'), 'b': 0.5})\n"
	"print(json.loads(text), Point(), f'{math.pi:.2f}')\n"
	"print(datetime.datetime.now(), random.randint(1, 6))\n"
	"print(collections.Counter('aab'), pathlib.Path('.').resolve())\n"
	"print(list(csv.reader(io.StringIO('a,b'))))\n"
	"with open('/proc/self/comm') as file: print(file.read())\n"
	"print(subprocess.run(['true'], capture_output=True))\n"
	"try: socket.getaddrinfo('name.invalid', 80)\n" /* the helper answers */
	"except OSError as error: print(error)\n"
	"with socket.create_server(('127.0.0.1', 0)) as server:\n"
	"    with socket.create_connection(server.getsockname()) as client:\n"
	"        with server.accept()[0] as end: client.send(b'1'); end.recv(1)\n"
	/* The environment's program, last: see runners/python/warm.py. */
	"try:\n"
	"    with open('" ENVIRONMENT_DIR "/warm.json') as file:\n"
	"        text = json.load(file).get('program', '')\n"
	"except OSError:\n"
	"    text = ''\n"
	"exec(text)\n"
	"int('')\n";

/*
 * Starts the programs that scripts start most, and the login shell that runs each
 * command of E2B's clients. Then their code is translated in each machine that is
 * forked off this one, and their pages are in memory. It takes long, so only a
 * thoroughly heated machine does it. Measured: a pipeline of seven of them takes 120 ms
 * instead of 265, python3 150 instead of 255. Node is not among them. Its start would
 * take 1.5 s instead of 2.3, but its translated code takes memory: an idle machine's
 * PSS would be 107 MB, not 85. It also generates code, and the next process that gets
 * this memory pays for each page; that would not matter if Node were the first of
 * these.
 */
static const char bash_thorough[] =
	"cd \"$(mktemp -d)\" || exit\n"
	"printf 'b 1\\na 2\\na 3\\n' >t\n"
	"ls -l /usr | awk '{ print $1 }' | sort | uniq -c | grep -v x | sed s/a/b/ |\n"
	"	head -n 2 | tail -n 1 | tr a b | cut -c 1 | wc -l\n"
	"cat t | sort -n | tee u | grep -c a\n"
	"find . -name t | xargs wc -c\n"
	"mkdir -p d && cp t d/ && mv d/t d/v && touch d/w && chmod 600 d/w\n"
	"basename \"$(dirname \"$PWD/x\")\"; date; env; true; seq 3; sleep 0; expr 1 + 1\n"
	"rm -r d t u; cd /; rmdir \"$OLDPWD\"\n"
	"python3 -c 'print(1)'\n"
	"bash -l -c :\n";

/* Prefixes of variables that Node reads only at its start. */
static const char *const node_obeys[] = {"NODE_", "UV_", "LC_", "LANG", "SSL_",
					 "OPENSSL_", "ICU_", "TZ", NULL};

/*
 * V8's baseline compiler is off: its output for functions that heating made warm would
 * be translated once more in the job, which takes longer than it saves. Hot functions
 * are still optimised.
 */
#define NO_BASELINE "--no-sparkplug"
/* Node searches package.json in the directory where it is started, and remembers for
 * ever if there is none. So it enters the program's directory only for the job. */
#define NODE_DIRECTORY "/"

const struct runner_kind runner_kinds[WIRE_RUN_MAX] = {
	[WIRE_RUN_PYTHON] = {
		.name = "python",
		.directory = HOME,
		.argv = {"/usr/bin/python3", HOME "/code.py"},
		.extra = {"PYTHONPATH=" RUNNERS "/python"},
		.base = true, .own_task = true, .says_begun = true, .spare = true,
		.session = WIRE_RUN_PYTHON,
		.session_argv = {"/usr/bin/python3", RUNNERS "/python/session.py"},
		.step_word = "",
		.nothing = {"code.py", "print(1)\n", {HOME "/code.py"}},
		.usual = python_usual,
		.secrets = true, .settles = true,
		.plain_heap = 3u << 20, /* python3 3.13 -c pass: 2.8 MiB */
	},
	[WIRE_RUN_NODE] = {
		.name = "node",
		.directory = NODE_DIRECTORY,
		.argv = {"/usr/bin/node", NO_BASELINE, "--expose-internals",
			 "--require", RUNNERS "/node/wait.js", HOME "/code.js"},
		.base = true,
		.session = WIRE_RUN_NODE,
		.session_argv = {"/usr/bin/node", NO_BASELINE,
				 RUNNERS "/node/session.js"},
		.step_word = "", .obeys = node_obeys,
		.nothing = {"code.js", "console.log(1)\n", {HOME "/code.js"}},
		.secrets = true, .learns = true,
	},
	[WIRE_RUN_TYPESCRIPT] = {
		.name = "typescript",
		.directory = NODE_DIRECTORY,
		.argv = {"/usr/bin/node", NO_BASELINE, "--expose-internals",
			 "--require", RUNNERS "/node/wait_ts.js", HOME "/code.ts"},
		.base = true, .helper_pipes = true,
		.session = WIRE_RUN_TYPESCRIPT,
		.session_argv = {"/usr/bin/node", NO_BASELINE,
				 RUNNERS "/node/session.js"},
		.step_word = " typescript", .obeys = node_obeys,
		.nothing = {"code.ts", "console.log(1 as number)\n",
			    {HOME "/code.ts"}},
		.secrets = true, .learns = true,
	},
	[WIRE_RUN_BASH] = {
		.name = "bash",
		.directory = HOME,
		.argv = {"/bin/bash", HOME "/code.sh"},
		.extra = {"BASH_ENV=" RUNNERS "/bash/wait.sh"},
		.base = true, .verb_only = true, .own_home = true,
		/* a session of bash is a script, which a waiting shell cannot become */
		.session = WIRE_RUN_EXEC,
		.session_argv = {"/bin/bash", RUNNERS "/bash/session.sh"},
		.step_word = "", .late_env = true, .forks_late = true,
		.nothing = {"code.sh", "echo 1\n", {HOME "/code.sh"}},
		.thorough = bash_thorough,
	},
	[WIRE_RUN_EXEC] = {
		.name = "exec",
		.directory = HOME,
		.session = WIRE_RUN_EXEC,
		.step_word = "",
		.nothing = {"code.sh", "echo 1\n", {"/bin/bash", HOME "/code.sh"}},
	},
};
