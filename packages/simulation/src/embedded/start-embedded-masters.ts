import { EmbeddedMaster, type EmbeddedMasterOptions } from "./embedded-master.ts";
import type { MasterRoute } from "./master-route.ts";

/** One route to each master, for a client that a partition can cut off from the masters separately. */
export interface MasterRoutes {
  /** One to each master, in the order of the masters. */
  readonly list: readonly MasterRoute[];
  /** The `url` of each of `list`, in its order. */
  readonly urls: readonly string[];
}

/** Masters that were started together. `await using` ends them. */
export interface EmbeddedMasters extends AsyncDisposable {
  readonly list: readonly EmbeddedMaster[];
  /** The `url` of each of `list`, in its order. */
  readonly urls: readonly string[];
  /** Further routes to all of them, on their own ports, for clients that a partition is to separate from the others. */
  routes(): Promise<MasterRoutes>;
  /** Ends all of them, killed and hung ones included. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts `count` independent masters in this process, each on its own loopback port: the simulator's model of
 * Redis, served by TCP, for tests without Redis or Docker. They know the commands of a lock, and of scripts those of
 * `@quorlock/redlock`; they do not keep the process alive.
 *
 * @throws RangeError when `count` is not a whole number of at least 1.
 */
export async function startEmbeddedMasters(
  count: number,
  options: EmbeddedMasterOptions = {},
): Promise<EmbeddedMasters> {
  if (!Number.isInteger(count) || count < 1) {
    throw new RangeError(`the number of masters must be a whole number of at least 1, got ${count}`);
  }
  const list = await Promise.all(Array.from({ length: count }, () => EmbeddedMaster.start(options)));
  const stop = async (): Promise<void> => {
    await Promise.all(list.map((master) => master.stop()));
  };
  const routes = async (): Promise<MasterRoutes> => {
    const ways = await Promise.all(list.map((master) => master.route()));
    return { list: ways, urls: ways.map(({ url }) => url) };
  };
  return { list, urls: list.map(({ url }) => url), routes, stop, [Symbol.asyncDispose]: stop };
}
