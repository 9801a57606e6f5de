# SPDX-License-Identifier: Apache-2.0
"""The table of official suites.  A row is a Suite; run.py runs them in this order.

Each kind has two functions in KINDS.  install(suite, place) brings the packages, before
the network is entered.  run(suite, place) -> {name: (outcome, reason)}, outcome one of
"passed", "failed", "skipped".  `place` is run.Place: the directory with the checkouts, the
gateway's address, a key, the environment of a client.
"""
import collections
import os

import deepagentsjs
import mcp
import ragflow
import pytests
import vitest

# name        of the row, and of the file NAME.txt with the names that must pass
# kind        a key of KINDS
# checkout    the directory of the repository's checkout, in DIR, or one of ours;
#             "": it needs none
# under       where in it the suite is
# include     the files that are run, as the kind wants them
# exclude     those of them that are not, for they ask no gateway or a thing it never has
# setup       what the kind loads first: files of vitest, packages of PyPI for pytest
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

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYPI = ["e2b==2.63.0", "e2b-code-interpreter==2.11.5"]
PYPI_1 = ["e2b==1.11.1", "e2b-code-interpreter==1.5.2"]

SUITES = [
    Suite("code-interpreter-js", "vitest", "code-interpreter", "js",
          ["tests/**/*.test.ts"], ["tests/runtimes/**"], [],
          {"charts/": "needs the environment data",
           "images/": "needs the environment data",
           "data.test": "needs the environment data",
           "displayData.test": "needs the environment data",
           "streaming result": "needs the environment data",
           "env_vars/r.": "no R", "env_vars/java.": "no Java",
           "cwd r": "no R", "cwd java": "no Java",
           "systemd.": "no systemd"}),
    Suite("e2b-js", "vitest", "E2B", "packages/js-sdk",
          ["tests/api/{info,kill,list,snapshot}.test.ts",
           "tests/sandbox/**/*.test.ts"],
          # what asks no gateway: a mock of the client's own, or nothing at all
          ["tests/sandbox/{configPropagation,rpcHeaders,urls,networkTransform,iam,"
           "abortSignal,lifecycleRequest,lifecyclePayload,egressProxy}.test.ts",
           # the row e2b-js-git has these
           "tests/sandbox/git/**",
           "tests/sandbox/files/{watchHandle,entryInfo}.test.ts",
           "tests/sandbox/commands/commandHandle.test.ts"],
          ["tests/globalFetchFallback.setup.ts"],
          {"/pty/": "no terminals",
           "snapshot-api": "no snapshots", "fork.": "no forks",
           "transform injects": "nothing is decrypted",
           "files/metadata": "no attributes of files", "as root": "no user root",
           "reboots on resume": "a pause keeps the memory",
           "MCP gateway": "no MCP inside a sandbox",
           "bash command scoped": "no sudo",
           "write multiple files": "the root of the machine cannot be written",
           "with entry info": "no entries in events",
           "with network mounts": "no entries in events"}),
    Suite("e2b-js-git", "vitest-data", "E2B", "packages/js-sdk",
          ["tests/sandbox/git/*.test.ts"],
          # a mock of the client's own
          ["tests/sandbox/git/validation.test.ts"],
          ["tests/globalFetchFallback.setup.ts"], {}),
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
    Suite("code-interpreter-python", "pytest", "code-interpreter", "python",
          ["tests/sync", "tests/async", "tests/charts", "tests/images",
           "tests/test_execute_timeout.py", "tests/test_sandbox_url.py"], [], PYPI,
          {"charts/": "needs the environment data",
           "images/": "needs the environment data",
           "data.py": "needs the environment data",
           "streaming_result": "needs the environment data",
           "test_r.": "no R", "r_kernel": "no R", "cwd_r": "no R",
           "java": "no Java", "systemd": "no systemd"}),
    Suite("e2b-python", "pytest", "E2B", "packages/python-sdk",
          ["tests/sync/api_sync", "tests/sync/sandbox_sync",
           "tests/async/api_async", "tests/async/sandbox_async"],
          # what asks no gateway: a mock of the client's own, or nothing at all
          ["*/test_config_propagation.py", "*/test_sync_client_lifecycle.py"],
          PYPI,
          {"/pty/": "no terminals", "snapshot_api": "no snapshots",
           "test_fork.": "no forks", "firewall_transform": "nothing is decrypted",
           "test_metadata.": "no attributes of files",
           "mcp_gateway": "no MCP inside a sandbox",
           "bash_command_scoped": "no sudo", "reboots": "a pause keeps the memory",
           "filesystem_only": "a pause keeps the memory",
           "entry_info": "no entries in events",
           "network_mounts": "no entries in events",
           "normalizes_unset": "its mock and an address do not go together"}),
    # the last ones before version 2, from checkouts at their tags
    Suite("code-interpreter-python-1", "pytest-domain", "code-interpreter-1", "python",
          ["tests/sync", "tests/async"], [], PYPI_1,
          {"data.py": "needs the environment data",
           "streaming_result": "needs the environment data",
           "test_r.": "no R", "r_kernel": "no R", "cwd_r": "no R",
           "java": "no Java"}),
    Suite("e2b-python-1", "pytest-domain", "E2B-1", "packages/python-sdk",
          ["tests/sync", "tests/async"], [], PYPI_1,
          {"/pty/": "no terminals", "snapshot": "no snapshots",
           "bash_command_scoped": "no sudo"}),
    # LangChain's standard tests, on its backend for E2B
    Suite("langchain-e2b", "pytest", OURS, "langchain", ["."], [],
          ["langchain-e2b==0.0.6", "langchain-tests==1.1.9"], {}),
]

# a kind that ends in -data has no outcome without that environment
Kind = collections.namedtuple("Kind", "install run")
KINDS = {"vitest": Kind(vitest.install, vitest.run),
         "vitest-data": Kind(vitest.install, vitest.run_in_data),
         "deepagentsjs": Kind(deepagentsjs.install, deepagentsjs.run),
         "ragflow": Kind(ragflow.install, ragflow.run),
         "mcp": Kind(mcp.install, mcp.run),
         "pytest": Kind(pytests.install, pytests.run),
         "pytest-domain": Kind(pytests.install, pytests.run_by_domain)}
