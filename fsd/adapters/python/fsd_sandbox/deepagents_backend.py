# SPDX-License-Identifier: Apache-2.0
"""A sandbox of fsd as the backend of a Deep Agent.

    from deepagents import create_deep_agent
    from fsd_sandbox.deepagents_backend import FsdSandbox

    with FsdSandbox.create() as backend:
        agent = create_deep_agent(model=model, backend=backend)

ls(), read(), write(), edit() and delete() are calls on the mount, see
deepagents_files.py. They start a program in the machine, as glob() and grep()
do, only where the mount does not show enough. FsdProvider is the entry point
of the group deepagents_code.sandbox_providers.
"""
from __future__ import annotations

import asyncio
import errno
from typing import Any

from deepagents.backends.protocol import (DeleteResult, EditResult,
                                          ExecuteResponse,
                                          FileDownloadResponse,
                                          FileUploadResponse, LsResult,
                                          ReadResult, WriteResult)
from deepagents.backends.sandbox import BaseSandbox

from .deepagents_files import MountFiles
from .mount import Mount
from .result import FsdError, Result
from .sandbox import AsyncSandbox, Sandbox

ERRORS = {errno.ENOENT: "file_not_found", errno.ENOTDIR: "file_not_found",
          errno.EACCES: "permission_denied", errno.EPERM: "permission_denied",
          errno.EROFS: "permission_denied", errno.EISDIR: "is_directory",
          errno.EINVAL: "invalid_path", errno.ENAMETOOLONG: "invalid_path"}


def _error(e: OSError) -> str:
    return ERRORS.get(e.errno or 0, str(e))


class FsdSandbox(BaseSandbox):
    """A Deep Agents backend over one sandbox.

    timeout: seconds of a command that names none; 0 is no limit.
    """

    def __init__(self, sandbox: Sandbox, *, timeout: int = 1800):
        self.sandbox = sandbox
        self.files = MountFiles(sandbox)
        self.timeout = timeout

    @classmethod
    def create(cls, name: str | None = None, *, mount: str | None = None,
               timeout: int = 1800, **keys: Any) -> "FsdSandbox":
        """Makes a sandbox, or opens the one of that name.

        keys are those of Mount.sandbox(): environment, memory_mb, env,
        network, idle, life, meta.
        """
        return cls(Mount(mount).sandbox(name, **keys), timeout=timeout)

    @property
    def id(self) -> str:
        return self.sandbox.name

    def _limit(self, timeout: int | None) -> float:
        return self.timeout if timeout is None else timeout

    @staticmethod
    def _response(result: Result) -> ExecuteResponse:
        output = result.output
        if result.timed_out or result.status not in ("exited", "signaled"):
            output += ("" if not output or output.endswith("\n") else "\n") + \
                (result.message or result.status)
        return ExecuteResponse(output=output, exit_code=result.exit_code,
                               truncated=result.truncated)

    def execute(self, command: str, *,
                timeout: int | None = None) -> ExecuteResponse:
        """Runs a command by bash; exit code 124: it ran out of time."""
        try:
            return self._response(self.sandbox.command(
                command, timeout=self._limit(timeout)))
        except (FsdError, OSError) as e:
            return ExecuteResponse(output=str(e), exit_code=None)

    async def aexecute(self, command: str, *,
                       timeout: int | None = None) -> ExecuteResponse:
        try:
            return self._response(await AsyncSandbox(self.sandbox).command(
                command, timeout=self._limit(timeout)))
        except (FsdError, OSError) as e:
            return ExecuteResponse(output=str(e), exit_code=None)

    # --- files ----------------------------------------------------------------

    def ls(self, path: str) -> LsResult:
        return self.files.ls(path) or super().ls(path)

    def read(self, file_path: str, offset: int = 0,
             limit: int = 2000) -> ReadResult:
        return self.files.read(file_path, offset, limit) or \
            super().read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> WriteResult:
        return self.files.write(file_path, content) or \
            super().write(file_path, content)

    def edit(self, file_path: str, old_string: str, new_string: str,
             replace_all: bool = False) -> EditResult:
        return self.files.edit(file_path, old_string, new_string,
                               replace_all) or \
            super().edit(file_path, old_string, new_string, replace_all)

    def delete(self, file_path: str) -> DeleteResult:
        return self.files.delete(file_path) or super().delete(file_path)

    async def als(self, path: str) -> LsResult:
        return await asyncio.to_thread(self.files.ls, path) or \
            await super().als(path)

    async def aread(self, file_path: str, offset: int = 0,
                    limit: int = 2000) -> ReadResult:
        return await asyncio.to_thread(self.files.read, file_path, offset,
                                       limit) or \
            await super().aread(file_path, offset, limit)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        return await asyncio.to_thread(self.files.write, file_path,
                                       content) or \
            await super().awrite(file_path, content)

    async def aedit(self, file_path: str, old_string: str, new_string: str,
                    replace_all: bool = False) -> EditResult:
        return await asyncio.to_thread(self.files.edit, file_path, old_string,
                                       new_string, replace_all) or \
            await super().aedit(file_path, old_string, new_string, replace_all)

    def upload_files(self, files: list[tuple[str, bytes]]) \
            -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, data))
                for path, data in files]

    def _upload(self, path: str, data: bytes) -> str | None:
        if not path.startswith("/") or "\0" in path:
            return "invalid_path"
        try:
            self.sandbox.write(path, data)
        except OSError as e:
            return _error(e)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        if not path.startswith("/") or "\0" in path:
            return FileDownloadResponse(path=path, error="invalid_path")
        try:
            return FileDownloadResponse(path=path,
                                        content=self.sandbox.read(path))
        except OSError as e:
            return FileDownloadResponse(path=path, error=_error(e))

    def close(self) -> None:
        """Ends the sandbox."""
        self.sandbox.close()

    delete_sandbox = close

    def __enter__(self) -> "FsdSandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FsdProvider:
    """Makes and ends sandboxes for programs that know them by their ids."""

    def __init__(self, mount: str | None = None, **keys: Any):
        self.mount = mount
        self.keys = keys

    def get_or_create(self, *, sandbox_id: str | None = None,
                      **keys: Any) -> FsdSandbox:
        """Returns the sandbox of that id, or a new one without an id.

        Raises FsdError if an id is given and no such sandbox lives.
        """
        mount = Mount(self.mount)
        if sandbox_id is not None and sandbox_id not in mount.sandboxes():
            raise FsdError(f"there is no sandbox {sandbox_id!r}: it has ended, "
                           "or belongs to another user")
        known = {k: v for k, v in {**self.keys, **keys}.items()
                 if k in ("environment", "memory_mb", "env", "network", "idle",
                          "life", "meta", "hold")}
        return FsdSandbox(mount.sandbox(sandbox_id, **known))

    def delete(self, *, sandbox_id: str, **_: Any) -> None:
        """Ends a sandbox; one that has ended is no error."""
        mount = Mount(self.mount)
        if sandbox_id in mount.sandboxes():
            mount.sandbox(sandbox_id).close()

    async def aget_or_create(self, *, sandbox_id: str | None = None,
                             **keys: Any) -> FsdSandbox:
        return await asyncio.to_thread(self.get_or_create,
                                       sandbox_id=sandbox_id, **keys)

    async def adelete(self, *, sandbox_id: str, **keys: Any) -> None:
        await asyncio.to_thread(self.delete, sandbox_id=sandbox_id, **keys)
