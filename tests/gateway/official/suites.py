# SPDX-License-Identifier: Apache-2.0
"""The table of official suites.  A row is a Suite; run.py runs them in this order.

Each kind has one function in KINDS: kind(suite, place) -> {name: (outcome, reason)},
outcome one of "passed", "failed", "skipped".  `place` is run.Place: the directory with
the checkouts, the gateway's address, a key, the environment of a client.
"""
import collections

import deepagentsjs
import vitest

# name        of the row, and of the file NAME.txt with the names that must pass
# kind        a key of KINDS
# checkout    the directory of the repository's checkout, in DIR
# under       where in it the suite is
# include     the files that are run, as the kind wants them
# exclude     those of them that are not, for they ask no gateway or a thing it never has
# setup       files that the kind loads first
# never       word in a name -> why it is not expected, for the page
Suite = collections.namedtuple(
    "Suite", "name kind checkout under include exclude setup never")

SUITES = [
    Suite("code-interpreter-js", "vitest", "code-interpreter", "js",
          ["tests/**/*.test.ts"], ["tests/runtimes/**"], [],
          {"charts/": "figures have no chart data",
           "images/": "needs the environment data",
           "data.test": "needs the environment data",
           "displayData.test": "needs the environment data",
           "env_vars/r.": "no R", "env_vars/java.": "no Java",
           "systemd.": "no systemd"}),
    Suite("e2b-js", "vitest", "E2B", "packages/js-sdk",
          ["tests/api/{info,kill,list,snapshot}.test.ts",
           "tests/sandbox/**/*.test.ts"],
          # what asks no gateway: a mock of the client's own, or nothing at all
          ["tests/sandbox/{configPropagation,rpcHeaders,urls,networkTransform,iam,"
           "abortSignal,lifecycleRequest,lifecyclePayload,egressProxy}.test.ts",
           "tests/sandbox/git/validation.test.ts",
           "tests/sandbox/files/{watchHandle,entryInfo}.test.ts",
           "tests/sandbox/commands/commandHandle.test.ts"],
          ["tests/globalFetchFallback.setup.ts"],
          {"/git/": "no git in the environment", "/pty/": "no terminals",
           "snapshot-api": "no snapshots", "fork.": "no forks",
           "network.": "no network", "host.": "no network",
           "files/metadata": "no attributes of files", "as root": "no user root",
           "http server": "no network", "internetAccess": "no network",
           "reboots on resume": "a pause keeps the memory",
           "MCP gateway": "no MCP inside a sandbox",
           "bash command scoped": "no sudo",
           "write multiple files": "the root of the machine cannot be written",
           "with entry info": "no entries in events",
           "with network mounts": "no entries in events"}),
    Suite("deepagentsjs", "deepagentsjs", "deepagentsjs", "libs/standard-tests",
          ["tests/fsd.test.ts"], [], [], {}),
]

KINDS = {"vitest": vitest.run, "deepagentsjs": deepagentsjs.run}
