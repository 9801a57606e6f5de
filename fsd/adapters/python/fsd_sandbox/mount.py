# SPDX-License-Identifier: Apache-2.0
"""A mount of fsd: jobs in machines of their own, and sandboxes."""
from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .job import CONFIG_CODE_MAX, Write, run_job, run_job_async
from .result import FsdError, Result

if TYPE_CHECKING:
    from .sandbox import AsyncSandbox, Sandbox

SERVICE = "/run/fsd/jobs"
LIMIT = 16 << 20
# the servers that a job names: rules, True, or {"allow": rules, "deny": rules}
Network = bool | Sequence[str] | Mapping[str, Sequence[str]]
SUFFIX = {"python": "py", "javascript": "js", "typescript": "ts", "bash": "sh"}


def find_mount(path: str | None = None) -> str:
    """Returns path, else $FSD_MOUNT, else the host's service.

    Raises FsdError if no mount of fsd is there.
    """
    found = os.path.abspath(path or os.environ.get("FSD_MOUNT") or SERVICE)
    if not os.path.exists(os.path.join(found, ".fsd", "version")):
        raise FsdError(f"{found} is no mount of fsd: start one by `fsd mount "
                       f"--daemon {found}`, or set FSD_MOUNT")
    return found


def as_bytes(files: Mapping[str, bytes | str] | None) -> dict[str, bytes]:
    return {name: data.encode() if isinstance(data, str) else data
            for name, data in (files or {}).items()}


def job_config(code: str | None, language: str, **keys: Any) \
        -> tuple[dict[str, Any], dict[str, bytes]]:
    """Returns config.json without keys that are None, and the code's file."""
    config = {k: v for k, v in keys.items() if v is not None}
    files: dict[str, bytes] = {}
    if code is not None:
        program = code.encode()
        if language not in SUFFIX:
            raise FsdError(f"language is {language!r}; it must be one of " +
                           ", ".join(SUFFIX))
        if len(program) > CONFIG_CODE_MAX:
            files["code." + SUFFIX[language]] = program
        else:
            config.update(code=code, language=language)
    return config, files


class Mount:
    """A mount of fsd. path: else $FSD_MOUNT, else the host's service."""

    def __init__(self, path: str | None = None, *, limit: int = LIMIT):
        self.path = find_mount(path)
        self.limit = limit  # bytes of each stream, and of files, in a Result

    def run(self, code: str | None = None, *, language: str = "python",
            command: Sequence[str] | None = None,
            files: Mapping[str, bytes | str] | None = None,
            args: Sequence[str] | None = None,
            env: Mapping[str, str] | None = None, stdin: str | None = None,
            timeout: float | None = None, memory_mb: int | None = None,
            environment: str | None = None, network: Network | None = None,
            mode: str | None = None, input: Any = None,
            on_stdout: Write | None = None,
            on_stderr: Write | None = None) -> Result:
        """Runs a program in a fresh machine and returns how it ended.

        Either code with language, or command (mode "command"). files are put
        into the program's directory. The other arguments are keys of
        config.json, see jobtree(5). on_stdout and on_stderr get text as it
        comes. Raises FsdError if the mount refuses the job.
        """
        config, more = self._job(code, language, command, files, args, env,
                                 stdin, timeout, memory_mb, environment,
                                 network, mode, input)
        return run_job(self.path, config, files=more, limit=self.limit,
                       on_stdout=on_stdout, on_stderr=on_stderr)

    @staticmethod
    def _job(code: str | None, language: str, command: Sequence[str] | None,
             files: Mapping[str, bytes | str] | None,
             args: Sequence[str] | None, env: Mapping[str, str] | None,
             stdin: str | None, timeout: float | None, memory_mb: int | None,
             environment: str | None, network: Network | None,
             mode: str | None, input: Any) \
            -> tuple[dict[str, Any], dict[str, bytes]]:
        if (code is None) == (command is None):
            raise FsdError("run() needs either code or command")
        config, more = job_config(
            code, language, command=list(command) if command else None,
            mode=mode or ("command" if command else None),
            args=list(args) if args else None,
            env=dict(env) if env else None, stdin=stdin, timeout=timeout,
            memory_mb=memory_mb, environment=environment, network=network,
            input=input)
        return config, {**as_bytes(files), **more}

    def sandbox(self, name: str | None = None, *,
                environment: str | None = None, memory_mb: int | None = None,
                env: Mapping[str, str] | None = None,
                network: Network | None = None, idle: int | None = None,
                life: int | None = None, meta: Any = None,
                hold: bool = True) -> "Sandbox":
        """Makes a sandbox, or opens the one of that name if it is there.

        The keys are those of its config.json; they hold for a new one only.
        A new one ends with this process, or, with hold=False, by its idle and
        life alone.
        """
        from .sandbox import Sandbox
        return Sandbox(self, name or "py-" + secrets.token_hex(8),
                       sandbox_config(environment, memory_mb, env, network,
                                      idle, life, meta), hold)

    def sandboxes(self) -> list[str]:
        """Returns the names of this user's sandboxes."""
        return sorted(os.listdir(os.path.join(self.path, ".fsd", "sandboxes")))

    def environments(self) -> list[str]:
        """Returns what .fsd/templates lists: languages and environments."""
        return sorted(os.listdir(os.path.join(self.path, ".fsd", "templates")))


def sandbox_config(environment: str | None, memory_mb: int | None,
                   env: Mapping[str, str] | None, network: Network | None,
                   idle: int | None, life: int | None, meta: Any) \
        -> dict[str, Any]:
    keys = {"environment": environment, "memory_mb": memory_mb,
            "env": dict(env) if env else None, "network": network, "idle": idle,
            "life": life, "meta": meta}
    return {k: v for k, v in keys.items() if v is not None}


class AsyncMount:
    """The same for coroutines. A cancelled call kills its job."""

    def __init__(self, path: str | None = None, *, limit: int = LIMIT):
        self.sync = Mount(path, limit=limit)

    @property
    def path(self) -> str:
        return self.sync.path

    async def run(self, code: str | None = None, *, language: str = "python",
                  command: Sequence[str] | None = None,
                  files: Mapping[str, bytes | str] | None = None,
                  args: Sequence[str] | None = None,
                  env: Mapping[str, str] | None = None,
                  stdin: str | None = None, timeout: float | None = None,
                  memory_mb: int | None = None,
                  environment: str | None = None,
                  network: Network | None = None, mode: str | None = None,
                  input: Any = None, on_stdout: Write | None = None,
                  on_stderr: Write | None = None) -> Result:
        """Does what Mount.run() does."""
        config, more = self.sync._job(code, language, command, files, args,
                                      env, stdin, timeout, memory_mb,
                                      environment, network, mode, input)
        return await run_job_async(self.path, config, files=more,
                                   limit=self.sync.limit, on_stdout=on_stdout,
                                   on_stderr=on_stderr)

    async def sandbox(self, name: str | None = None,
                      **keys: Any) -> "AsyncSandbox":
        """Does what Mount.sandbox() does."""
        import asyncio

        from .sandbox import AsyncSandbox
        return AsyncSandbox(await asyncio.to_thread(self.sync.sandbox, name,
                                                    **keys))
