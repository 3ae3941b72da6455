import { InvalidArgumentError, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { RedisNode } from "@quorlock/redlock/internal";
import { EmbeddedRedis, InProcessConnection } from "@quorlock/simulation/embedded";

export interface FakeRedlockOptions extends RedlockOptions {
  /**
   * Another fake, whose locks exclude those of this one: two instances of a service in one test. Default: none, so
   * tests are independent.
   */
  readonly sharedWith?: Redlock;
}

/** The model of Redis behind each fake. */
const stores = new WeakMap<Redlock, EmbeddedRedis>();

/**
 * A `Redlock` for tests of code that only needs a lock: the real class, with one master that is an object in this
 * process. No network, no port, nothing to stop. It reads the clocks of the test, so fake timers let its locks expire.
 *
 * @throws InvalidArgumentError for wrong options, or if `sharedWith` is no fake.
 */
export function fakeRedlock({ sharedWith, ...options }: FakeRedlockOptions = {}): Redlock {
  const store = sharedWith === undefined ? new EmbeddedRedis() : stores.get(sharedWith);
  if (!store) throw new InvalidArgumentError("sharedWith must be a Redlock made by fakeRedlock");
  const { queue = true, groupCommit = true } = options;
  const node = new RedisNode(new InProcessConnection(store), { queue, groupCommit });
  const redlock = new Redlock([node], options);
  stores.set(redlock, store);
  return redlock;
}
