// SPDX-License-Identifier: Apache-2.0
import type { Network, Result, Sandbox } from "./index.js";

/** What a model should read of a result. */
export function answer(result: Result): string;

export interface ToolOptions {
  /** `tool` of the caller's LangChain, and its zod. */
  tool: (...args: any[]) => any;
  z: any;
  mount?: string;
  sandbox?: Sandbox;
  timeout?: number;
  memoryMb?: number;
  environment?: string;
  network?: Network;
  name?: string;
  description?: string;
}

/** Returns a tool that runs code; its artifact is the whole result.json. */
export function makeTool(options: ToolOptions): any;
