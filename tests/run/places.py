#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the pages for developers name what exists. Speaks TAP.

places.py — in each .md file: `FILE:NAME` is a file with a line at its left edge that
has NAME, as a definition has; a FILE or a folder between backticks that begins with a
folder of the sources exists; so does the target of a link.

A README with a table `| file | what it does |` has a row for each .c file of its folder,
and for each other file of an ending that the table has (headers excepted). The same is
true of a folder below that a row names. Each file of the table exists, and its row fits
into a line.
"""
import os
import re
import subprocess
import sys

TOP = subprocess.check_output(["git", "rev-parse", "--show-toplevel"],
                              text=True).strip()
FOLDERS = "layout|guest|vm|fsd|tests"
PLACE = re.compile(r"`((?:%s)/[\w./-]+)(?::(\w+))?`" % FOLDERS)
TABLE = re.compile(r"^\| file \| what it does \|\n\|[-|]+\|\n((?:\|.*\n)*)", re.M)
WORDS_MOST = 90  # characters of a row's second column
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


def rows_of(text):
    """[(files, words)] of a README's tables of files."""
    for table in TABLE.findall(text):
        for row in table.splitlines():
            files, _, words = row[2:].rstrip("| ").partition(" | ")
            yield re.findall(r"`([^`]+)`", files), words


def check_table(page, text):
    """Findings in the tables of files of a page; an ending counts if a row has it."""
    folder, listed, wrong = os.path.dirname(page), set(), []
    for files, words in rows_of(text):
        listed.update(files)
        if len(words) > WORDS_MOST:
            wrong.append("%s: the row of %s has %d characters, not %d at most" % (
                page, files[0], len(words), WORDS_MOST))
    if not listed:
        return wrong
    wrong += ["%s: there is no %s, but its table has a row for it" % (page, name)
              for name in sorted(listed)
              if not os.path.exists(os.path.join(folder, name))]
    endings = {os.path.splitext(name)[1] for name in listed} - {".h", ""} | {".c"}
    for below in {os.path.dirname(name) for name in listed if ".." not in name} | {""}:
        wrong += ["%s: `%s` has no row in the table of files: add one line that says "
                  "what it does" % (page, name)
                  for name in sorted(os.path.join(below, entry) for entry in
                                     os.listdir(os.path.join(folder, below)))
                  if os.path.splitext(name)[1] in endings and name not in listed]
    return wrong


def tables(pages):
    return [finding for page in pages if os.path.basename(page) == "README.md"
            for finding in check_table(page, open(page, encoding="utf-8").read())]


def main():
    os.chdir(TOP)
    pages = subprocess.check_output(["git", "ls-files", "--cached", "--others",
                                     "--exclude-standard", "*.md"],
                                    text=True).split("\n")
    pages = [p for p in pages if os.path.isfile(p) and "/corpus/" not in p]
    found = [check(p) for p in pages]
    half = "| file | what it does |\n|---|---|\n| `env.c` | a |\n| `no.c` | b |\n"
    checks = (
        ("each file and function that a page names exists",
         [w for _, wrong in found for w in wrong]),
        ("fsd/CONTRIBUTING.md says where to add",
         [] if sum(n for n, _ in found) > 50 else ["it names too few places"]),
        ("a place that does not exist is found",
         [] if not defines("layout/lang.h", "lang_that_is_not") else ["it is not"]),
        ("each table of files has a row for each file, and no other", tables(pages)),
        ("a file without a row is found, and a row without a file",
         [what for what in ("`lang.c` has no row", "there is no no.c")
          if what not in "\n".join(check_table("layout/README.md", half))]),
    )
    for number, (sentence, findings) in enumerate(checks, 1):
        print("%s %d - %s" % ("not ok" if findings else "ok", number, sentence))
        for line in findings[:40]:
            print("#   " + line)
    print("1..%d" % len(checks))
    sys.exit(any(findings for _, findings in checks))


if __name__ == "__main__":
    main()
