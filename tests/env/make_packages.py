#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny packages for tests.

make_packages.py DIR — the hand-made ones of tests/qemu/26_env_build.bats.
"""
import base64
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile


def deb(place, name, version, files, control="", scripts=None):
    """files: {path: text}; scripts: {postinst: text}."""
    root = os.path.join(place, "root-" + name)
    os.makedirs(root + "/DEBIAN", exist_ok=True)
    with open(root + "/DEBIAN/control", "w", encoding="utf-8") as f:
        f.write("Package: %s\nVersion: %s\nArchitecture: amd64\n"
                "Maintainer: nobody <a@b>\nDescription: a test\n%s" %
                (name, version, control and control + "\n"))
    for script, text in (scripts or {}).items():
        with open(root + "/DEBIAN/" + script, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(root + "/DEBIAN/" + script, 0o755)
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)
    made = "%s/%s_%s_amd64.deb" % (place, name, version)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, made],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["rm", "-r", root], check=True)
    return made


def record(files, hashes=True):
    if not hashes:  # pip takes such lines too
        return [path + end for path, end in
                zip(files, [",,", ",crc=1", ",sha256=?,x,y"] * len(files))]
    lines = []
    for path, text in files.items():
        total = base64.urlsafe_b64encode(hashlib.sha256(
            text.encode()).digest()).decode().rstrip("=")
        lines.append("%s,sha256=%s,%d" % (path, total, len(text.encode())))
    return lines


def wheel(place, name, version, files, tags="py3-none-any", requires=(),
          scripts="", hashes=True):
    info = "%s-%s.dist-info/" % (name, version)
    files = dict(files)
    files[info + "METADATA"] = (
        "Metadata-Version: 2.1\nName: %s\nVersion: %s\nLicense: MIT\n" %
        (name, version) + "".join("Requires-Dist: %s\n" % r for r in requires))
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: test\n"
                             "Root-Is-Purelib: true\nTag: %s\n" % tags)
    if scripts:
        files[info + "entry_points.txt"] = "[console_scripts]\n%s\n" % scripts
    os.makedirs(place, exist_ok=True)
    made = "%s/%s-%s-%s.whl" % (place, name, version, tags)
    with zipfile.ZipFile(made, "w") as z:
        for path, text in files.items():
            z.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
        z.writestr(info + "RECORD", "\n".join(
            [*record(files, hashes), info + "RECORD,,"]) + "\n")
    return made


# Its setup.py tries what only a machine without a network stands.
SETUP = """
import socket
from setuptools import Extension, setup
for what in (lambda: open("/usr/it-ran", "w"),
             lambda: socket.create_connection(("192.0.2.1", 80), 5)):
    try:
        what()
    except OSError:
        continue
    raise SystemExit("it got out")
setup(name="tinyc", version="1.0", ext_modules=[Extension("tinyc", ["tinyc.c"])])
"""
TINYC = """
#include <Python.h>
static struct PyModuleDef def = { PyModuleDef_HEAD_INIT, "tinyc", NULL, -1, NULL };
PyMODINIT_FUNC PyInit_tinyc(void)
{
	PyObject *m = PyModule_Create(&def);
	if (m)
		PyModule_AddIntConstant(m, "answer", 46);
	return m;
}
"""


def sdist(place, name, version, files):
    files = {"PKG-INFO": "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" %
             (name, version), **files}
    return tarball(place, name, version, files, "%s-%s/" % (name, version),
                   "tar.gz")


def tarball(place, name, version, files, top="package/", kind="tgz"):
    """An npm package. A path that begins with ".." is kept as it is."""
    os.makedirs(place, exist_ok=True)
    made = "%s/%s-%s.%s" % (place, name.lstrip("@").replace("/", "-"), version,
                            kind)
    with tarfile.open(made, "w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path if path.startswith("..") else
                                     top + path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return made


def main(place):
    os.umask(0o022)
    python = "usr/lib/python3/dist-packages/"
    deb(place + "/debs", "python3-tiny", "1.0", {
        python + "tiny/__init__.py": "import tinybase\nanswer = 42\n",
        python + "tiny/tests/test_it.py": "never\n",
        python + "tiny/broken.py": "this is no Python\n",
        "usr/share/doc/python3-tiny/README": "long\n",
        "usr/share/doc/python3-tiny/copyright":
            "Format: https://www.debian.org/doc/packaging-manuals/"
            "copyright-format/1.0/\n\nFiles: *\nLicense: Expat\n\n"
            "Files: debian/*\nLicense: GPL-2+\n\nLicense: Expat\n a text\n",
    }, "Depends: tiny-base, libc6", {
        "postinst": "#!/bin/sh\ntouch /usr/share/it-ran /tmp/it-ran\n"})
    deb(place + "/debs", "tiny-base", "2.0", {
        python + "tinybase.py": "import os\nwhere = __file__\n",
        "lib/tiny/old-place": "x\n",
        "usr/share/doc/tiny-base/copyright":
            "It is free: see /usr/share/common-licenses/LGPL-2.1.\n"})
    wheel(place + "/wheels", "tinywheel", "1.0", {
        "tinywheel.py": "import tinydep\nanswer = 43\n"
        "def main():\n    print('the script ran', answer)\n",
        "LICENSE": "free\n", "Tiny.Wheel-1.0.data/data/share/tinywheel": "x\n"},
        requires=["tinydep"], scripts="tinycmd = tinywheel:main")
    # As small build tools write it.
    wheel(place + "/wheels", "tinydep", "0.5", {"tinydep.py": "x = 1\n",
                                                "LICENSE": "free, too\n"},
          hashes=False)
    wheel(place + "/wheels", "onlymac", "1.0", {"onlymac.py": "x = 1\n"},
          tags="cp313-cp313-macosx_11_0_arm64")
    wheel(place + "/wheels", "escaper", "1.0", {
        "escaper.py": "x = 1\n", "../../../../../../tmp/escaped.py": "x\n"})
    sdist(place + "/sdists", "tinyc", "1.0", {"setup.py": SETUP, "tinyc.c": TINYC})
    tarball(place + "/npm", "tinyjs", "1.0.0", {
        "package.json": '{"name":"tinyjs","version":"1.0.0","main":"index.js",'
        '"scripts":{"install":"touch it-ran","postinstall":"touch it-ran"},'
        '"bin":{"tinyjs":"cli.js"}}',
        "index.js": "exports.answer = 44;\n",
        "cli.js": "#!/usr/bin/env node\nconsole.log('cli');\n"})
    tarball(place + "/npm", "tinyesm", "1.0.0", {
        "package.json": '{"name":"tinyesm","version":"1.0.0","type":"module",'
        '"exports":"./index.js"}',
        "index.js": "export const answer = 45;\n"})
    for name in ("one", "two"):
        tarball(place + "/npm", name, "1.0.0", {
            "package.json": '{"name":"%s","version":"1.0.0"}' % name,
            "index.js": "module.exports = require('tinyjs');\n"})
    tarball(place + "/npm", "tinyjs", "0.1.0", {
        "package.json": '{"name":"tinyjs","version":"0.1.0"}',
        "index.js": "exports.answer = 'older';\n"})
    tarball(place + "/npm", "escaper", "1.0.0", {
        "package.json": '{"name":"escaper","version":"1.0.0"}',
        "../../escaped.js": "x\n"})


if __name__ == "__main__":
    main(sys.argv[1])
