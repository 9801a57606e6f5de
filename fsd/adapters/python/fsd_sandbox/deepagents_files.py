# SPDX-License-Identifier: Apache-2.0
"""Operations of a Deep Agents backend on the files of a sandbox, through the mount.

Each returns None where the mount cannot tell: links, paths through them, what is too
large, what is not there. The backend asks the machine then, which has the words for it.
"""
from __future__ import annotations

import os
import posixpath

from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.protocol import (DeleteResult, EditResult, LsResult,
                                          ReadResult, WriteResult)
from deepagents.backends.sandbox import MAX_BINARY_BYTES, MAX_OUTPUT_BYTES

from .sandbox import Sandbox

READ_MAX = min(MAX_BINARY_BYTES, MAX_OUTPUT_BYTES)
EDIT_MAX = 8 << 20


class MountFiles:
    """The files of one sandbox."""

    def __init__(self, sandbox: Sandbox):
        self.sandbox = sandbox

    def _is_file(self, path: str, limit: int) -> bool:
        where = self.sandbox.host_path(path)
        return os.path.isfile(where) and os.path.getsize(where) <= limit

    def ls(self, path: str) -> LsResult | None:
        try:
            where = self.sandbox.host_path(path)
            if os.getxattr(where, "user.fsd.hidden") != b"0":
                return None
            found = self.sandbox.list(path)
        except (OSError, ValueError):
            return None
        return LsResult(entries=[
            {"path": posixpath.join(path, posixpath.basename(e.path)),
             "is_dir": e.is_dir} for e in found])

    def read(self, path: str, offset: int, limit: int) -> ReadResult | None:
        """Reads by the framework's own backend for files of the host.

        A sandbox's has newlines between lines only, so none at the end of a page.
        """
        try:
            if not self._is_file(path, READ_MAX):
                return None
            folder, name = os.path.split(self.sandbox.host_path(path))
            said = FilesystemBackend(root_dir=folder, virtual_mode=True).read(
                "/" + name, offset, limit)
        except (OSError, ValueError):
            return None
        if said.error or said.file_data is None:
            return None
        if said.file_data["encoding"] == "utf-8":
            content = said.file_data["content"]
            said.file_data["content"] = content.removesuffix("\n")
        return said

    def write(self, path: str, content: str) -> WriteResult | None:
        if not path.startswith("/"):
            return None
        try:
            self.sandbox.write(path, content)
        except (OSError, ValueError):
            return None
        return WriteResult(path=path)

    def edit(self, path: str, old: str, new: str,
             replace_all: bool) -> EditResult | None:
        """A file with carriage returns is left to the machine's rules for them."""
        try:
            if not self._is_file(path, EDIT_MAX):
                return None
            text = self.sandbox.read(path).decode()
        except (OSError, ValueError):
            return None
        count = text.count(old) if old else 0
        if "\r" in text + old + new or count == 0 or \
                (count > 1 and not replace_all):
            return None
        try:
            self.sandbox.write(path, text.replace(old, new))
        except OSError as e:
            return EditResult(error=f"Error editing file '{path}': {e.strerror}")
        return EditResult(path=path, occurrences=count)

    def delete(self, path: str) -> DeleteResult | None:
        """Only of a file: of a directory the machine is faster."""
        try:
            if not os.path.isfile(self.sandbox.host_path(path)):
                return None
            self.sandbox.remove(path)
        except (OSError, ValueError):
            return None
        return DeleteResult(path=path)
