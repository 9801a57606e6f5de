// SPDX-License-Identifier: Apache-2.0
// Never run: the compiler holds the declarations against their use.
import { createDeepAgent } from "deepagents";
import { tool } from "langchain";
import { z } from "zod";

import { FsdError, Mount, type Result } from "fsd-sandbox";
import { FsdSandbox } from "fsd-sandbox/deepagents";
import { CodeExecutionError, executeCodeNode, ValidationError,
  type CodeNodeResult } from "fsd-sandbox/flowmaestro";
import { answer, makeTool } from "fsd-sandbox/langchain";

const mount = new Mount("/mnt", { limit: 1024 });
const result: Result = await mount.run("1", { language: "python", timeout: 2,
  onStdout: (text: string) => console.log(text), signal: AbortSignal.timeout(1) });
const files: Record<string, Buffer> = result.files;
// @ts-expect-error a language that there is not
await mount.run("1", { language: "ruby" });

const sandbox = await mount.sandbox("name", { environment: "data", life: 60 });
const text: string = answer(await sandbox.cell("1", { session: "s" }));
await sandbox.write("f", new Uint8Array([1]));
const [entry] = await sandbox.list();
const size: number = entry.size;

const backend = await FsdSandbox.create({ name: "n", idle: 60,
  initialFiles: { "/home/user/f": "text" } });
const running: boolean = backend.isRunning;
createDeepAgent({ model: "fake", backend });
createDeepAgent({ model: "fake", backend: new FsdSandbox(sandbox, { timeout: 0 }),
  tools: [makeTool({ tool, z, sandbox })] });

try {
  const output = await executeCodeNode({ language: "python", code: "1",
    outputVariable: "x" }, { n: 1 }, { memoryMb: 128 }) as { x: CodeNodeResult };
  console.log(output.x.logs.join(), files, text, size, running);
} catch (error) {
  if (error instanceof CodeExecutionError) console.log(error.stdout);
  if (error instanceof ValidationError) console.log(error.field);
  if (error instanceof FsdError) console.log(error.message);
}
