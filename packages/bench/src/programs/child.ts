import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";

/** A message between a child and its parent. */
export interface Message {
  readonly kind: string;
}

export class TimeUpError extends Error {
  override name = "TimeUpError";
}

/** Settles as `promise` does, or rejects with a {@link TimeUpError} after `limit` ms; a later result is dropped. */
export async function within<T>(promise: Promise<T>, limit: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeUpError(`${what} within ${Math.round(limit)} ms`)), limit);
  });
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** Characters of a child's output that are kept for the error message if it fails. */
const outputKept = 2000;

/**
 * A program in a separate process: one whose heap is measured, or one of several contending clients. It gets its task as
 * an argument and answers in messages. `await using` kills it.
 */
export class Child<Incoming extends Message> implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #messages: Incoming[] = [];
  readonly #listeners = new Set<() => void>();
  #output = "";
  #isClosed = false;

  /** `program`: a module beside this one, without extension. */
  static start<Incoming extends Message>(program: string, task: unknown): Child<Incoming> {
    // The child runs built code or sources, as this module does, without memory flags, like a user's process.
    const extension = extname(import.meta.filename);
    const loader = extension === ".ts" ? ["--import", "tsx", "--conditions=quorlock-source"] : [];
    const child = fork(join(import.meta.dirname, `${program}${extension}`), [JSON.stringify(task)], {
      execArgv: loader,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    return new Child<Incoming>(child);
  }

  private constructor(child: ChildProcess) {
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (bytes: Buffer) => {
        this.#output = (this.#output + bytes.toString()).slice(-outputKept);
      });
    }
    child.on("message", (message) => {
      this.#messages.push(message as Incoming);
      this.#changed();
    });
    child.on("error", () => {});
    this.#closed = new Promise((resolve) => {
      child.once("close", () => {
        this.#isClosed = true;
        this.#changed();
        resolve();
      });
    });
  }

  send(message: Message): void {
    this.#process.send(message, () => {});
  }

  /** The first message of this kind; rejects when the process ends without it, or after `limit` ms. */
  message<K extends Incoming["kind"]>(kind: K, limit: number): Promise<Extract<Incoming, { kind: K }>> {
    const received = new Promise<Extract<Incoming, { kind: K }>>((resolve, reject) => {
      const look = (): void => {
        const found = this.#messages.find((message) => message.kind === kind);
        if (!found && !this.#isClosed) return;
        this.#listeners.delete(look);
        if (found) resolve(found as Extract<Incoming, { kind: K }>);
        else reject(new Error(`a process ended before it was "${kind}": ${this.#output}`));
      };
      this.#listeners.add(look);
      look();
    });
    return within(received, limit, `a process was not "${kind}"`);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isClosed) this.#process.kill("SIGKILL");
    await this.#closed;
  }
}

// The child's side.

/** The task that the parent gave to this program. */
export function task(): unknown {
  // The program ends with its parent, also if that is killed.
  process.once("disconnect", () => process.exit());
  return JSON.parse(process.argv[2] ?? "");
}

/** Sends a message to the parent; resolves when it is sent. */
export async function sendToParent(message: Message): Promise<void> {
  await new Promise<void>((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
}

/** The next message from the parent. */
export async function nextMessage(): Promise<unknown> {
  const [message] = await once(process, "message");
  return message;
}

/** ms on a monotonic clock that all processes of this machine share. */
export function sharedNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1_000_000;
}

/** The time until `moment`, ms; at least 0. */
export function untilShared(moment: number): number {
  return Math.max(0, moment - sharedNow());
}
