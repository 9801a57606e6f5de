# SPDX-License-Identifier: Apache-2.0
"""Suites in JavaScript, by vitest on a Node that the tests' packages bring."""
import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 900  # a suite's, on a quiet machine


def packages(place, manifest=HERE, name="npm", *options):
    """DIR/NAME/node_modules, installed once for each package.json."""
    want = open(manifest + "/package.json").read()
    npm = os.path.join(place.dir, name)
    stamp = npm + "/installed"
    if not os.path.exists(stamp) or open(stamp).read() != want:
        os.makedirs(npm, exist_ok=True)
        shutil.copy(manifest + "/package.json", npm)
        subprocess.run(["npm", "i", "--no-audit", "--no-fund", *options], cwd=npm,
                       check=True)
        with open(stamp, "w") as f:
            f.write(want)
    return npm + "/node_modules"


def install(suite, place):
    packages(place)


def run(suite, place, modules=None):
    modules = modules or packages(place)
    top = os.path.join(place.dir, suite.checkout, suite.under)
    link = top + "/node_modules"
    if not os.path.islink(link):
        os.symlink(modules, link)
    report = place.out + "/%s.json" % suite.name
    env = dict(place.env,
               OFFICIAL_INCLUDE=" ".join(place.files or suite.include),
               OFFICIAL_EXCLUDE=" ".join(suite.exclude),
               OFFICIAL_SETUP=" ".join(suite.setup))
    with open(place.out + "/%s.log" % suite.name, "w") as log:
        subprocess.run(
            [modules + "/node/bin/node", modules + "/vitest/vitest.mjs", "run",
             "--config", HERE + "/vitest.config.mjs", "--root", top,
             "--reporter=default", "--reporter=json", "--outputFile=" + report],
            cwd=top, env=env, stdout=log, stderr=subprocess.STDOUT,
            timeout=SECONDS * place.slow)
    return outcomes(json.load(open(report)), top)


def run_in_data(suite, place):
    """For what needs a program of the environment data, such as git."""
    return run(suite, place._replace(env=dict(place.env, OFFICIAL_TEMPLATE="data")))


def outcomes(report, top):
    """{FILE > GROUP > TITLE: (outcome, reason)} of vitest's report."""
    found = {}
    for file in report["testResults"]:
        path = os.path.relpath(file["name"], top + "/tests")
        if not file["assertionResults"]:
            found[path] = ("failed", file.get("message", ""))
        for test in file["assertionResults"]:
            name = " > ".join([path, *test["ancestorTitles"], test["title"]])
            outcome = test["status"]
            if outcome not in ("passed", "failed"):
                outcome = "skipped"
            reason = "\n".join(test["failureMessages"] or [])
            # the same title twice: the worse one counts
            if found.get(name, ("passed",))[0] != "failed":
                found[name] = (outcome, reason)
    return found
