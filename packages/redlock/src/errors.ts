import { userName } from "./resource-names.ts";

/** The votes of one attempt, as redlock 5 reports them: by the clients that were passed to the constructor. */
export interface ExecutionStats {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: ReadonlySet<object>;
  /** A {@link ResourceLockedError} for a refusal, a {@link NodeError} for a master that failed. */
  readonly votesAgainst: ReadonlyMap<object, Error>;
}

/** Why an operation of this library failed. Closed: a new code is a new major version. */
export type RedlockErrorCode =
  | "INVALID_ARGUMENT"
  | "RESOURCE_LOCKED"
  | "NO_QUORUM"
  | "LOCK_LOST"
  | "ABORTED"
  | "CLOSED"
  | "NODE";

/** The base of every error this library throws, rejects with or emits. Its `code` is part of the message. */
export class RedlockError extends Error {
  override name = "RedlockError";
  readonly code: RedlockErrorCode;

  constructor(code: RedlockErrorCode, message: string, options?: ErrorOptions) {
    super(`${message} [${code}]`, options);
    this.code = code;
  }
}

/** An argument or option that can never work. Thrown before anything is sent. */
export class InvalidArgumentError extends RedlockError {
  override name = "InvalidArgumentError";

  constructor(message: string) {
    super("INVALID_ARGUMENT", message);
  }
}

/**
 * What went wrong at one master, as a word, and what to do about it. The others go on; it counts as a master that did
 * not vote. Of its own words this library has:
 *
 * - `TIMEOUT`: no answer within `nodeTimeout`. Where it happens again and again the master is too slow for that time.
 * - `UNREACHABLE`: no connection, or lost before the answer. It is asked again as soon as there is one.
 * - `ABANDONED`: given up by this client, because nothing depended on it any more, or because it had more to send than the
 *   master may be sent at a time. Never emitted; where it stands in an error, ask for fewer locks at a time.
 * - `UNEXPECTED_REPLY`: no answer to what was asked. See what listens there; a `LockNode` of your own has thrown.
 * - `CONTENDED`: without scripts; others changed the keys during every transaction. Allow scripts, or wait longer.
 * - `CLOCK`: `clockWatch` excludes it: its clock has stepped, or too few others agree with it. Set it right; then it
 *   counts again.
 * - `SAME_SERVER`: another master of the same Redlock leads to the same server, which votes once, through that one. Emitted
 *   once for each change. Give each master a server of its own: two databases or addresses of one server fail together.
 * - `QUARANTINE`: `restartGuard`; it may have forgotten votes. It votes again by itself when `maxTtl` is over.
 * - `UNGUARDED`: `restartGuard`; too few masters have said which `maxTtl` they know. Bring the others back.
 * - `MAXTTL`: `restartGuard`; another `maxTtl` is stored there, or the ttl is above it. Give all clients the same.
 * - `UNSEEDED`: `restartGuard`; it has no fencing counters yet. It is given them; where it stays so, bring others back.
 * - `UNCERTAIN_FLOOR`: it was given counters by the clock, too few others had kept theirs. Tokens may no longer grow.
 *
 * Anything else is the word a Redis error begins with, such as `WRONGTYPE` (the key is not a lock), `NOPERM` (the ACL
 * rule is too narrow), `READONLY` (a replica), `LOADING`, `OOM`, `NOSCRIPT`, `MOVED`,
 * `TRYAGAIN` (a Cluster moves the slot of several keys); `ERR` where it begins with none.
 */
export type NodeErrorReason =
  | "TIMEOUT"
  | "UNREACHABLE"
  | "ABANDONED"
  | "UNEXPECTED_REPLY"
  | "CONTENDED"
  | "CLOCK"
  | "SAME_SERVER"
  | "QUARANTINE"
  | "UNGUARDED"
  | "MAXTTL"
  | "UNSEEDED"
  | "UNCERTAIN_FLOOR"
  | (string & {});

/** One master failed to vote. Emitted as `error`, and part of the detail of an {@link ExecutionError}. */
export class NodeError extends RedlockError {
  override name = "NodeError";
  /** The master, as `host:port`. */
  readonly node: string;
  readonly reason: NodeErrorReason;

  constructor(node: string, reason: NodeErrorReason, detail: string, cause?: unknown) {
    super("NODE", `${node}: ${reason}: ${detail}`, cause === undefined ? undefined : { cause });
    this.node = node;
    this.reason = reason;
  }

  /** What the master or its connection reported, where there is more to see than this error says. */
  get error(): Error {
    return this.cause instanceof Error ? this.cause : this;
  }
}

/**
 * No quorum: too few masters said yes. The message says which master refused, failed or was silent; `attempts`
 * holds the votes of each attempt, as in redlock 5.
 */
export class ExecutionError extends RedlockError {
  override name = "ExecutionError";
  /** Not enumerable: whoever prints the error would print the clients with it, and their options, passwords too. */
  declare readonly attempts: ReadonlyArray<Promise<ExecutionStats>>;

  constructor(
    message: string,
    attempts: ReadonlyArray<Promise<ExecutionStats>>,
    code: RedlockErrorCode = "NO_QUORUM",
    options?: ErrorOptions,
  ) {
    super(code, message, options);
    Object.defineProperty(this, "attempts", { value: attempts, enumerable: false });
  }
}

/** Somebody else holds the resource. An {@link ExecutionError} too, since redlock 5 reports contention as one. */
export class ResourceLockedError extends ExecutionError {
  override name = "ResourceLockedError";
  readonly resource: string;
  /** How long the other lock still lives at most, ms, unless it is extended; `Infinity` for a key without expiry. */
  readonly remaining: number;

  constructor(
    resource: string,
    remaining: number,
    attempts: ReadonlyArray<Promise<ExecutionStats>> = [],
    owner = "someone else",
  ) {
    const howLong = Number.isFinite(remaining)
      ? `for at most ${Math.ceil(remaining)} ms more`
      : "without expiry";
    super(`"${resource}" is locked by ${owner}, ${howLong}`, attempts, "RESOURCE_LOCKED");
    this.resource = resource;
    this.remaining = remaining;
  }
}

/** The lock is not held any more. The reason of a lock's `signal`, and what `extend` rejects with. */
export class LockLostError extends ExecutionError {
  override name = "LockLostError";
  /** What was locked; of a readers-writer lock its name. */
  readonly resources: readonly string[];
  /** How it was lost, in words. */
  readonly why: string;

  constructor(
    resources: readonly string[],
    why: string,
    attempts: ReadonlyArray<Promise<ExecutionStats>> = [],
  ) {
    const names = resources.map(userName);
    super(`The lock on ${listed(names)} is lost: ${why}`, attempts, "LOCK_LOST");
    this.resources = names;
    this.why = why;
  }
}

/** The caller's signal aborted a waiting `acquire`; `cause` is the signal's reason. */
export class AbortError extends RedlockError {
  override name = "AbortError";

  constructor(reason: unknown) {
    super("ABORTED", "Waiting for the lock was aborted", { cause: reason });
  }
}

/** `quit()` was called: nothing new begins, and what was waiting ends with this. */
export class ClosedError extends RedlockError {
  override name = "ClosedError";

  constructor() {
    super("CLOSED", "This Redlock has quit");
  }
}

/** Resource names for a message. */
export function listed(resources: readonly string[]): string {
  return resources.map((resource) => JSON.stringify(resource)).join(", ");
}
