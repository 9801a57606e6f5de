# SPDX-License-Identifier: Apache-2.0
"""What a job gives: the fields of result.json as Python values."""
from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Read = Callable[[str], "bytes | None"]


class FsdError(Exception):
    """The appliance refused or failed a job; the text is its own sentence.

    A program that fails is no error: its Result says so.
    """


@dataclass(frozen=True)
class Error:
    """An exception that ended a cell."""
    name: str
    value: str
    traceback: str


@dataclass(frozen=True)
class Display:
    """One form of something that a cell showed.

    Displays of one bundle are forms of the same thing. data is text, or bytes
    for images and the like.
    """
    mime: str
    data: str | bytes
    bundle: int = 0
    main: bool = False


@dataclass(frozen=True)
class Entry:
    """A file or directory in a sandbox. size is in bytes, mtime in seconds."""
    path: str
    is_dir: bool
    size: int
    mtime: float


@dataclass
class Result:
    """How a job ended, and what it wrote.

    status is one of exited, signaled, timeout, out_of_memory, cancelled,
    failed, interrupted (see jobtree(5)). output has stdout and stderr in the
    order in which they came. files has what the program made, by path.
    truncated says that stdout, stderr or output was cut.
    """
    status: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    output: str = ""
    truncated: bool = False
    message: str = ""
    text: str | None = None
    value: Any = None
    error: Error | None = None
    displays: list[Display] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    session_state: str | None = None
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if the program ended by itself with code 0 and no error."""
        return self.status == "exited" and self.exit_code == 0 \
            and self.error is None

    @property
    def timed_out(self) -> bool:
        return self.status == "timeout"

    def check(self) -> "Result":
        """Returns self; raises FsdError if the appliance failed the job."""
        if self.status in ("failed", "interrupted"):
            raise FsdError(self.message or f"the job ended as {self.status}")
        return self


def data_of(entry: dict[str, Any], read: Read) -> str | bytes | None:
    """Returns a display's data; read(path) gives a file of output/."""
    if "path" in entry:
        return read(entry["path"])
    if "base64" in entry:
        return base64.b64decode(entry["base64"])
    data = entry.get("data")
    return data if isinstance(data, str) else json.dumps(data)


def displays_of(raw: dict[str, Any], read: Read) -> list[Display]:
    found = []
    for entry in raw.get("results") or []:
        data = data_of(entry, read)
        if data is not None:
            found.append(Display(entry["mime"], data, entry.get("bundle", 0),
                                 bool(entry.get("main"))))
    return found


def error_of(raw: dict[str, Any]) -> Error | None:
    e = raw.get("error")
    if not e:
        return None
    return Error(str(e.get("name") or ""), str(e.get("value") or ""),
                 str(e.get("traceback") or ""))


def network_words(network: Any) -> str:
    """Returns what a model should know of a machine's network."""
    if not network:
        return "without a network"
    if network is True or not isinstance(network, (list, tuple)):
        return "with a network"
    return f"with a network that reaches {', '.join(network)} and no other server"


def answer(result: Result) -> str:
    """Returns what a model should read of a result."""
    parts = []
    if result.text is not None:
        parts.append(result.text)
    if result.stdout:
        parts.append(result.stdout.rstrip("\n"))
    if result.stderr:
        parts.append("stderr:\n" + result.stderr.rstrip("\n"))
    if result.error:
        parts.append(result.error.traceback or
                     f"{result.error.name}: {result.error.value}")
    if not result.ok:
        why = f" ({result.message})" if result.message else ""
        parts.append(f"{result.status}, exit code {result.exit_code}{why}")
    return "\n".join(parts) or "(no output)"
