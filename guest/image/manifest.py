#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes and checks an image's manifest; README.md describes the format.

manifest.py write DIR KERNEL CONTENT   describe the parts in DIR
manifest.py check DIR                  compare DIR with its manifest
manifest.py fresh DIR IMAGE            exit 0 if DIR says that it is IMAGE and
                                       its parts have their sizes (no hashing)
manifest.py swap NEW DIR               put NEW in DIR's place in one step
"""
import ctypes
import hashlib
import os
import re
import shutil
import struct
import sys

FORMAT = "1"
PARTS = ("rootfs.erofs", "vmlinux", "initramfs.cpio", "packages.list")
AT_FDCWD = -100
RENAME_EXCHANGE = 2


def die(sentence):
    sys.exit(f"manifest.py: {sentence}")


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest


def image_id(parts):
    """parts: (name, raw SHA-256) in the manifest's order."""
    digest = hashlib.sha256()
    for name, raw in parts:
        for field in (name.encode(), raw):
            digest.update(struct.pack("<Q", len(field)) + field)
    return digest.hexdigest()


# An environment runs only on an image with the same versions of these packages. A
# row: package, how many numbers of its version count, the word for it.
ABI = (("base-files", 1, "debian"), ("python3", 2, "python"),
       ("nodejs", 1, "node"))


def abi(packages):
    """packages: lines "name version". Return: as "debian-13-amd64 ..."."""
    versions = dict(line.split(" ", 1) for line in packages)
    words = []
    for package, count, word in ABI:
        if package in versions:
            numbers = re.findall("[0-9]+", versions[package])[:count]
            words.append(word + "-" + ".".join(numbers))
    return " ".join([words[0] + "-amd64"] + words[1:])


def write(folder, kernel, content):
    lines, hashes = [], []
    for name in PARTS:
        path = os.path.join(folder, name)
        digest = sha256_of(path)
        hashes.append((name, digest.digest()))
        size = os.path.getsize(path)
        lines.append(f"part {name} {size} {digest.hexdigest()}\n")
    with open(os.path.join(folder, "packages.list")) as f:
        packages = f.readlines()
    with open(os.path.join(folder, "manifest"), "w") as f:
        f.write(f"format {FORMAT}\n")
        f.write(f"image {image_id(hashes)}\n")
        f.write(f"kernel {kernel}\n")
        f.write(f"abi {abi(packages)}\n")
        f.write(f"packages {len(packages)}\n")
        f.write(f"content {content}\n")
        f.writelines(lines)


def read(folder):
    """Return: ({key: value}, [(part name, size, hash)])."""
    keys, parts = {}, []
    try:
        with open(os.path.join(folder, "manifest")) as f:
            for line in f:
                key, value = line.rstrip("\n").split(" ", 1)
                if key == "part":
                    name, size, digest = value.split(" ")
                    parts.append((name, int(size), digest))
                else:
                    keys[key] = value
    except (OSError, ValueError) as e:
        die(f"{folder}/manifest cannot be read: {e}")
    if keys.get("format") != FORMAT:
        die(f"{folder}/manifest has format {keys.get('format')}, "
            f"this tool knows {FORMAT}")
    return keys, parts


def check(folder):
    keys, parts = read(folder)
    if tuple(name for name, _, _ in parts) != PARTS:
        die(f"{folder}/manifest does not list " + ", ".join(PARTS))
    for name, size, digest in parts:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            die(f"{path} is missing")
        if os.path.getsize(path) != size:
            die(f"{path} has {os.path.getsize(path)} bytes, "
                f"the manifest says {size}")
        if sha256_of(path).hexdigest() != digest:
            die(f"{path} is not what the manifest describes")
    raw = [(name, bytes.fromhex(digest)) for name, _, digest in parts]
    if image_id(raw) != keys.get("image"):
        die(f"{folder}/manifest: the image id does not follow from its parts")
    print(f"image {keys['image']} ok")


def fresh(folder, image):
    if not os.path.isfile(os.path.join(folder, "manifest")):
        sys.exit(1)
    keys, parts = read(folder)
    for name, size, _ in parts:
        path = os.path.join(folder, name)
        if not os.path.isfile(path) or os.path.getsize(path) != size:
            sys.exit(1)
    sys.exit(0 if keys.get("image") == image else 1)


def swap(new, folder):
    if not os.path.lexists(folder):
        os.rename(new, folder)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(new), AT_FDCWD,
                      os.fsencode(folder), RENAME_EXCHANGE):
        die(f"cannot exchange {new} and {folder}: "
            + os.strerror(ctypes.get_errno()))
    shutil.rmtree(new)


if __name__ == "__main__":
    verbs = {"write": (write, 3), "check": (check, 1),
             "fresh": (fresh, 2), "swap": (swap, 2)}
    verb, count = verbs.get(sys.argv[1] if len(sys.argv) > 1 else "", (0, 0))
    if not verb or len(sys.argv) != count + 2:
        sys.exit(__doc__)
    verb(*sys.argv[2:])
