import type * as RedlockModule from "@quorlock/redlock";
import { type AcquireOptions, type ClockEvent, Redlock, type Runtime } from "@quorlock/redlock";
import type * as InternalModule from "@quorlock/redlock/internal";
import { type Connection, RedisNode } from "@quorlock/redlock/internal";
import type { Entry } from "../master/entries.ts";
import type { Master } from "../master/master.ts";
import type { LockSettings, Plan } from "../plan/plan.ts";
import type { Bounds } from "./bounds.ts";

/** A share of a lock that several clients may hold: a number of permits of a semaphore, or of a readers-writer lock. */
export interface Share {
  /** The name of the semaphore or the readers-writer lock. */
  readonly of: string;
  readonly permits: number;
  readonly limit: number;
}

/** A job that one client of all runs; the checker sets what it is told of. */
export interface SubjectJob {
  /** For how long nobody else runs it after its grant, ms. */
  readonly keepFor: number;
  /** When it was asked for, by the monotonic clock of its client, ms. */
  readonly calledAt: number;
  /** Its work is done, and its lock is about to be kept. */
  onWorked?: () => void;
  /** Its client was told that it has run. */
  onKept?: () => void;
}

/** The implementation under test: the client itself, a mutant of it, or another library. */
export interface Subject {
  readonly name: string;
  /**
   * Its calls take as long as the masters do: it has no time-out. They still have to settle once all is
   * well.
   */
  readonly isUnbounded?: boolean;
  /** It extends by writing the key again, which full memory refuses: nothing is asked of it there. */
  readonly losesKeysWhileFull?: boolean;
  /** It is run by another plan than the one that is given. */
  readonly planOf?: (plan: Plan) => Plan;
  /** How long its calls may take, where that is not what a lock's may. */
  readonly boundsFor?: (settings: LockSettings) => Bounds;
  /** The keys of a resource, where there are others than the one of its name. */
  readonly keysOf?: (resource: string) => readonly string[];
  /** Whether only claims that have expired are left in a key of a resource: such a key keeps nothing out. */
  readonly isOver?: (resource: string, key: string, master: Master) => boolean;
  /** One client process. It gets all its time, randomness and network from these. */
  create(connections: readonly Connection[], runtime: Runtime, settings: LockSettings): SubjectClient;
}

/** One, or several that are locked together. */
export type Resources = string | readonly string[];

/** The first of them: what a primitive is called by. */
export function nameOf(resources: Resources): string {
  return typeof resources === "string" ? resources : resources[0]!;
}

/** The work under a lock. The signal is missing if the library has none. */
export interface Routine {
  (signal: AbortSignal | undefined, lock: SubjectLock): Promise<void>;
  /** Called where the lock is granted some time before the routine begins. */
  granted?: () => void;
}

/** The keys in whose queues a call waits, and whether it may hold them beside others of its kind. */
export interface Queued {
  readonly keys: readonly string[];
  readonly isShared: boolean;
}

/**
 * The interface of a client, as the simulation uses it; the names are ours. Failures are errors with one of our codes.
 */
export interface SubjectClient {
  acquire(resources: Resources, ttl: number, options?: AcquireOptions): Promise<SubjectLock>;
  tryAcquire(resources: Resources, ttl: number, options?: AcquireOptions): Promise<SubjectLock | null>;
  using(resources: Resources, ttl: number, options: AcquireOptions, routine: Routine): Promise<void>;
  /** Of the next call, if it waits; missing where a call waits for the keys of its resources, alone. */
  queued?(resources: Resources): Queued;
  /** With settings of the call's own; missing where such a call has none. */
  extend?(lock: SubjectLock, ttl: number, options: AcquireOptions): Promise<unknown>;
  release?(lock: SubjectLock, options: AcquireOptions): Promise<{ readonly outcome: string }>;
  quit(): Promise<unknown>;
  /** A handle on a lock that another client has detached; missing where locks cannot be detached. */
  resume?(detached: unknown): SubjectLock;
  /** Of a master that failed to vote. */
  on?(event: "error", listener: (error: { readonly reason: string }) => void): unknown;
  /** With the clock watch: of a master whose clock is not as it was. */
  on?(event: "clock", listener: (event: ClockEvent) => void): unknown;
  /** With the restart guard: the masters are new. */
  initialize?(): Promise<void>;
}

export interface SubjectLock {
  readonly resources: readonly string[];
  /** The token in the masters' keys. */
  readonly value: string;
  /** Aborts when the lock is lost; missing if the library does not notify. */
  readonly signal?: AbortSignal | undefined;
  /** Of what it is a part, where several may hold at a time. */
  readonly share?: Share;
  /** The job that it is held for, if its lock is kept after that. */
  readonly job?: SubjectJob;
  /** Until when a master keeps others away, by its wall clock, ms, where that is not the expiry of the resource's key. */
  keptUntil?(peek: (key: string) => Entry | undefined): number;
  /** The remaining time by which its user acts, ms. */
  remaining(): number;
  /** The `nodeTimeout` of the call that acquired it, where its `extend` goes by that, ms. */
  readonly timeoutOfExtend?: number | undefined;
  extend(ttl: number): Promise<unknown>;
  /** Whether the masters still hold it; missing where they cannot be asked. */
  verify?(): Promise<boolean>;
  release(): Promise<{ readonly outcome: string }>;
  /** Detaches the lock as plain data; missing where it cannot be detached. */
  detach?(): Promise<unknown>;
}

/**
 * The token of a lock, read without asking for it: a hold whose token is known outside of its client is not passed on to
 * another one as it is. Of whichever copy of the client the lock is.
 */
export function tokenOf(lock: SubjectLock): string {
  const { leaseOf } = lock.constructor as Partial<typeof RedlockModule.Lock>;
  return leaseOf ? leaseOf(lock as RedlockModule.Lock).token : lock.value;
}

/** The deadlines of its votes, as its client has them, read without a clock; nothing where there are no leases. */
export function deadlinesOf(lock: SubjectLock): string | undefined {
  const { leaseOf } = lock.constructor as Partial<typeof RedlockModule.Lock>;
  return leaseOf && String(leaseOf(lock as RedlockModule.Lock).votes.deadlines);
}

/** `using` for a library that has only `acquire`: no extension, and no signal for a loss. */
export async function holdWhile(
  client: SubjectClient,
  resources: Resources,
  ttl: number,
  routine: Routine,
): Promise<void> {
  const lock = await client.acquire(resources, ttl);
  await routine(undefined, lock);
  await lock.release();
}

/** All that a copy of the client exports, internal names too. */
export type ClientModule = typeof RedlockModule & typeof InternalModule;

/** The classes that a subject is built of. */
export type ClientClasses = Pick<ClientModule, "Redlock" | "RedisNode">;

/** Those of the client as it is published. */
export const publishedClasses: ClientClasses = { Redlock, RedisNode };

/** A `Redlock` over these connections, by whichever copy of the client is given. */
export function clientOf(
  classes: ClientClasses,
  connections: readonly Connection[],
  runtime: Runtime,
  settings: LockSettings,
): RedlockModule.Redlock {
  // The ttl is given with each lock; the rest is the constructor's.
  const { ttl: _, queue = true, groupCommit = true, ...options } = settings;
  const nodes = connections.map(
    (connection) => new classes.RedisNode(connection, { runtime, queue, groupCommit }),
  );
  return new classes.Redlock(nodes, { ...options, runtime });
}

/** A client that knows no queue, in one run with those that do: it asks again, and its tokens have no rounds. */
export const foreignClient: Subject = {
  name: "a foreign client",
  create: (connections, runtime, settings) =>
    clientOf(publishedClasses, connections, runtime, { ...settings, queue: false }),
};

/** The client as it is published. */
export const theClient: Subject = {
  name: "@quorlock/redlock",
  create: (connections, runtime, settings) => clientOf(publishedClasses, connections, runtime, settings),
};
