import { InvalidArgumentError, Redlock, type RedlockOptions, systemRuntime } from "@quorlock/redlock";
import { constructorOptions, RedisNode } from "@quorlock/redlock/internal";
import { EmbeddedRedis, InProcessConnection } from "@quorlock/simulation/embedded";
import { refusePartlyFaked } from "./faked-clocks.ts";

export interface FakeRedlockOptions extends RedlockOptions {
  /**
   * Another fake, whose locks exclude those of this one: two instances of a service in one test. Default: none, so
   * tests are independent.
   */
  readonly sharedWith?: Redlock | undefined;
}

/** The clocks of the test. Each request for a lock draws a token, before it waits for anything. */
const runtime: NonNullable<RedlockOptions["runtime"]> = {
  ...systemRuntime,
  randomBytes(count) {
    refusePartlyFaked("fakeRedlock");
    return systemRuntime.randomBytes(count);
  },
};

/** The model of Redis behind each fake. */
const stores = new WeakMap<Redlock, EmbeddedRedis>();

/**
 * A `Redlock` for tests of code that only needs a lock: the real class, with one master that is an object in this
 * process. No network, no port, nothing to stop. It reads the clocks of the test, so fake timers let its locks expire.
 *
 * @throws InvalidArgumentError for wrong options, or if `sharedWith` is no fake; Error while some of the clocks and
 * timers are faked and others are not, here and from each request for a lock.
 */
export function fakeRedlock(given?: FakeRedlockOptions): Redlock {
  const { sharedWith, ...options } = constructorOptions(given, ["sharedWith"]);
  const store = sharedWith === undefined ? new EmbeddedRedis() : stores.get(sharedWith);
  if (!store) throw new InvalidArgumentError("sharedWith must be a Redlock made by fakeRedlock");
  if (!options.runtime) refusePartlyFaked("fakeRedlock");
  const node = new RedisNode(new InProcessConnection(store));
  const redlock = new Redlock([node], { ...options, runtime: options.runtime ?? runtime });
  stores.set(redlock, store);
  return redlock;
}
