# SPDX-License-Identifier: Apache-2.0
"""The client of PyPI's mcp, of both eras, over HTTP and over `fsd mcp`.

$GATEWAY_URL is a gateway in front of $FSD_MOUNT, whose machines are the fake ones; $FSD
is the program.
"""
import asyncio
import os
import uuid

import pytest
from mcp import Client, MCPError, StdioServerParameters

TOOLS = ["run_code", "run_command", "write_file", "read_file", "list_files",
         "stop_sandbox", "list_sandboxes"]
FSD, MOUNT = os.environ["FSD"], os.environ["FSD_MOUNT"]
SERVERS = {
    "http": lambda: os.environ["GATEWAY_URL"] + "/mcp",
    "stdio": lambda: StdioServerParameters(command=FSD, args=["mcp", "--mount", MOUNT]),
    "private": lambda: StdioServerParameters(
        command="env", args=["-u", "FSD_MOUNT", FSD, "mcp"]),
}
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


@pytest.fixture(params=[(s, m) for s in SERVERS for m in VERSIONS], ids="-".join)
def server(request):
    return request.param


def connect(server):
    return Client(SERVERS[server[0]](), mode=server[1])


async def no_jobs():
    """Until the mount has no job any more: the runner's bound ends it."""
    while [name for name in os.listdir(MOUNT) if not name.startswith(".")]:
        await asyncio.sleep(0.05)


async def test_it_finds_the_version_and_the_tools(server):
    async with connect(server) as client:
        assert client.protocol_version == VERSIONS[server[1]]
        assert [t.name for t in (await client.list_tools()).tools] == TOOLS


async def test_a_result_is_as_the_tool_s_schema_says(server):
    async with connect(server) as client:
        await client.list_tools()  # the client checks results by their schemas
        result = await client.call_tool("run_code", {"code": "out hi\nerr oops\nexit 3"})
    assert result.is_error
    assert result.content[0].text == "stdout:\nhi\n"
    assert result.structured_content["exit_code"] == 3
    assert result.structured_content["stderr"] == "oops\n"


async def test_progress_is_told(server):
    seen = []

    async def on_progress(progress, _total, message):
        seen.append((progress, message))

    async with connect(server) as client:
        result = await client.call_tool(
            "run_code", {"code": "out one\nsleep 600\nout two"},
            progress_callback=on_progress)
    assert result.structured_content["stdout"] == "one\ntwo\n"
    assert seen == [(1, "one"), (2, "two")]


async def test_a_sandbox_keeps_variables_and_files(server):
    name = "box-" + uuid.uuid4().hex[:8]
    async with connect(server) as client:
        await client.call_tool("run_code", {"sandbox": name, "code": "remember x"})
        result = await client.call_tool("run_code", {"sandbox": name, "code": "recall"})
        assert result.structured_content["stdout"] == "x\n"
        await client.call_tool("write_file", {"sandbox": name, "path": "d/a.txt",
                                              "content": "text"})
        result = await client.call_tool("read_file", {"sandbox": name, "path": "d/a.txt"})
        assert result.content[0].text == "text"
        result = await client.call_tool("list_sandboxes")
        assert name in [s["name"] for s in result.structured_content["sandboxes"]]
        await client.call_tool("stop_sandbox", {"sandbox": name})
        result = await client.call_tool("list_sandboxes")
        assert name not in [s["name"] for s in result.structured_content["sandboxes"]]


async def test_wrong_calls_are_errors_of_the_protocol(server):
    async with connect(server) as client:
        with pytest.raises(MCPError, match='no tool "none"'):
            await client.call_tool("none")
        with pytest.raises(MCPError, match="code is missing"):
            await client.call_tool("run_code", {})


async def test_calls_run_beside_each_other(server):
    async with connect(server) as client:
        results = await asyncio.gather(*(
            client.call_tool("run_code", {"code": "out %d" % i}) for i in range(8)))
    assert [r.structured_content["stdout"] for r in results] == [
        "%d\n" % i for i in range(8)]


async def give_up(client):
    running = asyncio.Event()

    async def on_progress(*_):
        running.set()

    call = asyncio.create_task(client.call_tool(
        "run_code", {"code": "out up\nsleep 600000", "timeout": 600},
        progress_callback=on_progress))
    await running.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


# Over HTTP the older clients send a notification, which names no connection and no
# session; so only the newer ones, which close the stream, end a run.
@pytest.mark.parametrize("server", [("http", "auto"), ("http", "2026-07-28"),
                                    ("stdio", "legacy"), ("stdio", "auto")], ids="-".join)
async def test_a_call_that_is_given_up_takes_its_run_along(server):
    async with connect(server) as client:
        await give_up(client)
        await no_jobs()
        result = await client.call_tool("run_code", {"code": "out next"})
        assert result.structured_content["stdout"] == "next\n"


@pytest.mark.parametrize("server", [("http", "legacy"), ("stdio", "legacy")], ids="-".join)
async def test_a_client_that_ends_takes_its_runs_along(server):
    async with connect(server) as client:
        await give_up(client)
    await no_jobs()
