import { Redis } from "ioredis-5";
import { createRedlock, IoredisAdapter, type Lock, type LockHandle } from "redlock-universal";
import { ClientsOf, clientOptions, connected } from "./clients.ts";
import { type Held, type Library, notOffered, type Subject, type SubjectOptions } from "./subject.ts";

interface UniversalLock {
  readonly redlock: Lock;
  readonly handle: LockHandle;
}

/** redlock-universal 0.8.5. */
export const redlockUniversal: Library = {
  name: "redlock-universal",
  packageName: "redlock-universal",
  program: (urls, resource) => `const { createRedlock, IoredisAdapter } = loaded;
const clients = ${JSON.stringify(urls)}.map((url) => new Redis(url));
const adapters = clients.map((client) => new IoredisAdapter(client));
const redlock = createRedlock({ adapters, key: ${JSON.stringify(resource)}, ttl: 5000 });
redlock
  .acquire()
  .then((handle) => redlock.release(handle))
  .then(() => clients.forEach((client) => client.disconnect()))
  .then(() => console.log("locked and released"));
`,
  async open(urls, options) {
    const clients = await connected(urls.map((url) => new Redis(url, clientOptions(options))));
    return new RedlockUniversalSubject(clients, options);
  },
};

/** It makes an object for each resource and ttl. */
class RedlockUniversalSubject extends ClientsOf<Redis> implements Subject {
  readonly #adapters: readonly IoredisAdapter[];
  readonly #options: SubjectOptions;

  constructor(clients: readonly Redis[], options: SubjectOptions) {
    super(clients, options.wallClock);
    // It was made for both generations of ioredis, and declares its client by one of them.
    this.#adapters = clients.map((client) => new IoredisAdapter(client as never));
    this.#options = options;
  }

  async acquire(resource: string, ttl: number): Promise<Held> {
    const redlock = this.#redlock(resource, ttl);
    return heldOf({ redlock, handle: await redlock.acquire() });
  }

  using<T>(resource: string, ttl: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#redlock(resource, ttl).using(routine);
  }

  /** It leaves its handle as it was; the new one counts from before the extension was sent. */
  async extend(held: Held, ttl: number): Promise<Held> {
    const { redlock, handle } = held.lock as UniversalLock;
    const acquiredAt = Date.now();
    if (!(await redlock.extend(handle, ttl))) throw new Error("extend came to false");
    return heldOf({ redlock, handle: { ...handle, acquiredAt, ttl } });
  }

  release(held: Held): Promise<boolean> {
    const { redlock, handle } = held.lock as UniversalLock;
    return redlock.release(handle);
  }

  permit = notOffered("no semaphore");

  #redlock(key: string, ttl: number): Lock {
    const { retryCount, retryDelay } = this.#options;
    return createRedlock({
      adapters: this.#adapters,
      key,
      ttl,
      ...(retryCount !== undefined && { retryAttempts: retryCount < 0 ? 1_000_000 : retryCount }),
      ...(retryDelay !== undefined && { retryDelay }),
    });
  }
}

function heldOf(lock: UniversalLock): Held {
  const { value, acquiredAt, ttl } = lock.handle;
  const remaining = () => acquiredAt + ttl - Date.now();
  return { token: value, isValid: () => remaining() > 0, remaining, lock };
}
