// SPDX-License-Identifier: Apache-2.0
import { BaseSandbox, type ExecuteResponse, type FileDownloadResponse,
  type FileUploadResponse } from "deepagents";
import type { Sandbox, SandboxOptions } from "./index.js";

export interface FsdSandboxOptions extends SandboxOptions {
  mount?: string;
  name?: string;
  /** Seconds of a command, 1800 by default; 0 is no limit. */
  timeout?: number;
}

/** A Deep Agents backend over one sandbox. */
export class FsdSandbox extends BaseSandbox {
  /** Without a sandbox, initialize() makes one, or opens the one of that name. */
  constructor(sandbox?: Sandbox, options?: FsdSandboxOptions);
  /** initialFiles: the text of each path. */
  static create(options?: FsdSandboxOptions & {
    initialFiles?: Record<string, string> }): Promise<FsdSandbox>;
  readonly id: string;
  /** It was made and has not ended. */
  readonly isRunning: boolean;
  initialize(): Promise<void>;
  execute(command: string): Promise<ExecuteResponse>;
  uploadFiles(files: Array<[string, Uint8Array]>): Promise<FileUploadResponse[]>;
  downloadFiles(paths: string[]): Promise<FileDownloadResponse[]>;
  /** Ends the sandbox. */
  close(): Promise<void>;
}
