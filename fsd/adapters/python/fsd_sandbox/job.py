# SPDX-License-Identifier: Apache-2.0
"""One job of a mount: its directory from mkdir to its removal.

A job is held (jobtree(5), "hold"): it is killed and removed when this process
ends, whatever ends it. All waits are polls of the job's own files.
"""
from __future__ import annotations

import asyncio
import base64
import errno
import json
import os
import secrets
import select
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .result import FsdError, Result, displays_of, error_of

CONFIG_CODE_MAX = 700_000   # bytes of a program in config.json, which has 1 MiB
CHUNK = 256 * 1024
Write = Callable[[str], Any]


def read_file(path: str, limit: int | None = None) -> bytes:
    """Returns the file's bytes, limit at most; b"" if it is not there."""
    try:
        with open(path, "rb", buffering=0) as f:
            return f.readall() if limit is None else _read_most(f, limit)
    except FileNotFoundError:
        return b""


def _read_most(f: Any, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := f.read(min(limit, CHUNK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def write_file(path: str, data: bytes) -> None:
    with open(path, "wb", buffering=0) as f:
        view = memoryview(data)
        while view:
            view = view[f.write(view):]


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class Job:
    """A job that was submitted. Close it, or use it in a with statement."""

    def __init__(self, mount: str, config: Mapping[str, Any],
                 files: Mapping[str, bytes] | None = None):
        self.name = "py-" + secrets.token_hex(8)
        self.path = os.path.join(mount, self.name)
        self._mount = mount
        self._hold = -1
        self._left: bytes = b""
        self._at = 0
        try:
            self._submit(config, files or {})
        except BaseException:
            self.close()
            raise

    def _submit(self, config: Mapping[str, Any],
                files: Mapping[str, bytes]) -> None:
        try:
            os.mkdir(self.path)
            self._hold = os.open(self.file("hold"), os.O_RDONLY)
            for name, data in files.items():
                where = self.file(name)
                os.makedirs(os.path.dirname(where), exist_ok=True)
                write_file(where, data)
            write_file(self.file("config.json"), json.dumps(config).encode())
        except OSError as e:
            raise self._why(e) from e
        if text(read_file(self.file("state"))).strip() in ("draft", "refused"):
            raise FsdError(self._sentence() or
                           "the job did not start: " + self._last_log())

    def _sentence(self) -> str:
        try:
            return text(read_file(self.file("error"))).strip()
        except OSError:
            return ""

    def _last_log(self) -> str:
        lines = text(read_file(self.file("log"))).splitlines()
        return lines[-1] if lines else ""

    def _why(self, e: OSError) -> FsdError:
        """Returns the appliance's sentence for an error of the mount."""
        said = self._sentence()
        if not said and e.errno not in (errno.ENOTCONN, errno.ENOENT):
            said = text(read_file(os.path.join(self._mount, ".fsd",
                                               "last_error"))).strip()
        return FsdError(said or f"{e.filename or self.path}: {e.strerror}")

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def ctl(self, verb: str) -> None:
        """Writes one verb to ctl: kill, interrupt, signal NAME, eof."""
        with open(self.file("ctl"), "wb", buffering=0) as f:
            f.write(verb.encode())

    def kill(self) -> None:
        try:
            self.ctl("kill")
        except OSError:
            pass  # it has ended

    def feed(self, data: bytes) -> None:
        """Writes to the standard input of a job that has stdin_open."""
        with open(self.file("stdin.feed"), "wb", buffering=0) as f:
            view = memoryview(data)
            while view:
                view = view[f.write(view):]

    # --- waiting --------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end. Returns False if timeout seconds passed first."""
        fd = os.open(self.file("wait"), os.O_RDONLY | os.O_NONBLOCK)
        try:
            p = select.poll()
            p.register(fd, select.POLLIN)
            return bool(p.poll(None if timeout is None else timeout * 1000))
        finally:
            os.close(fd)

    async def wait_async(self) -> None:
        await self._readable("wait")

    async def _readable(self, name: str) -> None:
        fd = os.open(self.file(name), os.O_RDONLY | os.O_NONBLOCK)
        try:
            await _ready(fd)
        finally:
            os.close(fd)

    def _take(self, data: bytes) -> Iterator[dict[str, Any]]:
        lines = (self._left + data).split(b"\n")
        self._left = lines.pop()
        for line in lines:
            yield json.loads(line)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yields each event of the job until its end, as it happens."""
        fd = os.open(self.file("events"), os.O_RDONLY)
        try:
            while data := os.read(fd, CHUNK):
                yield from self._take(data)
        finally:
            os.close(fd)

    async def events_async(self) -> Any:
        """The same for a coroutine: an asynchronous iterator."""
        fd = os.open(self.file("events"), os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                try:
                    data = os.read(fd, CHUNK)
                except BlockingIOError:
                    await _ready(fd)
                    continue
                if not data:
                    return
                for event in self._take(data):
                    yield event
        finally:
            os.close(fd)

    # --- the end --------------------------------------------------------------

    def result(self, limit: int) -> Result:
        """Returns what came of it; limit: bytes of each stream and of files."""
        raw = json.loads(read_file(self.file("result.json")) or b"{}")
        out = read_file(self.file("stdout"), limit)
        err = read_file(self.file("stderr"), limit)
        files, cut = self._files(raw, limit)
        sizes = [raw.get(k) or {} for k in ("stdout", "stderr")]
        dropped = any(s.get("dropped") for s in sizes) or any(
            (s.get("bytes") or 0) > limit for s in sizes)
        return Result(
            status=raw.get("status") or "failed",
            exit_code=int(raw.get("exit_code") or 0),
            stdout=text(out), stderr=text(err),
            output=self._in_order(out, err, limit),
            truncated=bool(dropped or cut or raw.get("output_dropped")),
            message=raw.get("message") or "", text=raw.get("text"),
            value=raw.get("value"), error=error_of(raw),
            displays=displays_of(raw, self._output), files=files,
            session_state=raw.get("session_state"), raw=raw)

    def _output(self, path: str) -> bytes | None:
        where = os.path.join(self.file("output"), path)
        return read_file(where) if os.path.isfile(where) else None

    def _files(self, raw: dict[str, Any],
               limit: int) -> tuple[dict[str, bytes], bool]:
        """What the program made; what does not fit into limit is left out."""
        found: dict[str, bytes] = {}
        cut = False
        for entry in raw.get("output") or []:
            path = entry["path"]
            where = os.path.join(self.file("output"), path)
            if "path_encoding" in entry or not os.path.isfile(where):
                continue
            size = int(entry.get("bytes") or 0)
            if size > limit:
                cut = True
                continue
            limit -= size
            found[path] = read_file(where)
        return found, cut

    def _in_order(self, out: bytes, err: bytes, limit: int) -> str:
        if not err or not out:
            return text(out or err)
        parts: list[bytes] = []
        with open(self.file("events"), "rb", buffering=0) as f:
            while data := f.read(CHUNK):
                for event in self._take(data):
                    if event["event"] in ("stdout", "stderr"):
                        parts.append(bytes_of(event))
                        limit -= len(parts[-1])
                if limit < 0:
                    break
        return text(b"".join(parts))

    def close(self) -> None:
        """Removes the job; what still runs of it is killed."""
        if self._hold >= 0:
            os.close(self._hold)
            self._hold = -1

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def bytes_of(event: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a stdout or stderr event."""
    if "base64" in event:
        return base64.b64decode(event["base64"])
    return str(event["data"]).encode()


async def _ready(fd: int) -> None:
    """Waits until fd is readable."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def is_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, is_ready)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


def run_job(mount: str, config: Mapping[str, Any], *,
            files: Mapping[str, bytes] | None = None, limit: int,
            on_stdout: Write | None = None,
            on_stderr: Write | None = None) -> Result:
    """Submits a job, waits for its end, returns its result and removes it."""
    with Job(mount, config, files) as job:
        try:
            if on_stdout or on_stderr:
                for event in job.events():
                    _tell(event, on_stdout, on_stderr)
            job.wait()
            return job.result(limit)
        except BaseException:
            job.kill()
            raise


async def run_job_async(mount: str, config: Mapping[str, Any], *,
                        files: Mapping[str, bytes] | None = None, limit: int,
                        on_stdout: Write | None = None,
                        on_stderr: Write | None = None) -> Result:
    """The same as a coroutine; its cancellation kills the job."""
    job = await asyncio.to_thread(Job, mount, config, files)
    try:
        if on_stdout or on_stderr:
            async for event in job.events_async():
                _tell(event, on_stdout, on_stderr)
        await job.wait_async()
        return await asyncio.to_thread(job.result, limit)
    except BaseException:
        job.kill()
        raise
    finally:
        job.close()


def _tell(event: Mapping[str, Any], on_stdout: Write | None,
          on_stderr: Write | None) -> None:
    fn = {"stdout": on_stdout, "stderr": on_stderr}.get(event["event"])
    if fn:
        fn(text(bytes_of(event)))
