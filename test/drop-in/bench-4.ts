import Redlock from "@quorlock/redlock-4";
import type { Master } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
// @ts-expect-error It has no types, and @types/redlock has names that it does not have.
import Redlock4 from "redlock-4";
import { type Fleet, fresh } from "../integration/fleet/fleet.ts";
import type { Any } from "./bench.ts";

// redlock 4's own tests, in words of this repository, and the members that its users touch. Each case runs with either library.

export const libraries: Readonly<Record<"redlock 4" | "quorlock", Any>> = {
  "redlock 4": Redlock4 as unknown,
  quorlock: Redlock,
};

type Address = { readonly host: string; readonly port: number };

/** How the clients of each library are opened, without reconnecting. */
const open = {
  ioredis: ({ host, port }: Address): Any =>
    new Redis(port, host, { retryStrategy: () => null }).on("error", () => {}),
  "node-redis 6": (address: Address): Any =>
    connected(createClient({ socket: { ...address, reconnectStrategy: false } }) as Any),
  "node-redis 5": (address: Address): Any =>
    connected(createClient5({ socket: { ...address, reconnectStrategy: false } }) as Any),
};

function connected(client: Any): Any {
  client.on("error", () => {});
  client.connect().catch(() => {});
  return Object.assign(client, { disconnect: () => void (client.isOpen && client.destroy()) });
}

/** Runs cases with one library over real masters. */
export class Bench4 {
  readonly library: Any;
  readonly fleet: Fleet;
  readonly #open: (address: Address) => Any;
  readonly #count: number;
  readonly #opened: Any[] = [];
  #shared: readonly Any[] | undefined;

  constructor(
    library: keyof typeof libraries,
    fleet: Fleet,
    client: keyof typeof open = "ioredis",
    count = 3,
  ) {
    this.library = libraries[library];
    this.fleet = fleet;
    this.#open = open[client];
    this.#count = count;
  }

  get masters(): readonly Master[] {
    return this.fleet.masters.slice(0, this.#count);
  }

  /** New ones. Default: of each master. */
  clients(addresses: readonly Address[] = this.masters): Any[] {
    const opened = addresses.map(this.#open);
    this.#opened.push(...opened);
    return opened;
  }

  /** Of which each case has the same, as a program has. */
  get shared(): readonly Any[] {
    this.#shared ??= this.clients();
    return this.#shared;
  }

  /** By the settings of redlock 4's own tests, with shorter pauses. */
  redlock(options: object | null = {}, clients: readonly object[] = this.shared): Any {
    return new this.library(
      clients,
      options && { retryCount: 2, retryDelay: 20, retryJitter: 5, ...options },
    );
  }

  values(resource: string): Promise<readonly (string | null)[]> {
    return this.fleet.values(resource, this.masters);
  }

  /** The number of masters with the key. */
  async copies(resource: string): Promise<number> {
    return (await this.values(resource)).filter((value) => value !== null).length;
  }

  /** Another client's key on each master. */
  async occupied(ttl?: number): Promise<string> {
    const resource = fresh();
    await this.fleet.occupy(resource, this.masters, ttl);
    return resource;
  }

  /** A lock that each master has. */
  async held(resource: string, ttl = 5000, redlock: Any = this.redlock()): Promise<Any> {
    const lock = await redlock.lock(resource, ttl);
    await this.fleet.untilAll("it is held", async () => [...(await this.values(resource))], lock.value);
    return lock;
  }

  /** A lock that these masters have forgotten. */
  async forgotten(masters: readonly Master[] = this.masters): Promise<Any> {
    const lock = await this.held(fresh());
    await this.fleet.free(lock.resource[0], masters);
    return lock;
  }

  close(): void {
    for (const client of this.#opened.splice(0)) client.disconnect();
  }
}

/** "works", or the name of the error. */
export async function outcome(work: () => unknown): Promise<string> {
  try {
    await work();
    return "works";
  } catch (error) {
    return (error as Error).name;
  }
}

/** Either way in which a result comes: `done` is the callback of the call, or missing. */
export const ways: Readonly<Record<"callbacks" | "promises", (call: (done?: Any) => Any) => Promise<Any>>> = {
  callbacks: (call) =>
    new Promise((resolve, reject) => {
      call((error: unknown, result: unknown) => (error ? reject(error) : resolve(result)));
    }),
  // `done` is Bluebird's.
  promises: (call) => new Promise((resolve, reject) => void call().done(resolve, reject)),
};
