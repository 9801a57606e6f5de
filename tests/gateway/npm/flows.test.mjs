// SPDX-License-Identifier: Apache-2.0
// Agents with a model that is a script, in front of $FSD_MOUNT.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createDeepAgent } from "deepagents";
import { createAgent, tool } from "langchain";
import { z } from "zod";

import { Mount } from "fsd-sandbox";
import { FsdSandbox } from "fsd-sandbox/deepagents";
import { makeTool } from "fsd-sandbox/langchain";

import { answered, call, FakeModel } from "./model.mjs";

/** A model that defines a name, uses it in a later call, and tells what came. */
const counting = () => new FakeModel([
  call("run_code", { code: "total = sum(range(10))", language: "python" }, "1"),
  call("run_code", { code: "total * 2", language: "python" }, "2"),
  (messages) => `it is ${answered(messages)}`,
]);

for (const [name, make] of Object.entries({
  "LangGraph's ReAct agent": (model, tools) => createReactAgent({ llm: model, tools }),
  "LangChain's agent": (model, tools) => createAgent({ model, tools }),
}))
  test(`${name} computes over two calls of one sandbox`, async () => {
    const sandbox = await new Mount().sandbox();
    try {
      const agent = make(counting(), [makeTool({ tool, z, sandbox })]);
      const { messages } = await agent.invoke({ messages: [
        { role: "user", content: "twice the sum of 0 to 9?" }] });
      assert.equal(messages.at(-1).text, "it is 90");
      assert.equal(messages.at(-2).artifact.status, "exited");
    } finally {
      await sandbox.close();
    }
  });

test("a Deep Agent writes a program, runs it, mends it and reads its result",
  async () => {
    const backend = await FsdSandbox.create();
    try {
      const model = new FakeModel([
        call("write_file", { file_path: "/home/user/p.py",
          content: "import json\nprint(json.dumps({'n': 6 * 7, 'q': \"it's\"})\n" }),
        call("execute", { command: "python3 /home/user/p.py" }),
        (messages) => {
          assert.match(answered(messages), /SyntaxError/);
          return call("edit_file", { file_path: "/home/user/p.py",
            old_string: "\"it's\"})", new_string: "\"it's\"}))" });
        },
        call("execute", { command: "python3 /home/user/p.py | tee out.json" }),
        call("read_file", { file_path: "/home/user/out.json" }),
        (messages) => answered(messages),
      ]);
      const agent = createDeepAgent({ model, backend });
      const { messages } = await agent.invoke({ messages: [
        { role: "user", content: "what is 6 * 7, as JSON?" }] });
      assert.match(messages.at(-1).text, /\{"n": 42, "q": "it's"\}/);
      assert.equal((await backend.sandbox.read("out.json")).toString(),
        '{"n": 42, "q": "it\'s"}\n');
    } finally {
      await backend.close();
    }
    assert.equal(backend.isRunning, false);
  });
