import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";

/** What a child tells, by its kind. */
export interface Message {
  readonly kind: string;
}

export class TimeUpError extends Error {
  override name = "TimeUpError";
}

/** What `promise` comes to, or a {@link TimeUpError} after `limit` ms; what it comes to later is dropped. */
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

/** How much of what a child printed is kept, for when it fails. */
const outputKept = 2000;

/**
 * A process of its own for what must not share ours: a heap that is measured, a caller among many. It gets its task
 * as its argument and answers in messages. `await using` ends it, whatever it does.
 */
export class Child<Told extends Message> implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #messages: Told[] = [];
  readonly #listeners = new Set<() => void>();
  #output = "";
  #isClosed = false;

  /** `program`: a module beside this one, without extension. */
  static start<Told extends Message>(program: string, task: unknown): Child<Told> {
    // Built or as sources, whatever this module is. Nobody's memory settings: a user's process has none either.
    const extension = extname(import.meta.filename);
    const loader = extension === ".ts" ? ["--import", "tsx", "--conditions=quorlock-source"] : [];
    const child = fork(join(import.meta.dirname, `${program}${extension}`), [JSON.stringify(task)], {
      execArgv: loader,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    return new Child<Told>(child);
  }

  private constructor(child: ChildProcess) {
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (bytes: Buffer) => {
        this.#output = (this.#output + bytes.toString()).slice(-outputKept);
      });
    }
    child.on("message", (message) => {
      this.#messages.push(message as Told);
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
  message<K extends Told["kind"]>(kind: K, limit: number): Promise<Extract<Told, { kind: K }>> {
    const told = new Promise<Extract<Told, { kind: K }>>((resolve, reject) => {
      const look = (): void => {
        const found = this.#messages.find((message) => message.kind === kind);
        if (!found && !this.#isClosed) return;
        this.#listeners.delete(look);
        if (found) resolve(found as Extract<Told, { kind: K }>);
        else reject(new Error(`a process ended before it was "${kind}": ${this.#output}`));
      };
      this.#listeners.add(look);
      look();
    });
    return within(told, limit, `a process was not "${kind}"`);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isClosed) this.#process.kill("SIGKILL");
    await this.#closed;
  }
}

// The other end: what a program says and hears.

/** What this program was started with. */
export function task(): unknown {
  // Its parent may be killed: nobody would end it then.
  process.once("disconnect", () => process.exit());
  return JSON.parse(process.argv[2] ?? "");
}

/** Resolves when the parent has received it. */
export async function tell(message: Message): Promise<void> {
  await new Promise<void>((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
}

/** The next message of the parent. */
export async function heard(): Promise<unknown> {
  const [message] = await once(process, "message");
  return message;
}

/** ms on a clock that all processes of this machine share, and that never steps. */
export function sharedNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1_000_000;
}

/** How long it is until `moment`, ms; never below 0. */
export function untilShared(moment: number): number {
  return Math.max(0, moment - sharedNow());
}
