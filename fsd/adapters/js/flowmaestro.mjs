// SPDX-License-Identifier: Apache-2.0
/**
 * The executor of FlowMaestro's Code node, over a sandbox of fsd.
 *
 *     const output = await executeCodeNode(
 *       { language: "python", code: "total * 2" }, { total: 21 });
 *
 * The inputs travel as JSON in a file, never as a part of the program. A first
 * cell turns them into globals, so lines of tracebacks are those of the node.
 */
import { Mount } from "./index.mjs";

const TIMEOUT_MS = 30_000;
const BEGIN_S = 30; // a first cell, and a machine for it

const INPUTS = {
  python: "import json as _json\n" +
    "globals().update(_json.load(open('input.json')))\ndel _json\nNone",
  javascript: "Object.assign(globalThis, JSON.parse(require('node:fs')" +
    ".readFileSync('input.json', 'utf8'))); undefined",
};
const WORDS = { True: true, False: false, None: null, undefined: null };

/** Why a node failed; the message has all that the program said of it. */
export class CodeExecutionError extends Error {
  constructor(message, language, result) {
    super(message);
    this.name = "CodeExecutionError";
    this.language = language;
    this.stdout = result?.stdout ?? "";
    this.stderr = result?.stderr ?? "";
  }
}

/** The node's configuration is wrong; field says where. */
export class ValidationError extends Error {
  constructor(message, field) {
    super(message);
    this.name = "ValidationError";
    this.field = field;
  }
}

function check(config) {
  if (!Object.hasOwn(INPUTS, config.language))
    throw new ValidationError(`language is ${JSON.stringify(config.language)}; ` +
      `it must be one of ${Object.keys(INPUTS).join(", ")}`, "language");
  if (typeof config.code !== "string" || !config.code.trim())
    throw new ValidationError("code is empty; it must be a program", "code");
  const { timeout = TIMEOUT_MS } = config;
  if (!(timeout > 0 && timeout <= 300_000))
    throw new ValidationError(`timeout is ${timeout}; it must be a number of ` +
      "milliseconds from 1 to 300000", "timeout");
}

function inputsOf(config, context) {
  const names = config.inputVariables?.length ? config.inputVariables
    : Object.keys(context);
  return Object.fromEntries(names.filter((name) => Object.hasOwn(context, name))
    .map((name) => [name, context[name]]));
}

/** The value of the last expression, or what its text says. */
function outputOf(result) {
  const shown = result.displays.filter((d) => d.main);
  const json = shown.find((d) => d.mime === "application/json");
  const text = json?.data ?? result.text;
  if (text === null || text === undefined) return null;
  if (Object.hasOwn(WORDS, text)) return WORDS[text];
  try {
    return JSON.parse(text);
  } catch {
    return /^(['"])[^]*\1$/.test(text) ? text.slice(1, -1) : text;
  }
}

function whyFailed(result, timeout) {
  if (result.status === "timeout")
    return `Code execution timed out after ${timeout} ms`;
  const { error } = result;
  if (error) return `${error.name}: ${error.value}\n${error.traceback}`;
  return [`${result.status}, exit code ${result.exitCode}`, result.message,
    result.stderr].filter(Boolean).join("\n");
}

const lines = (text) => text ? text.replace(/\n$/, "").split("\n") : [];

/**
 * Runs a node's code and returns its result, wrapped by outputVariable if there
 * is one. Rejects with CodeExecutionError, or ValidationError before it runs.
 */
export async function executeCodeNode(config, context = {},
  { mount, environment, memoryMb, network } = {}) {
  check(config);
  const began = Date.now();
  const { language, timeout = TIMEOUT_MS } = config;
  const box = await new Mount(mount).sandbox(undefined, { environment, memoryMb,
    network, life: Math.ceil(timeout / 1000) + BEGIN_S });
  let result;
  try {
    const inputs = await box.cell(INPUTS[language], { language,
      input: inputsOf(config, context), timeout: BEGIN_S });
    if (!inputs.ok)
      throw new CodeExecutionError(whyFailed(inputs, timeout), language, inputs);
    result = await box.cell(config.code, { language, timeout: timeout / 1000 });
  } catch (error) {
    throw error instanceof CodeExecutionError ? error
      : new CodeExecutionError(error.message, language);
  } finally {
    await box.close();
  }
  if (!result.ok)
    throw new CodeExecutionError(whyFailed(result, timeout), language, result);
  const answer = {
    language,
    output: outputOf(result),
    stdout: result.stdout,
    stderr: result.stderr,
    logs: [...lines(result.stdout),
      ...lines(result.stderr).map((line) => `ERROR: ${line}`)],
    metadata: { executionTime: Date.now() - began, sandboxId: box.name },
  };
  return config.outputVariable ? { [config.outputVariable]: answer } : answer;
}
