import { EmbeddedMaster, type EmbeddedMasterOptions } from "./embedded-master.ts";

/** Masters that were started together. `await using` ends them. */
export interface EmbeddedMasters extends AsyncDisposable {
  readonly list: readonly EmbeddedMaster[];
  /** The `url` of each of `list`, in its order. */
  readonly urls: readonly string[];
  /** Ends all of them, killed and hung ones included. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts `count` independent masters in this process, each on a loopback port of its own: the simulator's model of
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
  return { list, urls: list.map(({ url }) => url), stop, [Symbol.asyncDispose]: stop };
}
