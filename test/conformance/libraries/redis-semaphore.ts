import { Redis } from "ioredis-5";
import { RedlockMutex, RedlockSemaphore } from "redis-semaphore";
import { ClientsOf, clientOptions, connected } from "./clients.ts";
import {
  type Held,
  type Library,
  NotOfferedError,
  notOffered,
  type Subject,
  type SubjectOptions,
} from "./subject.ts";

type Mutex = InstanceType<typeof RedlockMutex>;
type Clients = ConstructorParameters<typeof RedlockMutex>[0];

const keyPrefix = "mutex:";

/** redis-semaphore 5.8. */
export const redisSemaphore: Library = {
  name: "redis-semaphore",
  packageName: "redis-semaphore",
  keyPrefix,
  usingIsMadeUp: "no call that runs a routine under a lock",
  program: (urls, resource) => `const { RedlockMutex } = loaded;
const clients = ${JSON.stringify(urls)}.map((url) => new Redis(url));
const mutex = new RedlockMutex(clients, ${JSON.stringify(withoutPrefix(resource))}, { lockTimeout: 5000 });
mutex
  .acquire()
  .then(() => mutex.release())
  .then(() => clients.forEach((client) => client.disconnect()))
  .then(() => console.log("locked and released"));
`,
  async open(urls, options) {
    const clients = await connected(urls.map((url) => new Redis(url, clientOptions(options))));
    return new RedisSemaphoreSubject(clients, options);
  },
};

/** A mutex extends itself once it is acquired, unless that is switched off. */
class RedisSemaphoreSubject extends ClientsOf<Redis> implements Subject {
  /** It was made for both generations of ioredis, and declares its clients by one of them. */
  readonly #taken: Clients;
  readonly #options: SubjectOptions;

  constructor(clients: readonly Redis[], options: SubjectOptions) {
    super(clients, options.wallClock);
    this.#taken = [...clients] as unknown as Clients;
    this.#options = options;
  }

  async acquire(resource: string, ttl: number): Promise<Held> {
    const mutex = this.#mutex(resource, ttl, { refreshInterval: 0 });
    await mutex.acquire();
    return heldOf(mutex);
  }

  /** The code of its documentation. `onLockLost` is ours: by default it throws where no caller can catch. */
  async using<T>(resource: string, ttl: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const { extensionThreshold } = this.#options;
    const mutex = this.#mutex(resource, ttl, {
      ...(extensionThreshold !== undefined && { refreshInterval: ttl - extensionThreshold }),
      onLockLost: (error: Error) => controller.abort(error),
    });
    await mutex.acquire();
    try {
      return await routine(controller.signal);
    } finally {
      await mutex.release();
    }
  }

  extend = notOffered("extends by itself only");

  release(held: Held): Promise<void> {
    return (held.lock as Mutex).release();
  }

  async permit(resource: string, limit: number, ttl: number): Promise<(() => Promise<unknown>) | undefined> {
    const options = { lockTimeout: ttl, acquireAttemptsLimit: 1, refreshInterval: 0 };
    const semaphore = new RedlockSemaphore(this.#taken, withoutPrefix(resource), limit, options);
    return (await semaphore.tryAcquire()) ? () => semaphore.release() : undefined;
  }

  #mutex(resource: string, ttl: number, options: ConstructorParameters<typeof RedlockMutex>[2]): Mutex {
    const { retryCount, retryDelay } = this.#options;
    return new RedlockMutex(this.#taken, withoutPrefix(resource), {
      lockTimeout: ttl,
      ...(retryCount !== undefined && retryCount >= 0 && { acquireAttemptsLimit: retryCount + 1 }),
      ...(retryDelay !== undefined && { retryInterval: retryDelay }),
      ...options,
    });
  }
}

/** The name of the resource whose key this is. */
function withoutPrefix(key: string): string {
  return key.slice(keyPrefix.length);
}

function heldOf(mutex: Mutex): Held {
  return {
    token: mutex.identifier,
    isValid: () => mutex.isAcquired,
    remaining: () => {
      throw new NotOfferedError("does not tell what remains");
    },
    lock: mutex,
  };
}
