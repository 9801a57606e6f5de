# SPDX-License-Identifier: Apache-2.0
"""A LangChain tool that runs code in a microVM.

    from fsd_sandbox.langchain_tool import FsdTool
    agent = create_agent(model, tools=[FsdTool()])

A program that fails is an answer for the model: its output says so. Only a
failure of the appliance raises ToolException.
"""
from __future__ import annotations

from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field, PrivateAttr

from .mount import AsyncMount, Mount
from .result import FsdError, answer, network_words


class FsdToolInput(BaseModel):
    """The tool's arguments."""
    code: str = Field(description="The program's text")
    language: Literal["python", "javascript", "typescript", "bash"] = Field(
        default="python", description="The program's language")


class FsdTool(BaseTool):
    """Runs a program in a fresh machine, or as a cell in a sandbox.

    sandbox is a Sandbox whose interpreters keep their state between calls;
    without it each call has a machine of its own, which reaches the servers
    that network names. artifact of the tool's message is the whole result.json.
    """
    name: str = "run_code"
    description: str = ""
    args_schema: type[BaseModel] = FsdToolInput
    response_format: Literal["content", "content_and_artifact"] = \
        "content_and_artifact"
    handle_tool_error: Any = False
    timeout: float = 30
    memory_mb: int | None = None
    environment: str | None = None
    network: bool | list[str] | dict[str, list[str]] | None = None
    mount: str | None = None
    sandbox: Any = None
    _found: Mount | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        network = self.sandbox.network if self.sandbox is not None \
            else self.network
        self.description = self.description or (
            f"Runs a program in an isolated machine {network_words(network)} "
            "and returns its value and output.")

    def _mount(self) -> Mount:
        if self._found is None:
            self._found = Mount(self.mount)
        return self._found

    def _keys(self) -> dict[str, Any]:
        return {"timeout": self.timeout, "memory_mb": self.memory_mb,
                "environment": self.environment, "network": self.network,
                "mode": "cell"}

    def _run(self, code: str, language: str = "python",
             **_: Any) -> tuple[str, dict[str, Any]]:
        try:
            if self.sandbox is not None:
                result = self.sandbox.cell(code, language=language,
                                           timeout=self.timeout)
            else:
                result = self._mount().run(code, language=language,
                                           **self._keys())
            result.check()
        except (FsdError, OSError) as e:
            raise ToolException(str(e)) from e
        return answer(result), result.raw

    async def _arun(self, code: str, language: str = "python",
                    **_: Any) -> tuple[str, dict[str, Any]]:
        from .sandbox import AsyncSandbox
        try:
            if self.sandbox is not None:
                result = await AsyncSandbox(self.sandbox).cell(
                    code, language=language, timeout=self.timeout)
            else:
                result = await AsyncMount(self._mount().path).run(
                    code, language=language, **self._keys())
            result.check()
        except (FsdError, OSError) as e:
            raise ToolException(str(e)) from e
        return answer(result), result.raw
