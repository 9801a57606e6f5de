# SPDX-License-Identifier: Apache-2.0
"""What the programs of tests/same need beside themselves.

A program is a file programs/LANGUAGE/NAME.ENDING, or a directory with
code.ENDING and its other files. Its first line is a comment: a sentence of what it
shows. Most programs need nothing else.
"""

# A job's options: args, env, stdin; those that the plain Debian has as well.
LINES = "alpha,1\nbeta,2\ngamma,3\n"
NUMBERS = "5\n10\n20\n30\n40\n50\n"
OPTIONS = {
    "python/argv": {"args": ["", "a b", "--", "-x", "'", "$HOME", "\u65e5\u672c",
                             "caf\u00e9\n", "*"]},
    "python/environ": {"env": {"GIVEN": "gone", "TEXT": " \u00e9 = \t$HOME",
                               "EMPTY": ""}},
    "python/timezone": {"env": {"TZ": "Asia/Tokyo"}},
    "python/tempfile-tmpdir": {"env": {"TMPDIR": "/home/user/scratch"}},
    "python/stdin-asyncio": {"stdin": LINES},
    "python/stdin-bytes": {"stdin": "line\n\x00\x01end"},
    "python/stdin-fileinput": {"stdin": "name,n\n" + LINES},
    "python/stdin-fstat": {"stdin": LINES * 1000},
    "python/stdin-input": {"stdin": "Ada\n36\nrest\nlast"},
    "python/stdin-lines": {"stdin": "unix\ndos\r\nmac\rlast"},
    "python/stdin-mmap": {"stdin": NUMBERS},
    "python/stdin-shared": {"stdin": LINES},
    "python/stdin-twice": {"stdin": LINES},
    "python/pdb": {"stdin": "p x\nlist\nwhere\nx.append(3)\nc\n"},
    "python/interactive": {"stdin": "add 1 2\nnothing\nhelp add\n"},
    "python/module-code": {"stdin": "print(y)\n1/0\nx = 2\nx + y\n"},
    "python/getpass": {"stdin": "secret\n"},
    "python/shebang": {"args": ["a b"]},
    "python/shebang-awk": {"stdin": "a 1\nb 2\na 3\n"},
    "python/shebang-env": {"args": ["x"]},
    "node/argv": {"args": ["", "a b", "--flag", "\u65e5\u672c", "-e"]},
    "node/environ": {"env": {"GIVEN": "gone", "TEXT": " \u00e9 = \t$HOME"}},
    "node/timezone": {"env": {"TZ": "Asia/Tokyo"}},
    "node/stdin-sync": {"stdin": LINES},
    "node/stdin-lines": {"stdin": "unix\ndos\r\n\nlast"},
    "node/stdin-async": {"stdin": LINES},
    "node/stdin-question": {"stdin": "Ada\nrest\n"},
    "bash/args": {"args": ["one", "two words", "-a", "-b", "val", "rest"]},
    "bash/stdin": {"stdin": "first\nsecond\n" + LINES},
    "bash/stdin-file": {"stdin": LINES},
    "typescript/exit-code": {"args": ["a", "b c", "d"], "env": {"WORD": "w"}},
    "typescript/stdin": {"stdin": LINES},
    "typescript/stdin-lines": {"stdin": LINES},
    "typescript/esm-typed": {"format": "esm"},
    "node/stdin-pipe": {"stdin": LINES * 5000},
}

# What may differ, and becomes the same text on both sides: (regex, replacement),
# of stdout and stderr.
PID = [(r"\(node:\d+\)", "(node:PID)")]
NORMALISE = {
    # The interpreter is older than the program; signal 32 is whose who called.
    "python/clocks": [(r"(the process is young): \w+", r"\1")],
    "bash/clocks": [(r"(?m)^(young|\d+)$", "AGE")],
    "python/processes": [(r"(SigIgn:\t[0-9a-f]{8})[0-9a-f]", r"\1X")],
    "bash/signal-child": [(r"(line \d+): +\d+ ", r"\1: PID ")],
    "bash/ulimit": [(r"(line \d+): +\d+ ", r"\1: PID ")],
    "node/syntax-esm": PID,
    "node/reject-handled": PID,
    "node/async-tools": PID,
    "node/exit-abort": [(r"0x[0-9a-f]+", "0xN")],
    "node/test-runner": [(r"duration_ms:? [0-9.]+", "duration_ms N")],
    "typescript/throw": [(r"at (Module\._extensions\.\.js|Object\.loadFile) "
                          r"\(node:internal/modules/[^)]*\)", "at the loader")],
    "python/unittest": [(r"in [0-9.]+s", "in N s")],
}

# Decided differences. jobtree(5) tells of each. A row must differ: one that does
# not any more has no place here.
DIFFERS = {
    "python/bytecode": "no file of output/ is one that Python made for itself",
    "python/module-code": "the name of the program is fsd's choice",
    "python/descriptors": "/proc/self/fd has 900, where Python's errors go",
    "python/permissions": "/proc/sys is read-only",
    "python/network": "a name is unknown at once, and not for a while",
    "node/network": "a name is unknown at once, and not for a while",
    "node/globals": "standard input was opened before the program",
    "bash/processes": "warm interpreters of other languages sleep beside it",
}

# Faults that are known and not yet mended: such a row is skipped while it differs.
OPEN = {}

# What costs most and is like others: `make same` runs it, `make check` does not.
SLOW = {
    "bash/big-pipeline", "bash/clocks", "bash/embedded", "bash/find-tools",
    "bash/locale", "bash/processes", "bash/text-tools", "bash/ulimit",
    "node/async-tools", "node/await-in-cjs", "node/buffers",
    "node/child-process", "node/clocks", "node/console", "node/crypto",
    "node/cycle", "node/esm", "node/esm-cjs-name", "node/esm-missing",
    "node/esm-throw", "node/esm-typed", "node/exit-now", "node/exit-unsettled",
    "node/files", "node/intl", "node/network", "node/packages",
    "node/shebang-node", "node/stdin-async", "node/stdin-lines",
    "node/stdin-question", "node/streams", "node/syntax-esm",
    "node/test-runner", "node/timezone", "node/vm-wasm", "node/workers",
    "python/archives", "python/asyncio-processes", "python/doctest",
    "python/futures", "python/import-shadow", "python/keyboard-child",
    "python/limits", "python/multiprocessing-fork",
    "python/multiprocessing-forkserver", "python/multiprocessing-shared",
    "python/multiprocessing-spawn", "python/network-http", "python/pickle",
    "python/recursion", "python/shebang", "python/site-user",
    "python/stdout-large", "python/subprocess", "python/subprocess-module",
    "python/subprocess-python", "python/timezone", "python/traceback-chained",
    "python/unittest", "python/xml-html", "typescript/decorators-old",
    "typescript/enums", "typescript/esm", "typescript/esm-typed",
    "typescript/fields", "typescript/generics", "typescript/globals",
    "typescript/imports", "typescript/json", "typescript/json-cjs",
    "typescript/modern", "typescript/network", "typescript/packages",
    "typescript/packages-cjs", "typescript/paths", "typescript/stdin-lines",
    "typescript/workers",
}
