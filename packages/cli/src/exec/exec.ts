import {
  ExecutionError,
  InvalidArgumentError,
  type Lock,
  NodeError,
  Redlock,
  ResourceLockedError,
} from "@quorlock/redlock";
import type { Redis } from "ioredis";
import { codeOf } from "../masters.ts";
import { escaped, UsageError } from "../output.ts";
import { Child } from "./child.ts";

/** `quorlock exec` ends with the code of its command, or with one of these (those of sysexits.h). */
export const execCodes = {
  /** No quorum of masters answered. */
  unavailable: 69,
  /** The lock was lost, and the command ended with 0 all the same. */
  lost: 70,
  /** Another client holds the lock. */
  locked: 75,
} as const;

export interface ExecOptions {
  /** The key expires after this time if this process dies, ms. */
  readonly ttl: number;
  /** The time for connecting and for waiting, ms. */
  readonly wait: number;
  /** The command gets SIGTERM when the lease has less than this left, and SIGKILL before its end, ms. */
  readonly grace: number;
  readonly fencing: boolean;
  /** The `maxTtl` of `restartGuard`, ms. */
  readonly guard: number | undefined;
  readonly environment: NodeJS.ProcessEnv;
  /** Prints a line for the operator. */
  readonly say: (line: string) => void;
}

/**
 * Runs `command` while it holds the lock of `resource`, and returns the exit code.
 * @throws UsageError if the resource, the ttl or the guard can never work.
 */
export async function execute(
  clients: readonly Redis[],
  resource: string,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const { ttl, wait, fencing, guard } = options;
  using interruption = new Interruption();
  let redlock: Redlock | undefined;
  try {
    redlock = new Redlock(clients, {
      fencing,
      ...(guard !== undefined && { restartGuard: { maxTtl: guard } }),
    });
    const deadline = performance.now() + wait;
    const { signal } = interruption;
    // At least a second: connections take their time, and `--wait 0` is about other holders.
    await redlock.ready({ timeout: Math.max(wait, 1000), signal });
    const waitTimeout = Math.max(0, deadline - performance.now());
    return await redlock.using(resource, ttl, { waitTimeout, signal }, (_, lock) =>
      runWhileHeld(lock, resource, command, options, interruption),
    );
  } catch (error) {
    return interruption.code ?? (await codeOfFailure(error, options));
  } finally {
    await redlock?.quit();
  }
}

/** Says why the lock was not acquired. */
async function codeOfFailure(error: unknown, { say }: ExecOptions): Promise<number> {
  if (error instanceof ResourceLockedError) {
    say(escaped(error.message));
    return execCodes.locked;
  }
  if (error instanceof InvalidArgumentError) {
    // A master's answer, in brackets, is the text of an error.
    throw new UsageError(escaped(error.message.replace(/( \(.*\[NODE\]\))? \[INVALID_ARGUMENT\]$/s, "")));
  }
  if (!(error instanceof ExecutionError)) throw error;
  const { votesAgainst } = (await error.attempts.at(-1)) ?? {};
  const reasons = [...(votesAgainst?.values() ?? [])].map(reasonOf);
  say(`no quorum: ${reasons.join("; ") || "no master answered in time"}`);
  return execCodes.unavailable;
}

/** In codes: the text of a server's error repeats what it does not know, such as a password. */
function reasonOf(vote: Error): string {
  if (!(vote instanceof NodeError)) return escaped(vote.message);
  const { node, reason, message } = vote;
  // Why there is no connection is in the text alone: "NOAUTH ...", "connect ECONNREFUSED ...".
  const detail = message.slice(`${node}: ${reason}: `.length).replace(/^[a-z]+ (?=E[A-Z])/, "");
  const code = reason === "UNREACHABLE" ? codeOf(new Error(detail)) : "ERR";
  return escaped(`${node}: ${reason}${code === "ERR" ? "" : ` (${code})`}`);
}

/** The signals that end this process: before the command runs they end the wait, and then they are the command's. */
class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #listener = (signal: NodeJS.Signals): void => this.#receive(signal);
  #child: Child | undefined;
  /** The exit code of a wait that was interrupted. */
  code: number | undefined;

  constructor() {
    for (const name of forwarded) process.on(name, this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  passTo(child: Child | undefined): void {
    this.#child = child;
  }

  [Symbol.dispose](): void {
    for (const name of forwarded) process.off(name, this.#listener);
  }

  #receive(signal: NodeJS.Signals): void {
    if (this.#child) this.#child.kill(signal);
    else {
      this.code = 128 + { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }[signal as (typeof forwarded)[number]];
      this.#controller.abort();
    }
  }
}

const forwarded = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

async function runWhileHeld(
  lock: Lock,
  resource: string,
  command: readonly string[],
  { environment, grace, say, ttl }: ExecOptions,
  interruption: Interruption,
): Promise<number> {
  const { fencingToken } = lock;
  // An outer `quorlock exec` may have passed on the token of another lock.
  const { QUORLOCK_FENCING_TOKEN: _, ...others } = environment;
  const child = new Child(command, {
    ...others,
    QUORLOCK_RESOURCE: resource,
    ...(fencingToken !== undefined && { QUORLOCK_FENCING_TOKEN: String(fencingToken) }),
  });
  interruption.passTo(child);
  const watch = new LeaseWatch(lock, child, Math.min(grace, ttl / 2), (line) => say(line));
  const code = await child.ended.finally(() => watch.stop());
  if (lock.remaining() > 0 || code !== 0) return code;
  say(`the lock of ${JSON.stringify(escaped(resource))} was lost before the command ended`);
  return execCodes.lost;
}

/** SIGKILL is sent so long before the end, ms, since this process may be late itself; with a short ttl a tenth of it. */
const killTime = 500;

/**
 * Ends the command before its lease. The lease is prolonged meanwhile, so each timer looks at it again: SIGTERM once less than
 * `grace` is left or the lock is lost, SIGKILL right before the last known end. A lock that is lost early (its keys were
 * revoked) is safe until that end as well: a revoked key keeps its expiry.
 */
class LeaseWatch {
  readonly #lock: Lock;
  readonly #child: Child;
  readonly #grace: number;
  readonly #say: (line: string) => void;
  readonly #kills: number;
  #end: number;
  #isTerminated = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #onLost = (): void => {
    this.#terminate("is lost");
    this.#look();
  };

  constructor(lock: Lock, child: Child, grace: number, say: (line: string) => void) {
    this.#lock = lock;
    this.#child = child;
    this.#say = say;
    const left = lock.remaining();
    this.#kills = Math.min(killTime, left / 10);
    this.#grace = Math.max(grace, this.#kills);
    this.#end = performance.now() + left;
    lock.signal.addEventListener("abort", this.#onLost, { once: true });
    this.#look();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#lock.signal.removeEventListener("abort", this.#onLost);
  }

  #look(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const left = this.#lock.remaining();
    if (left > 0) this.#end = now + left;
    const untilTerm = this.#end - now - this.#grace;
    const untilKill = this.#end - now - this.#kills;
    if (untilTerm <= 0) this.#terminate("cannot be extended");
    if (untilKill <= 0) this.#child.kill("SIGKILL");
    else this.#timer = setTimeout(() => this.#look(), this.#isTerminated ? untilKill : untilTerm);
  }

  #terminate(why: string): void {
    if (this.#isTerminated) return;
    this.#isTerminated = true;
    this.#say(
      `the lock ${why}: the command gets SIGTERM now, and SIGKILL before another client can hold the lock`,
    );
    this.#child.kill("SIGTERM");
  }
}
