# SPDX-License-Identifier: Apache-2.0
"""The suite of Deep Agents for sandboxes of any provider, on our package's backend."""
import os
import shutil

import vitest

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "deepagentsjs")
ADAPTER = os.path.join(HERE, "../../../fsd/adapters/js")
NPM = "npm-deepagents"


def fresh(tree, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(tree, to)


def install(suite, place):
    # two of them disagree about a third's version, and work with the pins
    return vitest.packages(place, OURS, NPM, "--legacy-peer-deps")


def run(suite, place):
    modules = install(suite, place)
    fresh(ADAPTER, modules + "/fsd-sandbox")
    # its tests alone: the compiler's configuration beside them needs its workspace
    top = os.path.join(place.dir, NPM, "suite")
    fresh(os.path.join(place.dir, suite.checkout, suite.under, "src"), top + "/src")
    os.makedirs(top + "/tests", exist_ok=True)
    shutil.copy(OURS + "/fsd.test.ts", top + "/tests")
    return vitest.run(suite._replace(checkout=NPM, under="suite"), place, modules)
