// SPDX-License-Identifier: Apache-2.0
/** The appliance refused or failed a job; the message is its own sentence. */
export class FsdError extends Error {}

export type Language = "python" | "javascript" | "typescript" | "bash";
export type Status = "exited" | "signaled" | "timeout" | "out_of_memory"
  | "cancelled" | "failed" | "interrupted";
export type Data = string | Uint8Array;

export interface Display {
  mime: string;
  data: string | Buffer;
  /** Displays of one bundle are forms of the same thing. */
  bundle: number;
  /** It is of the last expression. */
  main: boolean;
}

export interface Result {
  status: Status;
  exitCode: number;
  stdout: string;
  stderr: string;
  /** stdout and stderr in the order in which they came. */
  output: string;
  truncated: boolean;
  message: string;
  text: string | null;
  value: unknown;
  error: { name: string; value: string; traceback: string } | null;
  displays: Display[];
  /** What the program made, by path. */
  files: Record<string, Buffer>;
  sessionState: "kept" | "lost" | null;
  /** The whole result.json. */
  raw: Record<string, unknown>;
  /** It ended by itself with code 0 and no error. */
  ok: boolean;
}

/** The servers that a program reaches: rules, all that the operator allows, or those
 * without some. */
export type Network = boolean | string[] | { allow?: string[]; deny?: string[] };

export interface Streams {
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
  /** Its abortion kills the job. */
  signal?: AbortSignal;
}

export interface RunOptions extends Streams {
  language?: Language;
  command?: string[];
  files?: Record<string, Data>;
  args?: string[];
  env?: Record<string, string>;
  stdin?: string;
  /** Seconds. */
  timeout?: number;
  memoryMb?: number;
  environment?: string;
  network?: Network;
  mode?: "script" | "call" | "cell" | "command";
  call?: string;
  input?: unknown;
}

export interface SandboxOptions {
  environment?: string;
  memoryMb?: number;
  env?: Record<string, string>;
  network?: Network;
  /** Seconds without a job until it ends; 0: for ever. */
  idle?: number;
  /** False: it outlives the process that makes it, by its idle and life. */
  hold?: boolean;
  /** Seconds until it ends in any case. */
  life?: number;
  meta?: unknown;
}

export class Mount {
  /** where: else $FSD_MOUNT, else the host's service. limit: bytes of each stream. */
  constructor(where?: string, options?: { limit?: number });
  readonly path: string;
  run(code?: string, options?: RunOptions): Promise<Result>;
  sandbox(name?: string, options?: SandboxOptions): Promise<Sandbox>;
  sandboxes(): Promise<string[]>;
}

export interface CellOptions extends Streams {
  language?: Language;
  /** Names the interpreter; otherwise each language has one. */
  session?: string;
  timeout?: number;
  env?: Record<string, string>;
  input?: unknown;
}

export interface CommandOptions extends Streams {
  cwd?: string;
  /** Seconds; 0: until the sandbox ends. */
  timeout?: number;
  env?: Record<string, string>;
  stdin?: Data;
}

export interface Entry {
  path: string;
  isDir: boolean;
  size: number;
  mtimeMs: number;
}

export class Sandbox {
  readonly mount: Mount;
  readonly name: string;
  readonly path: string;
  readonly network: Network | undefined;
  cell(code: string, options?: CellOptions): Promise<Result>;
  command(command: string | string[], options?: CommandOptions): Promise<Result>;
  hostPath(where: string): string;
  read(where: string): Promise<Buffer>;
  write(where: string, data: Data): Promise<void>;
  list(where?: string): Promise<Entry[]>;
  remove(where: string): Promise<void>;
  state(): Promise<string>;
  extend(seconds: number): Promise<void>;
  close(): Promise<void>;
}
