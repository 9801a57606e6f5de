# SPDX-License-Identifier: Apache-2.0
"""Agents with a model that is a script, in front of $FSD_MOUNT.

Each takes a task, runs code in a sandbox, and answers with what came of it: a flow
that did not reach the machine cannot give the answer.
"""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from deepagents import create_deep_agent
from fsd_sandbox import Mount, Sandbox
from fsd_sandbox.deepagents_backend import FsdSandbox
from fsd_sandbox.langchain_tool import FsdTool
from fsd_sandbox.llamaindex import make_execute_fn
from fsd_sandbox.smolagents_executor import FsdExecutor
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.prebuilt import create_react_agent
from llama_index.core.agent.workflow import CodeActAgent
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Mount().sandbox() as sandbox:
        yield sandbox


def call(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}])


def answered(messages: list[BaseMessage]) -> str:
    """The text of the last message that a tool answered with."""
    return str([m for m in messages if isinstance(m, ToolMessage)][-1].content)


class FakeModel(BaseChatModel):
    """Says what a test wrote: messages, or functions from those so far."""
    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **_: Any) -> FakeModel:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any,
                  **__: Any) -> ChatResult:
        said = self.script.pop(0)
        message = said(messages) if callable(said) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("make", [create_react_agent, create_agent])
def test_a_react_agent_computes_over_two_calls_of_one_sandbox(
        make: Callable[..., Any], box: Sandbox) -> None:
    model = FakeModel(script=[
        call("run_code", code="total = sum(range(10))"),
        call("run_code", code="total * 2"),
        lambda messages: AIMessage("it is " + answered(messages))])
    agent = make(model, [FsdTool(sandbox=box)])
    said = agent.invoke({"messages": [("user", "twice the sum of 0 to 9?")]})
    assert said["messages"][-1].content == "it is 90"
    assert said["messages"][-2].artifact["status"] == "exited"


def test_a_deep_agent_mends_its_program_and_reads_the_result() -> None:
    def mend(messages: list[BaseMessage]) -> AIMessage:
        assert "SyntaxError" in answered(messages)
        return call("edit_file", file_path="/home/user/p.py",
                    old_string="'n': 42", new_string="'n': 42}))")

    with FsdSandbox.create() as backend:
        model = FakeModel(script=[
            call("write_file", file_path="/home/user/p.py",
                 content="import json\nprint(json.dumps({'q': \"it's\", 'n': 42"),
            call("execute", command="python3 /home/user/p.py"),
            mend,
            call("execute", command="python3 /home/user/p.py | tee out.json"),
            call("read_file", file_path="/home/user/out.json"),
            lambda messages: AIMessage(answered(messages))])
        agent = create_deep_agent(model=model, backend=backend)
        said = agent.invoke({"messages": [("user", "what is 6 * 7, as JSON?")]})
        assert '{"q": "it\'s", "n": 42}' in said["messages"][-1].content
        assert backend.sandbox.read("out.json") == b'{"q": "it\'s", "n": 42}\n'


def double(n: int) -> int:
    """Doubles a number."""
    return 2 * n


class FakeLLM(CustomLLM):
    """The same for LlamaIndex: texts, or functions from the prompt."""
    script: list[Any]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="fake")

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        said = self.script.pop(0)
        return CompletionResponse(text=said(prompt) if callable(said) else said)

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        whole = self.complete(prompt)
        yield CompletionResponse(text=whole.text, delta=whole.text)


def test_llamaindex_codeact_agent_keeps_names_and_calls_its_tools(
        box: Sandbox) -> None:
    def last(prompt: str) -> str:
        result = prompt.rpartition("Result of executing the code given:")[2]
        return "it is " + result.split()[0]

    llm = FakeLLM(script=["<execute>x = double(20)</execute>",
                          "<execute>print(double(x) + 2)</execute>", last])
    agent = CodeActAgent(code_execute_fn=make_execute_fn(box, [double]), llm=llm,
                         tools=[double])

    async def main() -> str:
        return str(await agent.run("four times 20, and 2?"))

    assert asyncio.run(main()) == "it is 82"


def test_smolagents_agent_keeps_names_and_gives_its_final_answer() -> None:
    from smolagents import ChatMessage, CodeAgent, Model, Tool
    from smolagents.monitoring import AgentLogger, LogLevel

    class Double(Tool):  # type: ignore[misc]
        name = "double"
        description = "Doubles a number."
        inputs = {"n": {"type": "integer", "description": "the number"}}
        output_type = "integer"

        def forward(self, n: int) -> int:
            return 2 * n

    class Script(Model):  # type: ignore[misc]
        said = ["Thought: first.\n<code>\nx = double(20)\nprint(x)\n</code>",
                "Thought: now all.\n<code>\nfinal_answer({'n': x + 2})\n</code>"]

        def generate(self, messages: Any, **_: Any) -> Any:
            return ChatMessage(role="assistant", content=self.said.pop(0))

    executor = FsdExecutor([], AgentLogger(level=LogLevel.ERROR))
    try:
        agent = CodeAgent(tools=[Double()], model=Script(), executor=executor,
                          verbosity_level=LogLevel.ERROR)
        assert agent.run("twice 20, and 2?") == {"n": 42}
    finally:
        executor.cleanup()
