# SPDX-License-Identifier: Apache-2.0
"""LangGraph's CodeAct agent with a model that is a script, in front of $FSD_MOUNT."""
from __future__ import annotations

import asyncio
from typing import Any

from fsd_sandbox import Mount
from fsd_sandbox.codeact import make_eval
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph_codeact import create_codeact


def double(n: int) -> int:
    """Doubles a number."""
    return 2 * n


class FakeModel(BaseChatModel):
    """Says what a test wrote: texts, or functions from the messages so far."""
    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages: list[BaseMessage], *_: Any,
                  **__: Any) -> ChatResult:
        said = self.script.pop(0)
        text = said(messages) if callable(said) else said
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def test_a_codeact_agent_keeps_names_mends_an_error_and_answers() -> None:
    def mend(messages: list[BaseMessage]) -> str:
        assert "NameError: name 'z'" in str(messages[-1].content)
        return "```python\nprint(double(x) + 2)\n```"

    model = FakeModel(script=[
        "First:\n```python\nimport math\nx = double(20)\n```",
        "```python\nprint(z + 1)\n```",
        mend,
        lambda messages: f"it is {messages[-1].content}"])

    async def main() -> dict[str, Any]:
        with Mount().sandbox() as box:
            agent = create_codeact(model, [double],
                                   make_eval(box, [double])).compile()
            return await agent.ainvoke(
                {"messages": [("user", "four times 20, and 2?")]})

    end = asyncio.run(main())
    assert end["messages"][-1].content == "it is 82\n"
    assert end["context"]["x"] == 40
