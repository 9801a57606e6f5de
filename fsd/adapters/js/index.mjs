// SPDX-License-Identifier: Apache-2.0
/**
 * Runs untrusted code in microVMs through the files of an fsd mount.
 *
 *     import { Mount } from "fsd-sandbox";
 *     const result = await new Mount().run("console.log(6 * 7)");
 *     console.log(result.stdout, result.exitCode);
 */
import { randomBytes } from "node:crypto";
import { existsSync, close as closeFile, open as openFile, readFileSync }
  from "node:fs";
import * as fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { FsdError, readText, runJob } from "./job.mjs";

export { FsdError };

// numbers: what a FileHandle holds is let go when that is collected
const openNumber = promisify(openFile);
const closeNumber = promisify(closeFile);

const SERVICE = "/run/fsd/jobs";
const HOME = "/home/user";
const LIMIT = 16 << 20; // bytes of each stream, and of files, in a result
const CONFIG_CODE_MAX = 700_000; // config.json has 1 MiB
const SUFFIX = { python: "py", javascript: "js", typescript: "ts", bash: "sh" };

/** Returns where, else $FSD_MOUNT, else the host's service. */
function findMount(where) {
  const found = path.resolve(where || process.env.FSD_MOUNT || SERVICE);
  if (!existsSync(path.join(found, ".fsd", "version")))
    throw new FsdError(`${found} is no mount of fsd: start one by \`fsd mount ` +
      `--daemon ${found}\`, or set FSD_MOUNT`);
  return found;
}

/** The keys of an object that have a value. */
function set(keys) {
  return Object.fromEntries(
    Object.entries(keys).filter(([, value]) => value !== undefined));
}

/** Returns config.json, and the program's file if it is large. */
function jobOf(code, language, keys) {
  const config = set(keys);
  if (code === undefined) return { config, files: {} };
  if (!Object.hasOwn(SUFFIX, language))
    throw new FsdError(`language is ${JSON.stringify(language)}; it must be ` +
      `one of ${Object.keys(SUFFIX).join(", ")}`);
  if (Buffer.byteLength(code) > CONFIG_CODE_MAX)
    return { config, files: { ["code." + SUFFIX[language]]: code } };
  return { config: { ...config, code, language }, files: {} };
}

/** A mount of fsd: jobs in machines of their own, and sandboxes. */
export class Mount {
  constructor(where, { limit = LIMIT } = {}) {
    this.path = findMount(where);
    this.limit = limit;
  }

  /**
   * Runs a program in a fresh machine. Either code, or options.command. Rejects
   * with FsdError if the mount refuses the job.
   */
  async run(code, options = {}) {
    const { language = "javascript", command, files, args, env, stdin, timeout,
      memoryMb, environment, network, mode, call, input, onStdout, onStderr,
      signal,
    } = options;
    if ((code === undefined) === (command === undefined))
      throw new FsdError("run() needs either code or command");
    const job = jobOf(code, language, {
      command, args, env, stdin, timeout, memory_mb: memoryMb, environment,
      network, mode: mode ?? (command && "command"), call, input });
    return runJob(this.path, job.config, {
      files: { ...files, ...job.files }, limit: this.limit, onStdout, onStderr,
      signal });
  }

  /**
   * Makes a sandbox, or opens the one of that name if it is there. A new one ends
   * with this process, or, with hold: false, by its idle and life alone.
   */
  async sandbox(name, { environment, memoryMb, env, network, idle, life, meta,
    hold = true } = {}) {
    const box = new Sandbox(this, name ?? "js-" + randomBytes(8).toString("hex"));
    await box.make(set({ environment, memory_mb: memoryMb, env, network, idle,
      life, meta }), hold);
    return box;
  }

  /** The names of this user's sandboxes. */
  async sandboxes() {
    return (await fs.readdir(path.join(this.path, ".fsd", "sandboxes"))).sort();
  }
}

/** The path in the machine: absolute, without "." and "..". */
function resolve(where) {
  if (where === "~" || where.startsWith("~/")) where = HOME + where.slice(1);
  return path.posix.resolve(HOME, where);
}

/** One machine in which interpreters and programs live on. */
export class Sandbox {
  #hold = -1; // an open file: the sandbox ends with the last one

  constructor(mount, name) {
    this.mount = mount;
    this.name = name;
    this.path = path.join(mount.path, ".fsd", "sandboxes", name);
  }

  /** Makes it with these keys of its config.json, unless it is there. */
  async make(config, hold = true) {
    try {
      await fs.mkdir(this.path);
    } catch (error) {
      if (error.code === "EEXIST") return;
      throw await this.#why(error);
    }
    try { // hold first: what it has until then ends by itself
      if (hold) this.#hold = await openNumber(path.join(this.path, "hold"), "r");
      if (Object.keys(config).length)
        await fs.writeFile(path.join(this.path, "config.json"),
          JSON.stringify(config));
    } catch (error) {
      const why = await this.#why(error);
      await this.close();
      throw why;
    }
  }

  async #why(error) {
    const said = await readText(path.join(this.mount.path, ".fsd", "last_error"));
    return new FsdError(said || error.message, { cause: error });
  }

  /** Runs code in a living interpreter, as a notebook's cell. */
  cell(code, { language = "javascript", session, timeout, env, input, onStdout,
    onStderr, signal } = {}) {
    const job = jobOf(code, language, { sandbox: this.name, mode: "cell",
      session: session ?? language, timeout, env, input });
    return runJob(this.mount.path, job.config, { files: job.files,
      limit: this.mount.limit, onStdout, onStderr, signal });
  }

  /** Runs a program; a string is run by bash -lc. timeout 0: no limit. */
  command(command, { cwd, timeout = 0, env, stdin, onStdout, onStderr,
    signal } = {}) {
    const argv = typeof command === "string" ? ["/bin/bash", "-lc", command]
      : command;
    return runJob(this.mount.path, set({ sandbox: this.name, mode: "command",
      command: argv, cwd, timeout, env }), {
      files: stdin === undefined ? {} : { stdin }, limit: this.mount.limit,
      onStdout, onStderr, signal });
  }

  /** Where the mount shows a path of the machine. */
  hostPath(where) {
    const full = resolve(where);
    return full === HOME || full.startsWith(HOME + "/")
      ? path.join(this.path, "files", full.slice(HOME.length))
      : path.join(this.path, "root", full);
  }

  read(where) {
    return fs.readFile(this.hostPath(where));
  }

  /** Writes a file; its directory is made if need be. */
  async write(where, data) {
    const file = this.hostPath(where);
    await fs.mkdir(path.dirname(file), { recursive: true });
    await fs.writeFile(file, data);
  }

  /** The entries of a directory, by name. Not its links. */
  async list(where = HOME) {
    const full = resolve(where);
    const entries = await fs.readdir(this.hostPath(where));
    return Promise.all(entries.sort().map(async (name) => {
      const st = await fs.lstat(path.join(this.hostPath(where), name));
      return { path: path.posix.join(full, name), isDir: st.isDirectory(),
        size: st.size, mtimeMs: st.mtimeMs };
    }));
  }

  remove(where) {
    return fs.rm(this.hostPath(where), { recursive: true });
  }

  /** new, idle, busy or lost; "" when it has ended. */
  state() {
    return readText(path.join(this.path, "state"));
  }

  /** What its config.json names; undefined: it has no network. */
  get network() {
    return JSON.parse(readFileSync(path.join(this.path, "config.json"), "utf8"))
      .network;
  }

  /** Lets it live for so many seconds from now. */
  extend(seconds) {
    return fs.writeFile(path.join(this.path, "until"), String(seconds));
  }

  /** Ends it and all that runs in it. */
  async close() {
    await fs.rmdir(this.path).catch((error) => {
      if (error.code !== "ENOENT") throw error;
    });
    const hold = this.#hold;
    this.#hold = -1;
    if (hold >= 0) await closeNumber(hold);
  }
}
