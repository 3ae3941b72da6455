import type { Redlock5, Redlock5Lock, Redlock5Settings } from "@quorlock/peers";
import type { AcquireOptions, Runtime, Settings } from "@quorlock/redlock";
import type { Connection } from "@quorlock/redlock/internal";
import { know } from "../master/known-scripts.ts";
import type { LockSettings } from "../plan/plan.ts";
import {
  holdWhile,
  type Resources,
  type Routine,
  type Subject,
  type SubjectClient,
  type SubjectLock,
} from "../run/subject.ts";
import { IoredisConnection } from "./ioredis-connection.ts";
import { compiledScripts } from "./redlock-5.generated.ts";
import { type LoadRedlock5, type Redlock5Module, scriptsOf } from "./redlock-5-module.ts";

// Redlock 5.0.0-beta.2 in our client's place. Where the two differ in what can be asked of them, the doubt is in
// its favour: it is used as its documentation says.

/** Node-redlock 5 on ioredis with its defaults, as something to simulate. `load`: its package, in Node or in a browser. */
export function redlock5Of(load: LoadRedlock5): Subject {
  for (const [name, script] of scriptsOf(load)) {
    const run = compiledScripts[script.sha1];
    if (!run) throw new Error(`redlock 5 has another ${name} than the one that was compiled`);
    know(`redlock5.${name}`, script, run);
  }
  return {
    name: "redlock 5",
    isUnbounded: true,
    losesKeysWhileFull: true,
    create: (connections, runtime, settings) => new Client(load, connections, runtime, settings),
  };
}

class Client implements SubjectClient {
  readonly #module: Redlock5Module;
  readonly #redlock: Redlock5;
  readonly #runtime: Runtime;
  readonly #settings: LockSettings;

  constructor(
    load: LoadRedlock5,
    connections: readonly Connection[],
    runtime: Runtime,
    settings: LockSettings,
  ) {
    this.#module = load(runtime);
    this.#runtime = runtime;
    this.#settings = settings;
    const clients = connections.map((connection) => new IoredisConnection(connection, runtime));
    this.#redlock = new this.#module.default(clients, settings);
  }

  async acquire(resources: Resources, ttl: number, options: AcquireOptions = {}): Promise<SubjectLock> {
    const settings = this.#retries(options);
    const lock = await this.#coded(this.#redlock.acquire([resources].flat(), ttl, settings));
    return new Held(lock, this.#runtime, (result) => this.#coded(result));
  }

  async tryAcquire(
    resources: Resources,
    ttl: number,
    options: AcquireOptions = {},
  ): Promise<SubjectLock | null> {
    try {
      return await this.acquire(resources, ttl, { ...options, retryCount: 0 });
    } catch (error) {
      if ((error as Coded).code === "RESOURCE_LOCKED") return null;
      throw error;
    }
  }

  /**
   * A routine receives the signal only. The state of its lock is observed by wrapping `acquire` and `extend`, which
   * `using` calls on its own instance.
   */
  async using(resources: Resources, ttl: number, options: AcquireOptions, routine: Routine): Promise<void> {
    // It refuses a ttl below 100 ms; then its users have only `acquire`.
    if (ttl < 100) return holdWhile(this, resources, ttl, routine);
    const watched = Object.create(this.#redlock) as Redlock5;
    let held: Held | undefined;
    watched.acquire = async (...args) => {
      const lock = await this.#redlock.acquire.apply(watched, args);
      held = new Held(lock, this.#runtime, (result) => this.#coded(result));
      return lock;
    };
    watched.extend = async (...args) => {
      const lock = await this.#redlock.extend.apply(watched, args);
      held?.replace(lock);
      return lock;
    };
    const { automaticExtensionThreshold } = this.#settings;
    const settings = {
      ...this.#retries(options),
      automaticExtensionThreshold: Math.min(automaticExtensionThreshold, ttl - 100),
    };
    await this.#coded(
      watched.using([resources].flat(), ttl, settings, (signal) => {
        held!.signal = signal;
        return routine(signal, held!);
      }),
    );
  }

  quit(): Promise<void> {
    return this.#redlock.quit();
  }

  /** It has no `waitTimeout`: as many tries as fit into one. */
  #retries(options: AcquireOptions): Redlock5Settings {
    const { retryCount, retryDelay, retryJitter, waitTimeout } = {
      ...this.#settings,
      ...options,
    } as Settings;
    const isGiven = options.retryCount !== undefined && options.waitTimeout === undefined;
    const tries =
      waitTimeout === undefined || isGiven ? retryCount : Math.ceil(waitTimeout / Math.max(1, retryDelay));
    return { retryCount: tries, retryDelay, retryJitter };
  }

  /** Its errors with our codes: a refusal by a majority of masters is distinguished from a missing quorum. */
  async #coded<T>(result: Promise<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      if (!(error instanceof this.#module.ExecutionError)) throw error;
      const stats = await error.attempts.at(-1);
      const refusals = [...(stats?.votesAgainst.values() ?? [])];
      const isLocked = refusals.some((refusal) => refusal instanceof this.#module.ResourceLockedError);
      throw Object.assign(error, { code: isLocked ? "RESOURCE_LOCKED" : "NO_QUORUM" });
    }
  }
}

type Coded = Error & { readonly code?: string };

/** A lock, and what replaced it: `extend` gives a new one and voids the old. */
class Held implements SubjectLock {
  signal: AbortSignal | undefined;
  readonly #runtime: Runtime;
  readonly #coded: <T>(result: Promise<T>) => Promise<T>;
  #lock: Redlock5Lock;

  constructor(lock: Redlock5Lock, runtime: Runtime, coded: <T>(result: Promise<T>) => Promise<T>) {
    this.#lock = lock;
    this.#runtime = runtime;
    this.#coded = coded;
  }

  get resources(): readonly string[] {
    return this.#lock.resources;
  }

  get value(): string {
    return this.#lock.value;
  }

  replace(lock: Redlock5Lock): void {
    this.#lock = lock;
  }

  /** As its users compute it. */
  remaining(): number {
    return Math.max(0, this.#lock.expiration - this.#runtime.wall());
  }

  async extend(ttl: number): Promise<this> {
    this.#lock = await this.#coded(this.#lock.extend(ttl));
    return this;
  }

  /** "It is safe to ignore the error, as the lock will automatically expire." */
  async release(): Promise<{ readonly outcome: string }> {
    try {
      await this.#coded(this.#lock.release());
      return { outcome: "released" };
    } catch (error) {
      if ((error as Coded).code === undefined) throw error;
      return { outcome: "expired" };
    }
  }
}
