// SPDX-License-Identifier: Apache-2.0
/**
 * One job of a mount: its directory from mkdir to its removal.
 *
 * Node has no poll() for files, and four blocked reads stop all its file calls.
 * So the job's `events` is read without blocking, at growing intervals.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import path from "node:path";

const CHUNK = 256 * 1024;
const FIRST_MS = 2;
const LONGEST_MS = 50;

/** The appliance refused or failed a job; the message is its own sentence. */
export class FsdError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "FsdError";
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Returns a file's text without the last newline; "" if it is not there. */
export async function readText(file) {
  try {
    return (await fs.readFile(file, "utf8")).replace(/\n$/, "");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

async function readMost(file, limit) {
  let handle;
  try {
    handle = await fs.open(file, "r");
  } catch (error) {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
  try {
    const parts = [];
    while (limit > 0) {
      const { bytesRead, buffer } = await handle.read(
        Buffer.alloc(Math.min(limit, CHUNK)));
      if (!bytesRead) break;
      parts.push(buffer.subarray(0, bytesRead));
      limit -= bytesRead;
    }
    return Buffer.concat(parts);
  } finally {
    await handle.close();
  }
}

/** The bytes of a stdout or stderr event. */
function bytesOf(event) {
  return "base64" in event ? Buffer.from(event.base64, "base64")
    : Buffer.from(event.data, "utf8");
}

/** Reads the lines of `events` as they come. */
class Events {
  #handle;
  #left = Buffer.alloc(0);

  static async open(file) {
    const events = new Events();
    events.#handle = await fs.open(
      file, constants.O_RDONLY | constants.O_NONBLOCK);
    return events;
  }

  async #bytes(signal) {
    for (let ms = FIRST_MS; ; ms = Math.min(ms * 1.5, LONGEST_MS)) {
      signal?.throwIfAborted();
      try {
        const { bytesRead, buffer } = await this.#handle.read(
          Buffer.alloc(CHUNK), 0, CHUNK, null);
        return buffer.subarray(0, bytesRead);
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
      }
      await pause(ms);
    }
  }

  /** Yields each event until the job's end. */
  async *all(signal) {
    for (;;) {
      const data = await this.#bytes(signal);
      if (!data.length) return;
      let text = Buffer.concat([this.#left, data]);
      for (let end; (end = text.indexOf(10)) >= 0; text = text.subarray(end + 1))
        yield JSON.parse(text.subarray(0, end).toString("utf8"));
      this.#left = text;
    }
  }

  close() {
    return this.#handle.close();
  }
}

export class Job {
  #hold;

  constructor(mount) {
    this.mount = mount;
    this.name = "js-" + randomBytes(8).toString("hex");
    this.path = path.join(mount, this.name);
  }

  file(name) {
    return path.join(this.path, name);
  }

  /** Makes and starts it; it is removed when this process ends. */
  async submit(config, files = {}) {
    try {
      await fs.mkdir(this.path);
      this.#hold = await fs.open(this.file("hold"), "r");
      for (const [name, data] of Object.entries(files)) {
        await fs.mkdir(path.dirname(this.file(name)), { recursive: true });
        await fs.writeFile(this.file(name), data);
      }
      await fs.writeFile(this.file("config.json"), JSON.stringify(config));
    } catch (error) {
      throw await this.#why(error);
    }
    if (["draft", "refused"].includes(await readText(this.file("state"))))
      throw new FsdError(await this.#sentence() || "the job did not start: " +
        (await readText(this.file("log"))).split("\n").at(-1));
  }

  #sentence() {
    return readText(this.file("error")).catch(() => "");
  }

  async #why(error) {
    const said = await this.#sentence() || await readText(
      path.join(this.mount, ".fsd", "last_error")).catch(() => "");
    return new FsdError(said || `${error.path ?? this.path}: ${error.message}`,
      { cause: error });
  }

  async ctl(verb) {
    await fs.writeFile(this.file("ctl"), verb);
  }

  async kill() {
    await this.ctl("kill").catch(() => {}); // it may have ended
  }

  /** Waits for the end; onStdout and onStderr get text as it comes. */
  async wait({ onStdout, onStderr, signal } = {}) {
    const tell = { stdout: onStdout, stderr: onStderr };
    const events = await Events.open(this.file("events"));
    try {
      for await (const event of events.all(signal))
        tell[event.event]?.(bytesOf(event).toString("utf8"));
    } finally {
      await events.close();
    }
  }

  async result(limit) {
    const raw = JSON.parse(await readText(this.file("result.json")) || "{}");
    const [out, err] = await Promise.all([
      readMost(this.file("stdout"), limit), readMost(this.file("stderr"), limit)]);
    const { files, cut } = await this.#files(raw, limit);
    const over = [raw.stdout, raw.stderr].some(
      (s) => s && (s.dropped || s.bytes > limit));
    const result = {
      status: raw.status ?? "failed",
      exitCode: raw.exit_code ?? 125,
      stdout: out.toString("utf8"),
      stderr: err.toString("utf8"),
      output: await this.#inOrder(out, err, limit),
      truncated: Boolean(over || cut || raw.output_dropped),
      message: raw.message ?? "",
      text: raw.text ?? null,
      value: raw.value ?? null,
      error: raw.error ?? null,
      displays: await this.#displays(raw),
      files,
      sessionState: raw.session_state ?? null,
      raw,
    };
    result.ok = result.status === "exited" && result.exitCode === 0 &&
      !result.error;
    return result;
  }

  async #displays(raw) {
    const found = [];
    for (const r of raw.results ?? []) {
      const data = "path" in r ? await fs.readFile(
        path.join(this.file("output"), r.path))
        : "base64" in r ? Buffer.from(r.base64, "base64")
          : typeof r.data === "string" ? r.data : JSON.stringify(r.data);
      found.push({ mime: r.mime, data, bundle: r.bundle ?? 0,
        main: Boolean(r.main) });
    }
    return found;
  }

  /** What the program made; what does not fit into limit is left out. */
  async #files(raw, limit) {
    const files = {};
    let cut = false;
    for (const entry of raw.output ?? []) {
      const where = path.join(this.file("output"), entry.path);
      if ("path_encoding" in entry || !(await fs.stat(where)).isFile()) continue;
      if (entry.bytes > limit) {
        cut = true;
        continue;
      }
      limit -= entry.bytes;
      files[entry.path] = await fs.readFile(where);
    }
    return { files, cut };
  }

  async #inOrder(out, err, limit) {
    if (!out.length || !err.length)
      return (out.length ? out : err).toString("utf8");
    const parts = [];
    const events = await Events.open(this.file("events"));
    try {
      for await (const event of events.all())
        if (event.event === "stdout" || event.event === "stderr") {
          parts.push(bytesOf(event));
          limit -= parts.at(-1).length;
          if (limit < 0) break;
        }
    } finally {
      await events.close();
    }
    return Buffer.concat(parts).toString("utf8");
  }

  /** Removes it; what still runs of it is killed. */
  async close() {
    await this.#hold?.close();
    this.#hold = undefined;
  }
}

/** Submits a job, waits for its end, returns its result and removes it. */
export async function runJob(mount, config, { files, limit, ...how } = {}) {
  const job = new Job(mount);
  try {
    await job.submit(config, files);
    await job.wait(how);
    return await job.result(limit);
  } catch (error) {
    await job.kill();
    throw error;
  } finally {
    await job.close();
  }
}
