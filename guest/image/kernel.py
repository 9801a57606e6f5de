#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a Debian kernel package apart.

kernel.py vmlinux BZIMAGE OUT      the ELF file inside a bzImage
kernel.py modules TREE LIST OUTDIR the modules named in the file LIST and all
                                   that they depend on, unless the kernel has
                                   them built in, plus OUTDIR/order
"""
import lzma
import os
import re
import struct
import subprocess
import sys

# The first bytes of a payload, and the command that unpacks it.
PACKERS = {
    b"\x02\x21\x4c\x18": ["lz4", "-dc"],
    b"\x28\xb5\x2f\xfd": ["zstd", "-dcq"],
    b"\x1f\x8b": ["gzip", "-dc"],
    b"\xfd7zXZ\x00": ["xz", "-dcq"],
}


def die(sentence):
    sys.exit(f"kernel.py: {sentence}")


def payload_of(image):
    """Return: the packed kernel in a bzImage, and its unpacked size. The boot
    protocol's header says where it lies."""
    if len(image) < 0x260 or image[0x202:0x206] != b"HdrS":
        die("this is no bzImage: the HdrS mark is missing")
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    if length < 8 or start + length > len(image):
        die(f"the payload ({length} bytes at {start}) ends outside the file")
    # The last four bytes are the unpacked size, put there by the kernel's
    # build; gzip's format ends with the same four bytes of its own.
    size = struct.unpack_from("<I", image, start + length - 4)[0]
    end = start + length
    if image[start:start + 2] != b"\x1f\x8b":
        end -= 4
    return image[start:end], size


def vmlinux(source, target):
    with open(source, "rb") as f:
        packed, size = payload_of(f.read())
    for magic, command in PACKERS.items():
        if packed.startswith(magic):
            break
    else:
        die(f"payload begins with {packed[:6].hex()}: unknown compression")
    done = subprocess.run(command, input=packed, stdout=subprocess.PIPE)
    if done.returncode:
        die(f"{command[0]} could not unpack the kernel")
    if len(done.stdout) != size or done.stdout[:4] != b"\x7fELF":
        die(f"unpacked {len(done.stdout)} bytes, expected an ELF of {size}")
    with open(target, "wb") as f:
        f.write(done.stdout)


def key_of(name):
    """The kernel takes - and _ in the name of a module for the same."""
    return name.partition(".ko")[0].replace("-", "_")


def load(path):
    """The module's bytes: Debian 13 packs each one."""
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rb") as f:
        return f.read()


def depends_of(module):
    """The names in a module's own depends= entry (section .modinfo)."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return found.group(1).decode().split(",") if found else []


def modules(tree, wanted_file, outdir):
    files = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            if name.endswith((".ko", ".ko.xz")):
                files[key_of(name)] = os.path.join(folder, name)
    with open(os.path.join(tree, "modules.builtin")) as f:
        builtin = {key_of(os.path.basename(line.strip())) for line in f}
    taken = {}  # in the order in which they can be loaded

    def add(name):
        key = key_of(name)
        if not key or key in taken or key in builtin:
            return
        if key not in files:
            die(f"the kernel package has no module {name}.ko")
        module = load(files[key])
        for below in depends_of(module):
            add(below)
        taken[key] = module

    with open(wanted_file) as f:
        for line in f:
            add(line.split("#")[0].strip())
    os.makedirs(outdir, exist_ok=True)
    with open(os.path.join(outdir, "order"), "w") as order:
        for key, module in taken.items():
            with open(os.path.join(outdir, key + ".ko"), "wb") as f:
                f.write(module)
            order.write(key + ".ko\n")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "vmlinux":
        vmlinux(*sys.argv[2:])
    elif len(sys.argv) == 5 and sys.argv[1] == "modules":
        modules(*sys.argv[2:])
    else:
        sys.exit(__doc__)
