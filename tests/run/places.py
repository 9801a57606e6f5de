#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the pages for developers name what exists. Speaks TAP.

places.py — in each .md file: `FILE:NAME` is a file with a line at its left edge that
has NAME, as a definition has; a FILE or a folder between backticks that begins with a
folder of the sources exists; so does the target of a link.
"""
import os
import re
import subprocess
import sys

TOP = subprocess.check_output(["git", "rev-parse", "--show-toplevel"],
                              text=True).strip()
FOLDERS = "layout|guest|vm|fsd|tests"
PLACE = re.compile(r"`((?:%s)/[\w./-]+)(?::(\w+))?`" % FOLDERS)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)")


def defines(path, name):
    """True if a line of the file that begins at the left edge has the name."""
    word = re.compile(r"^[#\w][^\n]*\b%s\b" % re.escape(name), re.M)
    with open(path, encoding="utf-8", errors="replace") as f:
        return bool(word.search(f.read()))


def check(page):
    """(number of places, findings) of a page."""
    count, wrong = 0, []
    with open(page, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, line in enumerate(lines, 1):
        for path, name in PLACE.findall(line):
            count += bool(name)
            if not os.path.exists(path):
                wrong.append("%s:%d: there is no %s" % (page, number, path))
            elif name and not defines(path, name):
                wrong.append("%s:%d: %s does not define %s" % (page, number, path,
                                                               name))
        for target in LINK.findall(line):
            if not os.path.exists(os.path.join(os.path.dirname(page), target)):
                wrong.append("%s:%d: the link leads nowhere: %s" % (page, number,
                                                                    target))
    return count, wrong


def main():
    os.chdir(TOP)
    pages = subprocess.check_output(["git", "ls-files", "--cached", "--others",
                                     "--exclude-standard", "*.md"],
                                    text=True).split("\n")
    found = [check(p) for p in pages if p and "/corpus/" not in p]
    checks = (
        ("each file and function that a page names exists",
         [w for _, wrong in found for w in wrong]),
        ("fsd/CONTRIBUTING.md says where to add",
         [] if sum(n for n, _ in found) > 50 else ["it names too few places"]),
        ("a place that does not exist is found",
         [] if not defines("layout/lang.h", "lang_that_is_not") else ["it is not"]),
    )
    for number, (sentence, findings) in enumerate(checks, 1):
        print("%s %d - %s" % ("not ok" if findings else "ok", number, sentence))
        for line in findings[:40]:
            print("#   " + line)
    print("1..%d" % len(checks))
    sys.exit(any(findings for _, findings in checks))


if __name__ == "__main__":
    main()
