import type { AcquireOptions, Lock, Redlock, Runtime } from "@quorlock/redlock";
import { ReadWriteLock, type WriteLock } from "@quorlock/redlock/read-write-lock";
import { waiterOf } from "../checkers/token-owners.ts";
import { DefaultMap } from "../default-map.ts";
import type { Entry } from "../master/entries.ts";
import type { ClientClasses, Share } from "../run/subject.ts";
import {
  clientOf,
  nameOf,
  publishedClasses,
  type Resources,
  type Subject,
  type SubjectClient,
  type SubjectLock,
} from "../run/subject.ts";

// Readers and writers where a plan has locks: the same workload, faults and checks. A writer has every share there
// is and a reader one, so that the checker of shares sees a writer who is not alone.

const everyShare = 1000;
/** Every third use of a lock writes. */
const writesAmong = 3;

function keysOf(name: string): { readonly readers: string; readonly write: string; readonly rounds: string } {
  const prefix = `quorlock:rw:{${name}}`;
  return { readers: `${prefix}:readers`, write: `${prefix}:write`, rounds: `${prefix}:rounds` };
}

/** A hold, as a reader or as a writer who becomes one. */
class Hold implements SubjectLock {
  /** Two readers share no resource: their work does not conflict. */
  readonly resources: readonly string[];
  readonly value: string;
  readonly share: Share & { permits: number };
  readonly signal: AbortSignal;
  /** Of fencing tokens. */
  readonly sequence: string;
  readonly #name: string;
  readonly #controller = new AbortController();
  readonly #runtime: Runtime;
  #lock: Lock;
  #writing: WriteLock | undefined;
  /** Of its call, if it has one. */
  readonly #nodeTimeout: number | undefined;

  constructor(
    runtime: Runtime,
    name: string,
    options: AcquireOptions | undefined,
    lock: Lock,
    writing?: WriteLock,
  ) {
    this.#runtime = runtime;
    this.#name = name;
    this.#nodeTimeout = options?.nodeTimeout;
    this.#lock = lock;
    this.#writing = writing;
    this.value = lock.value;
    this.resources = [writing ? keysOf(name).write : `${keysOf(name).readers} ${lock.value}`];
    this.sequence = `readers and writers of ${name}`;
    this.share = { of: name, permits: writing ? everyShare : 1, limit: everyShare };
    this.signal = this.#controller.signal;
    this.#follow(lock);
  }

  /** With `fencing`. */
  get fencingToken(): number | undefined {
    return this.#lock.fencingToken;
  }

  remaining(): number {
    return this.#lock.remaining();
  }

  /** A downgrade goes by the settings of its call. */
  get timeoutOfExtend(): number | undefined {
    return this.#writing && this.#nodeTimeout;
  }

  /** A writer that would extend goes on as a reader: with its own ttl where this one does not go with its `nodeTimeout`. */
  extend(ttl: number): Promise<unknown> {
    if (!this.#writing) return this.#lock.extend(ttl);
    return this.downgrade(ttl > 1.1 * (this.#nodeTimeout ?? 0) + 3 ? ttl : undefined);
  }

  async downgrade(ttl?: number): Promise<void> {
    const writing = this.#writing!;
    this.#writing = undefined;
    // Its code has no lock until it is given the other one, and gives up when the time of this one is over.
    const late = this.#runtime.setTimer(
      () => this.#controller.abort(),
      Math.max(0, writing.remaining() - 20),
    );
    const downgrading = writing.downgrade(ttl);
    // The state that its code observes while it waits. It was alone before the call, and has been until now.
    if (writing.remaining() === 0) this.share.permits = 1;
    try {
      this.#lock = await downgrading;
      this.#follow(this.#lock);
    } catch (error) {
      this.#controller.abort();
      throw error;
    } finally {
      this.share.permits = 1;
      late.cancel();
    }
  }

  verify(): Promise<boolean> {
    return this.#lock.verify();
  }

  release(): Promise<{ readonly outcome: string }> {
    return this.#lock.release();
  }

  keptUntil(peek: (key: string) => Entry | undefined): number {
    const { readers, write } = keysOf(this.#name);
    const writer = peek(write);
    if (writer?.value === this.value) return writer.expiresAt ?? 0;
    const { value, expiresAt = 0 } = peek(readers) ?? {};
    const members = typeof value === "object" && "sorted" in value ? value.sorted : [];
    const own = members.find(({ name }) => name === waiterOf(this.value));
    return own ? Math.min(own.score, expiresAt) : 0;
  }

  #follow({ signal }: Lock): void {
    if (signal.aborted) this.#controller.abort(signal.reason);
    signal.addEventListener("abort", () => this.#controller.abort(signal.reason));
  }
}

/** The readers-writer locks of one client process, each by the name of its resource. */
function readWriteLocksOf(redlock: Redlock, runtime: Runtime, Class: typeof ReadWriteLock): SubjectClient {
  const locks = new DefaultMap((name: string) => new Class(redlock, name));
  let uses = 0;
  const next = (resources: Resources) => {
    const name = nameOf(resources);
    const lock = locks.get(name);
    uses += 1;
    return { name, lock, writes: uses % writesAmong === 0, downgrades: uses % (2 * writesAmong) === 0 };
  };
  return {
    queued: (resources) => ({
      keys: [keysOf(nameOf(resources)).write],
      isShared: (uses + 1) % writesAmong !== 0,
    }),
    async acquire(resources, ttl, options) {
      const { name, lock, writes } = next(resources);
      if (!writes) return new Hold(runtime, name, options, await lock.read(ttl, options));
      const writing = await lock.write(ttl, options);
      return new Hold(runtime, name, options, writing, writing);
    },
    async tryAcquire(resources, ttl, options) {
      const { name, lock, writes } = next(resources);
      const held = await (writes ? lock.tryWrite(ttl, options) : lock.tryRead(ttl, options));
      return held && new Hold(runtime, name, options, held, writes ? (held as WriteLock) : undefined);
    },
    using(resources, ttl, options, routine) {
      const { name, lock, writes, downgrades } = next(resources);
      if (!writes) {
        return lock.usingRead(ttl, options, (signal, reading) =>
          routine(signal, new Hold(runtime, name, options, reading)),
        );
      }
      return lock.usingWrite(ttl, options, async (_signal, writing) => {
        const held = new Hold(runtime, name, options, writing, writing);
        // Its wait ends here: the downgrade lets in readers that called after it (PROTOCOL 10.4).
        routine.granted?.();
        if (downgrades) await held.downgrade();
        await routine(held.signal, held);
      });
    },
    quit: () => redlock.quit(),
  };
}

type ReadWriteClasses = ClientClasses & { readonly ReadWriteLock: typeof ReadWriteLock };

/** The readers-writer locks of a copy of the client. */
export function readWriteSubject(client: ReadWriteClasses): Omit<Subject, "name"> {
  return {
    keysOf: (name) => Object.values(keysOf(name)),
    // An expired reader stays in the set until the set expires with its last reader, or another reader comes.
    isOver: (name, key, master) => {
      const { readers, write } = keysOf(name);
      const claims = master.peek(readers)?.value;
      if (key === write || typeof claims !== "object" || !("sorted" in claims)) return false;
      return claims.sorted.every(({ score }) => score < master.process.wallNow());
    },
    create: (connections, runtime, settings) =>
      readWriteLocksOf(clientOf(client, connections, runtime, settings), runtime, client.ReadWriteLock),
  };
}

const published: ReadWriteClasses = { ...publishedClasses, ReadWriteLock };

/** Readers and writers as they are published. */
export const theReadWriteLock: Subject = { name: "read-write-lock", ...readWriteSubject(published) };

/** Clients whose every other use takes the exclusive lock of the same name instead, which keeps nobody from the others. */
export function mixedSubject(client: ReadWriteClasses): Omit<Subject, "name"> {
  return {
    ...readWriteSubject(client),
    keysOf: (name) => [name, ...Object.values(keysOf(name))],
    create(connections, runtime, settings) {
      const redlock = clientOf(client, connections, runtime, settings);
      const shared = readWriteLocksOf(redlock, runtime, client.ReadWriteLock);
      let uses = 0;
      const next = () => {
        uses += 1;
        return uses % 2 === 0 ? redlock : shared;
      };
      return {
        queued: (resources) =>
          uses % 2 === 0 ? shared.queued!(resources) : { keys: [resources].flat(), isShared: false },
        acquire: (resources, ttl, options) => next().acquire(resources, ttl, options),
        tryAcquire: (resources, ttl, options) => next().tryAcquire(resources, ttl, options),
        using: (resources, ttl, options, routine) => next().using(resources, ttl, options, routine),
        quit: () => redlock.quit(),
      };
    },
  };
}

/** Those of the published client. */
export const theMixedSubject: Subject = {
  name: "readers, writers and exclusive locks",
  ...mixedSubject(published),
};
