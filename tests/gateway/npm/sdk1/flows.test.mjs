// SPDX-License-Identifier: Apache-2.0
// Nodes and tools that bring E2B's SDK 1 with them, unchanged, in front of `fsd gateway
// --debug-ports`, which adapters.sh has started. Flowise's own files are used, and our
// node lies beside them.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync,
  writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

import { Mount } from "fsd-sandbox";

const require = createRequire(import.meta.url);
const FLOWISE = path.resolve("node_modules/flowise-components/dist");
// one pixel, shown as a figure is
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42Y" +
  "AAAAASUVORK5CYII=";
const FIGURE = `import base64
class Figure:
    def _repr_png_(self):
        return base64.b64decode("${PNG}")
    def __repr__(self):
        return "<Figure>"
Figure()`;

let storage;
before(() => {
  storage = mkdtempSync(path.join(tmpdir(), "flows."));
  process.env.BLOB_STORAGE_PATH = storage;
});
after(async () => {
  const mount = new Mount();
  for (const name of await mount.sandboxes())
    if (name.startsWith("flowise-")) await (await mount.sandbox(name)).close();
  rmSync(storage, { recursive: true });
});

/** The tool that a node of Flowise makes, as its server would ask for it. */
async function toolOf(file, inputs = {}) {
  const { nodeClass } = require(path.join(FLOWISE, "nodes/tools", file));
  return new nodeClass().init({ inputs, credential: "" }, "",
    { chatflowid: "c1a2b3c4-0000-4000-8000-000000000001", orgId: "org1" });
}

const ask = (tool, input, chatId = "chat1") =>
  tool.call({ input }, undefined, undefined, { chatId });

/** The bytes of the one file that an answer names, and its text. */
function artifact(answer) {
  const [text, list] = answer.split(require(path.join(FLOWISE, "src/agents"))
    .ARTIFACTS_PREFIX);
  const [found] = JSON.parse(list);
  assert.equal(found.type, "png");
  const files = readdirSync(storage, { recursive: true })
    .filter((name) => path.basename(name) === found.data.replace(/^.*::/, ""));
  assert.equal(files.length, 1);
  return [text, readFileSync(path.join(storage, files[0])).toString("base64")];
}

test("Flowise's E2B node computes, prints, fails and stores a figure", async () => {
  const tool = await toolOf("CodeInterpreterE2B/CodeInterpreterE2B.js");
  assert.equal(await ask(tool, "x = 40\nx + 2"), "42");
  assert.equal(await ask(tool, "print('it\\'s \"quoted\"')"), "it's \"quoted\"\n");
  assert.match(await ask(tool, "1/0"), /^ZeroDivisionError: division by zero/);
  assert.match(await ask(tool, "x"), /^NameError/);
  const [text, stored] = artifact(await ask(tool, FIGURE));
  assert.deepEqual([text, stored], ["<Figure>", PNG]);
});

test("Flowise's JavaScript function has its variables and imports, and tells errors",
  async () => {
    const { executeJavaScriptCode } = require(path.join(FLOWISE, "src/utils"));
    process.env.E2B_APIKEY = process.env.E2B_API_KEY;
    try {
      assert.deepEqual(await executeJavaScriptCode(
        "const path = require('path');\n" +
        "return { name: path.join('a', $vars.b), n: $input * 2, s: $flow.chatId };",
        { $vars: { b: "it's" }, $flow: { chatId: "c" }, $input: 21 }),
      { name: "a/it's", n: 42, s: "c" });
      await assert.rejects(executeJavaScriptCode("throw new TypeError('why')", {}),
        /TypeError: why/);
    } finally {
      delete process.env.E2B_APIKEY;
    }
  });

test("our node for Flowise keeps each chat's names and stores a figure", async () => {
  const home = path.join(FLOWISE, "nodes/tools/CodeInterpreterFsd");
  cpSync("node_modules/fsd-sandbox/flowise", home, { recursive: true });
  const tool = await toolOf("CodeInterpreterFsd/CodeInterpreterFsd.js",
    { toolName: "run", timeout: 60 });
  assert.equal(tool.name, "run");
  assert.equal(await ask(tool, "x = 40"), "");
  assert.equal(await ask(tool, "x + 2"), "42");
  assert.match(await ask(tool, "x", "chat2"), /^NameError: name 'x'/);
  assert.equal(await ask(tool, "print('hi')"), "hi\n");
  const [text, stored] = artifact(await ask(tool, FIGURE));
  assert.deepEqual([text, stored], ["<Figure>", PNG]);
  const bash = await toolOf("CodeInterpreterFsd/CodeInterpreterFsd.js",
    { language: "bash", timeout: 60 });
  assert.equal(await ask(bash, "echo $((6 * 7))"), "42\n");
});

test("our node for Flowise stops a cell at its timeout", async () => {
  const tool = await toolOf("CodeInterpreterFsd/CodeInterpreterFsd.js",
    { timeout: 2 });
  assert.match(await ask(tool, "while True: pass", "chat3"), /time/);
});

test("our node for Flowise passes the servers of its field on to the mount", async () => {
  const tool = await toolOf("CodeInterpreterFsd/CodeInterpreterFsd.js",
    { network: " https://x.example  a.example " });
  assert.match(await ask(tool, "1", "chat4"), /"network"/);
});

test("LlamaIndexTS's interpreter uploads, computes, and saves a figure", async () => {
  const { interpreter } = await import("@llamaindex/tools");
  const uploadedFilesDir = path.join(storage, "up");
  const outputDir = mkdtempSync("out."); // it takes no absolute path
  mkdirSync(uploadedFilesDir);
  writeFileSync(path.join(uploadedFilesDir, "in.csv"), "a,b\n1,41\n");
  const tool = interpreter({ apiKey: process.env.E2B_API_KEY, uploadedFilesDir,
    outputDir });
  const said = await tool.call({ code: "import csv\n" +
    "print('seen')\nsum(int(v) for v in list(csv.reader(open('in.csv')))[1])" });
  assert.deepEqual([said.isError, said.text, said.logs.stdout],
    [false, "42", ["seen\n"]]);
  assert.equal((await tool.call({ code: "1/0" })).isError, true);
  const { extraResult } = await tool.call({ code: FIGURE });
  const { filename } = extraResult.find((found) => found.type === "png");
  assert.equal(readFileSync(path.join(outputDir, filename)).toString("base64"), PNG);
  rmSync(outputDir, { recursive: true });
});
