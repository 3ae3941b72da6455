/** The prefix of this library's own keys. A user's resource never begins with it. */
export const ownPrefix = "quorlock:";

/** The name that the user passed. A key of this library's own has it in braces. */
export function userName(resource: string): string {
  if (!resource.startsWith(ownPrefix)) return resource;
  return resource.slice(resource.indexOf("{") + 1, resource.lastIndexOf("}"));
}

/** The votes of one attempt, as redlock 5 reports them: by the clients passed to the constructor. */
export interface ExecutionStats {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: Set<ClientExecutionResult["client"]>;
  /** A {@link ResourceLockedError} for a refusal, a {@link NodeError} for a master that failed. */
  readonly votesAgainst: Map<ClientExecutionResult["client"], Error>;
}

/** The vote of one client, as redlock 5 declares it. */
export type ClientExecutionResult = ({ vote: "for"; value: number } | { vote: "against"; error: Error }) & {
  // biome-ignore lint/suspicious/noExplicitAny: of any library, so that code for clients of one library compiles.
  client: any;
};

/**
 * A change of a master's clock: it has `stepped` compared with its own earlier readings, is `skewed` from the
 * median of all masters, or is `synced` with it again.
 */
export interface ClockEvent {
  readonly kind: "stepped" | "skewed" | "synced";
  /** The master, as `host:port`. */
  readonly node: string;
  /** The size of the step, or the distance ahead of the median, ms. */
  readonly offset: number;
  /** The maximum error of `offset`, ms: half of the round-trip times. */
  readonly uncertainty: number;
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
  /** @internal For all copies of this package. The rest of it is the name, whatever a bundler calls the class. */
  static readonly kind: string = "quorlock.RedlockError";
  override name: string;
  readonly code: RedlockErrorCode;

  constructor(code: RedlockErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(`${message} [${code}]`, options);
    this.name = new.target.kind.slice("quorlock.".length);
    this.code = code;
  }

  /** Recognizes the errors of another copy of this package too, such as that of another version. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: it is the class that stands behind `instanceof`.
    return isInstance(value, this);
  }
}

function isInstance(value: unknown, { prototype, kind }: typeof RedlockError): boolean {
  if (Object.prototype.isPrototypeOf.call(prototype, value as object)) return true;
  // A class that a user derives has the kind of its base, and no other copy.
  if (!(value instanceof Error) || !Object.hasOwn(prototype.constructor, "kind")) return false;
  let type: unknown = value.constructor;
  while (typeof type === "function" && (type as Partial<typeof RedlockError>).kind !== kind) {
    type = Object.getPrototypeOf(type);
  }
  return typeof type === "function";
}

/** An argument or option that can never work. Thrown before anything is sent. */
export class InvalidArgumentError extends RedlockError {
  /** @internal */
  static override readonly kind: string = "quorlock.InvalidArgumentError";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super("INVALID_ARGUMENT", message, options);
  }
}

/**
 * The failure of one master, as a word. The lock goes on with the other masters; this one counts as not having voted.
 * The reasons of this library, and what to do about each:
 *
 * - `TIMEOUT`: no answer within `nodeTimeout`. If it happens again and again, the master is too slow for that time.
 * - `UNREACHABLE`: no connection, or lost before the answer. The master is asked again as soon as it is connected.
 * - `ABANDONED`: dropped by this client, because the result did not matter any more, or because too many requests to
 *   the master were waiting. Never emitted; if it is part of an error, request fewer locks at a time.
 * - `UNEXPECTED_REPLY`: an invalid reply to the command. Check which server listens there; or a `LockNode` of your
 *   own has thrown.
 * - `CONTENDED`: without scripts; other clients changed the keys during every transaction. Allow scripts, or wait
 *   longer.
 * - `CLOCK`: `clockWatch` excludes the master: its clock has stepped, or too few others agree with it. Set the clock
 *   right; then the master counts again.
 * - `SAME_SERVER`: another master of the same Redlock leads to the same server, which votes once, through that one.
 *   Emitted once for each change, and once where INFO does not tell the server. Give each master a server of its own: two
 *   databases or addresses of one server fail together.
 * - `QUARANTINE`: `restartGuard`; the master may have forgotten votes. It votes again by itself after `maxTtl`.
 * - `UNGUARDED`: `restartGuard`; too few masters have reported the `maxTtl` that they know. Bring the others back.
 * - `MAXTTL`: `restartGuard`; another `maxTtl` is stored there, or the ttl is above it. Use the same value in all
 *   clients.
 * - `UNSEEDED`: `restartGuard`; the master has no fencing counters yet. They are restored; if the error persists,
 *   bring other masters back.
 * - `MEMBERSHIP`: another client locks on other masters, and a quorum of its list and one of this client's need not share
 *   one: both can hold the same lock. Emitted once for each such list. Change lists by one master at a
 *   time, and wait for the longest ttl when the last client with the old list has ended.
 * - `UNCERTAIN_FLOOR`: the master's counters were set by the clock, because too few others had kept theirs. Tokens
 *   may no longer grow.
 *
 * Any other reason is the first word of a Redis error, such as `WRONGTYPE` (the key is no lock; emitted once for each
 * resource), `NOPERM` (the ACL rule is too narrow), `READONLY` (a replica), `LOADING`, `OOM`, `NOSCRIPT`, `MOVED`, `TRYAGAIN`
 * (a Cluster moves the hash slot of several keys); `ERR` if it begins with none.
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
  | "MEMBERSHIP"
  | "UNCERTAIN_FLOOR"
  | (string & {});

/** One master failed to vote. Emitted as `error`, and part of the detail of an {@link ExecutionError}. */
export class NodeError extends RedlockError {
  /** @internal */
  static override readonly kind: string = "quorlock.NodeError";
  /** The master, as `host:port`. */
  readonly node: string;
  readonly reason: NodeErrorReason;

  constructor(node: string, reason: NodeErrorReason, detail: string, cause?: unknown) {
    super("NODE", `${node}: ${reason}: ${detail}`, cause === undefined ? undefined : { cause });
    this.node = node;
    this.reason = reason;
  }

  /** The error of the master or its connection, if it says more than this one. */
  get error(): Error {
    return this.cause instanceof Error ? this.cause : this;
  }
}

/**
 * No quorum: too few masters said yes. The message names the masters that refused, failed or did not answer;
 * `attempts` contains the votes of each attempt, as in redlock 5.
 */
export class ExecutionError extends RedlockError {
  /** @internal */
  static override readonly kind: string = "quorlock.ExecutionError";
  /** Not enumerable: printing the error would otherwise print the clients and their options, passwords included. */
  declare readonly attempts: ReadonlyArray<Promise<ExecutionStats>>;

  constructor(
    message: string,
    attempts: ReadonlyArray<Promise<ExecutionStats>>,
    code: RedlockErrorCode = "NO_QUORUM",
    options?: { readonly cause?: unknown },
  ) {
    super(code, message, options);
    Object.defineProperty(this, "attempts", { value: attempts, enumerable: false });
  }
}

/** The Redlock that holds a lock, by the record that it writes (the option `owner`). Anybody who may write keys may write it. */
export interface Owner {
  /** As its user named it; unchanged, so escape it before it is printed. */
  readonly name: string;
  readonly host: string;
  /** 0 if it is unknown. */
  readonly pid: number;
  /** The first eight characters of its tokens. */
  readonly tag: string;
}

/** Text without characters that a terminal acts on. */
export function escaped(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}

/** Text of others for a message: escaped, and not too long. */
export function printable(text: string): string {
  return escaped(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

/** An owner in a message. */
export function titleOf({ name, pid, host }: Owner): string {
  return `${printable(name)} (pid ${pid}, host ${printable(host)})`;
}

/** Another client holds the resource. Also an {@link ExecutionError}, since redlock 5 reports contention as one. */
export class ResourceLockedError extends ExecutionError {
  /** @internal */
  static override readonly kind: string = "quorlock.ResourceLockedError";
  readonly resource: string;
  /** The maximum remaining time of the other lock, ms, unless it is extended; `Infinity` for a key without expiry. */
  readonly remaining: number;
  /** The Redlock that holds it, if `acquire` has waited in vain and that Redlock has a name (the option `owner`). */
  readonly owner: Owner | undefined;

  /** `holder`: in words. Default: by the name of `owner`. */
  constructor(
    resource: string,
    remaining: number = Number.POSITIVE_INFINITY,
    attempts: ReadonlyArray<Promise<ExecutionStats>> = [],
    holder?: string,
    owner?: Owner,
  ) {
    const howLong = Number.isFinite(remaining)
      ? `for at most ${Math.ceil(remaining)} ms more`
      : "without expiry";
    const name = userName(resource);
    const who = holder ?? (owner ? titleOf(owner) : "someone else");
    super(`"${name}" is locked by ${who}, ${howLong}`, attempts, "RESOURCE_LOCKED");
    this.resource = name;
    this.remaining = remaining;
    this.owner = owner;
  }
}

/** The lock is no longer held. The reason of a lock's `signal`, and the rejection of `extend`. */
export class LockLostError extends ExecutionError {
  /** @internal */
  static override readonly kind: string = "quorlock.LockLostError";
  /** The locked resources, as their user names them. */
  readonly resources: readonly string[];
  /** Why it was lost, in words. */
  readonly why: string;
  /**
   * The same as a code; `undefined` if its holder released or detached it. `isFault` is false for the last three.
   *
   * - `NOT_CONFIRMED`: no quorum of masters confirmed an extension in time.
   * - `MAJORITY`: a majority of masters no longer held its key.
   * - `DATABASE`: a client was switched to another database.
   * - `EXPIRED`: its ttl was over, and nothing was extending it: it was left to expire.
   * - `HOLD_LIMIT`: it was held for `maxHoldTime`, or its `expiration` was set.
   * - `QUIT`: `quit` released it.
   */
  readonly reason: "NOT_CONFIRMED" | "MAJORITY" | "DATABASE" | "EXPIRED" | "HOLD_LIMIT" | "QUIT" | undefined;

  constructor(
    resources: readonly string[],
    why: string,
    attempts: ReadonlyArray<Promise<ExecutionStats>> = [],
    reason?: LockLostError["reason"],
  ) {
    const names = resources.map(userName);
    super(`The lock on ${listed(names)} is lost: ${why}`, attempts, "LOCK_LOST");
    this.resources = names;
    this.why = why;
    this.reason = reason;
  }

  /** Whether it was lost against its holder's will. */
  get isFault(): boolean {
    const { reason } = this;
    return reason === "NOT_CONFIRMED" || reason === "MAJORITY" || reason === "DATABASE";
  }
}

/** Why a lock ended before its release. */
export type LossReason = Exclude<LockLostError["reason"], undefined>;

/** The caller's signal aborted a waiting `acquire`; `cause` is the signal's reason. */
export class AbortError extends RedlockError {
  /** @internal */
  static override readonly kind: string = "quorlock.AbortError";

  /** `resources`: what was waited for. */
  constructor(reason: unknown, resources: readonly string[] = []) {
    const what = resources.length > 0 ? ` on ${listed(resources.map(userName))}` : "";
    super("ABORTED", `Waiting for the lock${what} was aborted`, { cause: reason });
  }
}

/** `quit()` was called: no new operation begins, and waiting ones end with this error. */
export class ClosedError extends RedlockError {
  /** @internal */
  static override readonly kind: string = "quorlock.ClosedError";

  constructor() {
    super("CLOSED", "This Redlock has quit");
  }
}

/** Resource names for a message. */
export function listed(resources: readonly string[]): string {
  return resources.map((resource) => JSON.stringify(resource)).join(", ");
}
