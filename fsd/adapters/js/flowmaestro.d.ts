// SPDX-License-Identifier: Apache-2.0
import type { Network } from "./index.js";

export class CodeExecutionError extends Error {
  readonly language: string;
  readonly stdout: string;
  readonly stderr: string;
}

export class ValidationError extends Error {
  readonly field: string;
}

export interface CodeNodeConfig {
  language: "javascript" | "python";
  code: string;
  /** Milliseconds, 30000 by default, at most 300000. */
  timeout?: number;
  inputVariables?: string[];
  outputVariable?: string;
}

export interface CodeNodeResult {
  language: string;
  output: unknown;
  stdout: string;
  stderr: string;
  logs: string[];
  metadata: { executionTime: number; sandboxId: string };
}

export function executeCodeNode(config: CodeNodeConfig,
  context?: Record<string, unknown>,
  options?: { mount?: string; environment?: string; memoryMb?: number;
    network?: Network }):
  Promise<CodeNodeResult | Record<string, CodeNodeResult>>;
