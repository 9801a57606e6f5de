# SPDX-License-Identifier: Apache-2.0
"""Runs modules of CPython's own tests. The job's program.

code.py MODULE[:PATTERN]... — test/ beside it has the modules, and what they need
of the others. A pattern chooses tests by their ids; one with ! leaves them out. The outcome is the file outcome.json: seconds of processors, and of each test
[id, "ok" | "skip" | "bad", text].
"""
import fnmatch
import json
import os
import sys
import unittest

from test import support


class Result(unittest.TextTestResult):
    def __init__(self, *args, **words):
        super().__init__(*args, **words)
        self.outcome = []

    def put(self, case, word, text=""):
        self.outcome.append([case.id() if hasattr(case, "id") else str(case),
                             word, text[-3000:]])

    def addSuccess(self, case):
        super().addSuccess(case)
        self.put(case, "ok")

    def addSkip(self, case, reason):
        super().addSkip(case, reason)
        self.put(case, "skip", reason)

    def addError(self, case, error):
        super().addError(case, error)
        self.put(case, "bad", self.errors[-1][1])

    def addFailure(self, case, error):
        super().addFailure(case, error)
        self.put(case, "bad", self.failures[-1][1])

    def addSubTest(self, case, subtest, error):
        super().addSubTest(case, subtest, error)
        if error:
            self.put(case, "bad", str(subtest) + "\n" +
                     self._exc_info_to_string(error, case))

    def addExpectedFailure(self, case, error):
        super().addExpectedFailure(case, error)
        self.put(case, "ok")

    def addUnexpectedSuccess(self, case):
        super().addUnexpectedSuccess(case)
        self.put(case, "bad", "unexpected success")


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def matching(name, pattern):
    """As a suite, so that its fixtures of classes and modules run."""
    found = unittest.defaultTestLoader.loadTestsFromName("test." + name)
    if not pattern:
        return found
    out = pattern.startswith("!")
    return unittest.TestSuite(
        case for case in flat(found)
        if fnmatch.fnmatchcase(case.id(), pattern[out:]) != out)


def main(words):
    support.use_resources = {}
    # An emulated processor is slow, and busy.
    support.LOOPBACK_TIMEOUT = support.SHORT_TIMEOUT = 200
    support.LONG_TIMEOUT = 600
    outcome = []
    for word in words:
        name, _, pattern = word.partition(":")
        try:
            suite = matching(name, pattern)
        except unittest.SkipTest as e:
            outcome.append([name, "skip", str(e)])
            continue
        result = unittest.TextTestRunner(
            sys.stderr, verbosity=0, resultclass=Result).run(suite)
        outcome += result.outcome
    with open("outcome.json", "w") as f:
        json.dump({"seconds": sum(os.times()[:4]), "tests": outcome}, f)
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(0)  # threads that a test has left do not matter


if __name__ == "__main__":
    main(sys.argv[1:])
