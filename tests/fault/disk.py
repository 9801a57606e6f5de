# SPDX-License-Identifier: Apache-2.0
"""A disk that loses power: from the calls that a daemon made on its state
directory, every directory that a file system may show after the crash.

Each call is an operation on an inode's bytes or on a directory's entries. It is
durable when an fsync of that file or directory, or a syncfs, which began after
its end has returned. What is not durable may be there or not:

  all      everything that was called
  synced   only what is durable
  ordered  entries up to some point, as a journal keeps them, and any data
  any      any of it, each for itself: all that POSIX promises
  torn     everything, but of the last write only a half

An entry whose directory is not there is not there either. Of what is appended a
beginning is kept: a file grows when its bytes are there. Modes and times are not
modelled.
"""
import hashlib
import os

O_CREAT, O_TRUNC, O_APPEND = os.O_CREAT, os.O_TRUNC, os.O_APPEND


class Inode:
    def __init__(self, is_dir, data=b""):
        self.entries = {} if is_dir else None  # before every operation
        self.data = data
        self.live = dict() if is_dir else None  # after every one

    @property
    def is_dir(self):
        return self.entries is not None


class Op:
    """What one call did. links: (directory, name, inode or None), together."""

    def __init__(self, call, links=(), file=None, at=0, data=None, size=None):
        self.call, self.links = call, links
        self.file, self.at, self.data, self.size = file, at, data, size
        self.durable_at = None  # index of the call that made it so

    def touches(self, inode):
        return inode is self.file or any(d is inode for d, _, _ in self.links)


class Disk:
    def __init__(self, top, base):
        """top: the directory's path in the calls; base: what it held before."""
        self.top = top.encode()
        self.root = self.load(base.encode())
        self.ops = []
        self.fds = {}  # number: [inode, position or None when it appends]

    def load(self, path):
        if not os.path.isdir(path):
            with open(path, "rb") as f:
                return Inode(False, f.read())
        node = Inode(True)
        for name in os.listdir(path):
            node.entries[name] = node.live[name] = self.load(path + b"/" + name)
        return node

    # --- the calls, in the order of their ends ------------------------------------

    def find(self, path):
        """The directory, the name and what has it now."""
        if path == self.top:
            return None, b"", self.root
        at = self.root
        parts = path[len(self.top) + 1:].split(b"/")
        for part in parts[:-1]:
            at = at.live[part]
        return at, parts[-1], at.live.get(parts[-1])

    def link(self, call, *links):
        for d, name, inode in links:
            if inode is None:
                d.live.pop(name, None)
            else:
                d.live[name] = inode
        self.ops.append(Op(call, links=links))

    def add(self, index, call):
        if call.result is None or call.result < 0:
            return
        fn = getattr(self, "on_" + call.name, None)
        if not fn:
            raise ValueError("%r is not modelled" % call)
        fn(index, call)

    def nothing(self, index, call):
        pass

    on_fchmod = on_fchown = on_fchmodat = on_fchownat = on_utimensat = nothing
    on_sync_file_range = nothing  # promises nothing

    def on_openat(self, index, call):
        flags = call.args[2]
        d, name, inode = self.find(call.paths[0])
        if inode is None and flags & O_CREAT:
            inode = Inode(False)
            self.link(call, (d, name, inode))
        elif flags & O_TRUNC:
            self.ops.append(Op(call, file=inode, size=0))
        self.fds[call.result] = [inode, None if flags & O_APPEND else 0]

    def on_mkdirat(self, index, call):
        d, name, _ = self.find(call.paths[0])
        self.link(call, (d, name, Inode(True)))

    def on_mkdir(self, index, call):
        self.on_mkdirat(index, call)

    def on_unlinkat(self, index, call):
        d, name, _ = self.find(call.paths[0])
        self.link(call, (d, name, None))

    def on_linkat(self, index, call):
        _, _, inode = self.find(call.paths[0])
        d, name, _ = self.find(call.paths[1])
        self.link(call, (d, name, inode))

    def on_renameat(self, index, call, exchange=False):
        d1, n1, inode = self.find(call.paths[0])
        d2, n2, old = self.find(call.paths[1])
        self.link(call, (d2, n2, inode), (d1, n1, old if exchange else None))

    def on_renameat2(self, index, call):
        self.on_renameat(index, call, bool(call.args[4] & 2))

    def write(self, call, inode, at):
        self.ops.append(Op(call, file=inode, at=at,
                           data=call.data[:call.result]))

    def on_write(self, index, call):
        fd = self.fds[call.args[0]]
        self.write(call, fd[0], fd[1])
        if fd[1] is not None:
            fd[1] += call.result

    on_writev = on_write

    def on_pwrite64(self, index, call):
        self.write(call, self.fds[call.args[0]][0], call.args[3])

    on_pwritev = on_pwritev2 = on_pwrite64

    def on_ftruncate(self, index, call):
        self.ops.append(Op(call, file=self.fds[call.args[0]][0],
                           size=call.args[1]))

    def on_fallocate(self, index, call):
        if call.args[1] & ~1:
            raise ValueError("%r is not modelled" % call)

    def on_fsync(self, index, call):
        _, _, inode = self.find(call.paths[0])
        if inode is None:  # it has no name any more
            return
        self.sync(index, call, lambda op: op.touches(inode))

    on_fdatasync = on_fsync

    def on_syncfs(self, index, call):
        self.sync(index, call, lambda op: True)

    def sync(self, index, call, covers):
        for op in self.ops:
            if op.durable_at is None and op.call.left <= call.entered and \
                    covers(op):
                op.durable_at = index

    # --- after the crash -------------------------------------------------------------

    def made(self, until):
        """The operations of the calls up to and with this index."""
        return [op for op in self.ops if op.call.index <= until]

    def durable(self, op, until):
        return op.durable_at is not None and op.durable_at <= until

    def choose(self, until, how, rng):
        """The operations that the disk has kept."""
        made = self.made(until)
        chosen = set(self.chosen(made, until, how, rng))
        kept, cut = [], set()
        for op in made:
            appends = op.file is not None and op.data is not None and \
                op.at is None
            if op not in chosen or (appends and op.file in cut):
                if appends:
                    cut.add(op.file)
                continue
            kept.append(op)
        return kept

    def chosen(self, made, until, how, rng):
        if how in ("all", "torn"):
            return made
        if how == "ordered":
            last = max((i for i, op in enumerate(made)
                        if op.links and self.durable(op, until)), default=-1)
            end = rng.randint(last + 1, len(made))
            return [op for i, op in enumerate(made)
                    if self.durable(op, until) or
                    (i < end if op.links else rng.random() < 0.5)]
        keep = 0.5 if how == "any" else 0
        return [op for op in made
                if self.durable(op, until) or rng.random() < keep]

    def tree(self, kept, torn=False):
        """{path: bytes, or None of a directory}."""
        data, entries = {}, {}
        for op in kept:
            for d, name, inode in op.links:
                there = entries.setdefault(d, dict(d.entries))
                if inode is None:
                    there.pop(name, None)
                else:
                    there[name] = inode
            if op.file is None:
                continue
            old = data.get(op.file, op.file.data)
            if op.size is not None:
                data[op.file] = old[:op.size].ljust(op.size, b"\0")
                continue
            new = op.data[:len(op.data) // 2] if torn and op is kept[-1] \
                else op.data
            at = len(old) if op.at is None else op.at
            data[op.file] = old[:at].ljust(at, b"\0") + new + \
                old[at + len(new):]
        found = {}

        def walk(inode, path):
            if not inode.is_dir:
                found[path] = data.get(inode, inode.data)
                return
            found[path] = None
            for name, child in entries.get(inode, inode.entries).items():
                walk(child, path + b"/" + name)
        walk(self.root, b"")
        return found


def digest(tree):
    h = hashlib.sha256()
    for path, data in sorted(tree.items()):
        h.update(repr((path, data)).encode())
    return h.digest()


def lay_out(tree, top):
    for path, data in sorted(tree.items()):
        path = top.encode() + path
        if data is None:
            os.mkdir(path, 0o700)
        else:
            with open(path, "wb") as f:
                f.write(data)
