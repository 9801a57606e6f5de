# SPDX-License-Identifier: Apache-2.0
"""The table of official suites.  A row is a Suite; run.py runs them in this order.

Each kind has one function in KINDS: kind(suite, place) -> {name: (outcome, reason)},
outcome one of "passed", "failed", "skipped".  `place` is run.Place: the directory with
the checkouts, the gateway's address, a key, the environment of a client.
"""
import collections

import deepagentsjs
import mcp
import ragflow
import vitest

# name        of the row, and of the file NAME.txt with the names that must pass
# kind        a key of KINDS
# checkout    the directory of the repository's checkout, in DIR; "": it needs none
# under       where in it the suite is
# include     the files that are run, as the kind wants them
# exclude     those of them that are not, for they ask no gateway or a thing it never has
# setup       files that the kind loads first
# never       word in a name -> why it is not expected, for the page
Suite = collections.namedtuple(
    "Suite", "name kind checkout under include exclude setup never")

MCP_NEVER = {
    "prompts-": "no prompts", "resources-": "no resources", "completion-": "no completion",
    "tasks-": "no tasks", "logging": "no logging", "sampling": "no sampling",
    "elicitation": "no elicitation", "input-required-": "no tool asks for input",
    "tools-call-": "the tools are not the suite's", "json-schema-": "so is this tool",
    "custom-header": "no tool has parameters in headers",
    "undeclared-capability": "no tool needs a client's capability",
    "missing-capability": "no tool needs a client's capability",
    "no-independent-requests": "no tool asks for input", "no-log-without": "no logging",
}

MCP_CALLS = ["tools-call-" + name for name in (
    "simple-text", "image", "audio", "embedded-resource", "mixed-content", "error",
    "with-progress")]

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
    Suite("ragflow-security", "ragflow", "ragflow", "agent/sandbox", ["security"], [], [],
          {"8 ": "needs the environment data", "9 ": "no network", "10 ": "no network",
           "11 ": "imports are allowed", "12 ": "imports are allowed",
           "17 ": "the program takes no memory"}),
    Suite("ragflow-provider", "ragflow", "ragflow", "agent/sandbox", ["provider"], [], [],
          {}),
    Suite("mcp-2026-07-28", "mcp", "", "", ["2026-07-28"], [], [], MCP_NEVER),
    Suite("mcp-2025-11-25", "mcp", "", "", ["2025-11-25"], [], [], MCP_NEVER),
    Suite("mcp-2026-07-28-fixtures", "mcp", "", "",
          ["2026-07-28", "server-stateless", *MCP_CALLS], [], [], {}),
    Suite("mcp-2025-11-25-fixtures", "mcp", "", "", ["2025-11-25", *MCP_CALLS], [], [], {}),
]

KINDS = {"vitest": vitest.run, "deepagentsjs": deepagentsjs.run,
         "ragflow": ragflow.run, "mcp": mcp.run}
