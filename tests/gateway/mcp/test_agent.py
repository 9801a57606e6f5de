# SPDX-License-Identifier: Apache-2.0
"""An agent loop over MCP, by langchain-mcp-adapters and a model that is a list."""
import os

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient

SERVERS = {
    "http": {"transport": "streamable_http", "url": os.environ["GATEWAY_URL"] + "/mcp"},
    "stdio": {"transport": "stdio", "command": os.environ["FSD"],
              "args": ["mcp", "--mount", os.environ["FSD_MOUNT"]]},
}


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_kwargs):
        assert "run_code" in [t.name for t in tools]
        return self


def call(number, name, **arguments):
    return AIMessage("", tool_calls=[
        {"name": name, "args": arguments, "id": "call-%d" % number, "type": "tool_call"}])


@pytest.mark.parametrize("transport", SERVERS)
async def test_an_agent_runs_code_and_reads_what_it_wrote(transport):
    client = MultiServerMCPClient({"fsd": SERVERS[transport]})
    tools = await client.get_tools()
    box = "agent-" + transport
    model = Model(messages=iter([
        call(1, "run_code", sandbox=box, code="write a.txt made\nout done"),
        call(2, "read_file", sandbox=box, path="a.txt"),
        call(3, "run_code", code="exit 3"),
        call(4, "stop_sandbox", sandbox=box),
        AIMessage("finished")]))
    agent = create_agent(model, tools)
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "go"}]})
    assert state["messages"][-1].content == "finished"
    answers = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    texts = ["".join(part["text"] for part in m.content) for m in answers]
    assert texts[0] == "stdout:\ndone\n"
    assert texts[1] == "made\n"
    assert "exit code 3" in texts[2] and answers[2].status == "error"
    assert answers[0].artifact["structured_content"]["exit_code"] == 0
