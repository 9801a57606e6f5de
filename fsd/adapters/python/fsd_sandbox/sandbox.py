# SPDX-License-Identifier: Apache-2.0
"""A sandbox: one machine in which interpreters and programs live on.

It is a directory, .fsd/sandboxes/NAME. Its files are read and written through
the mount; cells and commands are jobs with the key "sandbox".
"""
from __future__ import annotations

import asyncio
import errno
import json
import os
import posixpath
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from .job import Write, read_file, run_job, run_job_async, write_file
from .mount import Mount, Network, as_bytes, job_config
from .result import Entry, FsdError, Result

HOME = "/home/user"
ARGV_MAX = 700_000   # bytes of a command in config.json, which has 1 MiB
# becomes the command whose words are in the file $0, each with a NUL behind it
UNPACK = 'mapfile -td "" a <"$0" && /bin/rm -- "$0" && exec -- "${a[@]}"'


def resolve(path: str) -> str:
    """Returns the path in the machine: absolute, without "." and ".."."""
    if path == "~" or path.startswith("~/"):
        path = HOME + path[1:]
    return posixpath.normpath(posixpath.join(HOME, path))


class Sandbox:
    """A sandbox of a mount. The end of a with statement ends it.

    The process that makes one holds it (jobtree(5), "hold"): it ends with that
    process, whatever ends it. hold=False: with its idle or life only.
    """

    def __init__(self, mount: Mount, name: str, config: dict[str, Any],
                 hold: bool = True):
        self.mount = mount
        self.name = name
        self.path = os.path.join(mount.path, ".fsd", "sandboxes", name)
        self._hold = -1
        try:
            os.mkdir(self.path)
        except FileExistsError:
            return
        except OSError as e:
            raise self._why(e) from e
        try:
            if hold:  # first: what it has until then ends by itself
                self._hold = os.open(os.path.join(self.path, "hold"),
                                     os.O_RDONLY | os.O_CLOEXEC)
            if config:
                write_file(os.path.join(self.path, "config.json"),
                           json.dumps(config).encode())
        except OSError as e:
            why = self._why(e)
            self.close()
            raise why from e

    def _why(self, e: OSError) -> FsdError:
        said = read_file(os.path.join(self.mount.path, ".fsd", "last_error"))
        return FsdError(said.decode("utf-8", "replace").strip() or
                        f"{e.filename or self.path}: {e.strerror}")

    # --- running --------------------------------------------------------------

    def _cell(self, code: str, language: str, session: str | None,
              timeout: float | None, env: Mapping[str, str] | None) \
            -> tuple[dict[str, Any], dict[str, bytes]]:
        return job_config(code, language, sandbox=self.name, mode="cell",
                          session=session or language, timeout=timeout,
                          env=dict(env) if env else None)

    def _packed(self, argv: list[str]) -> list[str]:
        """Returns argv, by a file in the machine if config.json has no room."""
        if len(json.dumps(argv)) <= ARGV_MAX or "\0" in "".join(argv):
            return argv
        path = "/tmp/.argv-" + secrets.token_hex(8)
        self.write(path, "".join(word + "\0" for word in argv))
        return ["/bin/bash", "-c", UNPACK, path]

    def _command(self, command: str | Sequence[str], cwd: str | None,
                 timeout: float | None, env: Mapping[str, str] | None,
                 stdin: bytes | str | None) \
            -> tuple[dict[str, Any], dict[str, bytes]]:
        argv = ["/bin/bash", "-lc", command] if isinstance(command, str) \
            else list(command)
        config, _ = job_config(None, "bash", sandbox=self.name, mode="command",
                               command=self._packed(argv), cwd=cwd,
                               timeout=timeout or 0,
                               env=dict(env) if env else None)
        if stdin is None:
            return config, {}
        return config, as_bytes({"stdin": stdin})

    def cell(self, code: str, *, language: str = "python",
             session: str | None = None, timeout: float | None = None,
             env: Mapping[str, str] | None = None,
             on_stdout: Write | None = None,
             on_stderr: Write | None = None) -> Result:
        """Runs code in a living interpreter, as a notebook's cell.

        session names the interpreter; without it each language has one.
        """
        config, files = self._cell(code, language, session, timeout, env)
        return run_job(self.mount.path, config, files=files,
                       limit=self.mount.limit, on_stdout=on_stdout,
                       on_stderr=on_stderr)

    def command(self, command: str | Sequence[str], *, cwd: str | None = None,
                timeout: float | None = None,
                env: Mapping[str, str] | None = None,
                stdin: bytes | str | None = None, on_stdout: Write | None = None,
                on_stderr: Write | None = None) -> Result:
        """Runs a program beside the others; a string is run by bash -lc.

        timeout is in seconds; None or 0: until the sandbox ends.
        """
        config, files = self._command(command, cwd, timeout, env, stdin)
        return run_job(self.mount.path, config, files=files,
                       limit=self.mount.limit, on_stdout=on_stdout,
                       on_stderr=on_stderr)

    # --- files ----------------------------------------------------------------

    def host_path(self, path: str) -> str:
        """Returns where the mount shows a path of the machine."""
        full = resolve(path)
        if full == HOME or full.startswith(HOME + "/"):
            return os.path.join(self.path, "files", full[len(HOME) + 1:])
        return os.path.join(self.path, "root", full[1:])

    def read(self, path: str) -> bytes:
        """Returns a file's bytes. Raises OSError as open() does."""
        with open(self.host_path(path), "rb", buffering=0) as f:
            return f.readall()

    def write(self, path: str, data: bytes | str) -> None:
        """Writes a file; its directory is made if need be."""
        where = self.host_path(path)
        if not os.path.isdir(os.path.dirname(where)):
            os.makedirs(os.path.dirname(where), exist_ok=True)
        write_file(where, data.encode() if isinstance(data, str) else data)

    def list(self, path: str = HOME) -> list[Entry]:
        """Returns the entries of a directory, by name. Not its links."""
        full = resolve(path)
        found = []
        with os.scandir(self.host_path(path)) as entries:
            for e in sorted(entries, key=lambda e: e.name):
                st = e.stat(follow_symlinks=False)
                found.append(Entry(posixpath.join(full, e.name), e.is_dir(),
                                   st.st_size, st.st_mtime))
        return found

    def remove(self, path: str) -> None:
        """Removes a file, or a directory with all that is in it."""
        where = self.host_path(path)
        if os.path.isdir(where):
            import shutil
            shutil.rmtree(where)
        else:
            os.unlink(where)

    # --- its life -------------------------------------------------------------

    @property
    def state(self) -> str:
        """new, idle, busy or lost; "" when it has ended."""
        return read_file(os.path.join(self.path, "state")).decode().strip()

    @property
    def network(self) -> Network | None:
        """What its config.json names; None: it has no network."""
        config = read_file(os.path.join(self.path, "config.json"))
        found: Network | None = json.loads(config or b"{}").get("network")
        return found

    def extend(self, seconds: int) -> None:
        """Lets it live for so many seconds from now."""
        write_file(os.path.join(self.path, "until"), str(seconds).encode())

    def close(self) -> None:
        """Ends it and all that runs in it."""
        try:
            os.rmdir(self.path)
        except OSError as e:
            if e.errno != errno.ENOENT:
                raise
        hold, self._hold = self._hold, -1
        if hold >= 0:
            os.close(hold)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncSandbox:
    """The same for coroutines."""

    def __init__(self, sync: Sandbox):
        self.sync = sync
        self.name = sync.name

    async def cell(self, code: str, *, language: str = "python",
                   session: str | None = None, timeout: float | None = None,
                   env: Mapping[str, str] | None = None,
                   on_stdout: Write | None = None,
                   on_stderr: Write | None = None) -> Result:
        config, files = self.sync._cell(code, language, session, timeout, env)
        return await run_job_async(
            self.sync.mount.path, config, files=files,
            limit=self.sync.mount.limit, on_stdout=on_stdout,
            on_stderr=on_stderr)

    async def command(self, command: str | Sequence[str], *,
                      cwd: str | None = None, timeout: float | None = None,
                      env: Mapping[str, str] | None = None,
                      stdin: bytes | str | None = None, on_stdout: Write | None = None,
                      on_stderr: Write | None = None) -> Result:
        config, files = await asyncio.to_thread(
            self.sync._command, command, cwd, timeout, env, stdin)
        return await run_job_async(
            self.sync.mount.path, config, files=files,
            limit=self.sync.mount.limit, on_stdout=on_stdout,
            on_stderr=on_stderr)

    async def read(self, path: str) -> bytes:
        return await asyncio.to_thread(self.sync.read, path)

    async def write(self, path: str, data: bytes | str) -> None:
        await asyncio.to_thread(self.sync.write, path, data)

    async def list(self, path: str = HOME) -> list[Entry]:
        return await asyncio.to_thread(self.sync.list, path)

    async def remove(self, path: str) -> None:
        await asyncio.to_thread(self.sync.remove, path)

    async def close(self) -> None:
        await asyncio.to_thread(self.sync.close)

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
