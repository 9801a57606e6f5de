# SPDX-License-Identifier: Apache-2.0
"""Runs untrusted code in microVMs through the files of an fsd mount.

    from fsd_sandbox import Mount

    result = Mount().run("print(6 * 7)")
    print(result.stdout, result.exit_code)

    with Mount().sandbox() as box:
        box.cell("x = 40")
        print(box.cell("x + 2").text)

The package needs a mount (``fsd mount``) and no other package. The modules for
frameworks (``langchain_tool`` and so on) import their framework when they are
imported themselves.
"""
from .mount import AsyncMount, Mount
from .result import Display, Entry, Error, FsdError, Result
from .sandbox import AsyncSandbox, Sandbox

__all__ = ["AsyncMount", "AsyncSandbox", "Display", "Entry", "Error",
           "FsdError", "Mount", "Result", "Sandbox"]
