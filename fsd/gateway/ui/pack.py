#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pack.py OUT.c — the dashboard's page as C, with its Content-Security-Policy.

page.css and page.js go into page.html, in the place of "@style@" and "@script@". A
browser runs what has the sum that the policy names, and nothing else.
"""

import base64
import hashlib
import os
import pathlib
import sys

LONGEST = 64 << 10
POLICY = ("default-src 'none'; script-src '%s'; style-src '%s'; "
          "connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'")


def text_of(name):
    return (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8")


def inner(name):
    """A file as the element has it: a sum is over all between the tags."""
    text = text_of(name)
    if "</" in text:
        sys.exit("%s: \"</\" could end its element" % name)
    return "\n" + text


def sum_of(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def main():
    style, script = inner("page.css"), inner("page.js")
    page = text_of("page.html").replace("@style@", style) \
        .replace("@script@", script).encode()
    if b"://" in page:
        sys.exit("the page names another host")
    if len(page) > LONGEST:
        sys.exit("the page has %d bytes, more than %d" % (len(page), LONGEST))
    if not page.isascii():
        sys.exit("the page is not ASCII")
    rows = [", ".join("%d" % byte for byte in page[i:i + 16])
            for i in range(0, len(page), 16)]
    new = pathlib.Path(sys.argv[1] + ".%d" % os.getpid())
    new.write_text(
        '#include "fsd/gateway/ui/ui_int.h"\n\n'
        'const char ui_policy[] =\n\t"%s";\n'
        "const size_t ui_page_len = %d;\n"
        "const char ui_page[] = {\n\t%s\n};\n" % (
            POLICY % (sum_of(script), sum_of(style)), len(page),
            ",\n\t".join(rows)), encoding="utf-8")
    new.rename(sys.argv[1])  # two builds may make it at a time


main()
