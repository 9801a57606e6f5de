# SPDX-License-Identifier: Apache-2.0
"""The eval function of a LangGraph CodeAct agent.

    from langgraph_codeact import create_codeact
    agent = create_codeact(model, tools, make_eval(sandbox, tools))

The names that the agent keeps travel as JSON: what JSON cannot say stays in
the sandbox's interpreter, which keeps it as well.
"""
from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .sandbox import AsyncSandbox, Sandbox

NOTHING = "<code ran, no output printed to stdout>"

# Runs in the sandbox. _fsd_names are the globals that were there before.
BEFORE = """\
import json as _fsd_json
globals().update(_fsd_json.loads({values!r}))
_fsd_names = set(globals())
"""
AFTER = """\
def _fsd_new():
    found = {}
    for name, value in list(globals().items()):
        if name.startswith("_") or (name in _fsd_names and
                                    name not in _fsd_given):
            continue
        try:
            _fsd_json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            continue
        found[name] = value
    print(_fsd_json.dumps(found))
_fsd_new()
"""


def sources(tools: Iterable[Any]) -> str:
    """Returns the source of functions, for an interpreter elsewhere.

    Raises OSError if a function has no source, such as one of exec().
    """
    texts = []
    for tool in tools:
        fn = getattr(tool, "func", tool)
        if inspect.ismethod(fn) or not inspect.isfunction(fn):
            raise OSError(f"{tool!r} is no plain function, so its source "
                          "cannot be sent to a sandbox")
        text = textwrap.dedent(inspect.getsource(fn))
        lines = text.splitlines()
        while lines and lines[0].startswith("@"):
            lines.pop(0)
        texts.append("\n".join(lines))
    return "\n\n".join(texts)


def jsonable(values: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in values.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            continue
        if name.isidentifier() and not name.startswith("_"):
            found[name] = value
    return found


def make_eval(sandbox: Sandbox, tools: Iterable[Any] = (), *,
              timeout: float = 60) \
        -> Callable[[str, dict[str, Any]],
                    Awaitable[tuple[str, dict[str, Any]]]]:
    """Returns an asynchronous eval(code, locals) -> (output, new names)."""
    prelude = sources(tools)
    box = AsyncSandbox(sandbox)
    begun = False

    async def cell(code: str) -> Any:
        result = await box.cell(code, session="codeact", timeout=timeout)
        return result.check()

    async def evaluate(code: str, _locals: dict[str, Any]) \
            -> tuple[str, dict[str, Any]]:
        nonlocal begun
        if not begun and prelude:
            await cell(prelude)
        begun = True
        given = jsonable(_locals)
        await cell(BEFORE.format(values=json.dumps(given)) +
                   f"_fsd_given = set({sorted(given)!r})\n")
        result = await cell(code)
        output = result.stdout or NOTHING
        if result.error:
            output = result.stdout + (result.error.traceback or
                                      f"{result.error.name}: "
                                      f"{result.error.value}")
        elif not result.ok:
            output = f"{result.output}{result.message or result.status}"
        if result.session_state == "lost":
            begun = False
            return output, {}
        after = await cell(AFTER)
        return output, json.loads(after.stdout or "{}")

    return evaluate
