# SPDX-License-Identifier: Apache-2.0
"""Runs in a machine: unpacks the archive that its argument names into the directory tree.

Exit code 3: the archive ends early, so it may still grow. 4: it cannot be unpacked; the last
line of standard error says why.
"""
import os
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib

TREE = "tree"
EARLY, WRONG = 3, 4


def stop(code, text):
    print(text, file=sys.stderr)
    sys.exit(code)


def place(name):
    """The path below TREE of an archive's name; None for the top itself."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        stop(WRONG, "%s leads out of the archive's directory" % ascii(name))
    return os.path.join(TREE, *parts) if parts else None


def parent(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)


def put_file(path, source, mode):
    parent(path)
    with open(path, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    os.chmod(path, 0o755 if mode & 0o111 else 0o644)


def put_link(path, target):
    inside = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.isabs(target) or not (inside + "/").startswith(TREE + "/"):
        stop(WRONG, "the link %s leads out of the archive's directory" % ascii(path))
    parent(path)
    os.symlink(target, path)


def put_member(tar, member):
    path = place(member.name)
    if path is None:
        return
    if member.isdir():
        os.makedirs(path, exist_ok=True)
    elif member.isreg():
        put_file(path, tar.extractfile(member), member.mode)
        os.utime(path, (member.mtime, member.mtime))
    elif member.issym():
        put_link(path, member.linkname)
    elif member.islnk():
        parent(path)
        shutil.copy2(place(member.linkname), path)
    else:
        stop(WRONG, "%s is neither a file nor a directory nor a link" %
             ascii(member.name))


def untar(name):
    with tarfile.open(name) as tar:
        for member in tar:
            put_member(tar, member)
        # Blocks of zeros are its end: a file that is cut between two members has none.
        tar.fileobj.seek(tar.offset)
        if len(tar.fileobj.read(512)) < 512:
            stop(EARLY, "it ends early")


def unzip(name):
    with zipfile.ZipFile(name) as archive:
        for member in archive.infolist():
            path, mode = place(member.filename), member.external_attr >> 16
            if path is None:
                continue
            if member.is_dir():
                os.makedirs(path, exist_ok=True)
            elif stat.S_ISLNK(mode):
                put_link(path, os.fsdecode(archive.read(member)))
            else:
                with archive.open(member) as source:
                    put_file(path, source, mode)


def is_cut_zip(name):
    """Its list of members is at the end of the file."""
    with open(name, "rb") as archive:
        return archive.read(4) in (b"PK\x03\x04", b"")


def main():
    name = sys.argv[1]
    os.mkdir(TREE)
    try:
        (unzip if name.endswith(".zip") else untar)(name)
    except zipfile.BadZipFile as error:
        stop(EARLY if is_cut_zip(name) else WRONG, str(error))
    except (EOFError, tarfile.ReadError) as error:
        cut = isinstance(error, EOFError) or "end of data" in str(error) or \
            not os.path.getsize(name)
        other = "could not be opened" in str(error)
        stop(EARLY if cut else WRONG, "it is no tar archive" if other else str(error))
    except (tarfile.TarError, zlib.error, OSError, RuntimeError, ValueError,
            NotImplementedError) as error:
        stop(WRONG, str(error))


main()
