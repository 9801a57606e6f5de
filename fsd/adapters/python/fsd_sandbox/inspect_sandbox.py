# SPDX-License-Identifier: Apache-2.0
"""The sandbox "fsd" of Inspect: a machine for each sample.

    Task(..., sandbox="fsd")
    Task(..., sandbox=("fsd", "config.json"))

The file has the keys of a sandbox's config.json: environment, memory_mb, env,
network.
"""
from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from typing import Any, Literal, overload

from inspect_ai.util import (ExecResult, OutputLimitExceededError,
                             SandboxEnvironment,
                             SandboxEnvironmentConfigType,
                             SandboxEnvironmentLimits, sandboxenv)
from inspect_ai.util._sandbox.environment import SandboxUserUnsupportedError
from pydantic import BaseModel

from .mount import Mount
from .result import Result
from .sandbox import AsyncSandbox

CANNOT_RUN = 126  # what a shell says of a program that may not be run
USERS = (None, "", "user", "1000")
KEYS = ("environment", "memory_mb", "cpus", "processes", "env", "idle", "life",
        "meta")


class FsdSandboxConfig(BaseModel):
    """The keys of a sandbox's config.json that a task may set."""
    environment: str | None = None
    memory_mb: int | None = None
    env: dict[str, str] | None = None
    network: bool | list[str] | dict[str, list[str]] | None = None


def _config(config: Any) -> dict[str, Any]:
    if isinstance(config, str):
        with open(config, encoding="utf-8") as f:
            config = FsdSandboxConfig(**json.load(f))
    return config.model_dump(exclude_none=True) if config else {}


@sandboxenv(name="fsd")
class FsdSandboxEnvironment(SandboxEnvironment):
    """Runs a sample's commands in one sandbox of the mount $FSD_MOUNT."""

    def __init__(self, sandbox: AsyncSandbox):
        super().__init__()
        self.sandbox = sandbox

    @classmethod
    def config_files(cls) -> list[str]:
        return ["fsd-sandbox.json"]

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return FsdSandboxConfig(**config)

    @classmethod
    async def sample_init(cls, task_name: str,
                          config: SandboxEnvironmentConfigType | None,
                          metadata: dict[str, str]) \
            -> dict[str, SandboxEnvironment]:
        limit = int(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE)
        mount = await asyncio.to_thread(lambda: Mount(limit=limit + 1))
        box = await asyncio.to_thread(
            lambda: mount.sandbox(idle=0, **_config(config)))
        return {"default": cls(AsyncSandbox(box))}

    @classmethod
    async def sample_cleanup(cls, task_name: str,
                             config: SandboxEnvironmentConfigType | None,
                             environments: dict[str, SandboxEnvironment],
                             interrupted: bool) -> None:
        for environment in environments.values():
            await environment.as_type(FsdSandboxEnvironment).sandbox.close()

    async def exec(self, cmd: list[str], input: str | bytes | None = None,
                   cwd: str | None = None, env: dict[str, str] | None = None,
                   user: str | None = None, timeout: int | None = None,
                   timeout_retry: bool = True,
                   concurrency: bool = True) -> ExecResult[str]:
        if user not in USERS:
            raise SandboxUserUnsupportedError(
                f"user is {user!r}; a machine of fsd has only \"user\"")
        result = await self.sandbox.command(cmd, cwd=cwd, env=env,
                                            stdin=input or b"",
                                            timeout=timeout)
        if result.timed_out:
            raise TimeoutError(f"the command took more than {timeout} s")
        result.check()
        self._bound(result)
        if result.exit_code == CANNOT_RUN and not result.stdout:
            raise PermissionError(errno.EACCES, result.stderr.strip())
        return ExecResult(result.ok, result.exit_code, result.stdout,
                          result.stderr)

    @staticmethod
    def _bound(result: Result) -> None:
        limit = int(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE)
        if result.truncated:
            raise OutputLimitExceededError(
                SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
                result.output[:limit])

    async def write_file(self, file: str, contents: str | bytes) -> None:
        await self.sandbox.write(file, contents)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        limit = int(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE)
        where = self.sandbox.sync.host_path(file)
        st = await asyncio.to_thread(os.stat, where)
        if not st.st_mode & stat.S_IRUSR:  # of the mount's owner it is no bar
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)
        if st.st_size > limit:
            raise OutputLimitExceededError(
                SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        data = await self.sandbox.read(file)
        return data.decode("utf-8") if text else data
