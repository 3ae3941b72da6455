import { randomUUID } from "node:crypto";
import { type Held, NotOfferedError } from "@quorlock/peers";
import { type Proxy as FaultProxy, type Master, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { WireTap } from "../integration/fleet/wire-tap.ts";
import { connected, cut } from "./libraries/clients.ts";
import { type Library, quitLimit, type Subject, type SubjectOptions } from "./libraries/subject.ts";
import { outcomeOf, polled } from "./outcome.ts";

/** All that a case needs to know of a master. */
export type Address = Pick<Master, "host" | "port" | "url">;

/**
 * Where one case plays: real masters, a resource that no other case uses, and direct connections to look at the
 * keys. Everything that was opened here is closed with it.
 */
export class Fixture implements AsyncDisposable {
  readonly library: Library;
  /** Its key on the masters: what a library puts before a name is part of it. */
  readonly resource: string;
  readonly #masters: readonly Address[];
  readonly #lookers: readonly Redis[];
  readonly #disposals: Array<() => Promise<void> | void> = [];

  static async start(library: Library, masters: readonly Address[]): Promise<Fixture> {
    const lookers = await connected(masters.map((master) => new Redis(master.url)));
    return new Fixture(library, masters, lookers);
  }

  private constructor(library: Library, masters: readonly Address[], lookers: readonly Redis[]) {
    this.library = library;
    this.resource = `${library.keyPrefix ?? ""}conformance:${randomUUID()}`;
    this.#masters = masters;
    this.#lookers = lookers;
  }

  get quorum(): number {
    return Math.floor(this.#masters.length / 2) + 1;
  }

  /** A new proxy to each master: its faults affect no other client. */
  async path(): Promise<readonly FaultProxy[]> {
    const proxies = await Promise.all(this.#masters.map((master) => startProxy(master)));
    for (const proxy of proxies) this.onDispose(() => proxy.stop());
    return proxies;
  }

  /** The masters' addresses, along a path or directly. */
  urls(path: ReadonlyArray<{ readonly url: string }> = this.#masters): readonly string[] {
    return path.map(({ url }) => url);
  }

  /** The library, connected and used once: a case is about a service that runs, not about its first second. */
  async open(path?: readonly FaultProxy[], options: SubjectOptions = {}): Promise<Subject> {
    const subject = await this.openCold(path, options);
    const held = await subject.acquire(`${this.resource}:${randomUUID()}`, 5000);
    // The masters learn the scripts as well.
    await subject.release(await extendedWhereOffered(subject, held));
    return subject;
  }

  /** The library, before its first lock. */
  async openCold(path?: readonly FaultProxy[], options: SubjectOptions = {}): Promise<Subject> {
    const subject = await this.library.open(this.urls(path), options);
    this.onDispose(async () => {
      await outcomeOf(() => subject.quit(), quitLimit);
      subject.disconnect();
    });
    return subject;
  }

  /** The commands that a master executes. */
  async tap(index: number): Promise<WireTap> {
    return this.use(await WireTap.on(this.#lookers[index]!));
  }

  /** Waits until the queue of each master has an entry, where the library has queues; else for a fixed time. */
  async untilQueued(): Promise<void> {
    const queue = `quorlock:queue:{${this.resource}}`;
    await polled(async () => {
      const there = await Promise.all(this.#lookers.map((redis) => redis.exists(queue)));
      return there.every(Boolean) ? true : undefined;
    }, 1000);
  }

  /** A monitor subscribes to every message of the masters until the case is over. */
  async listenIn(): Promise<void> {
    const listeners = this.#lookers.map((redis) => redis.duplicate());
    this.onDispose(() => cut(listeners));
    await Promise.all(listeners.map((redis) => redis.psubscribe("*")));
  }

  /** Until every master's key holds `token`. */
  async untilAll(token: string): Promise<void> {
    await polled(async () => {
      const tokens = await this.tokens();
      return tokens.every((one) => one === token) ? true : undefined;
    }, 1000);
  }

  /** Each master's key; `undefined` where there is none, or one that is no lock. */
  tokens(resource: string = this.resource): Promise<ReadonlyArray<string | undefined>> {
    const get = (redis: Redis) => redis.get(resource).catch(() => null);
    return Promise.all(this.#lookers.map(async (redis) => (await get(redis)) ?? undefined));
  }

  /** How long each master's key still lives, ms, where it holds `token`; 0 elsewhere. */
  lifetimes(token: string): Promise<readonly number[]> {
    return Promise.all(
      this.#lookers.map(async (redis) => {
        const [owner, left] = await Promise.all([redis.get(this.resource), redis.pttl(this.resource)]);
        return owner === token ? Math.max(0, left) : 0;
      }),
    );
  }

  /** In which of a master's databases the key is, from each master. */
  databases(candidates: readonly number[]): Promise<ReadonlyArray<readonly number[]>> {
    return Promise.all(
      this.#masters.map(async (master) => {
        const found: number[] = [];
        for (const database of candidates) {
          const redis = new Redis(master.url, { db: database });
          if (await redis.exists(this.resource)) found.push(database);
          redis.disconnect();
        }
        return found;
      }),
    );
  }

  /** Overwrites the key of these masters with another client's token. */
  async occupy(indexes: readonly number[], ttl: number, resource: string = this.resource): Promise<void> {
    await Promise.all(indexes.map((index) => this.#lookers[index]!.set(resource, "foreign", "PX", ttl)));
  }

  /** Makes the key of these masters one that every lock command is answered with an error for. */
  async spoil(indexes: readonly number[]): Promise<void> {
    const { resource } = this;
    await Promise.all(
      indexes.map((index) =>
        this.#lookers[index]!.multi()
          .del(resource)
          .rpush(resource, "no lock")
          .pexpire(resource, 60_000)
          .exec(),
      ),
    );
  }

  /** Has these masters execute a command. */
  async tell(indexes: readonly number[], command: string, ...args: readonly string[]): Promise<void> {
    await Promise.all(indexes.map((index) => this.#lookers[index]!.call(command, ...args)));
  }

  async remove(resource: string = this.resource): Promise<void> {
    await Promise.all(this.#lookers.map((redis) => redis.del(resource)));
  }

  /**
   * The moment (`performance.now()`) from which another client could hold: a majority does not keep the key for
   * `token` any more. `undefined` when that did not happen in time.
   */
  untilFree(token: string, limit: number): Promise<number | undefined> {
    return polled(async () => {
      const others = (await this.tokens()).filter((owner) => owner !== token);
      return others.length >= this.quorum ? performance.now() : undefined;
    }, limit);
  }

  /** Whether the resource's keys were all gone in time, and when, ms from now. */
  untilNoKeys(limit: number): Promise<number | undefined> {
    const begun = performance.now();
    return polled(async () => {
      const tokens = await this.tokens();
      return tokens.every((token) => token === undefined) ? performance.now() - begun : undefined;
    }, limit);
  }

  /** Disposed of when the case is over. */
  use<T extends AsyncDisposable>(resource: T): T {
    this.onDispose(() => resource[Symbol.asyncDispose]() as Promise<void>);
    return resource;
  }

  /** Runs when the case is over, the latest first. */
  onDispose(dispose: () => Promise<void> | void): void {
    this.#disposals.push(dispose);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const dispose of this.#disposals.toReversed()) await dispose();
    await this.remove();
    cut(this.#lookers);
  }
}

async function extendedWhereOffered(subject: Subject, held: Held): Promise<Held> {
  try {
    return await subject.extend(held, 5000);
  } catch (error) {
    if (error instanceof NotOfferedError) return held;
    throw error;
  }
}
