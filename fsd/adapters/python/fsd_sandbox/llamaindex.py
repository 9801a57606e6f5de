# SPDX-License-Identifier: Apache-2.0
"""The code_execute_fn of LlamaIndex's CodeActAgent.

    agent = CodeActAgent(code_execute_fn=make_execute_fn(sandbox, tools),
                         llm=llm, tools=tools)

The sandbox's interpreter keeps its state between two calls.
"""
from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .codeact import sources
from .result import answer
from .sandbox import AsyncSandbox, Sandbox


def make_execute_fn(sandbox: Sandbox, tools: Iterable[Any] = (), *,
                    timeout: float = 60) -> Callable[[str], Awaitable[str]]:
    """Returns an asynchronous execute(code) -> what the model reads.

    tools are plain functions; their source is sent to the interpreter.
    """
    prelude = sources(tools)
    box = AsyncSandbox(sandbox)
    begun = False

    async def execute(code: str) -> str:
        nonlocal begun
        if not begun and prelude:
            (await box.cell(prelude, session="codeact",
                            timeout=timeout)).check()
        begun = True
        result = (await box.cell(code, session="codeact",
                                 timeout=timeout)).check()
        begun = result.session_state != "lost"
        return answer(result)

    return execute
