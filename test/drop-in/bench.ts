import { readFileSync } from "node:fs";
import * as ours from "@quorlock/redlock";
import { Redis } from "ioredis";
// @ts-expect-error Its types are not found under "node20" resolution: its exports do not name them.
import Redlock5, * as names5 from "redlock";
import { type Fleet, fresh } from "../integration/fleet/fleet.ts";

// The documented behaviour of redlock 5, and the members that its users touch. Each case runs with either library and
// returns its outcome.

// biome-ignore lint/suspicious/noExplicitAny: two libraries, used as JavaScript uses them.
export type Any = any;

/** The exports of either library. */
type Library = Readonly<Record<"default" | "Lock" | "ExecutionError" | "ResourceLockedError", Any>>;

export const libraries: Readonly<Record<"redlock 5" | "quorlock", Library>> = {
  "redlock 5": { ...(names5 as Library), default: Redlock5 as unknown },
  quorlock: ours,
};

/** Runs lines with one library over real masters. */
export class Bench {
  readonly library: Library;
  readonly fleet: Fleet;
  readonly #clients: Redis[] = [];

  constructor(library: Library, fleet: Fleet) {
    this.library = library;
    this.fleet = fleet;
  }

  clients(count: number = this.fleet.masters.length): Redis[] {
    const opened = this.fleet.masters.slice(0, count).map(({ host, port }) => new Redis(port, host));
    this.#clients.push(...opened);
    return opened;
  }

  /** To ours, a busy machine is not to look like a silent master; redlock 5 does not look at the setting. */
  redlock(settings: object | null = {}, clients: Iterable<object> = this.clients(), ...more: unknown[]): Any {
    return new this.library.default(clients, settings && { nodeTimeout: 400, ...settings }, ...more);
  }

  /** A resource with another client's key on the first `count` masters. */
  async occupied(count: number = this.fleet.masters.length, ttl?: number): Promise<string> {
    const resource = fresh();
    for (const [index, master] of this.fleet.masters.slice(0, count).entries()) {
      // Split between owners if not everywhere.
      const owner = count < this.fleet.masters.length ? `another client ${index}` : "another client";
      await this.fleet.occupy(resource, [master], ttl, owner);
    }
    return resource;
  }

  /** The number of masters with the key. */
  async copies(resource: string): Promise<number> {
    return (await this.fleet.values(resource)).filter((value) => value !== null).length;
  }

  /** Until every vote of the lock is in. */
  async held(redlock: Any, resource: string | readonly string[], ttl = 10_000): Promise<Any> {
    const lock = await redlock.acquire(Array.isArray(resource) ? resource : [resource], ttl);
    await Promise.all(lock.attempts);
    return lock;
  }

  close(): void {
    for (const client of this.#clients.splice(0)) client.disconnect();
  }
}

/** The error that `work` rejects with or throws; fails if it does neither. */
export async function thrown(work: () => unknown): Promise<Any> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("it was expected to fail, and did not");
}

/** Which of the library's errors it is, or "Error". */
export function kindOf({ library }: Bench, error: unknown): string {
  // The most special class first: ours extend one another.
  for (const name of ["ResourceLockedError", "ExecutionError"] as const) {
    if (error instanceof library[name]) return name;
  }
  return error instanceof Error ? "Error" : typeof error;
}

/** "works", or the kind of error. */
export async function outcome(bench: Bench, work: () => unknown): Promise<string> {
  try {
    await work();
    return "works";
  } catch (error) {
    return kindOf(bench, error);
  }
}

/** The fast settings of the retries in these lines. */
export const quick = { retryDelay: 20, retryJitter: 0 };
export const single = { retryCount: 0 };

export type Line<B = Bench> = (bench: B) => Promise<unknown>;

export interface Difference<B = Bench> {
  readonly line: Line<B>;
  readonly theirs: unknown;
  readonly ours: unknown;
}

/** The first cells of the rows of the only table of a page in `packages`. */
export function rowsOf(page: string): string[] {
  const text = readFileSync(new URL(`../../packages/${page}`, import.meta.url), "utf8");
  const [, , ...rows] = text.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((row) => row.split("|")[1]!.trim());
}

export async function lengthOf(bench: Bench, resource: string, settings: object): Promise<number> {
  const error = await thrown(() => bench.redlock({ ...quick, ...settings }).acquire([resource], 5000));
  return (await Promise.all(error.attempts)).length;
}
