#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""privileges.py TREE: fails, and names each, if something in TREE would give
whoever runs or opens it a privilege: a set-id bit, a file capability, a device
node. Programs in the guest have none, and none is to be had."""
import os
import stat
import sys


def privilege_of(path):
    """Return: the privilege that path gives, in words; None: it gives none."""
    info = os.lstat(path)
    kind = stat.S_IFMT(info.st_mode)
    if kind in (stat.S_IFCHR, stat.S_IFBLK):
        return "is a device node"
    if kind == stat.S_IFLNK:
        return None
    if kind == stat.S_IFREG and info.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return f"is set-id (mode {stat.S_IMODE(info.st_mode):04o})"
    if "security.capability" in os.listxattr(path, follow_symlinks=False):
        return "has a capability"
    return None


def below(tree):
    for folder, folders, files in os.walk(tree):
        for name in folders + files:
            yield os.path.join(folder, name)


def main(tree):
    if not os.path.isdir(tree):
        sys.exit(f"privileges.py: {tree} is no directory")
    found = []
    for path in below(tree):
        privilege = privilege_of(path)
        if privilege:
            found.append(f"/{os.path.relpath(path, tree)} {privilege}")
    if found:
        sys.exit("privileges.py: " + "; ".join(sorted(found)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
