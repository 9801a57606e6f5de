# SPDX-License-Identifier: Apache-2.0
"""The other adapters, each with its real framework and no model."""
import asyncio

import pytest
from fsd_sandbox import AsyncMount, FsdError, Mount
from fsd_sandbox.codeact import make_eval
from fsd_sandbox.langchain_tool import FsdTool
from fsd_sandbox.llamaindex import make_execute_fn


@pytest.fixture
def box():
    """A machine for each test: its first interpreter has begun already."""
    with Mount().sandbox() as sandbox:
        yield sandbox


def double(n: int) -> int:
    """Doubles a number."""
    return 2 * n


def test_a_job_gives_output_files_and_how_it_ended() -> None:
    seen: list[str] = []
    result = Mount().run("import sys; print('hi'); open('f','w').write('x'); "
                         "sys.exit(3)", on_stdout=seen.append)
    assert (result.status, result.exit_code, result.stdout) == \
        ("exited", 3, "hi\n")
    assert result.files == {"f": b"x"} and "".join(seen) == "hi\n"


def test_a_refusal_is_an_error_with_the_sentence_of_the_mount() -> None:
    with pytest.raises(FsdError, match='"memory_mb" is 1'):
        Mount().run("print(1)", memory_mb=1)


def test_each_adapter_passes_the_network_on_to_the_mount() -> None:
    from fsd_sandbox.deepagents_backend import FsdProvider, FsdSandbox
    from fsd_sandbox.inspect_sandbox import (FsdSandboxConfig,
                                             FsdSandboxEnvironment)
    from fsd_sandbox.smolagents_executor import FsdExecutor
    from langchain_core.tools import ToolException
    from smolagents.monitoring import AgentLogger, LogLevel
    logger = AgentLogger(level=LogLevel.ERROR)
    wrong = ["https://x.example"]  # every mount refuses it
    for make in (
            lambda: FsdTool(network=wrong).invoke({"code": "1"}),
            lambda: FsdSandbox.create(network=wrong),
            lambda: FsdProvider(network=wrong).get_or_create(),
            lambda: FsdExecutor([], logger, network=wrong),
            lambda: asyncio.run(FsdSandboxEnvironment.sample_init(
                "t", FsdSandboxConfig(network=wrong), {}))):
        with pytest.raises((FsdError, ToolException), match='"network"'):
            make()


def test_the_langchain_tool_says_what_the_code_reaches(box) -> None:
    assert " without a network " in FsdTool().description
    assert " without a network " in FsdTool(sandbox=box).description
    said = FsdTool(network=["a.example", "*.b.example"]).description
    assert "reaches a.example, *.b.example and no other server" in said
    assert FsdTool(description="D", network=True).description == "D"


def test_coroutines_run_side_by_side_and_a_cancelled_one_leaves_no_job() -> None:
    async def main() -> list[str]:
        mount = AsyncMount()
        results = await asyncio.gather(*(mount.run(f"print({i})")
                                         for i in range(4)))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(mount.run("import time; time.sleep(600)"), 2)
        return [r.stdout for r in results]

    assert asyncio.run(main()) == ["0\n", "1\n", "2\n", "3\n"]


def test_a_sandbox_keeps_variables_and_files(box) -> None:
    assert box.cell("x = 20").ok
    assert box.cell("x + 1").text == "21"
    box.write("d/in.txt", "data")
    assert box.command("cat d/in.txt").stdout == "data"
    assert [e.path for e in box.list("d")] == ["/home/user/d/in.txt"]
    assert box.cell("1/0").error.name == "ZeroDivisionError"


def test_a_command_may_be_longer_than_a_config(box) -> None:
    words = ["printf", "<%s>", "", "a b\n", "é" * 60_000, *(["x" * 100_000] * 8)]
    said = box.command(words, stdin="not read")
    assert said.stdout == "".join(f"<{word}>" for word in words[2:])
    assert box.command(["nothing-such", *(["x" * 100_000] * 8)]).exit_code == 127
    assert box.command("ls -A /tmp").stdout == ""


def test_langchain_tool_answers_and_raises_for_the_appliance_only(box) -> None:
    from langchain_core.tools import ToolException
    tool = FsdTool(sandbox=box)
    said = tool.invoke({"args": {"code": "6 * 7"}, "id": "1", "name": "x",
                        "type": "tool_call"})
    assert said.content == "42" and said.artifact["status"] == "exited"
    said = tool.invoke({"args": {"code": "1/0"}, "id": "2", "name": "x",
                        "type": "tool_call"})
    assert "ZeroDivisionError" in said.content
    with pytest.raises(ToolException, match="memory_mb"):
        FsdTool(memory_mb=1).invoke({"code": "1"})
    assert asyncio.run(FsdTool().ainvoke({"code": "2 + 3"})) == "5"


def test_codeact_eval_takes_and_gives_names(box) -> None:
    evaluate = make_eval(box, [double])

    async def main() -> None:
        output, new = await evaluate("y = double(n)\nprint(y)", {"n": 4})
        assert output == "8\n" and new["y"] == 8
        output, new = await evaluate("y + 1", {"n": 4})
        assert "no output" in output
        output, _ = await evaluate("1/0", {})
        assert "ZeroDivisionError" in output

    asyncio.run(main())


def test_llamaindex_execute_keeps_its_state(box) -> None:
    execute = make_execute_fn(box, [double])

    async def main() -> None:
        await execute("z = double(3)")
        assert await execute("print(z)") == "6"

    asyncio.run(main())


def test_smolagents_executor_gives_values_and_final_answers() -> None:
    from fsd_sandbox.smolagents_executor import FsdExecutor
    from smolagents import FinalAnswerTool
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.utils import AgentError
    # what smolagents sends for tools and variables imports numpy and PIL
    data = "data" in Mount().environments()
    executor = FsdExecutor([], AgentLogger(level=LogLevel.ERROR),
                           environment="data" if data else None)
    try:
        if data:
            executor.send_tools({"final_answer": FinalAnswerTool()})
            executor.send_variables({"a": {"k": [1, 2]}})
        else:
            executor("a = {'k': [1, 2]}")
        assert executor("a['k'][1] + 40").output == "42"
        assert executor("print('log')").logs == "log\n"
        with pytest.raises(AgentError, match="ZeroDivisionError"):
            executor("1/0")
        if data:
            end = executor("final_answer({'done': True})")
            assert end.is_final_answer and end.output == {"done": True}
    finally:
        executor.cleanup()
