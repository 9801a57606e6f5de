// SPDX-License-Identifier: Apache-2.0
/**
 * A sandbox of fsd as the backend of a Deep Agent.
 *
 *     const backend = await FsdSandbox.create();
 *     const agent = createDeepAgent({ model, backend });
 */
import { existsSync } from "node:fs";

import { BaseSandbox } from "deepagents";

import { Mount } from "./index.mjs";

const ERRORS = { ENOENT: "file_not_found", ENOTDIR: "file_not_found",
  EACCES: "permission_denied", EPERM: "permission_denied",
  EROFS: "permission_denied", EISDIR: "is_directory", EINVAL: "invalid_path",
  ENAMETOOLONG: "invalid_path" };

const isPath = (path) => path.startsWith("/") && !path.includes("\0");

/**
 * timeout: seconds of a command; 0 is no limit. The other options are those of
 * Mount.sandbox(), and mount and name.
 */
export class FsdSandbox extends BaseSandbox {
  #options;

  /** Without a sandbox, initialize() makes one, or opens the one of that name. */
  constructor(sandbox, { timeout = 1800, ...options } = {}) {
    super();
    this.sandbox = sandbox;
    this.timeout = timeout;
    this.#options = options;
  }

  /** Makes a sandbox with initialFiles ({path: text}), or opens that of the name. */
  static async create({ initialFiles = {}, ...options } = {}) {
    const made = new FsdSandbox(undefined, options);
    await made.initialize();
    try {
      for (const [path, text] of Object.entries(initialFiles))
        await made.sandbox.write(path, text);
    } catch (error) {
      if (options.name === undefined) await made.close();
      throw error;
    }
    return made;
  }

  async initialize() {
    const { mount, name, ...keys } = this.#options;
    this.sandbox ??= await new Mount(mount).sandbox(name, keys);
  }

  /** It was made and has not ended. */
  get isRunning() {
    return this.sandbox !== undefined && existsSync(this.sandbox.path);
  }

  get id() {
    return this.sandbox?.name ?? "";
  }

  async execute(command) {
    const result = await this.sandbox.command(command,
      { timeout: this.timeout });
    let { output } = result;
    if (!["exited", "signaled"].includes(result.status))
      output += (output && !output.endsWith("\n") ? "\n" : "") +
        (result.message || result.status);
    return { output, exitCode: result.exitCode, truncated: result.truncated };
  }

  uploadFiles(files) {
    return Promise.all(files.map(async ([path, content]) => {
      if (!isPath(path)) return { path, error: "invalid_path" };
      try {
        await this.sandbox.write(path, content);
        return { path, error: null };
      } catch (error) {
        return { path, error: ERRORS[error.code] ?? error.message };
      }
    }));
  }

  downloadFiles(paths) {
    return Promise.all(paths.map(async (path) => {
      if (!isPath(path)) return { path, content: null, error: "invalid_path" };
      try {
        return { path, content: new Uint8Array(await this.sandbox.read(path)),
          error: null };
      } catch (error) {
        return { path, content: null, error: ERRORS[error.code] ?? error.message };
      }
    }));
  }

  /** Ends the sandbox. */
  async close() {
    await this.sandbox?.close();
  }
}
