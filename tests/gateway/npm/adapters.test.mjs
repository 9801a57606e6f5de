// SPDX-License-Identifier: Apache-2.0
// The JavaScript adapters with their real frameworks, in front of $FSD_MOUNT.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { tool } from "langchain";
import { z } from "zod";

import { FsdError, Mount } from "fsd-sandbox";
import { FsdSandbox } from "fsd-sandbox/deepagents";
import { CodeExecutionError, executeCodeNode, ValidationError }
  from "fsd-sandbox/flowmaestro";
import { makeTool } from "fsd-sandbox/langchain";

let box;
before(async () => {
  box = await new Mount().sandbox();
});
after(() => box.close());

test("a job gives output, files and how it ended", async () => {
  const seen = [];
  const result = await new Mount().run(
    "console.log('hi'); require('fs').writeFileSync('f', 'x'); process.exit(3)",
    { onStdout: (text) => seen.push(text) });
  assert.deepEqual([result.status, result.exitCode, result.stdout],
    ["exited", 3, "hi\n"]);
  assert.equal(result.files.f.toString(), "x");
  assert.equal(seen.join(""), "hi\n");
});

test("a refusal is an error with the mount's sentence", async () => {
  await assert.rejects(new Mount().run("1", { memoryMb: 1 }),
    (error) => error instanceof FsdError && /"memory_mb" is 1/.test(error.message));
});

test("each adapter passes the network on to the mount", async () => {
  const network = ["https://x.example"]; // every mount refuses it
  const refused = { message: /"network"/ };
  await assert.rejects(makeTool({ tool, z, network }).invoke({ code: "1" }), refused);
  await assert.rejects(FsdSandbox.create({ network }), refused);
  await assert.rejects(executeCodeNode({ language: "python", code: "1" }, {},
    { network }), refused);
});

test("LangChain's tool says what the code reaches", () => {
  const said = (options) => makeTool({ tool, z, ...options }).description;
  assert.match(said({}), / without a network /);
  assert.match(said({ sandbox: box }), / without a network /);
  assert.match(said({ network: ["a.example", "*.b.example"] }),
    /reaches a.example, \*.b.example and no other server/);
});

test("an aborted call leaves no job", async () => {
  await assert.rejects(new Mount().run("for (;;);",
    { signal: AbortSignal.timeout(1500) }), { name: "TimeoutError" });
});

test("a sandbox keeps variables and files", async () => {
  await box.cell("globalThis.x = 20");
  assert.equal((await box.cell("x + 1")).text, "21");
  await box.write("d/in.txt", "data");
  assert.equal((await box.command("cat d/in.txt")).stdout, "data");
  assert.deepEqual((await box.list("d")).map((e) => e.path),
    ["/home/user/d/in.txt"]);
});

test("LangChain's tool answers what a model should read", async () => {
  const runCode = makeTool({ tool, z, sandbox: box });
  const call = (code, language) => runCode.invoke({ type: "tool_call", id: "1",
    name: "run_code", args: { code, language } });
  const said = await call("6 * 7", "python");
  assert.equal(said.content, "42");
  assert.equal(said.artifact.status, "exited");
  assert.match((await call("1/0", "python")).content, /ZeroDivisionError/);
  await assert.rejects(makeTool({ tool, z, memoryMb: 1 }).invoke({ code: "1" }),
    /memory_mb/);
});

test("a Deep Agents backend reads, writes, edits, finds and executes", async () => {
  const backend = await FsdSandbox.create();
  try {
    assert.deepEqual(await backend.execute("echo out; exit 4"),
      { output: "out\n", exitCode: 4, truncated: false });
    assert.ok(!(await backend.write("/home/user/a/f.txt", "one\ntwo\n")).error);
    assert.ok(!(await backend.edit("/home/user/a/f.txt", "two", "2")).error);
    const [down] = await backend.downloadFiles(["/home/user/a/f.txt"]);
    assert.equal(Buffer.from(down.content).toString(), "one\n2\n");
    const errors = await backend.downloadFiles(["/home/user/none", "/home/user/a",
      "relative"]);
    assert.deepEqual(errors.map((e) => e.error),
      ["file_not_found", "is_directory", "invalid_path"]);
    const [up] = await backend.uploadFiles([["/usr/x", new Uint8Array([1])]]);
    assert.equal(up.error, "permission_denied");
    assert.ok((await backend.glob("**/*.txt", "/home/user")).files.length);
    assert.ok((await backend.grep("one", "/home/user")).matches.length);
  } finally {
    await backend.close();
  }
});

test("FlowMaestro's node has its inputs, whatever is in them", async () => {
  const context = { text: "it's \"quoted\" '''three'''\n\\ and 😀", n: 21 };
  const inPython = await executeCodeNode({ language: "python",
    code: "print(text)\n{'twice': n * 2, 'text': text}" }, context);
  assert.deepEqual(inPython.output, { twice: 42, text: context.text });
  assert.equal(inPython.stdout, context.text + "\n");
  const inJavaScript = await executeCodeNode({ language: "javascript",
    code: "n + 1", inputVariables: ["n"], outputVariable: "answer" }, context);
  assert.equal(inJavaScript.answer.output, 22);
});

test("FlowMaestro's node tells why it failed, with all of the text", async () => {
  await assert.rejects(executeCodeNode({ language: "python",
    code: "print('before')\nraise ValueError('why')" }), (error) =>
    error instanceof CodeExecutionError && error.stdout === "before\n" &&
    /^ValueError: why\n[^]*line 2/.test(error.message));
  await assert.rejects(executeCodeNode({ language: "python",
    code: "while True: pass", timeout: 1500 }), /timed out after 1500 ms/);
  await assert.rejects(executeCodeNode({ language: "ruby", code: "1" }),
    ValidationError);
});

test("FlowMaestro's node gives named inputs only, both streams, and all of them",
  async () => {
    const { answer } = await executeCodeNode({ language: "python",
      inputVariables: ["n", "absent"], outputVariable: "answer",
      code: "import sys\nprint('out')\nprint('it\\'s', file=sys.stderr)\n" +
        "print('x' * 3_000_000)\n['n' in globals(), 'other' in globals()]" },
    { n: 1, other: 2 });
    assert.deepEqual(answer.output, [true, false]);
    assert.equal(answer.stdout, "out\n" + "x".repeat(3_000_000) + "\n");
    assert.equal(answer.stderr, "it's\n");
    assert.deepEqual([answer.logs.length, answer.logs[0], answer.logs[2]],
      [3, "out", "ERROR: it's"]);
  });

test("FlowMaestro's node in JavaScript tells of wrong syntax and ends at its timeout",
  async () => {
    await assert.rejects(executeCodeNode({ language: "javascript",
      code: "const = 1" }), (error) => error instanceof CodeExecutionError &&
        error.language === "javascript" && /SyntaxError/.test(error.message));
    await assert.rejects(executeCodeNode({ language: "javascript",
      code: "console.log('before'); for (;;);", timeout: 1500 }), (error) =>
      /timed out after 1500 ms/.test(error.message) && error.stdout === "before\n");
    await assert.rejects(executeCodeNode({ language: "python", code: " " }),
      { name: "ValidationError", field: "code" });
    assert.deepEqual((await new Mount().sandboxes()).filter((name) =>
      name.startsWith("js-") && name !== box.name), []);
  });
