# SPDX-License-Identifier: Apache-2.0
"""A sandbox of fsd as the backend of a Deep Agent.

    from deepagents import create_deep_agent
    from fsd_sandbox.deepagents_backend import FsdSandbox

    with FsdSandbox.create() as backend:
        agent = create_deep_agent(model=model, backend=backend)

FsdProvider is the entry point of the group deepagents_code.sandbox_providers.
"""
from __future__ import annotations

import asyncio
import errno
from typing import Any

from deepagents.backends.protocol import (ExecuteResponse,
                                          FileDownloadResponse,
                                          FileUploadResponse)
from deepagents.backends.sandbox import BaseSandbox

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
        self.timeout = timeout

    @classmethod
    def create(cls, name: str | None = None, *, mount: str | None = None,
               timeout: int = 1800, **keys: Any) -> "FsdSandbox":
        """Makes a sandbox, or opens the one of that name.

        keys are those of Mount.sandbox(): environment, memory_mb, env, idle,
        life, meta.
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
                 if k in ("environment", "memory_mb", "env", "idle", "life",
                          "meta")}
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
