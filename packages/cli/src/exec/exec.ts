import {
  ExecutionError,
  InvalidArgumentError,
  type Lock,
  NodeError,
  Redlock,
  ResourceLockedError,
} from "@quorlock/redlock";
import { type OnceResult, once } from "@quorlock/redlock/once";
import { Connections, type Seen } from "../look/connections.ts";
import { titleOf } from "../look/report.ts";
import { clientOf, type Master } from "../masters.ts";
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
  readonly fencing?: boolean;
  /** The `maxTtl` of `restartGuard`, ms. */
  readonly guard?: number;
  /** The lock is kept for this time from the grant on, ms, so that others do not run their command. */
  readonly keepFor?: number;
  /** Whether the lock is held until all processes that the command leaves behind have ended. */
  readonly waits: boolean;
  readonly environment: NodeJS.ProcessEnv;
  /** Prints a line for the operator; `isAside`: without a wait for the terminal. */
  readonly say: (line: string, isAside?: boolean) => void;
}

/**
 * Runs `command` while it holds the lock of `resource`, and returns the exit code.
 * @throws UsageError if the resource, the ttl or the guard can never work.
 */
export async function execute(
  masters: readonly Master[],
  resource: string,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const { ttl, wait, fencing = false, guard, keepFor } = options;
  const clients = masters.map(clientOf);
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
    const run = (lock: Lock) => runWhileHeld(lock, resource, command, options, interruption);
    if (keepFor !== undefined) {
      const kept = { keepFor, ttl, signal };
      const result = await once(redlock, resource, kept, (_, lock) => run(lock));
      return result.ran ? result.value : skipped(resource, result, options);
    }
    const waitTimeout = Math.max(0, deadline - performance.now());
    return await redlock.using(resource, ttl, { waitTimeout, signal }, (_, lock) => run(lock));
  } catch (error) {
    return interruption.code ?? (await codeOfFailure(error, masters, clients, options));
  } finally {
    await redlock?.quit();
  }
}

/** Says who has run it, or runs it now. */
function skipped(
  resource: string,
  { owner, remaining }: Extract<OnceResult<number>, { ran: false }>,
  { say }: ExecOptions,
): number {
  const by = owner ? titleOf(owner) : "another client";
  say(
    `"${escaped(resource)}" was run by ${by}, which keeps the lock for ${Math.ceil(remaining / 1000)} s more`,
  );
  return execCodes.locked;
}

/** Says why the lock was not acquired. */
async function codeOfFailure(
  error: unknown,
  masters: readonly Master[],
  clients: readonly object[],
  { say }: ExecOptions,
): Promise<number> {
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
  // The text of an error may repeat a password: the masters are asked as the views ask them.
  const ending = new AbortController();
  const seen = await new Connections(masters, { timeout: 1000, signal: ending.signal }).all();
  ending.abort();
  const reasons = seen.flatMap((one, index) => reasonOf(one, votesAgainst?.get(clients[index]!)) ?? []);
  say(`no quorum: ${reasons.join("; ") || "no master answered in time"}`);
  return execCodes.unavailable;
}

/** Of a master that answers now the reason of its vote. */
function reasonOf({ name, error }: Seen, vote: Error | undefined): string | undefined {
  const reason = error ?? (vote instanceof NodeError ? vote.reason : vote?.message);
  return reason && escaped(`${name}: ${reason}`);
}

/** Before the command runs they end the wait, and then they are the command's. */
const ending = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 } as const;
/** The others are the command's alone. With a listener, SIGUSR1 opens no debugger. */
const others = ["SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTSTP", "SIGCONT"];
const received = [...Object.keys(ending), ...others] as readonly NodeJS.Signals[];

/** The signals that this process receives. */
class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #listener = (signal: NodeJS.Signals): void => this.#receive(signal);
  #child: Child | undefined;
  #watch: LeaseWatch | undefined;
  /** The exit code of a wait that was interrupted. */
  code: number | undefined;

  constructor() {
    for (const name of received) process.on(name, this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  passTo(child: Child, watch: LeaseWatch): void {
    this.#child = child;
    this.#watch = watch;
  }

  [Symbol.dispose](): void {
    for (const name of received) process.off(name, this.#listener);
  }

  #receive(signal: NodeJS.Signals): void {
    if (signal === "SIGTSTP") this.#stop();
    else if (signal === "SIGCONT") this.#watch?.resume();
    else if (this.#child) this.#child.kill(signal);
    else if (signal in ending) {
      this.code = 128 + ending[signal as keyof typeof ending];
      this.#controller.abort();
    }
  }

  /** The command first: this process extends the lock, and the command must not run on without it. */
  #stop(): void {
    this.#child?.kill("SIGSTOP");
    process.kill(process.pid, "SIGSTOP");
  }
}

/** The variables with which this program reaches the masters. */
const secrets = ["REDLOCK_NODES", "REDLOCK_PASSWORD", "QUORLOCK_TOKEN"];

async function runWhileHeld(
  lock: Lock,
  resource: string,
  command: readonly string[],
  { environment, grace, say, ttl, waits }: ExecOptions,
  interruption: Interruption,
): Promise<number> {
  const { fencingToken } = lock;
  // An outer `quorlock exec` may have passed on the token of another lock.
  const { QUORLOCK_FENCING_TOKEN: _, ...others } = environment;
  for (const name of secrets) delete others[name];
  const passedOn = {
    ...others,
    QUORLOCK_RESOURCE: resource,
    ...(fencingToken !== undefined && { QUORLOCK_FENCING_TOKEN: String(fencingToken) }),
  };
  const child = new Child(command, passedOn, waits);
  const watch = new LeaseWatch(lock, child, Math.min(grace, ttl / 2), say);
  interruption.passTo(child, watch);
  const code = await child.ended.finally(() => watch.stop());
  if (lock.remaining() > 0 || code !== 0) return code;
  say(`the lock of "${escaped(resource)}" was lost before the command ended`);
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
  readonly #say: ExecOptions["say"];
  readonly #kills: number;
  #end: number;
  #isTerminated = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #onLost = (): void => {
    this.#terminate("is lost");
    this.#look();
  };

  constructor(lock: Lock, child: Child, grace: number, say: ExecOptions["say"]) {
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

  /** After a stop: the command goes on only if it can be ended before the lease. */
  resume(): void {
    if (this.#look()) this.#child.kill("SIGCONT");
  }

  /** Whether the command may run. */
  #look(): boolean {
    clearTimeout(this.#timer);
    const now = performance.now();
    const left = this.#lock.remaining();
    if (left > 0) this.#end = now + left;
    const untilTerm = this.#end - now - this.#grace;
    const untilKill = this.#end - now - this.#kills;
    if (untilTerm <= 0) this.#terminate("cannot be extended");
    if (untilKill <= 0) this.#child.kill("SIGKILL");
    else this.#timer = setTimeout(() => this.#look(), this.#isTerminated ? untilKill : untilTerm);
    return untilKill > 0;
  }

  #terminate(why: string): void {
    if (this.#isTerminated) return;
    this.#isTerminated = true;
    const then = "the command gets SIGTERM now, and SIGKILL before another client can hold the lock";
    this.#say(`the lock ${why}: ${then}`, true);
    this.#child.kill("SIGTERM");
  }
}
