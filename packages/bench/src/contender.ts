/** Gives back what was acquired. */
export type Release = () => Promise<unknown>;

/** One way to lock, with connections of its own to every master. */
export interface Contender {
  readonly name: string;
  /** Locks a resource the way a user of this library does; rejects when that fails. */
  acquire(resource: string): Promise<Release>;
  /** Resolves when every master answers it, after failures too; rejects when one does not within 10 s. */
  ready(): Promise<void>;
  /** Ends its connections at once, whatever the masters do. */
  quit(): Promise<void>;
}

export interface ContenderTerms {
  readonly urls: readonly string[];
  /** How long a lock lives, ms. */
  readonly ttl: number;
}

export type OpenContender = (name: string, terms: ContenderTerms) => Promise<Contender>;

/** How long one acquire and release took together, ms. */
export async function acquireAndRelease(contender: Contender, resource: string): Promise<number> {
  const begun = performance.now();
  const release = await contender.acquire(resource);
  await release();
  return performance.now() - begun;
}
