import { randomUUID } from "node:crypto";
import {
  type Held,
  type Locker,
  type LockerSettings,
  NotOfferedError,
  type Peer,
  type PeerName,
  peerNamed,
  peerNames,
} from "@quorlock/peers";
import type { AcquireOptions, RedlockOptions } from "@quorlock/redlock";
import { Redis } from "ioredis-5";
import { anyCode, type Bench } from "../behaviours/bench.ts";
import type { Setup } from "../behaviours/real.ts";
import { likeIoredis, setups } from "../behaviours/setups.ts";

// Other libraries, made to look like the part of this client's API that they have. A part that a case uses beyond that is not
// offered: neither a failure, nor to their credit.

/** All that cases asked for, and was not offered: a case may have caught the error. */
export const missing: string[] = [];

export const libraryNames: readonly string[] = [
  "quorlock",
  ...peerNames.filter((name) => name !== "sesamecare"),
];

/** On masters whose clocks can be set. */
export async function setupOf(library: string): Promise<Setup> {
  if (library === "quorlock") return { ...setups["ioredis"]!, has: "clocks" };
  const peer = await peerNamed(library as PeerName);
  return {
    name: library,
    has: "clocks",
    ...(peer.keyPrefix !== undefined && { keyPrefix: peer.keyPrefix }),
    client: lookalikeOf(peer),
    // The version of ioredis that these libraries were made for.
    open: (port) => likeIoredis(new Redis(port, "127.0.0.1")),
  };
}

function notOffered(what: string): never {
  missing.push(what);
  throw new NotOfferedError(what);
}

/** Whatever else a case looks for is not offered. */
function offering<Offered extends object>(what: string, offered: Offered): Offered {
  return new Proxy(offered, {
    get: (target, key, receiver) =>
      typeof key === "symbol" || key === "then" || key in target
        ? Reflect.get(target, key, receiver)
        : notOffered(`no \`${what}.${key}\``),
  });
}

/** A call that was turned down. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: string = anyCode;
}

/** Errors of JavaScript itself: a slip in the library, and no refusal. */
const slips = [TypeError, ReferenceError, SyntaxError, RangeError];

function refusalBy(error: unknown): unknown {
  if (error instanceof NotOfferedError) notOffered(error.message);
  return slips.some((slip) => error instanceof slip) ? error : new Refusal(String(error), { cause: error });
}

async function refusable<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw refusalBy(error);
  }
}

function lockOf(locker: Locker, resource: string, acquired: Held): object {
  const { attempts = [] } = acquired.lock as { readonly attempts?: readonly Promise<unknown>[] };
  let held = acquired;
  let isReleased = false;
  return offering("lock", {
    value: held.token,
    resources: [resource],
    attempts: offering("lock.attempts", attempts),
    remaining: () => Math.max(0, held.remaining()),
    get state() {
      if (isReleased) return "released";
      return held.isValid() ? "held" : "lost";
    },
    async extend(ttl: number) {
      held = await refusable(() => locker.extend(held, ttl));
    },
    async release() {
      isReleased = true;
      await refusable(() => locker.release(held));
      return offering("release()", {});
    },
  });
}

type Call = Readonly<AcquireOptions>;
type Routine = (signal: AbortSignal, lock: object) => Promise<unknown>;

function settingsFrom({ retryCount, retryDelay, waitTimeout }: RedlockOptions & Call): LockerSettings {
  return waitTimeout === undefined ? { retryCount, retryDelay } : { waitTimeout };
}

/** The locker behind each. */
const lockers = new WeakMap<object, Locker>();

function redlockOf(peer: Peer, clients: readonly Redis[], options: RedlockOptions): object {
  const own = peer.on(clients, settingsFrom(options));
  const lockerFor = (call: Call): Locker => {
    for (const option of ["signal", "minimumValidity"])
      if (option in call) notOffered(`no option \`${option}\``);
    return peer.on(clients, settingsFrom({ ...options, ...call }));
  };
  const acquire = async (resource: string, ttl: number, call: Call = {}): Promise<object> => {
    const locker = call.waitTimeout === undefined ? own : lockerFor(call);
    return lockOf(locker, resource, await refusable(() => locker.acquire(resource, ttl)));
  };
  let isUsed = false;
  const redlock = offering("redlock", {
    acquire,
    tryAcquire: (resource: string, ttl: number) =>
      acquire(resource, ttl).catch((error: unknown) => {
        if (error instanceof Refusal) return null;
        throw error;
      }),
    async using(resource: string, ttl: number, ...rest: readonly [Routine] | readonly [Call, Routine]) {
      const [call, routine] = rest.length === 1 ? [{}, rest[0]] : rest;
      const errors: unknown[] = [];
      const used = lockerFor(call).using(resource, ttl, async (signal) => {
        try {
          return await routine(signal, offering("lock of `using`", {}));
        } catch (error) {
          errors.push(error);
          throw error;
        }
      });
      return await used.catch((error: unknown) => {
        throw errors.includes(error) ? error : refusalBy(error);
      });
    },
    on(event: string, listener: (error: object) => void) {
      if (event !== "error") notOffered(`no event \`${event}\``);
      own.onFault?.(listener as (error: unknown) => void);
    },
    /** Masters are reachable if the clients are connected. It has been used once then: a case is about a service that runs. */
    async inspect() {
      const isReady = clients.every(({ status }) => status === "ready");
      if (isReady && !isUsed) await use(own);
      isUsed ||= isReady;
      return clients.map(({ status }) =>
        offering("inspect()", { unreachable: status === "ready" ? undefined : status }),
      );
    },
    ...(own.quit && { quit: () => own.quit!() }),
  });
  lockers.set(redlock, own);
  return redlock;
}

/** The masters learn the scripts. */
async function use(locker: Locker): Promise<void> {
  const held = await locker.acquire(randomUUID(), 5000);
  const extended = await locker.extend(held, 5000).catch(() => held);
  await locker.release(extended);
}

function Semaphore(redlock: object, name: string, limit: number): object {
  return offering("semaphore", {
    async tryAcquire(ttl: number, call?: object) {
      if (call) notOffered("one permit at a time");
      const release = await refusable(() => lockers.get(redlock)!.permit(name, limit, ttl));
      return release ? offering("permit", { release }) : null;
    },
  });
}

/** The exports of a client, as far as cases use them. */
function lookalikeOf(peer: Peer): Bench["client"] {
  const Redlock = function Redlock(clients: readonly Redis[], options: RedlockOptions): object {
    return redlockOf(peer, clients, options);
  };
  return offering("client", { Redlock, Semaphore }) as unknown as Bench["client"];
}
