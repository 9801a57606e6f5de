// SPDX-License-Identifier: Apache-2.0
import { BaseSandbox, type ExecuteResponse, type FileDownloadResponse,
  type FileUploadResponse } from "deepagents";
import type { Sandbox, SandboxOptions } from "./index.js";

/** A Deep Agents backend over one sandbox. */
export class FsdSandbox extends BaseSandbox {
  constructor(sandbox: Sandbox, options?: { timeout?: number });
  static create(options?: { name?: string; mount?: string; timeout?: number }
    & SandboxOptions): Promise<FsdSandbox>;
  readonly id: string;
  execute(command: string): Promise<ExecuteResponse>;
  uploadFiles(files: Array<[string, Uint8Array]>): Promise<FileUploadResponse[]>;
  downloadFiles(paths: string[]): Promise<FileDownloadResponse[]>;
  close(): Promise<void>;
}
