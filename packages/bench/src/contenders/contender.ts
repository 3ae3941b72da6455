/** Gives back what was acquired. */
export type Release = () => Promise<unknown>;

/** One way to lock, with connections of its own to every master. */
export interface Contender {
  readonly name: string;
  /** Locks a resource the way a user of this library does; rejects when that fails. */
  acquire(resource: string): Promise<Release>;
  /** Locks all of them, in one step where the library can, else one after the other in this order. */
  acquireAll(resources: readonly string[]): Promise<Release>;
  /** Runs `routine` under a lock that the library keeps extended; missing where there is no such thing. */
  readonly using?: (resource: string, routine: () => Promise<void>) => Promise<void>;
  /** Resolves when every master answers it, after failures too; rejects when one does not within 10 s. */
  ready(): Promise<void>;
  /** Ends its connections at once, whatever the masters do. */
  quit(): Promise<void>;
}

export interface ContenderTerms {
  readonly urls: readonly string[];
  /** How long a lock lives, ms. */
  readonly ttl: number;
  /**
   * How long `acquire` goes on where somebody else holds the lock, ms, with the pause between two attempts that is
   * best for this library. Default: everything as shipped.
   */
  readonly waitTimeout?: number;
}

export type OpenContender = (name: string, terms: ContenderTerms) => Promise<Contender>;

/** How long one acquire and release took together, ms. */
export async function acquireAndRelease(contender: Contender, resource: string): Promise<number> {
  const begun = performance.now();
  const release = await contender.acquire(resource);
  await release();
  return performance.now() - begun;
}

/**
 * Several locks where the library knows only single ones. In the order given, so that two callers cannot wait for
 * each other; a failure gives back what it had.
 */
export async function acquireInOrder(
  resources: readonly string[],
  acquire: (resource: string) => Promise<Release>,
): Promise<Release> {
  const releases: Release[] = [];
  const releaseAll = (): Promise<unknown> => Promise.all(releases.map((release) => release()));
  try {
    for (const resource of resources) releases.push(await acquire(resource));
  } catch (error) {
    await releaseAll();
    throw error;
  }
  return releaseAll;
}
