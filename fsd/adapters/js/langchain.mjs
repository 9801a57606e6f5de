// SPDX-License-Identifier: Apache-2.0
/**
 * A LangChain tool that runs code in a microVM.
 *
 *     import { tool } from "langchain";
 *     import { z } from "zod";
 *     const runCode = makeTool({ tool, z });
 *
 * A program that fails is an answer for the model. Only a failure of the
 * appliance throws.
 */
import { FsdError, Mount } from "./index.mjs";

/** What a model should read of a result. */
export function answer(result) {
  const parts = [];
  if (result.text !== null) parts.push(result.text);
  if (result.stdout) parts.push(result.stdout.replace(/\n$/, ""));
  if (result.stderr) parts.push("stderr:\n" + result.stderr.replace(/\n$/, ""));
  if (result.error)
    parts.push(result.error.traceback ||
      `${result.error.name}: ${result.error.value}`);
  if (!result.ok)
    parts.push(`${result.status}, exit code ${result.exitCode}` +
      (result.message ? ` (${result.message})` : ""));
  return parts.join("\n") || "(no output)";
}

/** What a model should know of a machine's network. */
function networkWords(network) {
  if (!network || network.length === 0) return "without a network";
  return Array.isArray(network)
    ? `with a network that reaches ${network.join(", ")} and no other server`
    : "with a network";
}

/**
 * tool and z are those of the caller's LangChain and zod, so that there is one
 * of each. sandbox: its interpreters keep their state between calls; without it
 * each call has a machine of its own, which reaches the servers that network
 * names. The artifact is the whole result.json.
 */
export function makeTool({ tool, z, mount, sandbox, timeout = 30, memoryMb,
  environment, network, name = "run_code", description =
  `Runs a program in an isolated machine ${networkWords(sandbox
    ? sandbox.network : network)} and returns its value and output.` }) {
  let found;

  async function run({ code, language }) {
    const result = sandbox
      ? await sandbox.cell(code, { language, timeout })
      : await (found ??= new Mount(mount)).run(code, { language, timeout,
        memoryMb, environment, network, mode: "cell" });
    if (["failed", "interrupted"].includes(result.status))
      throw new FsdError(result.message || result.status);
    return [answer(result), result.raw];
  }

  return tool(run, { name, description,
    responseFormat: "content_and_artifact",
    schema: z.object({
      code: z.string().describe("The program's text"),
      language: z.enum(["python", "javascript", "typescript", "bash"])
        .default("python").describe("The program's language"),
    }) });
}
