# SPDX-License-Identifier: Apache-2.0
"""A test's face: TAP on standard output, what was found as comments."""
import collections
import re
import sys
import time
import traceback


class Tap:
    """One document. Its plan is printed at the end."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, good, sentence, findings=()):
        """One test; findings are shown when it is not good."""
        self.count += 1
        self.failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, sentence))
        if not good:
            for line in some_of_each(findings):
                self.say(line)
        sys.stdout.flush()

    def skip(self, sentence, why):
        self.count += 1
        print("ok %d - %s # skip %s" % (self.count, sentence, why), flush=True)

    def say(self, text):
        for line in str(text).splitlines():
            print("# %s" % line)
        sys.stdout.flush()

    def run(self, sentence, fn, *args):
        """fn gives a list of findings: none is good. What it raises is one."""
        began = time.monotonic()
        try:
            findings = fn(*args)
        except Exception:
            findings = traceback.format_exc().splitlines()
        self.ok(not findings, sentence, findings)
        self.say("%.1f s" % (time.monotonic() - began))

    def end(self):
        """Return: the status of the process."""
        print("1..%d" % self.count, flush=True)
        return 1 if self.failed else 0


def some_of_each(findings, most=6):
    """A few of each word, and of those first what differs by more than numbers
    and places."""
    words = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in findings:
        word = re.search(r"\b(lost|doubled|half|back|stuck|untold):", line)
        kind = line[word.start():] if word else line
        kind = re.sub(r"'[^']*'|[0-9a-f]*[0-9][0-9a-f]*", "N", kind)[:200]
        words[word.group(1) if word else ""][kind].append(line)
    for word, kinds in words.items():
        room = most if word else 40
        some = [same[0] for same in kinds.values()]
        some += [line for same in kinds.values() for line in same[1:]]
        for line in some[:room]:
            yield line[:1000]
        if len(some) > room:
            yield "%d in all that are %s" % (len(some), word or "said")


def spread(values):
    """"median 1.2, worst 3.4" of numbers."""
    if not values:
        return "none"
    ordered = sorted(values)
    return "median %.1f, worst %.1f" % (ordered[len(ordered) // 2], ordered[-1])
