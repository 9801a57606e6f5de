// SPDX-License-Identifier: Apache-2.0
// The clients of npm, of both eras, over HTTP and over `fsd mcp`; an agent loop.
// $GATEWAY_URL is a gateway in front of $FSD_MOUNT, whose machines are the fake ones.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { AIMessage } from "@langchain/core/messages";
import { FakeStreamingChatModel } from "@langchain/core/utils/testing";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import * as newer from "@modelcontextprotocol/client";
import { StdioClientTransport as NewerStdio } from "@modelcontextprotocol/client/stdio";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OlderHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createAgent } from "langchain";

const { FSD, FSD_MOUNT, GATEWAY_URL } = process.env;
const TOOLS = ["run_code", "run_command", "write_file", "read_file", "list_files",
  "stop_sandbox", "list_sandboxes"];
const url = new URL("/mcp", GATEWAY_URL);
const program = { command: FSD, args: ["mcp", "--mount", FSD_MOUNT] };
const name = { name: "test", version: "1" };

const clients = [
  ["sdk", () => new OlderClient(name), () => new OlderHttp(url),
    () => new OlderStdio(program), "2025-11-25"],
  ["client, as it comes", () => new newer.Client(name),
    () => new newer.StreamableHTTPClientTransport(url), () => new NewerStdio(program),
    "2025-11-25"],
  ["client, auto", () => new newer.Client(name, { versionNegotiation: { mode: "auto" } }),
    () => new newer.StreamableHTTPClientTransport(url), () => new NewerStdio(program),
    "2026-07-28"],
];

async function noJobs() { // the runner's bound ends it
  while ((await readdir(FSD_MOUNT)).some((job) => !job.startsWith("."))) await pause(50);
}

async function use(make, transport, body) {
  const client = make();
  await client.connect(transport());
  try {
    await body(client);
  } finally {
    await client.close();
  }
}

// The older SDK's callTool takes a schema before the options.
function call(client, tool, args = {}, options = {}) {
  const params = { name: tool, arguments: args };
  return client instanceof OlderClient ? client.callTool(params, undefined, options)
    : client.callTool(params, options);
}

for (const [label, make, http, stdio, version] of clients)
  for (const [way, transport] of [["http", http], ["stdio", stdio]]) {
    test(`${label}, ${way}: tools, a result, progress, errors`, () =>
      use(make, transport, async (client) => {
        const negotiated = client.getNegotiatedProtocolVersion?.() ??
          client.transport.protocolVersion;
        if (negotiated) assert.equal(negotiated, version);
        assert.deepEqual((await client.listTools()).tools.map((t) => t.name), TOOLS);
        const seen = [];
        const result = await call(client, "run_code", { code: "out one\nsleep 600\nout two" },
          { onprogress: (p) => seen.push([p.progress, p.message]) });
        assert.equal(result.content[0].text, "stdout:\none\ntwo\n");
        assert.equal(result.structuredContent.exit_code, 0);
        assert.deepEqual(seen, [[1, "one"], [2, "two"]]);
        const failed = await call(client, "run_code", { code: "exit 3" });
        assert.equal(failed.isError, true);
        await assert.rejects(call(client, "none"), /no tool "none"/);
      }));

    test(`${label}, ${way}: a sandbox keeps what it has`, () =>
      use(make, transport, async (client) => {
        const sandbox = "js-" + Math.random().toString(36).slice(2);
        await call(client, "run_code", { sandbox, code: "remember x" });
        const { structuredContent } = await call(client, "run_code",
          { sandbox, code: "recall" });
        assert.equal(structuredContent.stdout, "x\n");
        await call(client, "stop_sandbox", { sandbox });
        const { structuredContent: all } = await call(client, "list_sandboxes");
        assert.ok(!all.sandboxes.some((s) => s.name === sandbox));
      }));

    // see test_client.py: over HTTP an older client's notification ends no run
    const ends = way === "stdio" || version === "2026-07-28";
    test(`${label}, ${way}: a call that is given up ${ends ? "takes its run along" :
      "ends with its client"}`, async () => {
      await use(make, transport, async (client) => {
        const control = new AbortController();
        const options = { signal: control.signal, onprogress: () => control.abort() };
        await assert.rejects(call(client, "run_code",
          { code: "out up\nsleep 600000", timeout: 600 }, options));
        if (ends) await noJobs();
      });
      await noJobs();
    });
  }

class Model extends FakeStreamingChatModel {
  at = 0;
  bindTools(tools) {
    assert.ok(tools.some((t) => t.name === "run_code"));
    return this;
  }
  async _generate() {
    const message = this.responses[this.at++];
    return { generations: [{ text: "", message }] };
  }
}

for (const [way, server] of Object.entries({
  http: { transport: "http", url: url.href },
  stdio: { transport: "stdio", ...program },
}))
  test(`@langchain/mcp-adapters, ${way}: an agent runs code and reads a file`, async () => {
    const client = new MultiServerMCPClient({ mcpServers: { fsd: server } });
    try {
      const tools = await client.getTools();
      const sandbox = "agent-js-" + way;
      let number = 0;
      const ask = (tool, args) => new AIMessage({ content: "",
        tool_calls: [{ name: tool, args, id: `call-${++number}`, type: "tool_call" }] });
      const model = new Model({ responses: [
        ask("run_code", { sandbox, code: "write a.txt made\nout done" }),
        ask("read_file", { sandbox, path: "a.txt" }),
        ask("stop_sandbox", { sandbox }),
        new AIMessage("finished")] });
      const agent = createAgent({ model, tools });
      const { messages } = await agent.invoke({ messages: [{ role: "user", content: "go" }] });
      const answers = messages.filter((m) => m.getType() === "tool").map((m) => m.text);
      assert.equal(messages.at(-1).text, "finished");
      // the adapter puts the structured result beside the text, as JSON
      assert.equal(JSON.parse(answers[0]).text, "stdout:\ndone\n");
      assert.equal(answers[1], "made\n");
    } finally {
      await client.close();
    }
  });
