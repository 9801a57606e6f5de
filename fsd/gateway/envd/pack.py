#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pack.py NAME IN OUT.c — a text as a string of C called NAME."""

import os
import pathlib
import sys


def main():
    name, source, out = sys.argv[1:]
    text = pathlib.Path(source).read_bytes() + b"\0"
    rows = [", ".join("%d" % byte for byte in text[i:i + 16])
            for i in range(0, len(text), 16)]
    new = pathlib.Path(out + ".%d" % os.getpid())
    new.write_text("extern const char %s[];\nconst char %s[] = {\n\t%s\n};\n" %
                   (name, name, ",\n\t".join(rows)), encoding="utf-8")
    new.rename(out)  # two builds may make it at a time


main()
