# SPDX-License-Identifier: Apache-2.0
"""Suites in Python, by pytest in an environment with the packages of the row."""
import os
import subprocess
import sys
import xml.etree.ElementTree

import domain

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 1800     # a suite's, on a quiet machine
TEST_SECONDS = 120  # a test's
COMMON = ["pytest==9.2.0", "pytest-asyncio==1.5.0", "pytest-timeout==2.4.0"]


def packages(venv, names):
    """The directory of a venv, installed once for each list of packages."""
    want = "\n".join(names)
    stamp = venv + "/installed"
    if not os.path.exists(stamp) or open(stamp).read() != want:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv + "/bin/pip", "install", "-q", *want.split("\n")],
                       check=True)
        with open(stamp, "w") as f:
            f.write(want)
    return venv


def install(suite, place):
    return packages("%s/py-%s" % (place.dir, suite.name), COMMON + suite.setup)


def run_by_domain(suite, place):
    """For clients that take no address, but a domain with TLS."""
    env = {k: v for k, v in place.env.items()
           if k not in ("E2B_API_URL", "E2B_SANDBOX_URL")}
    return run(suite, place._replace(env=dict(env, E2B_DOMAIN=domain.DOMAIN)))


def run(suite, place):
    venv = install(suite, place)
    top = os.path.join(place.dir, suite.checkout, suite.under)
    report = place.out + "/%s.xml" % suite.name
    with open(place.out + "/%s.log" % suite.name, "w") as log:
        subprocess.run(
            [venv + "/bin/pytest", "-p", "official_base", "-c", HERE + "/pytest.ini",
             "--rootdir", top, "-o", "pythonpath=%s/tests" % top, "--junitxml", report,
             "--timeout", str(TEST_SECONDS * place.slow), "-v",
             *["--ignore-glob=%s/%s" % (top, glob) for glob in suite.exclude],
             *(place.files or suite.include)],
            cwd=top, stdout=log, stderr=subprocess.STDOUT,
            timeout=SECONDS * place.slow,
            env=dict(place.env, PYTHONPATH=HERE + "/plugins", PYTHONDONTWRITEBYTECODE="1"))
    return outcomes(xml.etree.ElementTree.parse(report).getroot())


def outcomes(report):
    """{FILE > NAME: (outcome, reason)} of a report in the form of JUnit."""
    found = {}
    for test in report.iter("testcase"):
        path = test.get("file") or test.get("classname", "").replace(".", "/") + ".py"
        if path.startswith(".."):  # inherited from a package; its class is the suite's
            path = test.get("classname", "").split(".")[0] + ".py"
        name = "%s > %s" % (path.removeprefix("tests/"), test.get("name"))
        said = next((e for e in test if e.tag in ("failure", "error", "skipped")), None)
        outcome = {None: "passed", "skipped": "skipped"}.get(
            said if said is None else said.tag, "failed")
        reason = "" if said is None else said.get("message", "")
        # an error of a fixture is an entry of its own: the worse one counts
        if found.get(name, ("passed",))[0] != "failed":
            found[name] = (outcome, reason)
    return found
