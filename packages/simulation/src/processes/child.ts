import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { within } from "./within.ts";

/** Node's flags for TypeScript of this repository, which runs without a build. */
export const sourceFlags: readonly string[] = ["--import", "tsx", "--conditions=quorlock-source"];

/** A message between a child and its parent. */
export interface Message {
  readonly kind: string;
}

/** The end of a process; one that could not be started has neither code nor signal. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly errors: string;
}

export interface ChildOptions extends Pick<SpawnOptions, "cwd" | "detached" | "serialization" | "stdio"> {
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The stdio of a child that exchanges messages with its parent. */
export const withMessages: SpawnOptions["stdio"] = ["pipe", "pipe", "pipe", "ipc"];

/**
 * A process whose output, messages and end can be waited for. `await using` kills it. Without a channel for messages,
 * since nothing of ours is to keep a process alive that is expected to end; `stdio` may ask for one.
 */
export class Child<Incoming extends Message = Message> implements AsyncDisposable {
  readonly process: ChildProcess;
  /** All that was printed so far. */
  output = "";
  errors = "";
  readonly messages: Incoming[] = [];
  /** Never rejects. */
  readonly ended: Promise<Ending>;
  readonly #listeners = new Set<() => void>();
  #ending: Ending | undefined;

  /** A program for Node: a source of this repository as it is, anything else without flags, like a user's. */
  static node<Incoming extends Message = Message>(
    file: URL | string,
    args: readonly string[] = [],
    { flags = [], ...options }: ChildOptions & { readonly flags?: readonly string[] } = {},
  ): Child<Incoming> {
    const path = file instanceof URL ? fileURLToPath(file) : file;
    const loader = path.endsWith(".ts") ? sourceFlags : [];
    return new Child<Incoming>(process.execPath, [...loader, ...flags, path, ...args], options);
  }

  constructor(command: string, args: readonly string[], { env, ...options }: ChildOptions = {}) {
    const child = spawn(command, args, { env: { ...process.env, ...env }, ...options });
    this.process = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.output += text;
      this.#changed();
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
    });
    // A process that has ended takes nothing more.
    child.stdin?.on("error", () => {});
    child.on("message", (message) => {
      this.messages.push(message as Incoming);
      this.#changed();
    });
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        this.#ending = { code, signal, output: this.output, errors: this.errors };
        resolve(this.#ending);
        this.#changed();
      };
      child.once("close", end);
      child.on("error", (error) => {
        this.errors += error.message;
        if (child.pid === undefined) end(null, null);
      });
    });
  }

  /** The whole lines that it has printed. */
  get lines(): readonly string[] {
    return this.output.split("\n").slice(0, -1);
  }

  /** Looks again whenever it has printed or sent a message; rejects when it has ended, or after `limit` ms. */
  until<T>(what: string, look: () => T | undefined, limit: number = Number.POSITIVE_INFINITY): Promise<T> {
    const found = new Promise<T>((resolve, reject) => {
      const ask = () => {
        const result = look();
        if (result === undefined && !this.#ending) return;
        this.#listeners.delete(ask);
        if (result !== undefined) resolve(result);
        else reject(new Error(`a process ended before ${what}: ${this.output}${this.errors}`));
      };
      this.#listeners.add(ask);
      ask();
    });
    return within(found, limit, `a process did not come to ${what}`);
  }

  async printed(pattern: RegExp): Promise<void> {
    await this.until(`its output ${pattern}`, () => pattern.test(this.output) || undefined);
  }

  /** The line that it prints after so many others. */
  line(index: number): Promise<string> {
    return this.until(`its line ${index + 1}`, () => this.lines[index]);
  }

  /** The first message of this kind. */
  message<K extends Incoming["kind"]>(kind: K, limit?: number): Promise<Extract<Incoming, { kind: K }>> {
    const isOfKind = (message: Incoming): message is Extract<Incoming, { kind: K }> => message.kind === kind;
    return this.until(`its message "${kind}"`, () => this.messages.find(isOfKind), limit);
  }

  send(message: object): void {
    // The end of a process that has just died is reported by `ended`.
    if (this.process.connected) this.process.send(message, () => {});
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<Ending> {
    if (!this.#ending) this.process.kill("SIGKILL");
    return await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
