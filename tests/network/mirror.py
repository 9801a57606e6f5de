#!/usr/bin/python3 -IS
# SPDX-License-Identifier: Apache-2.0
"""An internal mirror as a directory: mirror.py DIR URL makes an index of wheels and a
registry of npm there, which any web server serves at URL.

DIR/simple has the wheels `tiny`, which needs `tinier`; DIR/npm has the packages `tinyjs`,
which needs `tinierjs`.
"""
import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def wheel(root, name, code, needs=()):
    file = "%s-1.0-py3-none-any.whl" % name
    info = "%s-1.0.dist-info/" % name
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as z:
        z.writestr(name + ".py", code)
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n" % name +
                   "".join("Requires-Dist: %s\n" % other for other in needs))
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: t\n"
                   "Root-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "RECORD", "")
    put(os.path.join(root, "simple", name, file), made.getvalue())
    put(os.path.join(root, "simple", name, "index.html"),
        ('<a href="%s">%s</a>' % (file, file)).encode())


def tarball(root, url, name, code, needs=()):
    package = {"name": name, "version": "1.0.0", "main": "index.js",
               "dependencies": {other: "^1.0.0" for other in needs}}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as t:
        for path, text in (("package.json", json.dumps(package)), ("index.js", code)):
            entry = tarfile.TarInfo("package/" + path)
            entry.size = len(text)
            t.addfile(entry, io.BytesIO(text.encode()))
    data = made.getvalue()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    package["dist"] = {"tarball": "%s/npm/-/%s-1.0.0.tgz" % (url, name),
                       "integrity": "sha512-" + digest}
    put(os.path.join(root, "npm", "-", name + "-1.0.0.tgz"), data)
    put(os.path.join(root, "npm", name), json.dumps(
        {"name": name, "dist-tags": {"latest": "1.0.0"},
         "versions": {"1.0.0": package}}).encode())


def main():
    root, url = sys.argv[1:]
    wheel(root, "tinier", "word = 'tinier'\n")
    wheel(root, "tiny", "import tinier\nword = 'tiny with ' + tinier.word\n", ["tinier"])
    tarball(root, url, "tinierjs", "module.exports = 'tinierjs';\n")
    tarball(root, url, "tinyjs", "module.exports = 'tinyjs with ' + require('tinierjs');\n",
            ["tinierjs"])


main()
